/**
 * The people behind a key.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMemoryLimiter, type RateLimiter } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { ClientTokenResource, ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { joined } from "../support/clock.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  eventsOf,
  type Fixture,
  inProcess,
  listIds,
  openFixture,
  terminal,
  transports,
} from "../support/harness.ts";

/** Begins a conversation, and returns it. */
async function converse(fixture: Fixture, key: string, fields: object = {}): Promise<ConversationResource> {
  return dataOf(await fixture.call("POST", "/conversations", key, { twinId: "echo", ...fields }));
}

for (const transport of transports) {
  describe(`conversations of end users, ${transport.name}`, () => {
    test("a key lists one end user's conversations, with one twin or any, and still sees all", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const endUser = "ü%/👩‍💻";
      const a = await converse(fixture, key, { endUser });
      await converse(fixture, key, { endUser: "bob" });
      const b = await converse(fixture, key, { endUser, twinId: "private" });
      await converse(fixture, key);
      const list = (query: string) => listIds(fixture, key, `/conversations?${query}`);
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
        assert.equal(
          await assertRefusedField(refused, "endUser", JSON.stringify(endUser)),
          "must be a string of 1 to 128 characters, neither . nor .., without control characters or lone surrogates",
        );
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

/** The lines of an export. */
async function exported(fixture: Fixture, key: string, endUser: string) {
  const response = await fixture.call("GET", `/end-users/${encodeURIComponent(endUser)}/export`, key);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/x-ndjson");
  const lines = (await response.text()).split("\n").filter((line) => line !== "");
  return lines.map(
    (line) => JSON.parse(line) as { conversation?: ConversationResource; message?: MessageResource },
  );
}

async function send(
  fixture: Fixture,
  credential: string,
  id: string,
  headers: HeadersInit = {},
  content = "Where is the sea?",
) {
  return fixture.call("POST", `/conversations/${id}/messages`, credential, { content }, headers);
}

for (const transport of transports) {
  describe(`an end user's data, ${transport.name}`, () => {
    test("an export has each conversation, followed by its messages, oldest first, as the API shows them", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const endUser = "a/b%2F?#👩‍💻".repeat(8);
      const first = await converse(fixture, key, { endUser, title: "One" });
      await converse(fixture, key, { endUser: "bob" });
      const second = await converse(fixture, key, { endUser });
      for (let n = 0; n < 12; n++) await send(fixture, key, first.id);
      await send(fixture, key, second.id);
      const expected = [];
      for (const { id } of [first, second]) {
        expected.push({ conversation: await dataOf(await fixture.call("GET", `/conversations/${id}`, key)) });
        const messages = await fixture.call("GET", `/conversations/${id}/messages?limit=100`, key);
        for (const message of await dataOf<MessageResource[]>(messages)) expected.push({ message });
      }
      assert.equal(expected.length, 28);
      assert.deepEqual(await exported(fixture, await fixture.key("read_only"), endUser), expected);
    });

    test("an unknown end user's export is empty, and so is another owner's", async () => {
      await using fixture = await openFixture(transport);
      await converse(fixture, await fixture.key(), { endUser: "ann" });
      const key = await fixture.key("full_access", "carol");
      for (const endUser of ["ann", "nobody"]) assert.deepEqual(await exported(fixture, key, endUser), []);
    });

    test("what can be no end user is refused", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      for (const name of ["%00", "a%0Ab", "%C2%85", "x".repeat(129)]) {
        for (const [method, path] of [
          ["GET", `/end-users/${name}/export`],
          ["DELETE", `/end-users/${name}`],
        ] as const) {
          const refused = await fixture.call(method, path, key);
          await assertErrorAnswer(refused, 400, "validation_error", name);
        }
      }
    });

    test("erasing removes all of one end user, for good, and nothing of another", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const create = async (endUser: string, fields: object = {}) =>
        dataOf<ClientTokenResource>(
          await fixture.call("POST", "/client-tokens", key, { endUser, requestsPerHour: 9, ...fields }),
        );
      const old = await create("ann", { expiresInSeconds: 60 });
      await fixture.clock.advance(60_000);
      const [ann, bob] = [await create("ann"), await create("bob")];
      const mine = await converse(fixture, ann.token);
      await converse(fixture, key, { endUser: "ann" });
      const other = await converse(fixture, bob.token);
      const claim = { "Idempotency-Key": "1" };
      for (const credential of [key, ann.token]) await send(fixture, credential, mine.id, claim);
      await send(fixture, bob.token, other.id, claim);
      const erase = async (endUser: string) =>
        dataOf(await fixture.call("DELETE", `/end-users/${endUser}`, key));
      assert.deepEqual(await erase("ann"), {
        endUser: "ann",
        conversations: 2,
        messages: 4,
        clientTokens: 1,
      });
      assert.deepEqual(await erase("ann"), {
        endUser: "ann",
        conversations: 0,
        messages: 0,
        clientTokens: 0,
      });
      assert.deepEqual(await exported(fixture, key, "ann"), []);
      assert.equal((await fixture.call("GET", `/conversations/${mine.id}`, key)).status, 404);
      for (const { token } of [ann, old]) {
        assert.equal((await fixture.call("GET", "/twins", token)).status, 401);
      }
      assert.equal((await exported(fixture, key, "bob")).length, 3);
      const again = await send(fixture, bob.token, other.id, claim);
      assert.equal(again.headers.get("idempotency-replayed"), "true");
      const fresh = await fixture.call("GET", "/twins", (await create("ann")).token);
      assert.equal(fresh.headers.get("x-ratelimit-remaining"), "8");
    });

    test("a key reads what its replies took, by day, twin or end user, of at most 400 days", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("full_access");
      await send(fixture, key, (await converse(fixture, key, { endUser: "ann" })).id);
      await send(fixture, key, (await converse(fixture, key)).id);
      const read = async (query: string) => dataOf(await fixture.call("GET", `/usage/history${query}`, key));
      const none = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
      assert.deepEqual(await read(""), [{ group: "2026-01-02", replies: 2, ...none }]);
      assert.deepEqual(await read("?groupBy=endUser&from=2026-01-02&to=2026-01-02"), [
        { group: null, replies: 1, ...none },
        { group: "ann", replies: 1, ...none },
      ]);
      assert.deepEqual(await read("?to=2026-01-01"), []);
      const longest = await read("?groupBy=twin&from=2024-11-29&to=2026-01-02");
      assert.deepEqual(longest, [{ group: "echo", replies: 2, ...none }]);
      for (const query of [
        "from=2026-02-30",
        "to=2026-1-1",
        "from=2026-01-01&to=2026-02-31",
        "groupBy=key",
        "from=2026-01-03",
        "from=2024-11-28&to=2026-01-02",
      ]) {
        assert.equal((await fixture.call("GET", `/usage/history?${query}`, key)).status, 400, query);
      }
      const history = await fixture.call("GET", "/usage/history", key);
      assert.equal(history.headers.get("x-ratelimit-remaining"), "485");
    });

    test("the usage history says how it takes a day", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("full_access");
      for (const query of ["from=2026-1-1", "from=2026-02-30"]) {
        const { error } = await (await fixture.call("GET", `/usage/history?${query}`, key)).json();
        assert.match(error.message, /^from must be a day[^,]*, YYYY-MM-DD\.$/);
      }
    });

    /** A reply in progress to an end user. */
    async function begin({ fixture, key, engine }: Chat, endUser: string) {
      const { id } = await converse(fixture, key, { twinId: "scripted", endUser });
      const streaming = fixture.call("POST", `/conversations/${id}/messages/stream`, key, { content: "Hi" });
      await engine.next();
      return { id, stream: await streaming };
    }

    test("erasing stops a running reply, whose stream ends as cancelled", async () => {
      await using chat = await openChat(transport);
      const { stream } = await begin(chat, "ann");
      const erased = await dataOf(await chat.fixture.call("DELETE", "/end-users/ann", chat.key));
      assert.deepEqual(erased, { endUser: "ann", conversations: 1, messages: 2, clientTokens: 0 });
      const [last] = terminal(await eventsOf(stream));
      assert.ok(last?.data.type === "complete" && last.data.message.status === "cancelled");
    });

    test("a reply that is stopped by deleting or erasing is counted", async () => {
      await using chat = await openChat(transport);
      const { call } = chat.fixture;
      const [bob, ann] = [await begin(chat, "bob"), await begin(chat, "ann")];
      await call("DELETE", `/conversations/${bob.id}`, chat.key);
      await call("DELETE", "/end-users/ann", chat.key);
      for (const { stream } of [bob, ann]) await stream.text();
      const none = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
      assert.deepEqual(await dataOf(await call("GET", "/usage/history?groupBy=endUser", chat.key)), [
        { group: null, replies: 1, ...none },
        { group: "bob", replies: 1, ...none },
      ]);
    });
  });
}

describe("erasing", () => {
  test("is to be repeated where the buckets cannot be reached", async () => {
    const memory = createMemoryLimiter();
    let down = true;
    const limiter = {
      ...memory,
      forget: (ids: readonly string[]) =>
        down ? Promise.reject(new Error("redis://secret is down")) : memory.forget(ids),
    };
    await using fixture = await openFixture(inProcess, { limiter });
    const key = await fixture.key();
    const refused = await fixture.call("DELETE", "/end-users/ann", key);
    assert.equal(refused.headers.get("retry-after"), "5");
    await assertErrorAnswer(refused, 503, "unavailable");
    down = false;
    assert.equal((await fixture.call("DELETE", "/end-users/ann", key)).status, 200);
  });

  test("leaves no bucket that another process makes again, as it may know the token for 5 seconds", async () => {
    const buckets = new Set<string>();
    const memory = createMemoryLimiter();
    const limiter: RateLimiter = {
      ...memory,
      takeBoth(first, second) {
        for (const { id } of [first, second]) buckets.add(id);
        return memory.takeBoth(first, second);
      },
      async forget(ids) {
        for (const id of ids) buckets.delete(id);
      },
    };
    const shared = { limiter, store: createMemoryStore() };
    await using here = await openFixture(inProcess, shared);
    await using there = await openFixture(inProcess, shared, here.clock);
    const key = await here.key();
    const { token } = await dataOf<ClientTokenResource>(
      await here.call("POST", "/client-tokens", key, { endUser: "ann" }),
    );
    const namesAnn = () => [...buckets].some((id) => id.includes("ann"));
    assert.equal((await there.call("GET", "/twins", token)).status, 200);
    await here.call("DELETE", "/end-users/ann", key);
    assert.equal((await there.call("GET", "/twins", token)).status, 200);
    assert.ok(namesAnn());
    await here.clock.advance(5_000);
    assert.equal((await there.call("GET", "/twins", token)).status, 401);
    assert.ok(!namesAnn());
  });
});

describe("an export", () => {
  /** Opens an export of a hundred messages, and notes how many are read from the store at a time. */
  async function openExport(content?: string) {
    const memory = createMemoryStore();
    const reads: number[] = [];
    const store = {
      ...memory,
      async listMessages(...parameters: Parameters<typeof memory.listMessages>) {
        const found = await memory.listMessages(...parameters);
        reads.push(found?.items.length ?? 0);
        return found;
      },
    };
    const fixture = await openFixture(inProcess, { store });
    const key = await fixture.key();
    const { id } = await converse(fixture, key, { endUser: "ann" });
    for (let n = 0; n < 50; n++) await send(fixture, key, id, {}, content);
    const { body } = await fixture.service.fetch(exportRequest(key));
    assert.ok(body);
    return {
      clock: fixture.clock,
      reader: body.getReader(),
      reads,
      [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
    };
  }

  const exportRequest = (key: string) =>
    new Request("http://twins.test/api/v1/end-users/ann/export", { headers: { "X-API-Key": key } });

  /** Reads to the end, and returns the number of bytes. */
  async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<number> {
    let size = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) size += part.value.length;
    return size;
  }

  test("reads from the store only as fast as its reader takes it", async () => {
    await using opened = await openExport();
    for (let n = 0; n < 2; n++) await opened.reader.read();
    assert.ok(opened.reads.length <= 3, `${opened.reads.length} reads`);
    assert.ok((await drain(opened.reader)) > 10_000);
    assert.deepEqual(opened.reads, [20, 20, 20, 20, 20]);
  });

  test("reads fewer messages at a time if they are long", async () => {
    await using opened = await openExport("x".repeat(32_000));
    assert.ok((await drain(opened.reader)) > 3_200_000);
    assert.equal(Math.max(...opened.reads), 8);
  });

  test("is cut whose reader takes nothing for a minute, and reads no more", async () => {
    await using opened = await openExport();
    for (let n = 0; n < 2; n++) {
      assert.equal((await opened.reader.read()).done, false);
      await joined(); // the next piece may wait for its turn
      await opened.clock.advance(59_000);
    }
    const before = opened.reads.length;
    await opened.clock.advance(1_000);
    await assert.rejects(drain(opened.reader));
    assert.equal(opened.reads.length, before);
  });

  test("that breaks off is cut, so that nobody takes a part for the whole", async () => {
    const memory = createMemoryStore();
    const store = {
      ...memory,
      listMessages: () => Promise.reject(new Error("the disk is gone")),
    };
    const logged: string[] = [];
    await using fixture = await openFixture(inProcess, {
      store,
      log: (level, message) => void (level === "error" && logged.push(message)),
    });
    const key = await fixture.key();
    await converse(fixture, key, { endUser: "ann" });
    const response = await fixture.service.fetch(exportRequest(key));
    await assert.rejects(response.text());
    assert.deepEqual(logged, ["an export broke off"]);
  });
});
