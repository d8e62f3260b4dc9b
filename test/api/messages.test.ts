import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers";
import type { MessageResource, Pagination, TwinEngine } from "../../core/mod.ts";
import { ModelError } from "../../core/mod.ts";
import type { ConversationResource } from "../../core/wire/schemas.ts";
import {
  dataOf,
  errorOf,
  eventsOf,
  type Fixture,
  newTwin,
  openFixture,
  textOf,
  transports,
} from "../support/harness.ts";

const echoTwin = newTwin({ id: "echo" });

for (const transport of transports) {
  describe(`messages, ${transport.name}`, () => {
    test("a normal send answers with the whole reply", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      const response = await fixture.call("POST", path, key, { content: "Hello, twin!" });
      assert.equal(response.status, 200);
      const { id, conversationId, inReplyTo, ...reply } = await dataOf<MessageResource>(response);
      assert.match(id, /^msg_/);
      assert.match(inReplyTo ?? "", /^msg_/);
      assert.equal(path, `/conversations/${conversationId}/messages`);
      assert.deepEqual(reply, {
        role: "assistant",
        content: "Hello, twin!",
        status: "completed",
        finishReason: "stop",
        usage: null,
        error: null,
        sources: null,
        twinRevision: reply.twinRevision,
        attempt: 1,
        createdAt: "2026-01-02T03:04:05.678Z",
        completedAt: "2026-01-02T03:04:05.678Z",
      });
    });

    test("the history has the question, and the reply as it was returned", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      const reply = await dataOf<MessageResource>(await fixture.call("POST", path, key, { content: "Hi" }));
      const [question, kept, ...more] = await history(fixture, key, path);
      assert.deepEqual(more, []);
      assert.deepEqual(kept, reply);
      assert.deepEqual(question, {
        ...reply,
        id: reply.inReplyTo,
        role: "user",
        content: "Hi",
        finishReason: null,
        inReplyTo: null,
        twinRevision: null,
      });
      for (const message of [question, reply]) {
        assert.deepEqual(await dataOf(await fixture.call("GET", `${path}/${message?.id}`, key)), message);
      }
    });

    test("a conversation has its message count and the time of its last message", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      await fixture.clock.advance(1000);
      await fixture.call("POST", path, key, { content: "Hi" });
      const response = await fixture.call("GET", path.replace("/messages", ""), key);
      const conversation = await dataOf<ConversationResource>(response);
      assert.equal(conversation.status, "idle");
      assert.equal(conversation.messageCount, 2);
      assert.equal(conversation.lastMessageAt, "2026-01-02T03:04:06.678Z");
    });

    test("an event's id counts the UTF-16 code units of the reply so far, and its text is on one line", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      const content = 'a\u2028b\u2029c\u0085d 😀\r\n\n"e"\\ : data: x';
      const response = await fixture.call("POST", `${path}/stream`, key, { content });
      const text = await response.text();
      assert.doesNotMatch(text, /[\u0085\u2028\u2029\r\ufeff]/);
      let offset = 0;
      for (const block of text.split("\n\n").slice(0, -1)) {
        const [idLine = "", dataLine = "", ...more] = block.split("\n");
        assert.deepEqual(more, []);
        const data = JSON.parse(dataLine.replace(/^data: /, "")) as { type: string; content: string };
        if (data.type === "delta") offset += data.content.length;
        assert.equal(idLine, `id: ${offset}`);
      }
      assert.equal(offset, content.length);
      assert.equal((await history(fixture, key, path))[1]?.content, content);
    });

    for (const content of ['"content":""', "$& $` $1", "{\\", "\u2028"]) {
      test(`the last event has the stored reply: ${JSON.stringify(content)}`, async () => {
        const text = `:${content}:`;
        await using fixture = await openFixture(transport);
        const { key, path } = await openConversation(fixture);
        const response = await fixture.call("POST", `${path}/stream`, key, { content: text });
        const [last] = (await eventsOf(response)).slice(-1);
        const [, reply] = await history(fixture, key, path);
        assert.equal(reply?.content, text);
        assert.deepEqual(last?.data, { type: "complete", message: reply });
      });
    }

    test("a failure before the first event is an ordinary JSON error", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      const response = await fixture.call("POST", `${path}/stream`, key, { content: "" });
      assert.equal(response.status, 400);
      assert.equal((await errorOf(response)).code, "validation_error");
      const missing = await fixture.call("POST", "/conversations/conv_x/messages/stream", key, {
        content: "Hi",
      });
      assert.equal(missing.status, 404);
      assert.equal((await errorOf(missing)).code, "conversation_not_found");
    });

    test("by default, tokens in quick succession share deltas, and none is lost", async () => {
      const tokens = Array.from({ length: 200 }, (_, index) => `${index} `);
      const engine: TwinEngine = {
        async reply(_, output) {
          for (const token of tokens) {
            output.write(token);
            await new Promise((resolve) => setImmediate(resolve));
          }
          return { finishReason: "stop", usage: null };
        },
      };
      await using fixture = await openFixture(transport, {
        engines: { echo: engine },
        joinTokens: undefined,
      });
      const { key, path } = await openConversation(fixture);
      const events = await eventsOf(await fixture.call("POST", `${path}/stream`, key, { content: "Count" }));
      assert.equal(textOf(events), tokens.join(""));
      const deltas = events.filter(({ data }) => data.type === "delta");
      assert.ok(deltas.length < tokens.length / 2, `${deltas.length} deltas`);
    });

    test("a stream that is complete at once is sent as one text of known length", async () => {
      await using fixture = await openFixture(transport, { joinTokens: true });
      const { key, path } = await openConversation(fixture);
      const response = await fixture.call("POST", `${path}/stream`, key, { content: "Séance" });
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (fixture.url) assert.equal(response.headers.get("content-length"), String(bytes.length));
      assert.equal(textOf(await eventsOf(new Response(bytes))), "Séance");
    });

    for (const { code, status } of [
      { code: "model_error", status: 502 },
      { code: "model_timeout", status: 504 },
    ] as const) {
      test(`a reply that fails is ${status} ${code}, and is stored with its partial text`, async () => {
        const engine: TwinEngine = {
          async reply(_, output) {
            output.write("So far ");
            throw new ModelError(code, "upstream said: secret");
          },
        };
        await using fixture = await openFixture(transport, { engines: { echo: engine } });
        const { key, path } = await openConversation(fixture);
        const response = await fixture.call("POST", path, key, { content: "Hi" });
        assert.equal(response.status, status);
        const error = await errorOf(response);
        assert.equal(error.code, code);
        const [, reply] = await history(fixture, key, path);
        assert.equal(error.details?.messageId, reply?.id);
        assert.equal(reply?.status, "failed");
        assert.equal(reply?.finishReason, "error");
        assert.equal(reply?.content, "So far ");
        assert.equal(reply?.error?.code, code);
        assert.doesNotMatch(JSON.stringify([error, reply]), /secret/);

        const events = await eventsOf(await fixture.call("POST", `${path}/stream`, key, { content: "Hi" }));
        assert.equal(textOf(events), "So far ");
        const last = events.at(-1)?.data;
        assert.ok(last?.type === "error");
        assert.equal(last.error.code, code);
        assert.match(last.error.requestId, /^req_/);
      });
    }

    test("messages are listed oldest first, or in reverse, in pages", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      for (const content of ["1", "2", "3"]) await fixture.call("POST", path, key, { content });
      const contents = async (query: string) =>
        (await history(fixture, key, path + query)).map(({ role, content }) => role[0] + content);
      assert.deepEqual(await contents(""), ["u1", "a1", "u2", "a2", "u3", "a3"]);
      assert.deepEqual(await contents("?order=asc&limit=4&page=2"), ["u3", "a3"]);
      assert.deepEqual(await contents("?order=desc&limit=4"), ["a3", "u3", "a2", "u2"]);
      assert.deepEqual(await contents("?page=2"), []);
    });

    test("after=<id> lists what follows a message, in the requested order", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      for (const content of ["1", "2", "3"]) await fixture.call("POST", path, key, { content });
      const all = await history(fixture, key, path);
      const third = all[2]?.id;
      const behind = await fixture.call("GET", `${path}?after=${third}&limit=2`, key);
      const { data, pagination } = (await behind.json()) as {
        data: MessageResource[];
        pagination: Pagination;
      };
      assert.deepEqual(data, all.slice(3, 5));
      assert.deepEqual(pagination, { page: 1, limit: 2, total: 3, totalPages: 2, hasMore: true });
      const before = await history(fixture, key, `${path}?after=${third}&order=desc`);
      assert.deepEqual(before, all.slice(0, 2).reverse());
      assert.deepEqual(await history(fixture, key, `${path}?after=${all.at(-1)?.id}`), []);
    });

    test("a message that is read, or named by after, must belong to the conversation", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      const other = await openConversation(fixture);
      const elsewhere = await dataOf<MessageResource>(
        await fixture.call("POST", other.path, other.key, { content: "Hi" }),
      );
      for (const after of ["msg_nowhere", elsewhere.id]) {
        const response = await fixture.call("GET", `${path}?after=${after}`, key);
        assert.equal(response.status, 404);
        assert.equal((await errorOf(response)).code, "message_not_found");
        const read = await fixture.call("GET", `${path}/${after}`, key);
        assert.equal(read.status, 404);
        assert.equal((await errorOf(read)).code, "message_not_found");
      }
    });

    test("invalid or repeated values of order and after are refused", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      for (const query of ["order=ASC", "order=", "order=asc&order=asc", "after=", "after=a&after=b"]) {
        const response = await fixture.call("GET", `${path}?${query}`, key);
        assert.equal(response.status, 400, query);
        assert.equal((await errorOf(response)).code, "validation_error");
      }
    });

    test("a user's message can be neither streamed nor cancelled", async () => {
      await using fixture = await openFixture(transport);
      const { key, path } = await openConversation(fixture);
      await fixture.call("POST", path, key, { content: "Hi" });
      const [question] = await history(fixture, key, path);
      for (const [method, rest] of [
        ["GET", "stream"],
        ["POST", "cancel"],
      ] as const) {
        const response = await fixture.call(method, `${path}/${question?.id}/${rest}`, key);
        assert.equal(response.status, 404);
        const { code, message } = await errorOf(response);
        assert.equal(code, "message_not_found");
        assert.match(message, /^This is a user's message; only a twin's reply can be/);
      }
    });

    test("a message to a twin that its owner may no longer use is refused", async () => {
      let allowed = true;
      await using fixture = await openFixture(transport, {
        twins: {
          list: async () => ({ items: [], total: 0 }),
          get: async () => (allowed ? echoTwin : undefined),
        },
      });
      const { key, path } = await openConversation(fixture);
      allowed = false;
      const response = await fixture.call("POST", path, key, { content: "Hi" });
      assert.equal(response.status, 404);
      assert.equal((await errorOf(response)).code, "twin_not_found");
      assert.deepEqual(await history(fixture, key, path), []);
    });
  });
}

async function openConversation(fixture: Fixture): Promise<{ key: string; path: string }> {
  const key = await fixture.key();
  return { key, path: `/conversations/${await fixture.conversation(key)}/messages` };
}

async function history(fixture: Fixture, key: string, path: string): Promise<MessageResource[]> {
  return dataOf(await fixture.call("GET", path, key));
}
