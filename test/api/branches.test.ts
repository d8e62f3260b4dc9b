/**
 * Conversations whose messages branch: sending after an earlier reply, and choosing among branches.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import type { HistoryMessage, TwinEngine } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { type Chat, type ChatOptions, openChat } from "../support/chat.ts";
import {
  assertErrorAnswer,
  dataOf,
  errorOf,
  inProcess,
  type Transport,
  transports,
  unlimited,
} from "../support/harness.ts";

/** An engine that answers `to <question>`, and tells what it was told before. */
function openTold(transport: Transport = inProcess, options: ChatOptions = {}) {
  const told: HistoryMessage[][] = [];
  const engine: TwinEngine = {
    async reply({ history, content }, output) {
      told.push([...history]);
      output.write(`to ${content}`);
      return { finishReason: "stop", usage: null };
    },
  };
  return openChat(transport, { engines: { scripted: engine }, ...options }).then((chat) => ({ chat, told }));
}

/** Sends, and returns the reply. */
async function say(chat: Chat, content: string, after?: string | null): Promise<MessageResource> {
  const response = await chat.post("/messages", { content, ...(after !== undefined && { after }) });
  assert.equal(response.status, 200, content);
  return dataOf(response);
}

async function contentsOf(chat: Chat, query = ""): Promise<string[]> {
  const messages = await dataOf<MessageResource[]>(await chat.get(`/messages${query}`));
  return messages.map(({ content }) => content);
}

function conversationOf(chat: Chat): Promise<ConversationResource> {
  return chat.get("").then((response) => dataOf<ConversationResource>(response));
}

async function patch({ fixture, key, conversationId }: Chat, body: object): Promise<Response> {
  return fixture.call("PATCH", `/conversations/${conversationId}`, key, body);
}

for (const transport of transports) {
  describe(`branches, ${transport.name}`, () => {
    test("a question that is asked again or edited is another branch, and the engine sees its path", async () => {
      const { chat, told } = await openTold(transport);
      await using _ = chat;
      const first = await say(chat, "1");
      const second = await say(chat, "2");
      await say(chat, "3");
      const edited = await say(chat, "2, edited", first.id);
      assert.deepEqual(await contentsOf(chat), ["1", "to 1", "2, edited", "to 2, edited"]);
      assert.deepEqual(
        told.at(-1)?.map(({ content }) => content),
        ["1", "to 1"],
      );
      await say(chat, "4");
      assert.deepEqual(
        told.at(-1)?.map(({ content }) => content),
        ["1", "to 1", "2, edited", "to 2, edited"],
      );
      const again = await chat.post("/messages/stream", { content: "2", after: first.id });
      assert.match(await again.text(), /"type":"complete"/);
      assert.deepEqual(await contentsOf(chat), ["1", "to 1", "2", "to 2"]);
      const all = await contentsOf(chat, "?path=all&limit=3&page=4");
      assert.deepEqual(all, ["to 4", "2", "to 2"]);
      const question = await chat.message(edited.inReplyTo ?? "");
      assert.deepEqual([edited.after, question.after, question.inReplyTo], [question.id, first.id, null]);
      assert.equal((await chat.message(second.id)).content, "to 2"); // on another branch
    });

    test("a message after null begins anew", async () => {
      const { chat, told } = await openTold(transport);
      await using _ = chat;
      await say(chat, "1");
      const anew = await say(chat, "2", null);
      assert.deepEqual(told.at(-1), []);
      assert.deepEqual(await contentsOf(chat), ["2", "to 2"]);
      assert.equal((await chat.message(anew.inReplyTo ?? "")).after, null);
      const { messageCount, lastMessageId } = await conversationOf(chat);
      assert.deepEqual([messageCount, lastMessageId], [2, anew.id]);
    });

    test("PATCH makes any ended reply the end of the path, with another title or without", async () => {
      const { chat, told } = await openTold(transport);
      await using _ = chat;
      assert.equal((await conversationOf(chat)).lastMessageId, null);
      const first = await say(chat, "1");
      const second = await say(chat, "2");
      await say(chat, "2, edited", first.id);
      const changed = await dataOf<ConversationResource>(await patch(chat, { lastMessageId: second.id }));
      assert.deepEqual([changed.lastMessageId, changed.messageCount, changed.title], [second.id, 4, null]);
      assert.deepEqual(await contentsOf(chat), ["1", "to 1", "2", "to 2"]);
      await say(chat, "3");
      assert.equal(told.at(-1)?.length, 4);
      const both = await patch(chat, { lastMessageId: first.id, title: "Begun" });
      const { title, messageCount } = await dataOf<ConversationResource>(both);
      assert.deepEqual([title, messageCount], ["Begun", 2]);
      assert.equal((await dataOf<ConversationResource>(await patch(chat, { title: null }))).title, null);
      assert.deepEqual(await contentsOf(chat), ["1", "to 1"]);
    });
  });
}

test("an unusable after, or lastMessageId, is refused by its kind, and changes nothing", async () => {
  const { chat } = await openTold();
  await using _ = chat;
  const first = await say(chat, "1");
  const { fixture, key } = chat;
  const other = await fixture.conversation(key, "scripted");
  const theirs = await fixture.call("POST", `/conversations/${other}/messages`, key, { content: "x" });
  const { id: elsewhere } = await dataOf<MessageResource>(theirs);
  for (const [id, status, code] of [
    [12, 400, "validation_error"],
    [["a"], 400, "validation_error"],
    ["msg_\u0000", 400, "validation_error"],
    [first.inReplyTo, 400, "validation_error"],
    ["", 404, "message_not_found"],
    ["msg_none", 404, "message_not_found"],
    [elsewhere, 404, "message_not_found"],
  ] as const) {
    for (const path of ["after", "lastMessageId"]) {
      const refused =
        path === "after"
          ? await chat.post("/messages", { content: "2", after: id })
          : await patch(chat, { lastMessageId: id, title: "changed" });
      assert.equal(refused.status, status, `${path} ${id}`);
      const { code: found, details } = await errorOf(refused);
      assert.equal(found, code);
      const { fields } = (details ?? {}) as { fields?: { path: string }[] };
      if (status === 400)
        assert.deepEqual(
          fields?.map((field) => field.path),
          [path],
        );
    }
  }
  await assertErrorAnswer(await patch(chat, { lastMessageId: null }), 400, "validation_error");
  await assertErrorAnswer(await patch(chat, {}), 400, "validation_error");
  await assertErrorAnswer(await patch(chat, { other: 1 }), 400, "validation_error");
  await assertErrorAnswer(await chat.get("/messages?path=current"), 400, "validation_error");
  await assertErrorAnswer(await chat.get("/messages?path=all&path=all"), 400, "validation_error");
  const { title, messageCount } = await conversationOf(chat);
  assert.deepEqual([title, messageCount], [null, 2]);
});

test("while a reply runs, each reply that exists is refused as busy, after what is wrong otherwise", async () => {
  await using chat = await openChat(inProcess);
  const sending = chat.send("1");
  (await chat.engine.next()).finish();
  const first = await dataOf<MessageResource>(await sending);
  const { messageId: running, run } = await chat.begin("2");
  const conversation = await conversationOf(chat);
  assert.deepEqual([conversation.lastMessageId, conversation.messageCount], [running, 4]);
  for (const id of [first.id, running]) {
    for (const response of [
      await chat.post("/messages", { content: "3", after: id }),
      await patch(chat, { lastMessageId: id }),
      await patch(chat, { lastMessageId: id, title: "changed" }),
    ]) {
      assert.equal(response.headers.get("retry-after"), "1");
      const { code, details } = await errorOf(response);
      assert.deepEqual([code, details], ["conversation_busy", { messageId: running }]);
    }
  }
  assert.equal((await chat.post("/messages", { content: "3", after: null })).status, 409);
  assert.equal((await chat.post("/messages", { content: "3", after: "msg_none" })).status, 404);
  assert.equal((await chat.post("/messages", { content: "3", after: first.inReplyTo })).status, 400);
  assert.equal((await patch(chat, { lastMessageId: "msg_none" })).status, 404);
  assert.equal((await patch(chat, { title: "while it runs" })).status, 200);
  assert.equal((await conversationOf(chat)).title, "while it runs");
  run.finish();
  await chat.clock.advance(0);
  assert.equal((await patch(chat, { lastMessageId: first.id })).status, 200);
});

test("an Idempotency-Key compares after, told apart from none, and a replay does not move the path", async () => {
  const { chat } = await openTold();
  await using _ = chat;
  const first = await say(chat, "1");
  await say(chat, "2");
  const once = { "Idempotency-Key": "once" };
  const body = { content: "2, edited", after: first.id };
  const sent = await dataOf<MessageResource>(await chat.post("/messages", body, once));
  await say(chat, "3", null);
  const replay = await chat.post("/messages", body, once);
  assert.equal(replay.headers.get("idempotency-replayed"), "true");
  assert.equal((await dataOf<MessageResource>(replay)).id, sent.id);
  assert.deepEqual(await contentsOf(chat), ["3", "to 3"]);
  for (const after of [undefined, null, "msg_other"]) {
    const other = { content: body.content, ...(after !== undefined && { after }) };
    const refused = await chat.post("/messages", other, once);
    await assertErrorAnswer(refused, 422, "idempotency_key_reused");
  }
  const anew = { "Idempotency-Key": "anew" };
  await chat.post("/messages", { content: "4", after: null }, anew);
  await assertErrorAnswer(
    await chat.post("/messages", { content: "4" }, anew),
    422,
    "idempotency_key_reused",
  );
});

test("lists of the path and of all branches start after their own messages alone", async () => {
  const { chat } = await openTold();
  await using _ = chat;
  const first = await say(chat, "1");
  const second = await say(chat, "2");
  await say(chat, "2, edited", first.id);
  assert.deepEqual(await contentsOf(chat, `?after=${first.id}`), ["2, edited", "to 2, edited"]);
  await assertErrorAnswer(await chat.get(`/messages?after=${second.id}`), 404, "message_not_found");
  assert.deepEqual(await contentsOf(chat, `?path=all&after=${second.id}`), ["2, edited", "to 2, edited"]);
  assert.deepEqual(await contentsOf(chat, `?path=all&order=desc&after=${second.id}`), ["2", "to 1", "1"]);
  const page = await chat.get("/messages?path=all&limit=4&page=2");
  const { pagination } = (await page.json()) as { pagination: object };
  assert.deepEqual(pagination, { page: 2, limit: 4, total: 6, totalPages: 2, hasMore: false });
});

test("an export has all branches in the order they were stored, and erasing counts and removes all", async () => {
  const { chat } = await openTold();
  await using _ = chat;
  const { fixture, key } = chat;
  const created = await fixture.call("POST", "/conversations", key, { twinId: "scripted", endUser: "zoe" });
  const { id } = await dataOf<ConversationResource>(created);
  const send = async (content: string, after?: string | null) => {
    const response = await fixture.call("POST", `/conversations/${id}/messages`, key, { content, after });
    return dataOf<MessageResource>(response);
  };
  const first = await send("1");
  await send("2");
  await send("2, edited", first.id);
  const lines = (await (await fixture.call("GET", "/end-users/zoe/export", key)).text()).trim().split("\n");
  const messages = lines.slice(1).map((line) => JSON.parse(line).message.content);
  assert.deepEqual(messages, ["1", "to 1", "2", "to 2", "2, edited", "to 2, edited"]);
  assert.equal(JSON.parse(lines[0] ?? "").conversation.messageCount, 4);
  const erased = await dataOf<object>(await fixture.call("DELETE", "/end-users/zoe", key));
  assert.deepEqual(erased, { endUser: "zoe", conversations: 1, messages: 6, clientTokens: 0 });
});

test("a process that knew another path sends on the one that is current", async () => {
  const { chat, told } = await openTold(inProcess, { store: { ...createMemoryStore(), exclusive: false } });
  await using _ = chat;
  await using other = await chat.another();
  const first = await say(chat, "1");
  await say(chat, "2");
  await say(other, "2, edited", first.id);
  await say(chat, "3");
  assert.deepEqual(
    told.at(-1)?.map(({ content }) => content),
    ["1", "to 1", "2, edited", "to 2, edited"],
  );
  assert.equal((await patch(other, { lastMessageId: first.id })).status, 200);
  await say(chat, "4");
  assert.deepEqual(await contentsOf(other), ["1", "to 1", "4", "to 4"]);
});

test("a conversation has 1,000 branches at most, whoever sends, and goes on at its end", async () => {
  const { chat } = await openTold(inProcess, { limiter: unlimited, openaiApi: createOpenAIApi() });
  await using _ = chat;
  const { fixture, key, conversationId } = chat;
  const first = await say(chat, "first");
  for (let count = 0; count <= 1000; count++) await say(chat, "again", first.id); // the first of them goes on
  await say(chat, "at the end");
  for (const after of [first.id, null]) {
    await assertErrorAnswer(await chat.post("/messages", { content: "?", after }), 409, "too_many_branches");
    const streamed = await chat.post("/messages/stream", { content: "?", after });
    await assertErrorAnswer(streamed, 409, "too_many_branches");
  }
  const request = new Request("http://twins.test/v1/responses", {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({
      model: "scripted",
      input: "?",
      previous_response_id: first.id.replace("msg_", "resp_"),
    }),
  });
  const response = await fixture.service.fetch(request);
  assert.deepEqual([response.status, (await response.json()).error.code], [409, "too_many_branches"]);
  assert.equal((await conversationOf(chat)).id, conversationId);
  await say(chat, "and on");
});

test("a named conversation has 1,000 branches at most, also where chat completions ask the first question anew", async () => {
  const { chat } = await openTold(inProcess, { limiter: unlimited, openaiApi: createOpenAIApi() });
  await using _ = chat;
  const complete = async (...messages: readonly string[]) => {
    const request = new Request("http://twins.test/v1/chat/completions", {
      method: "POST",
      headers: {
        Authorization: `Bearer ${chat.key}`,
        "Content-Type": "application/json",
        "X-Conversation-Id": "named",
      },
      body: JSON.stringify({
        model: "scripted",
        messages: messages.map((content, n) => ({ role: n % 2 === 0 ? "user" : "assistant", content })),
      }),
    });
    const response = await chat.fixture.service.fetch(request);
    const { error, choices } = await response.json();
    return [response.status, error?.code ?? choices[0].message.content];
  };
  for (let count = 0; count <= 1000; count++) assert.deepEqual(await complete("first"), [200, "to first"]);
  assert.deepEqual(await complete("first"), [409, "too_many_branches"]);
  assert.deepEqual(await complete("first", "to first", "and on"), [200, "to and on"]);
});
