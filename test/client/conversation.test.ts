/**
 * A conversation as it is seen, through the client on a service of the tests: one object, one stream.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  BadRequestError,
  ConflictError,
  type Message,
  NotFoundError,
  type OpenConversation,
  type TwinServiceError,
} from "../../client/mod.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { inProcess } from "../support/harness.ts";
import type { Run } from "../support/scripted-engine.ts";
import { Device, hurry } from "./device.ts";

const words = (conversation: OpenConversation) => conversation.path.map(({ content }) => content);
const last = (conversation: OpenConversation): Message => {
  const message = conversation.path.at(-1);
  assert.ok(message);
  return message;
};

/** Has the next reply written. */
async function answer(chat: Chat, says: string): Promise<Run> {
  const run = await chat.engine.next();
  run.write(says);
  run.finish();
  return run;
}

/** Sends a message, and has it answered. */
async function talk(
  chat: Chat,
  conversation: OpenConversation,
  asks: string,
  says: string,
): Promise<Message> {
  const [reply] = await Promise.all([conversation.send(asks), answer(chat, says)]);
  return reply;
}

describe("an open conversation", () => {
  test("is its path: what is sent, the words as they are written, the reply at its end", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    assert.deepEqual([words(conversation), conversation.state], [[], "idle"]);
    const sent = conversation.send("Hello?");
    assert.equal(conversation.state, "sending");
    assert.deepEqual(conversation.unsent, { content: "Hello?", after: null, error: undefined });
    const run = await chat.engine.next();
    await device.sees(() => conversation.running);
    assert.deepEqual([conversation.state, conversation.unsent], ["replying", undefined]);
    run.write("Hi");
    await device.sees(() => conversation.running?.content === "Hi");
    assert.deepEqual(words(conversation), ["Hello?", "Hi"]);
    run.write("!");
    run.finish();
    const reply = await sent;
    assert.deepEqual([reply.content, conversation.state], ["Hi!", "idle"]);
    assert.deepEqual(conversation.path, (await device.client.messages.list(chat.conversationId)).data);
    conversation.close();
  });

  test("has one stream open while a reply is written, whoever asked", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const other = new Device(chat);
    const [conversation, beside] = await Promise.all([
      device.open(chat.conversationId),
      other.open(chat.conversationId),
    ]);
    await talk(chat, conversation, "One?", "One.");
    const sent = conversation.send("Two?");
    const run = await chat.engine.next();
    run.write("Tw");
    for (const [each, seen] of [
      [device, conversation],
      [other, beside],
    ] as const) {
      await each.sees(() => seen.running?.content === "Tw");
      assert.equal(each.streams, 1);
    }
    run.finish();
    await sent;
    conversation.close();
    beside.close();
    await settle();
    assert.deepEqual([device.streams, other.streams], [0, 0]);
  });

  test("that was made a moment ago is not read; its first reply has its own stream, then it is followed", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(await device.client.conversations.create({ twinId: "scripted" }));
    const sent = conversation.send("Hello?");
    const run = await chat.engine.next();
    run.write("Hi");
    await device.sees(() => conversation.running?.content === "Hi");
    assert.deepEqual(device.asked, ["POST /conversations", "POST /conversations/…/messages/stream"]);
    run.finish();
    await sent;
    await settle();
    assert.deepEqual(device.asked.slice(2), ["GET /conversations/…/stream?after=…"]);
    await new Device(chat).client.conversations.update(conversation.id, { title: "Ada" });
    await device.sees(() => conversation.conversation.title === "Ada");
    assert.equal(device.asked.length, 3);
    conversation.close();
  });

  test("shows what others do: messages, other branches, the title, the deletion", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const other = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    const first = await talk(chat, conversation, "One?", "One.");
    const elsewhere = await other.open(chat.conversationId);
    await talk(chat, elsewhere, "Two?", "Two.");
    await device.sees(() => last(conversation).content === "Two." && conversation.state === "idle");
    const [question] = elsewhere.path;
    assert.ok(question);
    await Promise.all([elsewhere.edit(question, "Three?"), answer(chat, "Three.")]);
    await device.sees(() => last(conversation).content === "Three." && conversation.state === "idle");
    assert.deepEqual(words(conversation), ["Three?", "Three."]);
    assert.deepEqual(
      conversation.branchesOf(question).map(({ content }) => content),
      ["One?", "Three?"],
    );
    await other.client.conversations.update(chat.conversationId, { lastMessageId: first.id });
    await device.sees(() => conversation.path.length === 2 && last(conversation).id === first.id);
    await elsewhere.choose(question);
    await device.sees(() => conversation.path.length === 4);
    assert.deepEqual(words(conversation), ["One?", "One.", "Two?", "Two."]);
    await other.client.conversations.delete(chat.conversationId);
    await device.sees(() => conversation.state === "deleted");
    assert.deepEqual(words(conversation), []);
    await assert.rejects(conversation.send("Hello?"), NotFoundError);
  });

  test("is heard of once a message is whole: replies, and what others say; neither one's own nor what was said before", async () => {
    await using chat = await openChat(inProcess);
    const [device, other] = [new Device(chat), new Device(chat)];
    const writing = await other.open(chat.conversationId);
    await talk(chat, writing, "One?", "One.");
    const sent = writing.send("Two?");
    const run = await chat.engine.next();
    run.write("Tw");
    const conversation = await device.open(chat.conversationId);
    await device.sees(() => conversation.running?.content === "Tw");
    device.cut();
    run.write("o.");
    run.finish();
    await sent;
    await device.sees(() => conversation.state === "idle");
    await talk(chat, conversation, "Three?", "Three.");
    const [question] = writing.path;
    assert.ok(question);
    await Promise.all([writing.edit(question, "Four?"), answer(chat, "Four.")]);
    await device.sees(() => last(conversation).content === "Four." && conversation.state === "idle");
    await conversation.choose(question);
    await device.sees(() => conversation.path.length === 6);
    conversation.close();
    device.hinder = async (what) => {
      if (what.includes("/stream?after=")) await talk(chat, writing, "Five?", "Five."); // between reading and following
    };
    const late = await device.open(chat.conversationId);
    await device.sees(() => last(late).content === "Five.");
    assert.deepEqual(device.heard, ["Two.", "Three.", "Four?", "Four.", "Five?", "Five."]);
    late.close();
    assert.deepEqual(other.heard, ["One.", "Two.", "Three?", "Three.", "Four.", "Five."]);
    writing.close();
  });

  test("a question that is asked again, and one that is edited, are other branches", async () => {
    await using chat = await openChat(inProcess);
    const conversation = await new Device(chat).open(chat.conversationId);
    const first = await talk(chat, conversation, "One?", "One.");
    const second = await talk(chat, conversation, "Two?", "Two.");
    await Promise.all([conversation.again(second), answer(chat, "Two!")]);
    assert.deepEqual(words(conversation), ["One?", "One.", "Two?", "Two!"]);
    await Promise.all([conversation.again(first), answer(chat, "One!")]);
    assert.deepEqual(words(conversation), ["One?", "One!"]);
    conversation.close();
  });

  test("goes on from what it shows, also where another device has gone elsewhere", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const other = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    await talk(chat, conversation, "One?", "One.");
    await device.sees(() => device.streams === 1);
    device.hinder = (what) => what.includes("/stream?") && new Promise(() => {});
    device.cut();
    const elsewhere = await other.open(chat.conversationId);
    const [question] = elsewhere.path;
    assert.ok(question);
    await Promise.all([elsewhere.edit(question, "Two?"), answer(chat, "Two.")]);
    const sent = conversation.send("Why?");
    const run = await answer(chat, "Because.");
    assert.deepEqual(
      run.turn.history.map(({ content }) => content),
      ["One?", "One."],
    );
    await sent;
    assert.deepEqual(words(conversation), ["One?", "One.", "Why?", "Because."]);
    conversation.close();
    elsewhere.close();
  });

  test("a message into a busy conversation waits for the running reply, which is seen meanwhile", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    const { run } = await chat.begin("Elsewhere?");
    await device.sees(() => conversation.running);
    const sent = conversation.send("Mine?");
    await settle();
    run.write("Else");
    await device.sees(() => conversation.path.some(({ content }) => content === "Else"));
    assert.deepEqual([conversation.state, device.streams], ["sending", 1]);
    run.write("where.");
    run.finish();
    await answer(chat, "Mine.");
    assert.equal((await sent).content, "Mine.");
    assert.deepEqual(words(conversation), ["Elsewhere?", "Elsewhere.", "Mine?", "Mine."]);
    await assert.rejects(Promise.all([conversation.send("a"), conversation.send("b")]), ConflictError);
    conversation.close();
  });

  for (const [where, streams, isNew] of [
    ["while it is followed", true, false],
    ["behind its first question, which has a stream of its own", true, true],
    ["where fetch gives no body before its end", false, false],
  ] as const) {
    test(`a message takes the place of the running reply, ${where}`, async () => {
      await using chat = await openChat(inProcess);
      const device = new Device(chat, { streams });
      const id = isNew ? undefined : chat.conversationId;
      const conversation = await device.open(
        id ?? (await device.client.conversations.create({ twinId: "scripted" })),
      );
      const first = conversation.send("A long story?");
      (await chat.engine.next()).write("Once");
      if (streams) await device.sees(() => conversation.running?.content === "Once");
      else await device.sees(() => conversation.running);
      const second = conversation.send("Stop.", { whenBusy: "replace" });
      assert.equal(conversation.state, "sending");
      await answer(chat, "Well.");
      assert.equal((await second).content, "Well.");
      const { status, content } = await first;
      assert.deepEqual([status, content], ["cancelled", "Once"]);
      assert.deepEqual(words(conversation), ["A long story?", "Once", "Stop.", "Well."]);
      assert.deepEqual([conversation.state, conversation.unsent], ["idle", undefined]);
      const { data: stored } = await device.client.messages.list(conversation.id);
      const ends = (messages: readonly Message[]) =>
        messages.map(({ id, after, status }) => [id, after, status]);
      assert.deepEqual(ends(conversation.path), ends(stored));
      await talk(chat, conversation, "Again?", "Yes.");
      conversation.close();
    });
  }

  test("a stream that tells late of what was said here takes nothing of it back", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(await device.client.conversations.create({ twinId: "scripted" }));
    let letGo = () => {};
    const opened = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    device.hinder = (what) => what.startsWith("GET") && what.includes("/stream?") && opened;
    await talk(chat, conversation, "One?", "One.");
    await talk(chat, conversation, "Two?", "Two.");
    const seen: number[] = [];
    const told = device.sees(
      () => seen.push(conversation.path.length) && conversation.conversation.title === "Ada",
    );
    letGo();
    await new Device(chat).client.conversations.update(conversation.id, { title: "Ada" });
    await told;
    assert.ok(
      seen.every((length) => length === 4),
      seen.join(),
    );
    conversation.close();
  });

  test("a message in a reply's place that may have arrived is stored once", async () => {
    using _ = hurry();
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    const first = conversation.send("A long story?");
    (await chat.engine.next()).write("Once");
    await device.sees(() => conversation.running?.content === "Once");
    device.lose();
    const second = conversation.send("Stop.", { whenBusy: "replace" });
    await answer(chat, "Well.");
    assert.equal((await second).content, "Well.");
    assert.equal((await first).status, "cancelled");
    assert.deepEqual(words(conversation), ["A long story?", "Once", "Stop.", "Well."]);
    conversation.close();
  });

  test("stops the running reply, and says what a person thinks of one", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    const sent = conversation.send("Hello?");
    (await chat.engine.next()).write("Hi");
    await device.sees(() => conversation.running?.content === "Hi");
    await conversation.cancel();
    const reply = await sent;
    assert.deepEqual([reply.status, reply.content], ["cancelled", "Hi"]);
    await conversation.rate(reply, "down", "Too short.");
    assert.equal(last(conversation).feedback?.comment, "Too short.");
    await conversation.rate(reply, null);
    assert.equal(last(conversation).feedback, null);
    conversation.close();
  });
});

describe("an open conversation that is long", () => {
  /** A conversation of so many questions behind each other, or in the first one's place. */
  async function openLong(questions: number, after?: null) {
    const chat = await openChat(inProcess);
    const device = new Device(chat);
    const replies: Message[] = [];
    for (let n = 0; n < questions; n++) {
      const body = { content: `Question ${n}`, ...(n > 0 && after === null && { after }) };
      const [reply] = await Promise.all([
        device.client.messages.send(chat.conversationId, body),
        answer(chat, `Reply ${n}`),
      ]);
      replies.push(reply);
    }
    device.asked.length = 0;
    return { chat, device, replies, [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose]() };
  }

  test("has its last hundred messages, and those before page by page", async () => {
    await using long = await openLong(120);
    const conversation = await long.device.open(long.chat.conversationId);
    assert.deepEqual(long.device.asked.filter((what) => what.includes("/messages")).length, 1);
    assert.deepEqual([conversation.path.length, conversation.hasEarlier], [100, true]);
    await conversation.earlier();
    assert.deepEqual([conversation.path.length, conversation.hasEarlier], [200, true]);
    await conversation.earlier();
    assert.deepEqual(
      [conversation.path.length, conversation.hasEarlier, words(conversation)[0]],
      [240, false, "Question 0"],
    );
    conversation.close();
  });

  test("reads what is before an unsent message, also if the conversation has gone elsewhere", async () => {
    using _hurried = hurry();
    await using long = await openLong(60);
    const { device, chat } = long;
    const conversation = await device.open(chat.conversationId);
    await device.sees(() => device.streams === 1);
    device.hinder = (what) => {
      if (what.startsWith("POST")) throw new TypeError("No connection.");
    };
    await assert.rejects(conversation.send("Unsent."));
    const { client } = new Device(chat);
    const elsewhere = await client.messages.say(chat.conversationId, { content: "Elsewhere.", after: null });
    await device.sees(() => conversation.branchesOf(elsewhere).length === 1);
    await conversation.earlier();
    assert.deepEqual([conversation.path.length, conversation.hasEarlier], [120, false]);
    assert.deepEqual([words(conversation)[0], conversation.unsent?.content], ["Question 0", "Unsent."]);
    conversation.close();
  });

  test("has a path that is older than a hundred newer messages, and all that stands beside it", async () => {
    await using long = await openLong(61, null);
    const { device, chat, replies } = long;
    const shown = await device.open(chat.conversationId);
    const first = replies[0]?.id ?? "";
    await new Device(chat).client.conversations.update(chat.conversationId, { lastMessageId: first });
    await device.sees(() => last(shown).id === first);
    const opened = await device.open(chat.conversationId);
    for (const conversation of [shown, opened]) {
      assert.deepEqual(words(conversation), ["Question 0", "Reply 0"]);
      const [question] = conversation.path;
      assert.ok(question);
      const versions = conversation.branchesOf(question);
      assert.deepEqual([versions.length, versions[0]?.id], [61, question.id]);
      conversation.close();
    }
  });
});

describe("a message that may not arrive", () => {
  test("stays unsent, and is stored once however often it is sent", async () => {
    using _hurried = hurry();
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    const { id: after } = await talk(chat, conversation, "One?", "One.");
    device.hinder = (what) => {
      if (what.startsWith("POST")) throw new TypeError("no network");
    };
    await assert.rejects(conversation.send("Two?"), { code: "connection_failed" });
    const { unsent, state } = conversation;
    assert.deepEqual([unsent?.content, unsent?.after, state], ["Two?", after, "idle"]);
    device.hinder = () => {};
    device.lose();
    await talk(chat, conversation, "Two?", "Two.");
    assert.deepEqual(words(conversation), ["One?", "One.", "Two?", "Two."]);
    assert.equal((await device.client.messages.list(chat.conversationId, { path: "all" })).data.length, 4);
    conversation.close();
  });

  for (const [when, isLost] of [
    ["did not arrive", false],
    ["had arrived", true],
  ] as const) {
    test(`takes the place of a running reply once it is to, where it ${when} before`, async () => {
      using _hurried = hurry();
      await using chat = await openChat(inProcess);
      const device = new Device(chat);
      const conversation = await device.open(chat.conversationId);
      await talk(chat, conversation, "One?", "One.");
      device.service = {
        async fetch(request) {
          if (isLost) await chat.service.fetch(request.clone());
          throw new TypeError("No connection.");
        },
      };
      device.cut();
      await assert.rejects(conversation.send("Two?"));
      const run = isLost ? await chat.engine.next() : (await chat.begin("Elsewhere?")).run;
      device.service = chat.service;
      const sent = conversation.send("Two?", { whenBusy: "replace" });
      if (!isLost) await answer(chat, "Two.");
      else {
        run.write("Two.");
        run.finish();
      }
      assert.equal((await sent).content, "Two.");
      const { data } = await device.client.messages.list(chat.conversationId);
      assert.deepEqual(
        data.map(({ content, status }) => [content, status]),
        [
          ["One?", "completed"],
          ["One.", "completed"],
          ...(isLost
            ? []
            : [
                ["Elsewhere?", "completed"],
                ["", "cancelled"],
              ]),
          ["Two?", "completed"],
          ["Two.", "completed"],
        ],
      );
      await device.sees(() => conversation.path.length === data.length);
      assert.deepEqual(
        words(conversation),
        data.map(({ content }) => content),
      );
      conversation.close();
    });
  }

  test("stays unsent if it is refused, until it is given up", async () => {
    await using chat = await openChat(inProcess);
    const conversation = await new Device(chat).open(chat.conversationId);
    await assert.rejects(conversation.send(" "), { code: "validation_error" });
    assert.ok(conversation.unsent?.error instanceof BadRequestError);
    conversation.discard();
    assert.deepEqual([conversation.unsent, conversation.state], [undefined, "idle"]);
    conversation.close();
  });
});

describe("an open conversation that cannot be followed", () => {
  test("has the words of its own replies where fetch gives no body before its end", async () => {
    using _hurried = hurry();
    await using chat = await openChat(inProcess);
    const device = new Device(chat, { streams: false });
    const conversation = await device.open(chat.conversationId);
    const sent = conversation.send("Hello?");
    const run = await chat.engine.next();
    run.write("Hi");
    await device.sees(() => conversation.running);
    run.finish();
    await sent;
    assert.deepEqual([words(conversation), conversation.problem], [["Hello?", "Hi"], undefined]);
    conversation.close();
  });

  test("shows what another device has said before a message that takes a reply's place", async () => {
    using _hurried = hurry();
    await using chat = await openChat(inProcess);
    const [device, beside] = [new Device(chat, { streams: false }), new Device(chat)];
    const conversation = await device.open(chat.conversationId);
    await talk(chat, conversation, "One?", "One.");
    const other = await beside.open(chat.conversationId);
    await talk(chat, other, "Two?", "Two.");
    const sent = conversation.send("Three?", { whenBusy: "replace" });
    await answer(chat, "Three.");
    await sent;
    assert.deepEqual(words(conversation), ["One?", "One.", "Two?", "Two.", "Three?", "Three."]);
    assert.deepEqual(device.heard, ["One.", "Two?", "Two.", "Three."]);
    conversation.close();
    other.close();
  });

  test("says why, and tries again with the next message", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    let isRefused = true;
    const refused = { error: { code: "insufficient_scope", message: "Not this one." } };
    device.service = {
      fetch: async (request) =>
        isRefused && request.url.endsWith("/stream") && request.method === "GET"
          ? Response.json(refused, { status: 403 })
          : chat.service.fetch(request),
    };
    const conversation = await device.open(chat.conversationId);
    await device.sees(() => conversation.problem);
    assert.equal((conversation.problem as TwinServiceError).status, 403);
    isRefused = false;
    await talk(chat, conversation, "Hello?", "Hi!");
    await settle();
    assert.equal(conversation.problem, undefined);
    await device.client.conversations.update(chat.conversationId, { title: "Ada" });
    await device.sees(() => conversation.conversation.title === "Ada");
    conversation.close();
  });

  test("goes on with the next message if the service has lost what was told last", async () => {
    using _hurried = hurry();
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    await talk(chat, conversation, "One?", "One.");
    const lost = {
      error: { code: "validation_error", message: "after must be an id of this conversation." },
    };
    device.service = {
      fetch: async (request) =>
        /after=\d/.test(request.url) ? Response.json(lost, { status: 400 }) : chat.service.fetch(request),
    };
    device.cut();
    await device.sees(() => conversation.problem);
    await talk(chat, conversation, "Two?", "Two.");
    await device.sees(() => device.streams === 1);
    assert.equal(conversation.problem, undefined);
    conversation.close();
  });

  test("shows a message from here once while its answer is on its way, whatever the stream that opens has of it", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(await device.client.conversations.create({ twinId: "scripted" }));
    const first = conversation.send("One?");
    (await chat.engine.next()).write("On");
    await device.sees(() => conversation.running?.content === "On");
    const answered = createGate();
    device.service = {
      async fetch(request) {
        const response = await chat.service.fetch(request);
        if (request.method === "POST") await answered.opened;
        return response;
      },
    };
    let most = 0;
    void device.sees(() => {
      const shown = [...words(conversation), conversation.unsent?.content];
      most = Math.max(most, shown.filter((content) => content === "Two?").length);
      return conversation.path.length === 4 && conversation.state === "idle";
    });
    const second = conversation.send("Two?", { whenBusy: "replace" });
    await answer(chat, "Two.");
    await first;
    await settle();
    assert.equal(device.streams, 1, "of the conversation");
    answered.open();
    await second;
    assert.deepEqual([words(conversation), most], [["One?", "On", "Two?", "Two."], 1]);
    conversation.close();
  });

  test("is where its person goes while the stream is not open yet", async () => {
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const opened = createGate();
    device.hinder = (what) => what.includes("/stream?after=") && opened.opened;
    const before = await device.open(chat.conversationId);
    await talk(chat, before, "One?", "One.");
    before.close();
    const conversation = await device.open(chat.conversationId);
    const [question] = conversation.path;
    assert.ok(question);
    await talk(chat, conversation, "Two?", "Two.");
    await Promise.all([conversation.edit(question, "Three?"), answer(chat, "Three.")]);
    await conversation.choose(question);
    assert.deepEqual(words(conversation), ["One?", "One.", "Two?", "Two."]);
    opened.open();
    await device.sees(() => device.streams === 1);
    await talk(chat, conversation, "Four?", "Four.");
    assert.deepEqual(words(conversation), ["One?", "One.", "Two?", "Two.", "Four?", "Four."]);
    conversation.close();
  });

  test("is told of the end of a reply that it could not follow, once it can", async () => {
    using _hurried = hurry();
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    await talk(chat, conversation, "One?", "One.");
    const sent = assert.rejects(conversation.send("Two?"), { status: 403 });
    const run = await chat.engine.next();
    run.write("Tw");
    await device.sees(() => conversation.running?.content === "Tw");
    const refused = { error: { code: "insufficient_scope", message: "Not this one." } };
    device.service = { fetch: async () => Response.json(refused, { status: 403 }) };
    device.cut();
    await sent;
    run.write("o.");
    run.finish();
    device.service = chat.service;
    await talk(chat, conversation, "Three?", "Three.");
    await device.sees(() => conversation.path[3]?.completedAt);
    assert.deepEqual(words(conversation), ["One?", "One.", "Two?", "Two.", "Three?", "Three."]);
    assert.deepEqual(device.heard, ["One.", "Three.", "Two."]);
    conversation.close();
  });

  test("goes on with the reply that runs, after a break in the middle of a word", async () => {
    using _hurried = hurry();
    await using chat = await openChat(inProcess);
    const device = new Device(chat);
    const conversation = await device.open(chat.conversationId);
    await talk(chat, conversation, "One?", "One.");
    const sent = conversation.send("Two?");
    const run = await chat.engine.next();
    run.write("Tw");
    await device.sees(() => conversation.running?.content === "Tw");
    device.cut();
    run.write("o.");
    await device.sees(() => conversation.running?.content === "Two.");
    run.finish();
    await sent;
    assert.deepEqual(words(conversation), ["One?", "One.", "Two?", "Two."]);
    conversation.close();
  });

  test("is left: its reply goes on, and who waits for that is told", async () => {
    await using chat = await openChat(inProcess);
    const conversation = await new Device(chat).open(chat.conversationId);
    const sent = conversation.send("Hello?");
    const run = await chat.engine.next();
    await settle();
    conversation.close();
    await assert.rejects(sent, { code: "detached" });
    run.write("Hi");
    run.finish();
    await settle();
    const [, reply] = (await new Device(chat).client.messages.list(chat.conversationId)).data;
    assert.deepEqual([reply?.status, reply?.content], ["completed", "Hi"]);
  });
});
