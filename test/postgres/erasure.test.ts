/**
 * An erased person's name is in no sum, whichever process counts a reply of theirs while another one erases them.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { newOwner } from "../contracts/store-records.ts";
import { connect, sharedDatabase, skipWithoutPostgres } from "./database.ts";

describe("erasing a person beside a reply that ends in another process", {
  skip: await skipWithoutPostgres(),
}, () => {
  const shared = sharedDatabase();
  const at = Date.UTC(2030, 0, 1);
  const counted = { twinId: "echo", beganAt: at, completedAt: at, usage: null };

  test("a reply that began before counts under nobody, one that begins later under the name", async (t) => {
    const [one, other] = await Promise.all([openPostgres(shared.url), openPostgres(shared.url)]);
    t.after(() => Promise.all([one.close(), other.close()]));
    const owner = newOwner();
    await one.store.countReply({ ...counted, owner, endUser: "ann" });
    await one.store.forgetEndUser(owner, "ann", at + 10);
    await other.store.countReply({ ...counted, owner, endUser: "ann" });
    await other.store.countReply({ ...counted, owner, endUser: "ann", beganAt: at + 60_000 });
    const slice = { from: "2030-01-01", to: "2030-01-01", groupBy: "endUser", offset: 0, limit: 10 } as const;
    const { items } = await one.store.listUsage(owner, slice);
    assert.deepEqual(
      items.map(({ group, replies }) => [group, replies]),
      [
        [null, 2],
        ["ann", 1],
      ],
    );
  });

  test("of 200 people, each erased at the moment at which replies of theirs end elsewhere, no name is left", async (t) => {
    const [one, other] = await Promise.all([openPostgres(shared.url), openPostgres(shared.url)]);
    t.after(() => Promise.all([one.close(), other.close()]));
    const owner = newOwner();
    // As few at once as get a connection in time, however slow the machine is.
    for (let round = 0; round < 10; round++) {
      const people = Array.from({ length: 20 }, (_, number) => `person ${round * 20 + number}`);
      await Promise.all(
        people.flatMap((endUser) => [
          other.store.countReply({ ...counted, owner, endUser }),
          one.store.forgetEndUser(owner, endUser, at + 10),
          other.store.countReply({ ...counted, owner, endUser }),
        ]),
      );
    }
    await using client = await connect(shared.url);
    const { rows } = await client.query(
      `SELECT count(*) FILTER (WHERE name <> '') AS named, sum(replies) AS replies FROM usage_sums
        WHERE owner = $1 AND kind = 'endUser'`,
      [owner],
    );
    assert.deepEqual({ ...rows[0] }, { named: "0", replies: "400" });
  });

  test("who was erased is forgotten after a day", async () => {
    const { store, close } = await openPostgres(shared.url);
    await store.forgetEndUser(newOwner(), "ann", at);
    await store.sweep(at + 86_400_000);
    await using client = await connect(shared.url);
    assert.equal((await client.query("SELECT FROM erasures WHERE at <= $1", [at])).rowCount, 0);
    await close();
  });
});
