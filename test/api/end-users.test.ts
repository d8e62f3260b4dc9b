/**
 * The people behind a key.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ConversationResource } from "../../core/mod.ts";
import { dataOf, errorOf, type Fixture, openFixture, transports } from "../support/harness.ts";

/** Begins a conversation, and returns it. */
async function converse(fixture: Fixture, key: string, fields: object = {}): Promise<ConversationResource> {
  return dataOf(await fixture.call("POST", "/conversations", key, { twinId: "echo", ...fields }));
}

for (const transport of transports) {
  describe(`conversations of end users, ${transport.name}`, () => {
    test("a conversation has the end user that it was begun for, or null", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const { id, endUser } = await converse(fixture, key, { endUser: "user 7" });
      assert.equal(endUser, "user 7");
      const read = await dataOf<ConversationResource>(await fixture.call("GET", `/conversations/${id}`, key));
      assert.equal(read.endUser, "user 7");
      assert.equal((await converse(fixture, key)).endUser, null);
    });

    test("a key lists one end user's conversations, with one twin or any, and still sees all", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const endUser = "ü%/👩‍💻";
      const a = await converse(fixture, key, { endUser });
      await converse(fixture, key, { endUser: "bob" });
      const b = await converse(fixture, key, { endUser, twinId: "private" });
      await converse(fixture, key);
      const list = async (query: string) => {
        const response = await fixture.call("GET", `/conversations?${query}`, key);
        return (await dataOf<ConversationResource[]>(response)).map(({ id }) => id);
      };
      const filter = `endUser=${encodeURIComponent(endUser)}`;
      assert.deepEqual(await list(filter), [b.id, a.id]);
      assert.deepEqual(await list(`${filter}&twinId=echo`), [a.id]);
      assert.deepEqual(await list("endUser=nobody"), []);
      assert.equal((await list("")).length, 4);
    });

    test("an end user is 1 to 128 characters without control characters, and neither . nor ..", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const good = ["0", " ", "...", ".a", "x".repeat(128), "👩‍💻".repeat(42), "a/b?c#d%", "\u200d"];
      for (const endUser of good) assert.equal((await converse(fixture, key, { endUser })).endUser, endUser);
      const bad = ["", ".", "..", "x".repeat(129), "a\nb", "\u0000", "\u0085", "\ud800", null, 7, ["a"]];
      for (const endUser of bad) {
        const refused = await fixture.call("POST", "/conversations", key, { twinId: "echo", endUser });
        assert.equal(refused.status, 400, JSON.stringify(endUser));
        assert.deepEqual((await errorOf(refused)).details?.fields, [
          {
            path: "endUser",
            message:
              "must be a string of 1 to 128 characters, neither . nor .., without control characters or lone surrogates",
          },
        ]);
      }
      for (const query of ["endUser=", "endUser=..", "endUser=a&endUser=a", "endUser=%00"]) {
        assert.equal((await fixture.call("GET", `/conversations?${query}`, key)).status, 400, query);
      }
    });

    test("equal idempotency keys of two end users begin two conversations", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const begin = async (endUser: string | undefined) => {
        const headers = { "Idempotency-Key": "one" };
        const body = { twinId: "echo", ...(endUser && { endUser }) };
        const response = await fixture.call("POST", "/conversations", key, body, headers);
        const { id } = await dataOf<ConversationResource>(response);
        return [id, response.headers.get("idempotency-replayed")];
      };
      const first = await Promise.all([begin("ann"), begin("bob"), begin(undefined)]);
      assert.equal(new Set(first.map(([id]) => id)).size, 3);
      for (const [index, endUser] of ["ann", "bob", undefined].entries()) {
        assert.deepEqual(await begin(endUser), [first[index]?.[0], "true"]);
      }
    });
  });
}
