/**
 * The client's streams on connections that hold: their views, leaving, cancelling, resuming, taking over.
 */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import {
  ConflictError,
  ConnectionError,
  type Message,
  ReplyError,
  TwinClient,
  type TwinClientOptions,
  type TwinServiceError,
} from "../../client/mod.ts";
import { ModelError } from "../../core/mod.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, overSocket } from "../support/harness.ts";
import { allOf, collect, textIn } from "./collect.ts";

function clientOf(chat: Chat, options: Partial<TwinClientOptions> = {}): TwinClient {
  return new TwinClient({ baseUrl: chat.fixture.url, apiKey: chat.key, ...options });
}

/** A reply that a client follows, and that the engine has begun. */
async function openReply() {
  const chat = await openChat(overSocket);
  const client = clientOf(chat);
  const reply = client.messages.stream(chat.conversationId, { content: "Hello?" });
  const run = await chat.engine.next();
  return { chat, client, reply, run, [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose]() };
}

describe("a stream", () => {
  test("gives its events, its text and its final message, all from the beginning", async () => {
    await using opened = await openReply();
    const { reply, run } = opened;
    run.write("Hello ");
    run.progress({ stage: "thinking" });
    run.write("you");
    run.finish();
    const message = await reply.final();
    assert.equal((await allOf(reply.text)).join(""), "Hello you");
    assert.deepEqual((await allOf(reply)).at(-1), { id: 9, type: "complete", message });
    assert.equal(reply.messageId, message.id);
    assert.equal(reply.joined, false);
  });

  test("of a reply that fails ends with the error event, and rejects the final message with its code", async () => {
    await using opened = await openReply();
    const { reply, run } = opened;
    run.write("Hel");
    run.fail(new ModelError("model_timeout", "too slow"));
    assert.deepEqual(
      (await allOf(reply)).map(({ type }) => type),
      ["progress", "delta", "error"],
    );
    await assert.rejects(reply.final(), (error) => {
      assert.ok(error instanceof ReplyError);
      assert.deepEqual([error.code, error.messageId], ["model_timeout", reply.messageId]);
      return true;
    });
    await assert.rejects(allOf(reply.text), ReplyError);
  });

  test("that is left goes on without this client", async () => {
    await using opened = await openReply();
    const { chat, client, reply, run } = opened;
    run.write("Hello ");
    for await (const text of reply.text) if (text === "Hello ") break;
    await assert.rejects(reply.final(), ({ code }: TwinServiceError) => code === "detached");
    run.write("you");
    run.finish();
    const whole = await client.messages.resume(chat.conversationId, String(reply.messageId)).final();
    assert.deepEqual([whole.content, whole.status], ["Hello you", "completed"]);
  });

  test("that is left at once has sent its message nevertheless", async () => {
    await using chat = await openChat(overSocket);
    const reply = clientOf(chat).messages.stream(chat.conversationId, { content: "Hello?" });
    reply.detach();
    (await chat.engine.next()).finish();
    assert.deepEqual(
      (await allOf(reply)).map(({ type }) => type),
      ["progress"],
    );
  });

  test("that is cancelled completes with the text so far", async () => {
    await using chat = await openChat(overSocket);
    const reply = clientOf(chat).messages.stream(chat.conversationId, { content: "Hello?" });
    const reading = collect(reply);
    (await chat.engine.next()).write("Hello ");
    await reading.reach(6);
    const cancelled = await reply.cancel();
    assert.deepEqual([cancelled.status, cancelled.content], ["cancelled", "Hello "]);
    assert.deepEqual(await reply.final(), cancelled);
  });

  test("whose signal aborts throws the signal's reason", async () => {
    await using chat = await openChat(overSocket);
    const controller = new AbortController();
    const { signal } = controller;
    const reply = clientOf(chat).messages.stream(chat.conversationId, { content: "Hello?" }, { signal });
    await chat.engine.next();
    controller.abort(new Error("the page was left"));
    await assert.rejects(reply.final(), /the page was left/);
  });

  test("leaves the caller's signal alone once it has ended", async () => {
    await using chat = await openChat(overSocket);
    const { signal } = new AbortController();
    const reply = clientOf(chat).messages.stream(chat.conversationId, { content: "Hello?" }, { signal });
    (await chat.engine.next()).finish();
    await reply.final();
    await settle();
    assert.deepEqual(getEventListeners(signal, "abort"), []);
  });

  test("into a busy conversation throws, and names the running reply", async () => {
    await using opened = await openReply();
    const { chat, client, reply: first, run } = opened;
    await assert.rejects(
      client.messages.stream(chat.conversationId, { content: "And?" }).final(),
      (error) => {
        assert.ok(error instanceof ConflictError);
        assert.equal(error.details?.messageId, first.messageId);
        return true;
      },
    );
    run.finish();
    await first.final();
  });

  for (const way of ["stream", "send"] as const) {
    test(`into a busy conversation waits for the running reply, and is sent then, if told to: ${way}`, async () => {
      await using chat = await openChat(overSocket);
      const gate = createGate();
      const fetch: typeof globalThis.fetch = async (input, init) => {
        const response = await globalThis.fetch(input, init);
        if (response.status === 409) gate.open();
        return response;
      };
      const client = clientOf(chat, { onBusy: "wait", fetch });
      const first = client.messages.stream(chat.conversationId, { content: "Hello?" });
      const run = await chat.engine.next();
      const second = client.messages[way](chat.conversationId, { content: "And?" });
      await gate.opened;
      run.fail(new ModelError("model_error", "no such model"));
      await assert.rejects(first.final(), ReplyError);
      const next = await chat.engine.next();
      next.write("That is all.");
      next.finish();
      const message = await ("final" in second ? second.final() : second);
      assert.equal(message.content, "That is all.");
      const stored = await dataOf<Message[]>(await chat.get("/messages"));
      assert.deepEqual(
        stored.map(({ content }) => content),
        ["Hello?", "", "And?", "That is all."],
      );
    });

    test(`into a busy conversation follows the running reply instead, if told to: ${way}`, async () => {
      await using chat = await openChat(overSocket);
      const gate = createGate();
      const fetch: typeof globalThis.fetch = async (input, init) => {
        const response = await globalThis.fetch(input, init);
        if (response.status === 409) gate.open();
        return response;
      };
      const client = clientOf(chat, { onBusy: "follow", fetch });
      const first = client.messages.stream(chat.conversationId, { content: "Hello?" });
      const run = await chat.engine.next();
      const second = client.messages[way](chat.conversationId, { content: "And?" });
      await gate.opened;
      run.write("Hello you");
      run.finish();
      const message = await ("final" in second ? second.final() : second);
      assert.deepEqual(message, await first.final());
      assert.equal("joined" in second ? second.joined : true, true);
      assert.equal((await dataOf<Message[]>(await chat.get("/messages"))).length, 2);
    });
  }

  test("resumes a reply from any point of its text", async () => {
    await using opened = await openReply();
    const { chat, client, reply: first, run } = opened;
    run.write("Hello you");
    run.finish();
    const { id } = await first.final();
    const rest = client.messages.resume(chat.conversationId, id, { after: 6 });
    assert.equal((await allOf(rest.text)).join(""), "you");
    assert.equal((await rest.final()).content, "Hello you");
  });
});

type Sent = readonly [id: number, data: unknown];

/** A client whose service answers with these event streams, one after the other. */
function scripted(streams: readonly (readonly Sent[])[], maxRetries = 2) {
  const urls: string[] = [];
  const fetch = async (input: RequestInfo | URL) => {
    const events = streams[urls.push(String(input)) - 1] ?? [];
    const text = events.map(([id, data]) => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`).join("");
    return new Response(text, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } });
  };
  return { urls, client: new TwinClient({ baseUrl: "http://twins.test", apiKey: "k", fetch, maxRetries }) };
}

const accepted = (id = 0) =>
  [id, { type: "progress", progress: { stage: "accepted", messageId: "msg_2" } }] as const;
const delta = (id: number, content: string) => [id, { type: "delta", content }] as const;
const continued = (from: number) =>
  [from, { type: "progress", progress: { stage: "continued", from, attempt: 2 } }] as const;
const complete = (content: string) => [content.length, { type: "complete", message: { content } }] as const;

describe("a reply that another process takes over", () => {
  test("is cut back to where it goes on", async () => {
    const { urls, client } = scripted([
      [accepted(), delta(6, "Hello "), delta(9, "you")],
      [accepted(6), continued(6), delta(9, "all"), complete("Hello all")],
    ]);
    const reply = client.messages.stream("conv_1", { content: "Hello?" });
    assert.equal(textIn(await allOf(reply)), "Hello all");
    assert.match(urls[1] ?? "", /messages\/msg_2\/stream\?after=9$/);
  });

  test("is cut back again if the connection breaks behind that", async () => {
    const { urls, client } = scripted([
      [accepted(), delta(9, "Hello you")],
      [accepted(6), continued(6), delta(8, "al")],
      [accepted(6), continued(6), delta(9, "all"), complete("Hello all")],
    ]);
    assert.equal(textIn(await allOf(client.messages.stream("conv_1", { content: "Hello?" }))), "Hello all");
    assert.deepEqual(
      urls.map((url) => new URL(url).search),
      ["", "?after=9", "?after=8"],
    );
  });

  test("has a text whose pieces go on behind what was given", async () => {
    const { client } = scripted([
      [accepted(), delta(9, "Hello you")],
      [accepted(6), continued(6), delta(9, "all"), delta(13, " now"), complete("Hello all now")],
    ]);
    const reply = client.messages.stream("conv_1", { content: "Hello?" });
    assert.deepEqual(await allOf(reply.text), ["Hello you", " now"]);
    assert.equal((await reply.final()).content, "Hello all now");
  });
});

describe("a stream without an end", () => {
  test("is resumed, then fails once that many connections in a row have brought nothing new", async () => {
    const again = [accepted(5), continued(5)];
    const { urls, client } = scripted([[accepted(), delta(5, "Hello")], again, again], 1);
    await assert.rejects(client.messages.stream("conv_1", { content: "Hello?" }).final(), ConnectionError);
    assert.equal(urls.length, 3);
  });

  test("is one that lacks a part of the text", async () => {
    const { client } = scripted([
      [accepted(), delta(5, "Hello"), delta(12, "missed")],
      [accepted(5), delta(12, " missed"), complete("Hello missed")],
    ]);
    assert.equal(
      textIn(await allOf(client.messages.stream("conv_1", { content: "Hello?" }))),
      "Hello missed",
    );
  });

  test("is one with a page of a proxy in its place", async () => {
    const fetch = async () => new Response("<h1>Sign in</h1>", { headers: { "Content-Type": "text/html" } });
    const client = new TwinClient({ baseUrl: "http://twins.test", apiKey: "k", fetch, maxRetries: 0 });
    await assert.rejects(client.messages.stream("conv_1", { content: "Hello?" }).final(), /no event stream/);
  });
});
