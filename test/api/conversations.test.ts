import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { routes } from "../../core/api/routes.ts";
import { createTwinList } from "../../core/mod.ts";
import type { ConversationResource } from "../../core/wire/schemas.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  countConversations,
  dataOf,
  type Fixture,
  listIds,
  newTwin,
  openFixture,
  transports,
} from "../support/harness.ts";

for (const transport of transports) {
  describe(`conversations, ${transport.name}`, () => {
    test("a created conversation is returned with its Location", async () => {
      await using fixture = await openFixture(transport);
      const response = await fixture.call("POST", "/conversations", await fixture.key(), {
        twinId: "echo",
        title: "Tea",
      });
      assert.equal(response.status, 201);
      const conversation = await dataOf<ConversationResource>(response);
      assert.match(conversation.id, /^conv_[0-9a-z]+$/);
      assert.equal(response.headers.get("location"), `/api/v1/conversations/${conversation.id}`);
      const { id, ...rest } = conversation;
      assert.deepEqual(rest, {
        twinId: "echo",
        endUser: null,
        title: "Tea",
        status: "idle",
        messageCount: 0,
        lastMessageId: null,
        lastMessageAt: null,
        answeredBy: "twin",
        waitingSince: null,
        expiresAt: null,
        metadata: {},
        createdAt: "2026-01-02T03:04:05.678Z",
        updatedAt: "2026-01-02T03:04:05.678Z",
      });
    });

    test("Location leads to the conversation, under a base path too", async () => {
      await using fixture = await openFixture(transport, { basePath: "/chat/v9" });
      const key = await fixture.key();
      const created = await fixture.call("POST", "/conversations", key, { twinId: "echo" });
      const location = created.headers.get("location") ?? "";
      assert.match(location, /^\/chat\/v9\/api\/v1\/conversations\/conv_/);
      const read = await fixture.send(location, { headers: { "X-API-Key": key } });
      assert.deepEqual(await read.json(), await created.json());
    });

    test("ids ascend as conversations are created, however time passes", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const ids: string[] = [];
      for (const passed of [0, 0, 1, 31, 32, 1_000, 40_000_000, 0, -60_000, 0, 90_000]) {
        fixture.clock.step(passed);
        ids.push(await fixture.conversation(key));
      }
      assert.deepEqual(ids, [...ids].sort());
      assert.equal(new Set(ids).size, ids.length);
    });

    test("a title is optional, and null means none", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      for (const body of [{ twinId: "echo" }, { twinId: "echo", title: null }]) {
        const response = await fixture.call("POST", "/conversations", key, body);
        assert.equal((await dataOf<ConversationResource>(response)).title, null);
      }
    });

    test("a conversation needs a twin that its owner may use", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("full_access", "mallory");
      for (const twinId of ["private", "nowhere"]) {
        const response = await fixture.call("POST", "/conversations", key, { twinId });
        await assertErrorAnswer(response, 404, "twin_not_found");
      }
      assert.equal(await countConversations(fixture, key), 0);
    });

    test("a list has the owner's conversations, newest first, and can be limited to one twin", async () => {
      const twins = createTwinList([newTwin({ id: "a" }), newTwin({ id: "b" })]);
      await using fixture = await openFixture(transport, { twins });
      const key = await fixture.key();
      const ids: string[] = [];
      for (const twinId of ["a", "b", "a"]) {
        ids.push(await fixture.conversation(key, twinId));
        await fixture.clock.advance(1);
      }
      await fixture.conversation(await fixture.key("full_access", "bob"), "a");
      const [first, second, third] = ids;
      assert.deepEqual(await listIds(fixture, key, "/conversations"), [third, second, first]);
      assert.deepEqual(await listIds(fixture, key, "/conversations?twinId=a"), [third, first]);
      assert.deepEqual(await listIds(fixture, key, "/conversations?twinId=a&limit=1&page=2"), [first]);
      assert.deepEqual(await listIds(fixture, key, "/conversations?twinId=nowhere"), []);
    });

    test("metadata is stored, changed as a whole, and finds conversations", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const create = async (metadata?: object | null) => {
        const body = { twinId: "echo", ...(metadata !== undefined && { metadata }) };
        return dataOf<ConversationResource>(await fixture.call("POST", "/conversations", key, body));
      };
      const strange = { "a.b=&c": "Häuser 🏠 ?&=", blank: "" };
      const first = await create({ ticket: "4711", app: "web" });
      await fixture.clock.advance(1);
      const second = await create({ ticket: "4712", app: "web", ...JSON.parse('{"__proto__": "own"}') });
      await fixture.clock.advance(1);
      const third = await create(strange);
      assert.deepEqual((await create(null)).metadata, {});
      assert.deepEqual((await create()).metadata, {});
      assert.deepEqual(first.metadata, { ticket: "4711", app: "web" });
      assert.deepEqual(Object.entries(second.metadata).at(-1), ["__proto__", "own"]);
      const list = (query: string) => listIds(fixture, key, `/conversations?${query}`);
      assert.deepEqual(await list("metadata.app=web"), [second.id, first.id]);
      assert.deepEqual(await list("metadata.app=web&limit=1&page=2"), [first.id]);
      assert.deepEqual(await list("metadata.app=web&metadata.ticket=4712&twinId=echo"), [second.id]);
      assert.deepEqual(await list("metadata.app=WEB"), []);
      assert.deepEqual(await list("metadata.constructor=web"), []);
      assert.deepEqual(await list("metadata.__proto__=own"), [second.id]);
      const name = encodeURIComponent("a.b=&c");
      assert.deepEqual(await list(`metadata.${name}=${encodeURIComponent("Häuser 🏠 ?&=")}`), [third.id]);
      const changed = await fixture.call("PATCH", `/conversations/${first.id}`, key, {
        metadata: { ticket: "1" },
      });
      assert.deepEqual((await dataOf<ConversationResource>(changed)).metadata, { ticket: "1" });
      assert.deepEqual(await list("metadata.app=web"), [second.id]);
      assert.deepEqual(await list("metadata.ticket=1"), [first.id]);
      await fixture.call("PATCH", `/conversations/${first.id}`, key, { metadata: null });
      assert.deepEqual(await list("metadata.ticket=1"), []);
      await fixture.call("PATCH", `/conversations/${second.id}`, key, { title: "It stays." });
      await fixture.call("DELETE", `/conversations/${third.id}`, key);
      assert.deepEqual(await list(`metadata.${name}=${encodeURIComponent("Häuser 🏠 ?&=")}`), []);
      assert.deepEqual(await list("metadata.app=web"), [second.id]);
    });

    test("metadata beyond its limits, or of another kind, is refused", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const pairs = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, n) => [`${n}`, ""]));
      const send = (metadata: unknown) =>
        fixture.call("POST", "/conversations", key, { twinId: "echo", metadata });
      for (const metadata of [pairs(16), { ["🦜".repeat(64)]: "🦜".repeat(512) }]) {
        assert.equal((await send(metadata)).status, 201);
      }
      const refused = [
        ...[pairs(17), pairs(15_000), { ["n".repeat(65)]: "" }, { name: "v".repeat(513) }, { "": "empty" }],
        ...[{ name: 1 }, { name: null }, { name: {} }, ["a"], "text", 1, { name: "\0" }, { "\ud800": "" }],
      ];
      for (const metadata of refused) {
        const response = await send(metadata);
        await assertRefusedField(response, "metadata", JSON.stringify(metadata));
      }
      for (const query of [
        "metadata.=a",
        "metadata.a=1&metadata.a=2",
        "metadata.a=%ff",
        `metadata.a=${"v".repeat(513)}`,
      ]) {
        const response = await fixture.call("GET", `/conversations?${query}`, key);
        await assertErrorAnswer(response, 400, "validation_error", query);
      }
    });

    test("an empty, repeated or unprintable twinId in the query is refused", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only");
      for (const query of ["twinId=", "twinId", "twinId=a&twinId=b", "twinId=%00"]) {
        const response = await fixture.call("GET", `/conversations?${query}`, key);
        await assertErrorAnswer(response, 400, "validation_error", query);
      }
    });

    test("names and values in a query are decoded as form data", async () => {
      const twins = createTwinList([newTwin({ id: "Zoë B" }), newTwin({ id: "?" }), newTwin({ id: "A B" })]);
      await using fixture = await openFixture(transport, { twins });
      const key = await fixture.key();
      const id = await fixture.conversation(key, "Zoë B");
      const strange = await fixture.conversation(key, "?");
      const plain = await fixture.conversation(key, "A B");
      for (const query of [
        "?twinId=Zo%C3%AB+B",
        "?%74winId=Zo%c3%ab%20B",
        "?&=&x&twinId=Zo%C3%AB%20B&%ff=%zz",
      ]) {
        assert.deepEqual(await listIds(fixture, key, `/conversations${query}`), [id], query);
      }
      assert.deepEqual(await listIds(fixture, key, "/conversations?twinId=?"), [strange]);
      assert.deepEqual(await listIds(fixture, key, "/conversations?twinId=A+B"), [plain]);
      assert.deepEqual(await listIds(fixture, key, "/conversations??twinId=nowhere"), [plain, strange, id]);
    });

    test("a parameter that is not UTF-8, or has malformed escapes, is refused by its name", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only");
      for (const value of ["%ff", "echo%c3", "%c3%28", "%ed%a0%80", "%c0%80", "%", "%2", "%zz", "%u0041"]) {
        for (const name of ["twinId", "page"]) {
          const response = await fixture.call("GET", `/conversations?${name}=${value}`, key);
          assert.equal(await assertRefusedField(response, name, value), "must be percent-encoded UTF-8");
        }
        const path = `metadata.${value}`;
        const response = await fixture.call("GET", `/conversations?${path}=a`, key);
        assert.equal(await assertRefusedField(response, path, value), "must be percent-encoded UTF-8");
      }
    });

    test("a title can be changed and removed", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const id = await fixture.conversation(key);
      await fixture.clock.advance(1000);
      for (const title of ["Coffee", null]) {
        const response = await fixture.call("PATCH", `/conversations/${id}`, key, { title });
        assert.equal(response.status, 200);
        const conversation = await dataOf<ConversationResource>(response);
        assert.equal(conversation.title, title);
        assert.equal(conversation.updatedAt, "2026-01-02T03:04:06.678Z");
        const read = await fixture.call("GET", `/conversations/${id}`, key);
        assert.deepEqual(await dataOf(read), conversation);
      }
    });

    test("a PATCH that changes nothing is refused", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const id = await fixture.conversation(key);
      for (const body of [{}, { twinId: "private" }]) {
        await assertRefusedField(await fixture.call("PATCH", `/conversations/${id}`, key, body), "title");
      }
    });

    test("a deleted conversation is gone with its messages", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const id = await fixture.conversation(key);
      await fixture.call("POST", `/conversations/${id}/messages`, key, { content: "Hello" });
      const response = await fixture.call("DELETE", `/conversations/${id}`, key);
      assert.equal(response.status, 204);
      assert.equal(await response.text(), "");
      for (const [method, path] of [
        ["GET", `/conversations/${id}`],
        ["GET", `/conversations/${id}/messages`],
        ["DELETE", `/conversations/${id}`],
      ] as const) {
        await assertErrorAnswer(await fixture.call(method, path, key), 404, "conversation_not_found");
      }
      assert.equal(await countConversations(fixture, key), 0);
    });

    test("another owner's conversation gets the same answer as one that does not exist, on every endpoint", async () => {
      await using fixture = await openFixture(transport);
      const id = await fixture.conversation(await fixture.key("full_access", "bob"));
      const key = await fixture.key();
      const ofOne = "/api/v1/conversations/{id}";
      const endpoints = routes.filter(({ path }) => path.startsWith(ofOne));
      assert.ok(endpoints.length >= 9);
      for (const { method, path, body: schema } of endpoints) {
        const rest = path.slice(ofOne.length).replace("{messageId}", "msg_1");
        const body = schema && { title: "mine", content: "Hello", rating: "up" }; // members that a schema does not name are ignored
        const [hidden, missing] = await Promise.all(
          [id, "conv_nowhere"].map((each) => refusalOf(fixture, method, each + rest, key, body)),
        );
        assert.equal(hidden?.status, 404);
        assert.match(hidden?.body ?? "", /^\{"error":\{"code":"conversation_not_found",/);
        assert.deepEqual(hidden, missing, `${method} ${rest}`);
      }
    });
  });
}

/** An answer to compare with another: its status and body, with the request id masked. */
async function refusalOf(fixture: Fixture, method: string, path: string, key: string, body?: unknown) {
  const response = await fixture.call(method, `/conversations/${path}`, key, body);
  return { status: response.status, body: (await response.text()).replace(/req_\w+/, "req_") };
}
