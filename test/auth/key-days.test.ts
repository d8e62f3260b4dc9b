/**
 * How long a key lasts where the operator limits that.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefusedField, dataOf, inProcess, openFixture, startOfTests } from "../support/harness.ts";

const day = 86_400_000;

test("a key ends after the operator's days at the latest, also if it asks for none", async () => {
  await using fixture = await openFixture(inProcess, { keyMaxDays: 30 });
  const token = await fixture.token();
  const create = (fields: object) =>
    fixture.call("POST", "/auth/api-keys", token, { name: "a key", ...fields });
  for (const [fields, days] of [
    [{}, 30],
    [{ expiresInDays: null }, 30],
    [{ expiresInDays: 7 }, 7],
    [{ expiresInDays: 30 }, 30],
  ] as const) {
    const { expiresAt } = await dataOf<{ expiresAt: string }>(await create(fields));
    assert.equal(Date.parse(expiresAt), startOfTests + days * day);
  }
  assert.match(await assertRefusedField(await create({ expiresInDays: 31 }), "expiresInDays"), /1 to 30/);
});
