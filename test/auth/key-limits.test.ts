/**
 * Limits of a key's own.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { signToken } from "../../core/auth/jwt.ts";
import type { ApiKeyResource, CreatedApiKeyResource } from "../../core/wire/schemas.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  errorOf,
  type Fixture,
  fixtureSecret,
  inProcess,
  openFixture,
  transports,
} from "../support/harness.ts";

/** A JWT of alice whose claim allows limits up to a number. */
function tokenWith({ clock }: Fixture, requestsPerHour?: number): Promise<string> {
  return signToken({ secret: fixtureSecret, sub: "alice", expiresInSeconds: 60, requestsPerHour, clock });
}

const create = (fixture: Fixture, token: string, fields: object) =>
  fixture.call("POST", "/auth/api-keys", token, { name: "a key", ...fields });

for (const transport of transports) {
  describe(`a key with a limit of its own, ${transport.name}`, () => {
    test("has as many requests an hour, which its answers, the usage and lists of keys tell", async () => {
      await using fixture = await openFixture(transport);
      const token = await tokenWith(fixture, 1_000);
      for (const [scope, requestsPerHour] of [
        ["read_only", 3],
        ["full_access", 1_000],
      ] as const) {
        const made = await create(fixture, token, { scope, requestsPerHour });
        const { key, id } = await dataOf<CreatedApiKeyResource>(made);
        const answer = await fixture.call("GET", "/twins", key);
        assert.equal(answer.headers.get("x-ratelimit-limit"), String(requestsPerHour));
        assert.match(answer.headers.get("ratelimit-policy") ?? "", new RegExp(`q=${requestsPerHour};`));
        const { limit, remaining } = await dataOf<{ limit: number; remaining: number }>(
          await fixture.call("GET", "/usage", key),
        );
        assert.deepEqual([limit, remaining], [requestsPerHour, requestsPerHour - 1]);
        const listed = await dataOf<ApiKeyResource[]>(await fixture.call("GET", "/auth/api-keys", token));
        assert.equal(listed.find((each) => each.id === id)?.requestsPerHour, requestsPerHour);
      }
    });

    test("is refused a request beyond it", async () => {
      await using fixture = await openFixture(transport);
      const made = await create(fixture, await tokenWith(fixture, 2), { requestsPerHour: 2 });
      const { key } = await dataOf<CreatedApiKeyResource>(made);
      for (const status of [200, 200, 429])
        assert.equal((await fixture.call("GET", "/twins", key)).status, status);
    });

    test("gives client tokens at most that", async () => {
      await using fixture = await openFixture(transport);
      const fields = { scope: "full_access", requestsPerHour: 20 };
      const { key } = await dataOf<CreatedApiKeyResource>(
        await create(fixture, await tokenWith(fixture, 20), fields),
      );
      const ask = (requestsPerHour?: number) =>
        fixture.call("POST", "/client-tokens", key, {
          endUser: "ann",
          ...(requestsPerHour && { requestsPerHour }),
        });
      assert.equal((await dataOf<{ requestsPerHour: number }>(await ask())).requestsPerHour, 20);
      await assertRefusedField(await ask(21), "requestsPerHour");
    });

    test("is made with any JWT up to its scope's, and above it only with a claim that allows it", async () => {
      await using fixture = await openFixture(transport, { maxRequestsPerHour: 5_000 });
      for (const [claim, scope, requestsPerHour] of [
        [undefined, "read_only", 1],
        [undefined, "read_only", 200],
        [undefined, "full_access", 500],
        [3, "full_access", 500],
        [1_000, "full_access", 1_000],
      ] as const) {
        const made = await create(fixture, await tokenWith(fixture, claim), { scope, requestsPerHour });
        assert.equal(made.status, 201, `${claim} ${scope} ${requestsPerHour}`);
      }
      for (const [claim, scope, requestsPerHour] of [
        [undefined, undefined, 201],
        [undefined, "full_access", 501],
        [999, "full_access", 1_000],
      ] as const) {
        const refused = await create(fixture, await tokenWith(fixture, claim), { scope, requestsPerHour });
        const error = await errorOf(refused.clone());
        await assertErrorAnswer(refused, 403, "insufficient_scope");
        assert.match(error.message, /requests_per_hour/);
      }
      const token = await tokenWith(fixture, 1_000_000);
      for (const requestsPerHour of [0, -1, 1.5, "9", 5_001, 1_000_001])
        await assertRefusedField(await create(fixture, token, { requestsPerHour }), "requestsPerHour");
      for (const requestsPerHour of [1, 5_000])
        assert.equal((await create(fixture, token, { requestsPerHour })).status, 201);
    });
  });
}

test("without a limit of its own, a key has its scope's, whatever its JWT allows", async () => {
  await using fixture = await openFixture(inProcess);
  for (const fields of [{}, { requestsPerHour: null }]) {
    const made = await create(fixture, await tokenWith(fixture, 1_000), fields);
    const { key, requestsPerHour } = await dataOf<CreatedApiKeyResource>(made);
    assert.equal(requestsPerHour, null);
    const answer = await fixture.call("GET", "/twins", key);
    assert.equal(answer.headers.get("x-ratelimit-limit"), "200");
  }
});

test("a host's verifyToken says what its users may give keys, or names the owner alone", async () => {
  for (const [verified, status] of [
    [{ owner: "alice", requestsPerHour: 1_000 }, 201],
    [{ owner: "alice" }, 403],
    ["alice", 403],
  ] as const) {
    await using fixture = await openFixture(inProcess, { verifyToken: async () => verified });
    assert.equal((await create(fixture, "any", { requestsPerHour: 1_000 })).status, status);
    assert.equal((await create(fixture, "any", {})).status, 201);
  }
});

test("a claim that is no whole number from 1 on allows nothing", async () => {
  await using fixture = await openFixture(inProcess);
  for (const claim of [0, -5, 0.5, Number.MAX_VALUE]) {
    const refused = await create(fixture, await tokenWith(fixture, claim), { requestsPerHour: 201 });
    assert.equal(refused.status, 403, String(claim));
  }
});
