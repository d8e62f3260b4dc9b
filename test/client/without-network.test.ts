/**
 * Replies on a network that is away for long, and on a `fetch` that streams nothing.
 */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { ConnectionError, RateLimitError, TwinClient, type TwinClientOptions } from "../../client/mod.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { inProcess } from "../support/harness.ts";
import { runtime } from "../support/runtime.ts";
import { collect, textIn } from "./collect.ts";

const skip = runtime !== "node" && `${runtime} cannot set a test's timers`;

/** A client in the process of the service, whose network a test may take away. */
function openNetwork(chat: Chat, options: Partial<TwinClientOptions> = {}) {
  const network = { isAway: false, attempts: 0, cut: new AbortController() };
  const fetch: typeof globalThis.fetch = async (input, init) => {
    network.attempts++;
    if (network.isAway) throw new TypeError("Failed to fetch");
    const signal = AbortSignal.any([network.cut.signal, ...(init?.signal ? [init.signal] : [])]);
    return chat.service.fetch(new Request(input, { ...init, signal }));
  };
  const client = new TwinClient({ baseUrl: "http://twins.test", apiKey: chat.key, fetch, ...options });
  return { network, client };
}

/** How often I/O may settle before more time passes: text that is joined waits for some milliseconds of the system's time. */
const turns = 10;

/** Lets time pass until something holds. */
async function pass(t: TestContext, ms: number, isOver: () => boolean): Promise<void> {
  for (let passed = 0; !isOver(); passed += 250) {
    assert.ok(passed < ms, `not within ${ms} ms`);
    t.mock.timers.tick(250);
    for (let turn = 0; turn < turns; turn++) await settle();
  }
}

describe("a reply whose network is away", { skip }, () => {
  test("is followed again after four minutes", async (t) => {
    await using chat = await openChat(inProcess);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { network, client } = openNetwork(chat, { silenceMs: 1_000 });
    const reply = client.messages.stream(chat.conversationId, { content: "Hello?" });
    const reading = collect(reply);
    const run = await chat.engine.next();
    run.write("Hello ");
    await reading.reach(6);
    network.isAway = true;
    const { attempts } = network;
    const quarters = Array.from({ length: 4 * 240 });
    await pass(t, 241_000, () => quarters.pop() === undefined && quarters.length === 0);
    assert.ok(network.attempts - attempts > 10);
    network.isAway = false;
    run.write("you");
    run.finish();
    await pass(t, 10_000, () => reading.events.at(-1)?.type === "complete");
    assert.equal(textIn(reading.events), "Hello you");
  });

  test("is given up at last", async (t) => {
    await using chat = await openChat(inProcess);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { network, client } = openNetwork(chat, { silenceMs: 1_000 });
    const reply = client.messages.stream(chat.conversationId, { content: "Hello?" });
    let failure: unknown;
    reply.final().catch((error) => {
      failure = error;
    });
    await chat.engine.next();
    network.isAway = true;
    await pass(t, 600_000, () => failure !== undefined);
    assert.ok(failure instanceof ConnectionError);
  });

  test("is asked for at once when the browser is online again", async (t) => {
    await using chat = await openChat(inProcess);
    const page = new EventTarget();
    for (const name of ["addEventListener", "removeEventListener"] as const) {
      Object.defineProperty(globalThis, name, { value: page[name].bind(page), configurable: true });
    }
    t.after(() => {
      for (const name of ["addEventListener", "removeEventListener"])
        Reflect.deleteProperty(globalThis, name);
    });
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { network, client } = openNetwork(chat, { silenceMs: 1_000 });
    const reply = client.messages.stream(chat.conversationId, { content: "Hello?" });
    const reading = collect(reply);
    const run = await chat.engine.next();
    network.isAway = true;
    await pass(t, 60_000, () => network.attempts > 6); // the pauses are at their longest
    network.isAway = false;
    run.write("Hello you");
    page.dispatchEvent(new Event("online"));
    await reading.reach(9);
    assert.equal(textIn(reading.events), "Hello you");
    run.finish();
    await reading.end;
  });

  test("has as many retries as the caller allows", async (t) => {
    await using chat = await openChat(inProcess);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { network, client } = openNetwork(chat, { silenceMs: 1_000, maxRetries: 1 });
    const reply = client.messages.stream(chat.conversationId, { content: "Hello?" });
    const failed = assert.rejects(reply.final(), ConnectionError);
    await chat.engine.next();
    network.isAway = true;
    let over = false;
    void failed.finally(() => {
      over = true;
    });
    await pass(t, 10_000, () => over);
    await failed;
  });
});

/** A `fetch` as React Native has it: an answer is there once all of it is, and has no body to read before. */
const wholeAnswers =
  (chat: Chat): typeof globalThis.fetch =>
  async (input, init) => {
    const response = await chat.service.fetch(new Request(input, init));
    const { ok, status, headers } = response;
    const text = await response.text();
    return { ok, status, headers, text: async () => text, json: async () => JSON.parse(text) } as Response;
  };

describe("a reply where fetch streams nothing", { skip }, () => {
  /** A conversation in which the client has seen what its `fetch` is like. */
  async function openWhole() {
    const chat = await openChat(inProcess);
    const client = new TwinClient({
      baseUrl: "http://twins.test",
      apiKey: chat.key,
      fetch: wholeAnswers(chat),
    });
    await client.conversations.get(chat.conversationId);
    return { chat, client, [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose]() };
  }

  test("is shown as it is stored, and sent once", async (t) => {
    await using opened = await openWhole();
    const { chat, client } = opened;
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const reading = collect(client.messages.stream(chat.conversationId, { content: "Hello?" }));
    const run = await chat.engine.next();
    run.write("Hello ");
    await chat.clock.advance(1_000); // the text is stored
    await pass(t, 10_000, () => reading.events.some(({ type }) => type === "delta"));
    assert.equal(textIn(reading.events), "Hello ");
    run.write("you");
    run.finish();
    await reading.end;
    const types = reading.events.map(({ type }) => type);
    assert.deepEqual(types, ["progress", "delta", "delta", "complete"]);
    assert.equal(textIn(reading.events), "Hello you");
    assert.equal((await client.messages.list(chat.conversationId)).data.length, 2);
  });

  test("is shown as it is stored behind a yes alone, too", async (t) => {
    await using opened = await openWhole();
    const { chat, client } = opened;
    const asked = chat.send("Cancel it.");
    const pending = { calls: [{ callId: "a", name: "orders/cancel", arguments: {} }], state: "{}" };
    (await chat.engine.next()).finish({ finishReason: "tool_calls", pending });
    await asked;
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const reading = collect(client.messages.stream(chat.conversationId, { calls: { a: "approve" } }));
    const run = await chat.engine.next();
    run.write("Done");
    await chat.clock.advance(1_000); // the text is stored
    await pass(t, 10_000, () => reading.events.some(({ type }) => type === "delta"));
    assert.equal(textIn(reading.events), "Done");
    run.finish();
    await reading.end;
  });

  test("is followed after the page was left", async (t) => {
    await using opened = await openWhole();
    const { chat, client } = opened;
    const { run, messageId } = await chat.begin();
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const reading = collect(client.messages.resume(chat.conversationId, messageId));
    run.write("Hello you");
    run.finish();
    await pass(t, 10_000, () => reading.events.at(-1)?.type === "complete");
    assert.equal(textIn(reading.events), "Hello you");
  });

  test("is refused as elsewhere", async () => {
    await using opened = await openWhole();
    const { chat, client } = opened;
    while ((await client.usage.get()).remaining > 0) await client.twins.list();
    const reply = client.messages.stream(chat.conversationId, { content: "Hello?" });
    await assert.rejects(reply.final(), RateLimitError);
  });
});
