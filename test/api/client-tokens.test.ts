/**
 * Client tokens: what an app's server hands to one end user's browser instead of its key.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type {
  ClientTokenResource,
  ConversationResource,
  MessageResource,
  UsageResource,
} from "../../core/wire/schemas.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  countConversations,
  dataOf,
  errorOf,
  type Fixture,
  listIds,
  openFixture,
  transports,
} from "../support/harness.ts";

interface Fields {
  readonly endUser?: string;
  readonly twinIds?: readonly string[];
  readonly scope?: string;
  readonly expiresInSeconds?: number;
  readonly requestsPerHour?: number;
}

async function createToken(fixture: Fixture, key: string, fields: Fields = {}): Promise<ClientTokenResource> {
  return dataOf(await fixture.call("POST", "/client-tokens", key, { endUser: "ann", ...fields }));
}

/** The id of a new conversation. */
async function converse(fixture: Fixture, credential: string, fields: object = {}): Promise<string> {
  const created = await fixture.call("POST", "/conversations", credential, { twinId: "echo", ...fields });
  return (await dataOf<ConversationResource>(created)).id;
}

async function statusOf(fixture: Fixture, credential: string, path = "/twins/echo"): Promise<number> {
  return (await fixture.call("GET", path, credential)).status;
}

for (const transport of transports) {
  describe(`client tokens, ${transport.name}`, () => {
    test("a key creates one, with defaults", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const response = await fixture.call("POST", "/client-tokens", key, { endUser: "ann" });
      assert.equal(response.status, 201);
      const { token, ...rest } = await dataOf<ClientTokenResource>(response);
      assert.match(token, /^twinct_[0-9A-Za-z]{49}$/);
      assert.deepEqual(rest, {
        endUser: "ann",
        twinIds: null,
        scope: "full_access",
        requestsPerHour: 100,
        tokensPerDay: null,
        tokensPerMonth: null,
        expiresAt: "2026-01-02T03:14:05.678Z",
      });
      const given = { twinIds: ["echo", "private", "echo"], scope: "read_only", expiresInSeconds: 60 };
      const limited = await createToken(fixture, key, { ...given, requestsPerHour: 500 });
      assert.deepEqual(
        [limited.twinIds, limited.scope, limited.requestsPerHour, limited.expiresAt],
        [["echo", "private"], "read_only", 500, "2026-01-02T03:05:05.678Z"],
      );
    });

    test("what it cannot be created with is refused", async () => {
      await using fixture = await openFixture(transport, { requestsPerHour: { full_access: 90 } });
      const key = await fixture.key();
      assert.equal((await createToken(fixture, key)).requestsPerHour, 90);
      const many = Array.from({ length: 51 }, (_, n) => `twin ${n}`);
      for (const [fields, path] of [
        [{ endUser: undefined }, "endUser"],
        [{ endUser: ".." }, "endUser"],
        [{ twinIds: [] }, "twinIds"],
        [{ twinIds: ["echo", 1] }, "twinIds"],
        [{ twinIds: many }, "twinIds"],
        [{ scope: null }, "scope"],
        [{ expiresInSeconds: 59 }, "expiresInSeconds"],
        [{ expiresInSeconds: 3601 }, "expiresInSeconds"],
        [{ expiresInSeconds: null }, "expiresInSeconds"],
        [{ requestsPerHour: 0 }, "requestsPerHour"],
        [{ requestsPerHour: 91 }, "requestsPerHour"],
        [{ requestsPerHour: null }, "requestsPerHour"],
      ] as const) {
        const refused = await fixture.call("POST", "/client-tokens", key, { endUser: "ann", ...fields });
        await assertRefusedField(refused, path, JSON.stringify(fields));
      }
      const unknown = { endUser: "ann", twinIds: ["echo", "nobody"] };
      const notFound = await fixture.call("POST", "/client-tokens", key, unknown);
      await assertErrorAnswer(notFound, 404, "twin_not_found");
      const once = { "Idempotency-Key": "1" };
      const again = await fixture.call("POST", "/client-tokens", key, { endUser: "ann" }, once);
      await assertErrorAnswer(again, 400, "idempotency_not_supported");
    });

    test("it is sent like a key, in either header, and does what its scope permits", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const { token } = await createToken(fixture, key);
      const inOther = await fixture.send("/api/v1/twins", { headers: { "X-API-Key": token } });
      assert.equal(inOther.status, 200);
      const id = await converse(fixture, token);
      const sent = await fixture.call("POST", `/conversations/${id}/messages`, token, { content: "Hi" });
      const { content } = await dataOf<MessageResource>(sent);
      assert.equal(content, "Hi");
      const readOnly = (await createToken(fixture, key, { scope: "read_only" })).token;
      const refused = await fixture.call("POST", "/conversations", readOnly, { twinId: "echo" });
      assert.equal(refused.status, 403);
      assert.match(refused.headers.get("www-authenticate") ?? "", /scope="full_access"/);
    });

    test("it sees the conversations of its end user alone, and begins its own", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const { token } = await createToken(fixture, key);
      const mine = await converse(fixture, token);
      const given = await converse(fixture, key, { endUser: "ann" });
      const others = [await converse(fixture, key, { endUser: "bob" }), await converse(fixture, key)];
      others.push(await converse(fixture, await fixture.key("full_access", "carol"), { endUser: "ann" }));
      assert.deepEqual(await listIds(fixture, token, "/conversations"), [given, mine]);
      assert.deepEqual(await listIds(fixture, token, "/conversations?endUser=ann"), [given, mine]);
      assert.deepEqual(await listIds(fixture, token, "/conversations?endUser=bob"), []);
      const read = await fixture.call("GET", `/conversations/${mine}`, key);
      assert.equal((await dataOf<ConversationResource>(read)).endUser, "ann");
      const missing = await fixture.call("GET", "/conversations/conv_0", token);
      const told = await errorOf(missing);
      for (const id of others) {
        for (const [method, path, body] of [
          ["GET", `/conversations/${id}`, undefined],
          ["PATCH", `/conversations/${id}`, { title: "stolen" }],
          ["DELETE", `/conversations/${id}`, undefined],
          ["GET", `/conversations/${id}/messages`, undefined],
          ["POST", `/conversations/${id}/messages`, { content: "Hi" }],
          ["POST", `/conversations/${id}/messages/stream`, { content: "Hi" }],
        ] as const) {
          const response = await fixture.call(method, path, token, body);
          const { message } = await assertErrorAnswer(response, 404, told.code, `${method} ${path}`);
          assert.equal(message, told.message);
        }
      }
      const named = await fixture.call("POST", "/conversations", token, { twinId: "echo", endUser: "bob" });
      assert.equal(named.status, 400);
      assert.ok(await converse(fixture, token, { endUser: "ann" }));
    });

    test("it sees its twins alone, and conversations with them", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const { token } = await createToken(fixture, key, { twinIds: ["private"] });
      assert.deepEqual(await listIds(fixture, token, "/twins"), ["private"]);
      assert.equal(await statusOf(fixture, token), 404);
      assert.equal((await fixture.call("POST", "/conversations", token, { twinId: "echo" })).status, 404);
      const kept = await converse(fixture, token, { twinId: "private" });
      const hidden = await converse(fixture, key, { endUser: "ann" });
      assert.deepEqual(await listIds(fixture, token, "/conversations"), [kept]);
      assert.equal(await countConversations(fixture, token), 1);
      assert.deepEqual(await listIds(fixture, token, "/conversations?twinId=echo"), []);
      for (const [method, path, body] of [
        ["GET", `/conversations/${hidden}`, undefined],
        ["PATCH", `/conversations/${hidden}`, { title: "stolen" }],
        ["DELETE", `/conversations/${hidden}`, undefined],
        ["POST", `/conversations/${hidden}/messages`, { content: "Hi" }],
      ] as const) {
        assert.equal((await fixture.call(method, path, token, body)).status, 404, `${method} ${path}`);
      }
      assert.equal(await statusOf(fixture, key, `/conversations/${hidden}`), 200);
    });

    test("a replay of a twin outside its twins is not found", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const [wide, narrow] = [
        await createToken(fixture, key),
        await createToken(fixture, key, { twinIds: ["private"] }),
      ];
      const begin = ({ token }: ClientTokenResource) =>
        fixture.call("POST", "/conversations", token, { twinId: "echo" }, { "Idempotency-Key": "1" });
      assert.equal((await begin(wide)).status, 201);
      assert.equal((await begin(narrow)).status, 404);
      assert.equal((await begin(wide)).headers.get("idempotency-replayed"), "true");
    });

    test("it is not for client tokens, end users or API keys", async () => {
      await using fixture = await openFixture(transport);
      const { token } = await createToken(fixture, await fixture.key());
      for (const [method, path, body] of [
        ["POST", "/client-tokens", { endUser: "ann" }],
        ["DELETE", "/client-tokens?endUser=ann", undefined],
        ["GET", "/end-users/ann/export", undefined],
        ["DELETE", "/end-users/ann", undefined],
      ] as const) {
        const refused = await fixture.call(method, path, token, body);
        assert.equal(refused.status, 403, `${method} ${path}`);
        const challenge = refused.headers.get("www-authenticate");
        assert.equal(challenge, 'Bearer realm="twins", error="insufficient_scope"');
      }
      assert.equal(await statusOf(fixture, token, "/auth/api-keys"), 401);
    });

    test("it ends with its time, its key, and the deletion of its end user's tokens", async () => {
      await using fixture = await openFixture(transport);
      const [key, other] = [await fixture.key(), await fixture.key()];
      const short = await createToken(fixture, key, { expiresInSeconds: 60 });
      const { token } = await createToken(fixture, other);
      const bob = await createToken(fixture, other, { endUser: "bob" });
      for (const each of [short, bob]) assert.equal(await statusOf(fixture, each.token), 200);
      await fixture.clock.advance(59_999);
      assert.equal(await statusOf(fixture, short.token), 200);
      await fixture.clock.advance(1);
      assert.equal(await statusOf(fixture, short.token), 401);
      assert.equal(await statusOf(fixture, token), 200);
      for (const query of ["", "?endUser=", "?endUser=a&endUser=a"]) {
        assert.equal((await fixture.call("DELETE", `/client-tokens${query}`, key)).status, 400, query);
      }
      for (let n = 0; n < 2; n++) {
        assert.equal((await fixture.call("DELETE", "/client-tokens?endUser=ann", key)).status, 204);
        assert.equal(await statusOf(fixture, token), 401);
      }
      assert.equal(await statusOf(fixture, bob.token), 200);
      const jwt = await fixture.token();
      const keys = await dataOf<{ id: string }[]>(await fixture.call("GET", "/auth/api-keys", jwt));
      for (const { id } of keys) await fixture.call("DELETE", `/auth/api-keys/${id}`, jwt);
      assert.equal(await statusOf(fixture, bob.token), 401);
    });

    test("a malformed or unknown one is refused like a key", async () => {
      await using fixture = await openFixture(transport);
      const { token } = await createToken(fixture, await fixture.key());
      const told = await errorOf(await fixture.call("GET", "/twins", `twin_${"0".repeat(49)}`));
      for (const wrong of [
        token.slice(0, -1),
        `${token}0`,
        token.toLowerCase(),
        `twinct_${"0".repeat(49)}`,
      ]) {
        const refused = await fixture.call("GET", "/twins", wrong);
        assert.equal((await assertErrorAnswer(refused, 401, told.code)).message, told.message);
      }
    });

    test("each request takes from its own bucket and from its key's, or from neither", async () => {
      await using fixture = await openFixture(transport, { requestsPerHour: { full_access: 20 } });
      const key = await fixture.key();
      const { token } = await createToken(fixture, key, { requestsPerHour: 5 });
      const usage = async (credential: string) =>
        (await dataOf<UsageResource>(await fixture.call("GET", "/usage", credential))).remaining;
      for (let n = 0; n < 4; n++) assert.equal(await statusOf(fixture, token), 200);
      assert.deepEqual([await usage(token), await usage(key)], [1, 15]);
      const last = await fixture.call("GET", "/twins", token);
      assert.equal(last.headers.get("ratelimit-policy"), '"client";q=5;w=3600, "hourly";q=20;w=3600');
      assert.equal(last.headers.get("x-ratelimit-remaining"), "0");
      const refused = await fixture.call("GET", "/twins", token);
      assert.equal(refused.status, 429);
      assert.equal(refused.headers.get("retry-after"), "720");
      assert.deepEqual([await usage(token), await usage(key)], [0, 14]);

      const bob = await createToken(fixture, key, { endUser: "bob", requestsPerHour: 20 });
      for (let n = 0; n < 13; n++) assert.equal(await statusOf(fixture, bob.token), 200);
      const empty = await fixture.call("GET", "/twins", bob.token);
      assert.equal(empty.status, 429);
      assert.equal(empty.headers.get("retry-after"), "180");
      assert.equal(empty.headers.get("x-ratelimit-limit"), "20");
      assert.deepEqual([await usage(bob.token), await usage(key)], [7, 0]);
      const looked = await fixture.call("GET", "/usage", bob.token);
      assert.equal(looked.headers.get("x-ratelimit-remaining"), "0");
      assert.equal((await dataOf<UsageResource>(looked)).limit, 20);
    });

    test("a new token does not refill the bucket, whatever its size", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const first = await createToken(fixture, key, { requestsPerHour: 3 });
      for (let n = 0; n < 3; n++) assert.equal(await statusOf(fixture, first.token), 200);
      const second = await createToken(fixture, key, { requestsPerHour: 50 });
      assert.equal(await statusOf(fixture, second.token), 429);
      assert.equal((await fixture.call("GET", "/usage", first.token)).headers.get("x-ratelimit-limit"), "50");
    });
  });
}
