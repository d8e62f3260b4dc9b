/**
 * The package `openai` over connections that break: the text is exact, one reply is stored, and the engine is asked once.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type * as Package from "openai";
import { type Fault, openBreakingProxy } from "../client/breaking-proxy.ts";
import { pieces, whole } from "../client/broken-connections.ts";
import { type OpenAIFixture, openOpenAI } from "../openai-clients/fixture.ts";
import { settle } from "../support/clock.ts";
import { overSocket } from "../support/harness.ts";
import { skip } from "./packages.ts";

/** A fault with a name. */
type NamedFault = Fault & { readonly name: string };

/** Where a connection breaks before the server answers: there the client repeats its request. */
const early: readonly NamedFault[] = [
  { name: "ends before the head", after: "request", how: "end" },
  { name: "is reset before the head", after: "request", how: "reset" },
  { name: "falls silent before the head", after: "request", how: "stall" },
  { name: "is answered with 502", after: "request", how: "502" },
];

/** The same, inside of the answer's head: that of a whole answer comes with all of it, and is then known to be sent. */
const inHead: readonly NamedFault[] = [
  { name: "ends inside the head", after: ["HTTP/1.1 2"], how: "end" },
  { name: "is reset inside the head", after: ["X-Request-Id"], how: "reset" },
];

/** Where a stream breaks after that: there its reader continues it. */
const late: readonly NamedFault[] = [
  { name: "behind the first event", after: ["response.created", "\n\n"], how: "end" },
  { name: "inside a delta", after: ['"delta":"Hel'], how: "reset" },
  { name: "inside a character of two bytes", after: ["caf"], plus: 1, how: "reset" },
  { name: "inside a character of four bytes", after: [" and "], plus: 2, how: "reset" },
  { name: "behind a delta", after: ["café", "\n\n"], how: "end" },
  { name: "behind the last delta", after: ['"delta":"!"', "\n\n"], how: "reset" },
  { name: "between the last events", after: ["event: response.content_part.done", "\n\n"], how: "end" },
  { name: "inside the last event", after: ["event: response.completed"], how: "reset" },
];

/** Talks, and has the engine write the reply by calling `play`. Returns the text that the client got. */
type Talk = (
  client: Package.OpenAI,
  api: OpenAIFixture,
  play: () => Promise<void>,
) => Promise<string | null | undefined>;

const question = { model: "ada", messages: [{ role: "user" as const, content: "Hello?" }] };
const named = { headers: { "X-Conversation-Id": "chat 1" } };

/** The ways to ask for a reply that is stored. */
const ways: Readonly<Record<string, Talk>> = {
  async "a completion"(client, _api, play) {
    const [completion] = await Promise.all([client.chat.completions.create(question, named), play()]);
    return completion.choices[0]?.message.content;
  },

  async "a streamed completion"(client, _api, play) {
    const stream = client.chat.completions.stream(question, named);
    const [text] = await Promise.all([stream.finalContent(), play()]);
    return text;
  },

  async "a response"(client, api, play) {
    const conversation = await api.fixture.conversation(api.key, "ada");
    const body = { model: "ada", input: "Hello?", conversation };
    const [response] = await Promise.all([client.responses.create(body), play()]);
    return response.output_text;
  },

  async "a streamed response"(client, _api, play) {
    const stream = await client.responses.create({ model: "ada", input: "Hello?", stream: true });
    await play();
    let text = "";
    for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
    return text;
  },
};

/** Reads a response as a stream, continued wherever it breaks. */
async function readOn(client: Package.OpenAI, play: () => Promise<void>): Promise<string | undefined> {
  let text = "";
  let id = "";
  let last = -1;
  let stream = await client.responses.create({ model: "ada", input: "Hello?", stream: true });
  let playing: Promise<void> | undefined;
  for (;;) {
    try {
      for await (const event of stream) {
        assert.ok(event.sequence_number > last);
        last = event.sequence_number;
        if (event.type === "response.created") id = event.response.id;
        if (event.type === "response.output_text.delta") text += event.delta;
        if (event.type === "response.completed") return playing?.then(() => text);
        playing ??= play(); // once something has arrived: what a broken connection has not delivered is lost
      }
    } catch (error) {
      assert.match(String(error), /terminated|ECONNRESET/);
    }
    stream = await client.responses.retrieve(id, { stream: true, starting_after: last });
  }
}

describe("openai over a connection that breaks", { skip, concurrency: true, timeout: 300_000 }, () => {
  let library: typeof Package;
  before(async () => {
    library = await import("openai");
  });

  /** Talks through a proxy with faults. `retries`: how often the client asks again before the engine writes. */
  async function converse(faults: readonly NamedFault[], talk: Talk, retries = 0): Promise<void> {
    await using api = await openOpenAI(overSocket);
    await using proxy = await openBreakingProxy(api.fixture.url, faults);
    const client = new library.OpenAI({
      baseURL: `${proxy.url}/v1`,
      apiKey: api.key,
      maxRetries: 3,
      ...(faults.some(({ how }) => how === "stall") && { timeout: 2_000 }),
    });
    const text = await talk(client, api, async () => {
      const run = await api.engine.next();
      // The server would not know that a reply which it has sent whole was lost.
      while (proxy.requests.length <= retries) await sleep(10);
      for (const piece of pieces) {
        run.write(piece);
        await settle(); // each piece is a delta of its own
      }
      run.finish();
    });
    assert.equal(text, whole);
    assert.equal(proxy.faults.length, 0, "the connection broke");
    assert.deepEqual(
      (await api.messages()).map(({ content }) => content),
      ["Hello?", whole],
    );
    assert.equal(api.engine.asked, 1);
  }

  for (const [way, talk] of Object.entries(ways)) {
    for (const fault of way.includes("streamed") ? [...early, ...inHead] : early) {
      test(`${way} whose connection ${fault.name} is asked for again, and joined`, () =>
        converse([fault], talk, 1));
    }
    test(`${way} whose connection breaks twice is asked for again, and joined`, () =>
      converse(early.slice(0, 2), talk, 2));
  }

  const goOn: Talk = (client, _api, play) => readOn(client, play);
  for (const fault of late) {
    test(`a streamed response that is cut off ${fault.name} is continued`, () => converse([fault], goOn));
  }
  test("a streamed response that is cut off again and again is continued", () =>
    converse(
      late.filter((_, index) => index % 3 === 1),
      goOn,
    ));
});
