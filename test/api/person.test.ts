/**
 * A person who answers in a conversation: what is said in the twin's place, and questions that wait.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTwinList, type HistoryMessage, type TwinEngine } from "../../core/mod.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { readConversation } from "../support/event-reader.ts";
import {
  assertErrorAnswer,
  dataOf,
  errorOf,
  inProcess,
  newTwin,
  removable,
  transports,
} from "../support/harness.ts";

const said = { role: "assistant", content: "I am Eva.", author: "Eva" };

function conversationOf(chat: Chat): Promise<ConversationResource> {
  return chat.get("").then((response) => dataOf<ConversationResource>(response));
}

async function who(chat: Chat) {
  const { answeredBy, waitingSince } = await conversationOf(chat);
  return [answeredBy, waitingSince];
}

function patch({ fixture, conversationId, key }: Chat, body: object, credential = key): Promise<Response> {
  return fixture.call("PATCH", `/conversations/${conversationId}`, credential, body);
}

/** A conversation in which a person answers. */
async function openAnswered(transport = inProcess) {
  const chat = await openChat(transport);
  assert.equal((await patch(chat, { answeredBy: "person" })).status, 200);
  return chat;
}

async function clientToken({ fixture, key }: Chat, endUser: string): Promise<string> {
  const made = await fixture.call("POST", "/client-tokens", key, { endUser });
  return (await dataOf<{ token: string }>(made)).token;
}

for (const transport of transports) {
  describe(`a person answers, ${transport.name}`, () => {
    test("what a person says is stored with its author, and no engine is asked", async () => {
      await using chat = await openChat(transport);
      const response = await chat.post("/messages", { ...said, answeredBy: "person" });
      assert.equal(response.status, 201);
      const {
        id,
        conversationId: _,
        createdAt,
        completedAt,
        ...message
      } = await dataOf<MessageResource>(response);
      assert.deepEqual(message, {
        ...said,
        status: "completed",
        finishReason: "stop",
        after: null,
        inReplyTo: null,
        usage: null,
        error: null,
        sources: null,
        twinRevision: null,
        attempt: 1,
        feedback: null,
        pendingCalls: null,
      });
      assert.equal(createdAt, completedAt);
      assert.deepEqual(await who(chat), ["person", null]);
      assert.equal((await conversationOf(chat)).lastMessageId, id);
    });

    test("while a person answers, questions wait, one after the other, until one says something", async () => {
      await using chat = await openAnswered(transport);
      const [one, two] = [
        await chat.post("/messages", { content: "1" }),
        await chat.post("/messages", { content: "2" }),
      ];
      assert.deepEqual([one.status, two.status], [202, 202]);
      const question = await dataOf<MessageResource>(one);
      assert.deepEqual([question.role, question.content, question.author], ["user", "1", null]);
      assert.deepEqual(await who(chat), ["person", question.createdAt]);
      assert.equal((await chat.post("/messages", said)).status, 201);
      assert.deepEqual(await who(chat), ["person", null]);
    });

    test("a streamed question that waits has two events, and ends", async () => {
      await using chat = await openAnswered(transport);
      const stream = await chat.post("/messages/stream", { content: "1" });
      assert.equal(stream.status, 200);
      const events = (await stream.text()).trim().split("\n\n");
      assert.equal(events.length, 2);
      const [progress, complete] = events.map((event) => {
        const [id, data = ""] = event.split("\n");
        assert.equal(id, "id: 0");
        return JSON.parse(data.slice("data: ".length));
      });
      const { message } = complete;
      assert.deepEqual(progress.progress, { stage: "waiting", userMessageId: message.id });
      assert.deepEqual([complete.type, message.role, message.content], ["complete", "user", "1"]);
    });

    test("a conversation that was handed back is the twin's again, and what waited gets no reply", async () => {
      await using chat = await openAnswered(transport);
      await chat.post("/messages", { content: "1" });
      assert.equal((await patch(chat, { answeredBy: "twin" })).status, 200);
      assert.deepEqual(await who(chat), ["twin", null]);
      const { run } = await chat.begin("2");
      run.write("two");
      run.finish();
      const messages = await dataOf<MessageResource[]>(await chat.get("/messages"));
      assert.deepEqual(
        messages.slice(0, 2).map(({ content }) => content),
        ["1", "2"],
      );
    });
  });
}

describe("messages without an engine", () => {
  test("a question alone is stored, and waits for nobody", async () => {
    await using chat = await openAnswered();
    const response = await chat.post("/messages", { content: "noted", reply: false });
    assert.equal(response.status, 201);
    assert.equal((await dataOf<MessageResource>(response)).role, "user");
    assert.deepEqual(await who(chat), ["person", null]);
  });

  test("members that do not belong to a message are refused", async () => {
    await using chat = await openChat(inProcess);
    for (const [path, body] of [
      ["role", { content: "x", role: "system" }],
      ["role", { content: "x", role: null }],
      ["author", { content: "x", author: "Eva" }],
      ["author", { ...said, author: "" }],
      ["author", { ...said, author: "e".repeat(101) }],
      ["answeredBy", { content: "x", answeredBy: "person" }],
      ["answeredBy", { ...said, answeredBy: "nobody" }],
      ["reply", { ...said, reply: false }],
      ["reply", { content: "x", reply: "no" }],
      ["whenBusy", { content: "x", whenBusy: "wait" }],
    ] as const) {
      const response = await chat.post("/messages", body);
      await assertErrorAnswer(response, 400, "validation_error");
      const { details } = await errorOf(await chat.post("/messages", body));
      assert.ok(JSON.stringify(details).startsWith(`{"fields":[{"path":"${path}"`), path);
    }
    for (const body of [said, { content: "x", reply: false }, { content: "x", author: "Eva" }]) {
      await assertErrorAnswer(await chat.post("/messages/stream", body), 400, "validation_error");
    }
    assert.equal((await conversationOf(chat)).lastMessageId, null, "nothing was stored");
  });

  test("an end user stores no message without a reply, and asks for a person only where the twin hands over", async () => {
    const twins = createTwinList([
      newTwin({ id: "scripted", engine: "scripted", handover: true }),
      newTwin({ id: "alone", engine: "scripted" }),
    ]);
    await using chat = await openChat(inProcess, { twins });
    const token = await clientToken(chat, "ann");
    const { fixture } = chat;
    const id = await fixture.conversation(token, "scripted");
    const post = (body: object) => fixture.call("POST", `/conversations/${id}/messages`, token, body);
    const without = [{ role: "assistant" }, { reply: false, content: "" }]; // told first what no words would change
    for (const body of [said, { content: "x", reply: false }, ...without]) {
      await assertErrorAnswer(await post(body), 403, "insufficient_scope");
    }
    const change = (conversation: string, answeredBy: string) =>
      fixture.call("PATCH", `/conversations/${conversation}`, token, { answeredBy });
    const asked = await change(id, "person");
    assert.equal((await dataOf<ConversationResource>(asked)).answeredBy, "person");
    await assertErrorAnswer(await change(id, "twin"), 403, "insufficient_scope");
    const other = await fixture.conversation(token, "alone");
    await assertErrorAnswer(await change(other, "person"), 403, "insufficient_scope");
    const twin = await fixture.call("GET", "/twins/scripted", token);
    assert.equal((await dataOf<{ handover: boolean }>(twin)).handover, true);
  });

  test("while a person answers, questions wait also where the twin is gone", async () => {
    const { twins, remove } = removable(newTwin({ id: "scripted", engine: "scripted" }));
    await using chat = await openChat(inProcess, { twins });
    await patch(chat, { answeredBy: "person" });
    remove();
    assert.equal((await chat.send("Are you there?")).status, 202);
    assert.equal((await chat.post("/messages", said)).status, 201);
    await chat.stream("And?");
    assert.equal((await conversationOf(chat)).messageCount, 3);
    await patch(chat, { answeredBy: "twin" });
    await assertErrorAnswer(await chat.send("And now?"), 404, "twin_not_found");
    assert.equal((await conversationOf(chat)).messageCount, 3);
  });

  test("the same Idempotency-Key stores it once, and the replay has its status", async () => {
    await using chat = await openAnswered();
    for (const [body, status] of [
      [said, 201],
      [{ content: "1" }, 202],
      [{ content: "2", reply: false }, 201],
    ] as const) {
      const headers = { "Idempotency-Key": JSON.stringify(body).length + body.content };
      const first = await chat.post("/messages", body, headers);
      const again = await chat.post("/messages", { ...body, whenBusy: "replace" }, headers);
      assert.deepEqual([first.status, again.status], [status, status]);
      assert.equal(again.headers.get("idempotency-replayed"), "true");
      assert.equal(await first.text(), await again.text());
      const other = await chat.post("/messages", { ...body, content: "else" }, headers);
      await assertErrorAnswer(other, 422, "idempotency_key_reused");
    }
    assert.equal((await conversationOf(chat)).messageCount, 3);
  });

  test("a send in the place of a running reply cancels it with its text, and follows it", async () => {
    await using chat = await openChat(inProcess);
    const first = await chat.begin("1");
    first.run.write("half a rep");
    const busy = await chat.post("/messages", { content: "2" });
    await assertErrorAnswer(busy, 409, "conversation_busy");
    const second = chat.post("/messages", { content: "2", whenBusy: "replace" });
    const run = await chat.engine.next();
    first.run.write("ly");
    run.write("new");
    run.finish();
    const reply = await dataOf<MessageResource>(await second);
    assert.equal(reply.content, "new");
    const messages = await dataOf<MessageResource[]>(await chat.get("/messages"));
    assert.deepEqual(
      messages.map(({ content, status, after }) => [
        content,
        status,
        messages.findIndex(({ id }) => id === after),
      ]),
      [
        ["1", "completed", -1],
        ["half a rep", "cancelled", 0],
        ["2", "completed", 1],
        ["new", "completed", 2],
      ],
    );
    const events = await first.stream.rest();
    const last = events.at(-1)?.data;
    assert.ok(last?.type === "complete");
    assert.deepEqual([last.message.status, last.message.content], ["cancelled", "half a rep"]);
  });

  test("with after, a message takes the place of that running reply alone", async () => {
    await using chat = await openChat(inProcess);
    const { messageId, run } = await chat.begin("1");
    const elsewhere = await chat.post("/messages", { ...said, whenBusy: "replace", after: null });
    await assertErrorAnswer(elsewhere, 400, "validation_error");
    assert.equal(run.signal.aborted, false);
    const here = await chat.post("/messages", { ...said, whenBusy: "replace", after: messageId });
    assert.equal(here.status, 201);
    assert.equal((await dataOf<MessageResource>(here)).after, messageId);
  });

  test("while a person answers, a question takes the place of a running reply, too, and waits directly behind it", async () => {
    await using chat = await openChat(inProcess);
    const { messageId, run } = await chat.begin("1");
    run.write("half");
    await patch(chat, { answeredBy: "person" });
    const waits = await chat.post("/messages", { content: "2", whenBusy: "replace", after: messageId });
    assert.equal(waits.status, 202);
    assert.equal((await dataOf<MessageResource>(waits)).after, messageId);
    const { status, content } = await chat.message(messageId);
    assert.deepEqual([status, content], ["cancelled", "half"]);
  });

  test("a message goes on from what was said, and from a question without a reply, but not from one that has one", async () => {
    await using chat = await openChat(inProcess);
    const first = await dataOf<MessageResource>(await chat.post("/messages", said));
    const asked = await dataOf<MessageResource>(await chat.post("/messages", { content: "q", reply: false }));
    for (const { id } of [first, asked]) {
      const next = await chat.post("/messages", { ...said, after: id });
      assert.equal((await dataOf<MessageResource>(next)).after, id);
      assert.equal((await patch(chat, { lastMessageId: id })).status, 200);
    }
    const { run } = await chat.begin("1");
    run.finish();
    const messages = await dataOf<MessageResource[]>(await chat.get("/messages"));
    const question = messages.at(-2)?.id;
    await assertErrorAnswer(
      await chat.post("/messages", { ...said, after: question }),
      400,
      "validation_error",
    );
    await assertErrorAnswer(await patch(chat, { lastMessageId: question }), 400, "validation_error");
  });

  test("what was said replays as a stream, is not cancelled, and is not rated", async () => {
    await using chat = await openChat(inProcess);
    const message = await dataOf<MessageResource>(await chat.post("/messages", said));
    const stream = await chat.resume(message.id);
    const events = await stream.rest();
    const first = events[0]?.data;
    assert.deepEqual(first, {
      type: "progress",
      progress: { stage: "accepted", messageId: message.id, userMessageId: null },
    });
    const last = events.at(-1)?.data;
    assert.ok(last?.type === "complete");
    assert.deepEqual(last.message, message);
    assert.deepEqual(await dataOf(await chat.cancel(message.id)), message);
    const path = `/conversations/${chat.conversationId}/messages/${message.id}/feedback`;
    const rated = await chat.fixture.call("PUT", path, chat.key, { rating: "up" });
    await assertErrorAnswer(rated, 400, "validation_error");
  });

  test("who follows the conversation is told what was said, and then who answers and who waits", async () => {
    await using chat = await openChat(inProcess);
    const headers = { Authorization: `Bearer ${chat.key}` };
    const path = `/api/v1/conversations/${chat.conversationId}/stream`;
    const stream = readConversation(await chat.fixture.send(path, { headers }));
    const next = async () => {
      const { id, data } = await stream.next();
      if (data.type !== "conversation") return [id, data.type];
      return [id, data.type, data.conversation.answeredBy, data.conversation.waitingSince !== null];
    };
    assert.deepEqual((await next()).slice(1), ["conversation", "twin", false]);
    await chat.post("/messages", { ...said, answeredBy: "person" });
    assert.deepEqual(await next(), [`0.${said.content.length + 1}`, "message"]);
    assert.deepEqual((await next()).slice(1), ["conversation", "person", false]);
    await chat.post("/messages", { content: "When?" });
    assert.deepEqual(await next(), ["1.5", "message"]);
    assert.deepEqual((await next()).slice(1), ["conversation", "person", true]);
    await chat.post("/messages", { ...said, answeredBy: "twin" });
    assert.deepEqual(await next(), [`2.${said.content.length + 1}`, "message"]);
    assert.deepEqual((await next()).slice(1), ["conversation", "twin", false]);
    await stream.leave();
  });

  test("the inbox lists who waits longest first, and who answers, and refuses other values", async () => {
    await using chat = await openAnswered();
    const { fixture, key } = chat;
    const second = await fixture.conversation(key, "scripted");
    await fixture.call("PATCH", `/conversations/${second}`, key, { answeredBy: "person" });
    const list = async (query: string) => {
      const found = await fixture.call("GET", `/conversations?${query}`, key);
      return (await dataOf<ConversationResource[]>(found)).map(({ id }) => id);
    };
    await fixture.call("POST", `/conversations/${second}/messages`, key, { content: "first" });
    await chat.clock.advance(10);
    await chat.post("/messages", { content: "second" });
    const third = await fixture.conversation(key, "scripted");
    assert.deepEqual(await list("waiting=true"), [second, chat.conversationId]);
    assert.deepEqual(await list("answeredBy=twin"), [third]);
    assert.deepEqual((await list("answeredBy=person")).length, 2);
    for (const query of ["waiting=false", "waiting=", "answeredBy=nobody", "waiting=true&waiting=true"]) {
      await assertErrorAnswer(
        await fixture.call("GET", `/conversations?${query}`, key),
        400,
        "validation_error",
      );
    }
  });

  test("the engine is told what was said as the twin's, and its history has what waited", async () => {
    const told: HistoryMessage[][] = [];
    const engine: TwinEngine = {
      async reply({ history }, output) {
        told.push([...history]);
        output.write("yes");
        return { finishReason: "stop", usage: null };
      },
    };
    await using chat = await openChat(inProcess, { engines: { scripted: engine } });
    await chat.send("1");
    await patch(chat, { answeredBy: "person" });
    await chat.send("2");
    await chat.post("/messages", { ...said, answeredBy: "twin" });
    await chat.send("3");
    assert.deepEqual(
      told.at(-1)?.map(({ role, content }) => `${role} ${content}`),
      ["user 1", "assistant yes", "user 2", `assistant ${said.content}`],
    );
  });

  test("an engine that hands over leaves its question to a person, with the end of its reply", async () => {
    const engine: TwinEngine = {
      async reply(_, output) {
        output.write("I ask somebody.");
        output.handOver();
        return { finishReason: "stop", usage: null };
      },
    };
    await using chat = await openChat(inProcess, { engines: { scripted: engine } });
    const reply = await dataOf<MessageResource>(await chat.send("A person, please"));
    assert.equal(reply.content, "I ask somebody.");
    assert.deepEqual(await who(chat), ["person", reply.createdAt]);
    assert.equal((await chat.send("Hello?")).status, 202);
  });

  test("of a hundred sends beside changes of who answers, each is answered by the twin or waits", async () => {
    const engine: TwinEngine = { reply: async () => ({ finishReason: "stop", usage: null }) };
    await using chat = await openChat(inProcess, { engines: { scripted: engine } });
    let [answered, waited] = [0, 0];
    for (let n = 0; n < 100; n++) {
      const changed = patch(chat, { answeredBy: n % 3 === 0 ? "person" : "twin" });
      const { status } = await chat.send(`${n}`);
      await changed;
      if (status === 200) answered++;
      else if (status === 202) waited++;
      else assert.fail(String(status));
    }
    assert.equal((await conversationOf(chat)).messageCount, 2 * answered + waited);
  });
});
