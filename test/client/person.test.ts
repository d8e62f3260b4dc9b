/**
 * The client where a person answers: what is said, questions that wait, and who answers.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createChatTransport, followSaid, type StoredUIMessage, toUIMessages } from "../../client/ai-sdk.ts";
import { type OpenConversation, PermissionDeniedError, TwinClient } from "../../client/mod.ts";
import { type Chat, type ChatOptions, openChat } from "../support/chat.ts";
import { createGate } from "../support/gate.ts";
import { inProcess } from "../support/harness.ts";
import { Device, hurry } from "./device.ts";

/** A chat with a colleague's client. */
async function open(options?: ChatOptions) {
  const chat = await openChat(inProcess, options);
  const device = new Device(chat);
  return { chat, device, client: device.client, id: chat.conversationId };
}

/** The same, in a conversation in which a person answers. */
async function openAnswered() {
  const opened = await open();
  await opened.client.conversations.update(opened.id, { answeredBy: "person" });
  return opened;
}

const seen = ({ path }: OpenConversation) => path.map(({ content, author }) => author ?? content);

/** What an open conversation shows, and who answers, as soon as it is so. */
async function shows(device: Device, conversation: OpenConversation, ...words: string[]): Promise<void> {
  await device.sees(() => seen(conversation).join("|") === words.join("|"));
}

describe("the client", () => {
  test("says something in the twin's place, once for each key, and sets who answers", async () => {
    const { chat, client, id } = await open();
    await using _ = chat;
    const body = { content: "I am Eva.", author: "Eva", answeredBy: "person" } as const;
    const said = await client.messages.say(id, body, { idempotencyKey: "once" });
    const again = await client.messages.say(id, body, { idempotencyKey: "once" });
    assert.deepEqual([said.role, said.author, again.id], ["assistant", "Eva", said.id]);
    assert.equal((await client.conversations.get(id)).answeredBy, "person");
  });

  test("stores a question alone, as an imported history needs it", async () => {
    const { chat, client, id } = await open();
    await using _ = chat;
    const asked = await client.messages.say(id, { role: "user", content: "Then?" });
    assert.equal(asked.role, "user");
    assert.equal((await client.conversations.get(id)).waitingSince, null);
  });

  test("sends a message that waits for a person, and resolves with it", async () => {
    const { chat, client, id } = await openAnswered();
    await using _ = chat;
    const sent = await client.messages.send(id, { content: "Anybody?" });
    if (sent.role !== "user") assert.fail("it waits");
    const role: "user" = sent.role; // the type says so, too
    assert.deepEqual([role, sent.content, sent.inReplyTo], ["user", "Anybody?", null]);
  });

  test("streams a message that waits: two events, no text, nothing to cancel", async () => {
    const { chat, client, id } = await openAnswered();
    await using _ = chat;
    const stream = client.messages.stream(id, { content: "Anybody?" });
    const events = [];
    for await (const event of stream) events.push(event.type);
    let text = "";
    for await (const piece of stream.text) text += piece;
    const question = await stream.final();
    assert.deepEqual([events, text, stream.waits], [["progress", "complete"], "", true]);
    assert.deepEqual(await stream.cancel(), question);
    assert.equal(stream.messageId, undefined);
  });

  test("lists who waits, longest first, and those that a person has", async () => {
    const { chat, client, id } = await openAnswered();
    await using _ = chat;
    await client.messages.send(id, { content: "Anybody?" });
    const waiting = await client.conversations.list({ waiting: true });
    assert.deepEqual(
      waiting.data.map((each) => each.id),
      [id],
    );
    assert.equal((await client.conversations.list({ answeredBy: "twin" })).pagination.total, 0);
  });

  test("sends in the place of a running reply", async () => {
    const { chat, client, id } = await open();
    await using _ = chat;
    const first = client.messages.stream(id, { content: "A long story?" });
    (await chat.engine.next()).write("Once");
    const second = client.messages.send(id, { content: "Stop.", whenBusy: "replace" });
    const run = await chat.engine.next();
    run.write("Well.");
    run.finish();
    assert.deepEqual([(await first.final()).status, (await second).content], ["cancelled", "Well."]);
  });
});

describe("an open conversation in which a person answers", () => {
  test("shows what was said with its author, who answers, and since when somebody waits", async () => {
    const { chat, device, client, id } = await open();
    await using _ = chat;
    const conversation = await device.open(id);
    assert.deepEqual([conversation.answeredBy, conversation.waitingSince], ["twin", null]);
    await client.messages.say(id, { content: "I am here.", author: "Eva", answeredBy: "person" });
    await shows(device, conversation, "Eva");
    await device.sees(() => conversation.answeredBy === "person");
    const question = await conversation.send("Fine.");
    assert.equal(conversation.waitingSince, question.createdAt);
    conversation.close();
  });

  test("takes one message after the other, without a reply between them", async () => {
    const { chat, device, id } = await openAnswered();
    await using _ = chat;
    const conversation = await device.open(id);
    for (const content of ["1", "2", "3"]) assert.equal((await conversation.send(content)).role, "user");
    assert.deepEqual(seen(conversation), ["1", "2", "3"]);
    assert.deepEqual([conversation.state, conversation.running], ["idle", undefined]);
    conversation.close();
  });

  test("keeps both where both write at once, on one path", async () => {
    const { chat, device, client, id } = await openAnswered();
    await using _ = chat;
    const conversation = await device.open(id);
    await conversation.send("One");
    let said = false;
    device.hinder = async (what) => {
      if (said || !what.endsWith("/messages/stream")) return;
      said = true;
      await new TwinClient({
        baseUrl: "http://twins.test",
        apiKey: chat.key,
        fetch: (input, init) => chat.service.fetch(new Request(input, init)),
      }).messages.say(id, { content: "I come.", author: "Eva" });
    };
    await conversation.send("Two");
    await shows(device, conversation, "One", "Eva", "Two");
    const { data } = await client.messages.list(id);
    assert.deepEqual(
      data.map(({ content }) => content),
      ["One", "I come.", "Two"],
    );
    assert.equal(conversation.unsent, undefined);
    conversation.close();
  });

  test("is stored once where an answer was lost", async () => {
    const { chat, device, client, id } = await openAnswered();
    await using _ = chat;
    const conversation = await device.open(id);
    device.lose();
    await conversation.send("Anybody?");
    assert.equal((await client.messages.list(id)).pagination.total, 1);
    conversation.close();
  });

  test("shows what a person says behind which an unsent message will stand, whoever answers by then", async () => {
    using _hurried = hurry();
    const { chat, device, client, id } = await open();
    await using _ = chat;
    const conversation = await device.open(id);
    await client.messages.say(id, { content: "Hello.", author: "Ada" });
    await shows(device, conversation, "Ada");
    const sendOffline = () => {
      device.hinder = (what) => {
        if (what.startsWith("POST")) throw new TypeError("No connection.");
      };
      return assert.rejects(conversation.send("Anybody?"));
    };
    const { client: desk } = new Device(chat);
    await sendOffline();
    await desk.messages.say(id, { content: "I come.", author: "Eva", answeredBy: "person" });
    await shows(device, conversation, "Ada", "Eva");
    await device.sees(() => conversation.answeredBy === "person");
    device.hinder = () => {};
    await conversation.send("Anybody?");
    await sendOffline();
    await desk.messages.say(id, { content: "Bye.", author: "Ann", answeredBy: "twin" });
    await device.sees(() => conversation.answeredBy === "twin");
    device.hinder = () => {};
    const sent = conversation.send("Anybody?");
    (await chat.engine.next()).finish();
    await sent;
    assert.deepEqual(seen(conversation), ["Ada", "Eva", "Anybody?", "Ann", "Anybody?", ""]);
    assert.deepEqual(conversation.path, (await desk.messages.list(id)).data);
    conversation.close();
  });

  test("keeps words unsent that were said before, whenever that is told", async () => {
    using _hurried = hurry();
    const { chat, device, id } = await openAnswered();
    await using _ = chat;
    const conversation = await device.open(id);
    await device.sees(() => device.streams === 1);
    device.cut();
    device.hinder = (what) => {
      if (what.startsWith("GET")) throw new TypeError("No connection.");
    };
    await conversation.send("Yes.");
    device.hinder = () => {
      throw new TypeError("No connection.");
    };
    await assert.rejects(conversation.send("Yes."));
    device.hinder = () => {};
    await new Device(chat).client.messages.say(id, { content: "Hm.", author: "Eva" });
    await shows(device, conversation, "Yes.", "Eva");
    assert.equal(conversation.unsent?.content, "Yes.");
    await conversation.send("Yes.");
    assert.deepEqual(seen(conversation), ["Yes.", "Eva", "Yes."]);
    conversation.close();
  });

  test("keeps its own message on the path while the stream that opens does not tell of it yet", async () => {
    const { chat, device, id } = await openAnswered();
    await using _ = chat;
    const [told, sent] = [createGate(), createGate()];
    device.service = {
      async fetch(request) {
        const response = await chat.service.fetch(request);
        if (request.method === "GET" && request.url.includes("/stream")) await told.opened;
        return response;
      },
    };
    const conversation = await device.open(id);
    await conversation.send("Yes.");
    const shown: string[][] = [];
    void device.sees(() => {
      shown.push(seen(conversation));
      return conversation.path.length > 2;
    });
    device.hinder = (what) => what.startsWith("POST") && sent.opened;
    const second = conversation.send("Yes.");
    told.open();
    await new Device(chat).client.messages.say(id, { content: "Hm.", author: "Eva" });
    await shows(device, conversation, "Yes.", "Eva");
    sent.open();
    await second;
    await shows(device, conversation, "Yes.", "Eva", "Yes.");
    assert.ok(
      shown.every(([first]) => first === "Yes."),
      shown.join(" | "),
    );
    conversation.close();
  });

  test("shows all that was said before its message where fetch gives no body before its end", async () => {
    const { chat, client, id } = await openAnswered();
    await using _ = chat;
    const device = new Device(chat, { streams: false });
    const conversation = await device.open(id);
    await conversation.send("Anybody?");
    await client.messages.say(id, { content: "I come.", author: "Eva" });
    await conversation.send("Fine.");
    assert.deepEqual(seen(conversation), ["Anybody?", "Eva", "Fine."]);
    assert.deepEqual(device.heard, ["I come."]);
    conversation.close();
  });

  test("is heard of what is said before the stream of a new conversation is open", async () => {
    const { chat, device, client, id } = await open();
    await using _ = chat;
    const said = createGate();
    device.hinder = (what) => what.includes("/stream") && said.opened;
    const conversation = await device.open(await client.conversations.get(id));
    await conversation.handTo("person");
    await client.messages.say(id, { content: "I am here.", author: "Eva" });
    said.open();
    await shows(device, conversation, "Eva");
    assert.deepEqual(device.heard, ["I am here."]);
    conversation.close();
  });

  test("is asked for and handed back; what waited stays, and the twin answers again", async () => {
    const { chat, device, client, id } = await open();
    await using _ = chat;
    const conversation = await device.open(id);
    await conversation.handTo("person");
    await conversation.send("Anybody?");
    await conversation.handTo("twin");
    assert.deepEqual([conversation.answeredBy, conversation.waitingSince], ["twin", null]);
    const sent = conversation.send("Twin?");
    const run = await chat.engine.next();
    run.write("Yes.");
    run.finish();
    assert.equal((await sent).content, "Yes.");
    assert.deepEqual(seen(conversation), ["Anybody?", "Twin?", "Yes."]);
    assert.equal((await client.messages.list(id)).pagination.total, 3);
    conversation.close();
  });

  test("knows who answers, and that a question waits, once the promise resolves", async () => {
    const { chat, device, client, id } = await open();
    await using _ = chat;
    const conversation = await device.open(id);
    await device.sees(() => device.streams === 1);
    await conversation.handTo("person");
    assert.equal(conversation.answeredBy, "person");
    const question = await conversation.send("Anybody?");
    assert.equal(conversation.waitingSince, question.createdAt);
    await conversation.send("Hello?");
    assert.equal(conversation.waitingSince, question.createdAt);
    await chat.clock.advance(1);
    await client.messages.say(id, { content: "I come.", author: "Eva" });
    await shows(device, conversation, "Anybody?", "Hello?", "Eva");
    assert.equal(conversation.waitingSince, null);
    await conversation.handTo("twin");
    assert.equal(conversation.answeredBy, "twin");
    conversation.close();
  });

  test("takes nothing back that was told while the answer was on its way", async () => {
    const { chat, device, client, id } = await open();
    await using _ = chat;
    const conversation = await device.open(id);
    await device.sees(() => device.streams === 1);
    device.service = {
      async fetch(request) {
        const response = await chat.service.fetch(request);
        if (request.method !== "PATCH") return response;
        device.service = chat.service;
        await device.sees(() => conversation.answeredBy === "person");
        await client.conversations.update(id, { answeredBy: "twin" });
        await device.sees(() => conversation.answeredBy === "twin");
        return response;
      },
    };
    await conversation.handTo("person");
    assert.equal(conversation.answeredBy, "twin");
    conversation.close();
  });

  test("is followed as soon as a person is asked for, before the first message", async () => {
    const { chat, device, client } = await open();
    await using _ = chat;
    const made = await client.conversations.create({ twinId: "scripted" });
    const conversation = await device.open(made);
    await conversation.handTo("person");
    assert.equal(conversation.answeredBy, "person");
    await device.sees(() => device.streams === 1);
    await client.messages.say(made.id, { content: "Hello.", author: "Eva" });
    await shows(device, conversation, "Eva");
    conversation.close();
  });
});

test("a client token may not say anything, nor ask a twin for a person that hands over to none", async () => {
  const { chat, client, id } = await open();
  await using _ = chat;
  const { token } = await client.clientTokens.create({ endUser: "ann" });
  const visitor = new Device({ service: chat.service, key: token }).client;
  const { id: own } = await visitor.conversations.create({ twinId: "scripted" });
  const refused = (done: Promise<unknown>) => assert.rejects(done, PermissionDeniedError);
  await refused(visitor.messages.say(own, { content: "I am Eva.", author: "Eva" }));
  await refused(visitor.conversations.update(own, { answeredBy: "person" }));
  assert.equal((await client.conversations.get(id)).answeredBy, "twin");
});

describe("the transport of useChat", () => {
  const user = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });

  function send(
    client: TwinClient,
    chat: Chat,
    messages: readonly Parameters<typeof toShown>[0][],
    transport = createChatTransport(client, { twinId: "scripted" }),
  ) {
    return transport.sendMessages({
      trigger: "submit-message",
      messageId: undefined,
      chatId: chat.conversationId,
      messages: messages.map(toShown),
      abortSignal: undefined,
    });
  }
  const toShown = (message: ReturnType<typeof user> | StoredUIMessage) => message;

  async function chunksOf(stream: ReadableStream<unknown> | null): Promise<unknown[]> {
    const chunks = [];
    if (stream) for await (const chunk of stream) chunks.push(chunk);
    return chunks;
  }

  test("a send that waits ends without a message, and the next one follows it", async () => {
    const { chat, client, id } = await openAnswered();
    await using _ = chat;
    assert.deepEqual(await chunksOf(await send(client, chat, [user("a", "One")])), []);
    await client.messages.say(id, { content: "I come.", author: "Eva" });
    assert.deepEqual(await chunksOf(await send(client, chat, [user("a", "One"), user("b", "Two")])), []);
    const { data } = await client.messages.list(id);
    assert.deepEqual(
      data.map(({ content }) => content),
      ["One", "I come.", "Two"],
    );
  });

  test("what waited stays on the path once the twin answers again", async () => {
    const { chat, client, id } = await openAnswered();
    await using _ = chat;
    await client.messages.send(id, { content: "One" });
    await client.conversations.update(id, { answeredBy: "twin" });
    const shown = toUIMessages((await client.messages.list(id)).data);
    const chunks = await send(client, chat, [...shown, user("b", "Two")]);
    const run = await chat.engine.next();
    run.write("Yes.");
    run.finish();
    await chunksOf(chunks);
    assert.equal((await client.messages.list(id)).pagination.total, 3);
  });

  test("so does what waited in a chat that was open since", async () => {
    const { chat, client, id } = await openAnswered();
    await using _ = chat;
    const transport = createChatTransport(client, { twinId: "scripted" });
    await chunksOf(await send(client, chat, [user("a", "One")], transport));
    await client.conversations.update(id, { answeredBy: "twin" });
    const chunks = await send(client, chat, [user("a", "One"), user("b", "Two")], transport);
    (await chat.engine.next()).finish();
    await chunksOf(chunks);
    const { data } = await client.messages.list(id);
    assert.deepEqual(
      data.map(({ content }) => content),
      ["One", "Two", ""],
    );
  });

  test("what was said is an assistant's, with its author, after a reload", async () => {
    const { chat, client, id } = await open({});
    await using _ = chat;
    const said = await client.messages.say(id, { content: "I am Eva.", author: "Eva" });
    const expected = {
      id: said.id,
      role: "assistant",
      metadata: { author: "Eva" },
      parts: [{ type: "text", text: "I am Eva." }],
    };
    assert.deepEqual(toUIMessages((await client.messages.list(id)).data), [expected]);
  });

  test("what was said since the chat's messages were read is told once: not as it reconnects", async () => {
    const { chat, client, id } = await open();
    await using _ = chat;
    await client.messages.say(id, { content: "I come.", author: "Eva" });
    const { now } = Date;
    Date.now = () => chat.clock.now();
    try {
      const transport = createChatTransport(client, { twinId: "scripted" });
      assert.equal(await transport.reconnectToStream({ chatId: id }), null);
    } finally {
      Date.now = now;
    }
  });

  test("what is said is told as it is said, once, and no twin's reply is", async () => {
    const { chat, client, id } = await open();
    await using _ = chat;
    const first = await client.messages.say(id, { content: "Before", author: "Eva" });
    const left = new AbortController();
    const told: string[] = [];
    const following = followSaid(
      client,
      id,
      ({ parts: [part], metadata }) => {
        if (part?.type === "text") told.push(`${metadata?.author}: ${part.text}`);
        if (told.length === 2) left.abort();
      },
      { after: first.id, signal: left.signal },
    );
    await client.messages.say(id, { content: "One", author: "Eva" });
    const sent = client.messages.send(id, { content: "Twin?" });
    const run = await chat.engine.next();
    run.write("Yes.");
    run.finish();
    await sent;
    await client.messages.say(id, { content: "Two", author: "Eva" });
    await following;
    assert.deepEqual(told, ["Eva: One", "Eva: Two"]);
  });
});
