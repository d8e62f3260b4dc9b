import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers";
import { createEchoEngine, ModelError, type TwinEngine } from "../../core/mod.ts";
import type { ConversationResource, MessageResource, Pagination } from "../../core/wire/schemas.ts";
import { type Chat, type ChatOptions, openChat } from "../support/chat.ts";
import {
  assertErrorAnswer,
  dataOf,
  eventsOf,
  newTwin,
  removable,
  type Transport,
  textOf,
  transports,
} from "../support/harness.ts";

/** A conversation with a twin that repeats what it is told. */
function openEcho(transport: Transport, options: ChatOptions = {}): Promise<Chat> {
  return openChat(transport, { engines: { scripted: createEchoEngine() }, ...options });
}

/** The messages of the conversation, and what comes with them. */
async function list(chat: Chat, query = "") {
  const { data, pagination } = (await (await chat.get(`/messages${query}`)).json()) as {
    data: MessageResource[];
    pagination: Pagination;
  };
  return { messages: data, pagination };
}

/** What a client sends that does not wait for the reply. */
const unwaiting = { Prefer: "respond-async, wait=10" };

for (const transport of transports) {
  describe(`messages, ${transport.name}`, () => {
    test("a send that prefers not to wait gets the reply as it begins, and the reply goes on", async () => {
      await using chat = await openChat(transport);
      const response = await chat.send("Hello?", unwaiting);
      assert.equal(response.status, 202);
      assert.equal(response.headers.get("preference-applied"), "respond-async");
      const begun = await dataOf<MessageResource>(response.clone());
      assert.deepEqual([begun.role, begun.status, begun.content], ["assistant", "in_progress", ""]);
      const path = `/api/v1/conversations/${chat.conversationId}/messages/${begun.id}`;
      assert.equal(response.headers.get("location"), path);
      const run = await chat.engine.next();
      run.write("Hi!");
      run.finish();
      await (await chat.resume(begun.id)).rest();
      const reply = await chat.message(begun.id);
      assert.deepEqual([reply.status, reply.content], ["completed", "Hi!"]);
      assert.equal(reply.inReplyTo, begun.inReplyTo);
    });

    test("a send that prefers not to wait is refused as any other, and repeated like it", async () => {
      await using chat = await openChat(transport);
      const once = { ...unwaiting, "Idempotency-Key": "once" };
      const begun = await dataOf<MessageResource>(await chat.send("Hello?", once));
      await assertErrorAnswer(await chat.send("And?", unwaiting), 409, "conversation_busy");
      await assertErrorAnswer(await chat.send("And?", once), 422, "idempotency_key_reused");
      const run = await chat.engine.next();
      run.fail(new ModelError("model_error", "The model is away."));
      await (await chat.resume(begun.id)).rest();
      const repeated = await chat.send("Hello?", once);
      assert.equal(repeated.status, 202);
      assert.equal(repeated.headers.get("idempotency-replayed"), "true");
      const { id, status } = await dataOf<MessageResource>(repeated);
      assert.deepEqual([id, status], [begun.id, "failed"]);
      await assertErrorAnswer(await chat.send("Hello?", { "Idempotency-Key": "once" }), 502, "model_error");
      await assertErrorAnswer(
        await chat.post("/messages", { content: "" }, unwaiting),
        400,
        "validation_error",
      );
    });

    test("only this preference is one for not waiting, and what is stored without a reply has none", async () => {
      await using chat = await openEcho(transport);
      for (const Prefer of ["respond-asynchronously", "wait=5", 'x="respond-async"', "no-respond-async"]) {
        const response = await chat.send("Hello?", { Prefer });
        assert.deepEqual([response.status, response.headers.get("preference-applied")], [200, null], Prefer);
      }
      const said = await chat.post("/messages", { content: "Hi.", role: "assistant" }, unwaiting);
      assert.deepEqual([said.status, said.headers.get("preference-applied")], [201, null]);
      const other = await chat.send("Hello?", { Prefer: "Respond-Async" });
      assert.equal(other.status, 202);
    });

    test("a normal send answers with the whole reply", async () => {
      await using chat = await openEcho(transport);
      const response = await chat.send("Hello, twin!");
      assert.equal(response.status, 200);
      const { id, conversationId, after, inReplyTo, ...reply } = await dataOf<MessageResource>(response);
      assert.match(id, /^msg_/);
      assert.match(inReplyTo ?? "", /^msg_/);
      assert.equal(after, inReplyTo);
      assert.equal(conversationId, chat.conversationId);
      assert.deepEqual(reply, {
        role: "assistant",
        author: null,
        content: "Hello, twin!",
        status: "completed",
        finishReason: "stop",
        usage: null,
        error: null,
        sources: null,
        twinRevision: reply.twinRevision,
        attempt: 1,
        feedback: null,
        pendingCalls: null,
        createdAt: "2026-01-02T03:04:05.678Z",
        completedAt: "2026-01-02T03:04:05.678Z",
      });
    });

    test("the history has the question, and the reply as it was returned", async () => {
      await using chat = await openEcho(transport);
      const reply = await dataOf<MessageResource>(await chat.send("Hi"));
      const [question, kept, ...more] = (await list(chat)).messages;
      assert.deepEqual(more, []);
      assert.deepEqual(kept, reply);
      assert.deepEqual(question, {
        ...reply,
        id: reply.inReplyTo,
        role: "user",
        content: "Hi",
        finishReason: null,
        after: null,
        inReplyTo: null,
        twinRevision: null,
      });
      for (const message of [question, reply]) {
        assert.deepEqual(await chat.message(message?.id ?? ""), message);
      }
    });

    test("a conversation has its message count, its last message and the time of that", async () => {
      await using chat = await openEcho(transport);
      await chat.clock.advance(1000);
      await chat.send("Hi");
      const conversation = await dataOf<ConversationResource>(await chat.get(""));
      assert.equal(conversation.status, "idle");
      assert.equal(conversation.messageCount, 2);
      assert.equal(conversation.lastMessageId, (await list(chat)).messages[1]?.id);
      assert.equal(conversation.lastMessageAt, "2026-01-02T03:04:06.678Z");
    });

    test("an event's id counts the UTF-16 code units of the reply so far, and its text is on one line", async () => {
      await using chat = await openEcho(transport);
      const content = 'a\u2028b\u2029c\u0085d 😀\r\n\n"e"\\ : data: x';
      const response = await chat.post("/messages/stream", { content });
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
      assert.equal((await list(chat)).messages[1]?.content, content);
    });

    for (const content of ['"content":""', "$& $` $1", "{\\", "\u2028"]) {
      test(`the last event has the stored reply: ${JSON.stringify(content)}`, async () => {
        const text = `:${content}:`;
        await using chat = await openEcho(transport);
        const response = await chat.post("/messages/stream", { content: text });
        const [last] = (await eventsOf(response)).slice(-1);
        const [, reply] = (await list(chat)).messages;
        assert.equal(reply?.content, text);
        assert.deepEqual(last?.data, { type: "complete", message: reply });
      });
    }

    test("a failure before the first event is an ordinary JSON error", async () => {
      await using chat = await openEcho(transport);
      await assertErrorAnswer(await chat.post("/messages/stream", { content: "" }), 400, "validation_error");
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
      await using chat = await openChat(transport, { engines: { scripted: engine } });
      const events = await eventsOf(await chat.post("/messages/stream", { content: "Count" }));
      assert.equal(textOf(events), tokens.join(""));
      const deltas = events.filter(({ data }) => data.type === "delta");
      assert.ok(deltas.length < tokens.length / 2, `${deltas.length} deltas`);
    });

    test("the stream of a reply that has ended is sent as one text of known length", async () => {
      await using chat = await openEcho(transport);
      const { id } = await dataOf<MessageResource>(await chat.send("Séance"));
      const response = await chat.get(`/messages/${id}/stream`);
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (chat.fixture.url) assert.equal(response.headers.get("content-length"), String(bytes.length));
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
        await using chat = await openChat(transport, { engines: { scripted: engine } });
        const response = await chat.send("Hi");
        const error = await assertErrorAnswer(response, status, code);
        const [, reply] = (await list(chat)).messages;
        assert.equal(error.details?.messageId, reply?.id);
        assert.equal(reply?.status, "failed");
        assert.equal(reply?.finishReason, "error");
        assert.equal(reply?.content, "So far ");
        assert.equal(reply?.error?.code, code);
        assert.doesNotMatch(JSON.stringify([error, reply]), /secret/);
      });
    }

    test("messages are listed oldest first, or in reverse, in pages", async () => {
      await using chat = await openEcho(transport);
      for (const content of ["1", "2", "3"]) await chat.send(content);
      const contents = async (query: string) =>
        (await list(chat, query)).messages.map(({ role, content }) => role[0] + content);
      assert.deepEqual(await contents(""), ["u1", "a1", "u2", "a2", "u3", "a3"]);
      assert.deepEqual(await contents("?order=asc&limit=4&page=2"), ["u3", "a3"]);
      assert.deepEqual(await contents("?order=desc&limit=4"), ["a3", "u3", "a2", "u2"]);
      assert.deepEqual(await contents("?page=2"), []);
    });

    test("after=<id> lists what follows a message, in the requested order", async () => {
      await using chat = await openEcho(transport);
      for (const content of ["1", "2", "3"]) await chat.send(content);
      const all = (await list(chat)).messages;
      const third = all[2]?.id;
      const { messages, pagination } = await list(chat, `?after=${third}&limit=2`);
      assert.deepEqual(messages, all.slice(3, 5));
      assert.deepEqual(pagination, { page: 1, limit: 2, total: 3, totalPages: 2, hasMore: true });
      const before = await list(chat, `?after=${third}&order=desc`);
      assert.deepEqual(before.messages, all.slice(0, 2).reverse());
      assert.deepEqual((await list(chat, `?after=${all.at(-1)?.id}`)).messages, []);
    });

    test("a message that is read, or named by after, must belong to the conversation", async () => {
      await using chat = await openEcho(transport);
      const other = `/conversations/${await chat.fixture.conversation(chat.key, "scripted")}/messages`;
      const sent = await chat.fixture.call("POST", other, chat.key, { content: "Hi" });
      const elsewhere = await dataOf<MessageResource>(sent);
      for (const id of ["msg_nowhere", elsewhere.id]) {
        for (const path of [`/messages?after=${id}`, `/messages/${id}`]) {
          await assertErrorAnswer(await chat.get(path), 404, "message_not_found");
        }
      }
    });

    test("invalid or repeated values of order and after are refused", async () => {
      await using chat = await openEcho(transport);
      for (const query of ["order=ASC", "order=", "order=asc&order=asc", "after=", "after=a&after=b"]) {
        await assertErrorAnswer(await chat.get(`/messages?${query}`), 400, "validation_error", query);
      }
    });

    test("neither a user's message nor an unknown one can be streamed or cancelled", async () => {
      await using chat = await openEcho(transport);
      await chat.send("Hi");
      const [question] = (await list(chat)).messages;
      for (const [id, reason] of [
        [question?.id, /^This is a user's message; only a twin's reply can be/],
        ["msg_unknown", /./],
      ] as const) {
        for (const [method, rest] of [
          ["GET", "stream"],
          ["POST", "cancel"],
        ] as const) {
          const path = `/messages/${id}/${rest}`;
          const response = method === "GET" ? await chat.get(path) : await chat.post(path);
          const { message } = await assertErrorAnswer(response, 404, "message_not_found");
          assert.match(message, reason);
        }
      }
    });

    test("a message to a twin that its owner may no longer use is refused", async () => {
      const { twins, remove } = removable(newTwin({ id: "scripted", engine: "scripted" }));
      await using chat = await openEcho(transport, { twins });
      remove();
      await assertErrorAnswer(await chat.send("Hi"), 404, "twin_not_found");
      assert.deepEqual((await list(chat)).messages, []);
    });
  });
}
