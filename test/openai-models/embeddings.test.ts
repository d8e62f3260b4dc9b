/**
 * Sections that are found by what they mean, with vectors of a model's server.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createEmbeddings,
  type EmbeddingCache,
  type EmbeddingsOptions,
} from "../../adapters/openai-models/embeddings.ts";
import type { Log } from "../../core/mod.ts";
import type { HistoryMessage } from "../../core/twins/engine.ts";
import { createBriefings, createKnowledgeEngine } from "../../knowledge/mod.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { newTwin } from "../support/harness.ts";
import { shapes, startEmbeddings } from "./embeddings-server.ts";

const text = `You are the innkeeper.

## Pets

A dog sleeps for free.

## Mornings

There are eggs until ten.

## Arriving

You may park in the yard. The station is near.

## Water

The pool is open from May on.
`;
const twin = newTwin({ id: "inn", name: "Inn", instructions: text, knowledge: "search" });

function embedAt(baseUrl: string, options: Partial<EmbeddingsOptions> = {}) {
  return createEmbeddings({ baseUrl, model: "words", apiKey: "sk-1", log: () => {}, ...options });
}

for (const [name, shape] of Object.entries(shapes)) {
  test(`a question in another language than the text finds its section (${name})`, async () => {
    await using server = await startEmbeddings(shape);
    const brief = createBriefings({ embed: embedAt(server.baseUrl) });
    for (const [content, heading] of [
      ["Darf mein Hund mit?", "Pets"],
      ["Wo kann ich parken?", "Arriving"],
      ["Où nager?", "Water"],
    ] as const) {
      const { sources, findings } = await brief({ twin, history: [], content });
      assert.equal(sources?.[0]?.heading, heading, content);
      assert.match(findings ?? "", new RegExp(`## ${heading}`));
    }
    assert.deepEqual(new Set(server.credentials), new Set(["Bearer sk-1"]));
    assert.ok(server.asked.every(({ model }) => model === "words"));
    const sections = server.asked.filter(({ input }) => input.length > 1);
    assert.equal(sections.length, 1, "sections are sent once");
  });
}

/** What the offline engine says. */
async function say(
  content: string,
  embed: ReturnType<typeof createEmbeddings>,
  history: readonly HistoryMessage[] = [],
) {
  const engine = createKnowledgeEngine({ embed });
  let said = "";
  const output = {
    write: (text: string) => {
      said += text;
    },
    progress: () => {},
    beginActing: async () => {},
    handOver: () => {},
    hold: () => true,
    signal: new AbortController().signal,
  };
  await engine.reply({ twin, history, content }, output);
  return said;
}

test("the offline engine offers what a question means, never as certain, and refuses what means nothing here", async () => {
  await using server = await startEmbeddings(shapes.OpenAI);
  const embed = embedAt(server.baseUrl);
  const answer = await say("Darf mein Hund mit?", embed);
  assert.match(answer, /A dog sleeps for free/);
  assert.ok(!answer.startsWith("A dog"), answer);
  assert.doesNotMatch(await say("Wer hat die Oper komponiert?", embed), /dog|eggs|yard|pool/);
  assert.match(await say("Until when are there eggs?", embed), /until ten/);
});

test("where no section means what is asked, a model is told the topics", async () => {
  await using server = await startEmbeddings(shapes.OpenAI);
  const brief = createBriefings({ embed: embedAt(server.baseUrl) });
  const { findings, sources } = await brief({ twin, history: [], content: "Explain quantum chromodynamics" });
  assert.deepEqual(sources, []);
  assert.match(findings ?? "", /Nothing that you know fits[\s\S]+- Pets\n- Mornings/);
});

test("each of several questions in one message is answered by its meaning", async () => {
  await using server = await startEmbeddings(shapes.OpenAI);
  const answer = await say("Darf mein Hund mit? Wo kann ich parken?", embedAt(server.baseUrl));
  for (const text of ["A dog sleeps for free", "You may park in the yard"])
    assert.ok(answer.includes(text), answer);
});

test("a follow-up is about what the question before it meant", async () => {
  await using server = await startEmbeddings(shapes.OpenAI);
  const embed = embedAt(server.baseUrl);
  for (const [first, next, expected] of [
    ["Wo kann ich parken?", "and when?", /yard/],
    ["Darf mein Hund mit?", "und wie?", /dog/],
    ["Darf mein Hund mit?", "and until when are there eggs?", /until ten/],
    ["Darf mein Hund mit?", "and who composed this opera?", /I don't know/],
  ] as const) {
    const history: HistoryMessage[] = [
      { role: "user", content: first },
      { role: "assistant", content: await say(first, embed) },
    ];
    assert.match(await say(next, embed, history), expected, next);
  }
  const history = [{ role: "user", content: "Darf mein Hund mit?" }] as const;
  const { sources } = await createBriefings({ embed })({ twin, history, content: "und wie?" });
  assert.equal(sources?.[0]?.heading, "Pets");
});

test("while the server is away, words alone decide, with one warning an outage, and it is asked again later", async () => {
  await using server = await startEmbeddings(shapes.OpenAI, 503);
  const clock = createManualClock();
  const warnings: string[] = [];
  const embed = embedAt(server.baseUrl, {
    clock,
    log: (level, message) => level === "warn" && void warnings.push(message),
  });
  const find = async (content: string) => {
    const { sources } = await createBriefings({ embed })({ twin, history: [], content });
    return sources?.[0]?.heading;
  };
  for (let time = 0; time < 3; time++) assert.equal(await find("Until when are there eggs?"), "Mornings");
  assert.equal(await find("Darf mein Hund mit?"), undefined);
  assert.equal(warnings.length, 1);
  assert.ok(server.asked.length <= 2, `asked ${server.asked.length} times`);
  server.state.status = 200;
  await clock.advance(15_000);
  assert.equal(await find("Darf mein Hund mit?"), "Pets");
  server.state.status = 500;
  assert.equal(await find("Darf mein Hund mit?"), undefined);
  assert.equal(warnings.length, 2);
});

test("a server that was away is asked again where the clock is set back", async () => {
  await using server = await startEmbeddings(shapes.OpenAI, 503);
  const clock = createManualClock();
  const embed = embedAt(server.baseUrl, { clock });
  assert.equal(await embed(["Darf mein Hund mit?"], "question"), undefined);
  server.state.status = 200;
  clock.step(-3_600_000);
  assert.equal((await embed(["Darf mein Hund mit?"], "question"))?.length, 1);
});

for (const status of [400, 413, 422]) {
  test(`a text that the server refuses with ${status} keeps no other from being found, and is told once`, async () => {
    await using server = await startEmbeddings(shapes.OpenAI);
    const warnings: string[] = [];
    const embed = embedAt(server.baseUrl, {
      clock: createManualClock(),
      log: (level, message) => level === "warn" && void warnings.push(message),
    });
    for (let time = 0; time < 2; time++) {
      server.state.status = status;
      assert.equal(await embed(["x".repeat(2_000)], "question"), undefined);
      server.state.status = 200;
      assert.equal((await embed(["Darf mein Hund mit?"], "question"))?.length, 1);
    }
    assert.deepEqual(warnings, [
      "the embeddings of a model's server refuse a text, which is searched by words alone",
    ]);
  });
}

for (const [since, wasAsked] of [
  ["the first question on", false],
  ["a later question on", true],
] as const) {
  test(`a server that is slower than two seconds from ${since} is not waited for, with one warning`, async () => {
    await using server = await startEmbeddings(shapes.OpenAI);
    const clock = createManualClock();
    const warnings: string[] = [];
    const embed = embedAt(server.baseUrl, {
      clock,
      log: (level, message) => level === "warn" && void warnings.push(message),
    });
    const brief = createBriefings({ embed, clock });
    const question = { twin, history: [], content: "Until when are there eggs?" };
    if (wasAsked) await brief(question);
    server.state.hangs = true;
    const sent = server.asked.length;
    const briefing = brief(question);
    for (let step = 0; step < 20 && server.asked.length === sent; step++) await clock.advance(0);
    await clock.advance(2_000);
    assert.equal((await briefing).sources?.[0]?.heading, "Mornings");
    assert.equal(warnings.length, 1);
    await clock.advance(60_000);
    assert.equal(warnings.length, 1);
  });
}

test("a text is sent once, though the process begins anew, and a question is kept nowhere", async () => {
  await using server = await startEmbeddings(shapes.OpenAI);
  const kept = new Map<string, Float32Array>();
  const cache: EmbeddingCache = {
    load: async (digest) => kept.get(digest),
    save: async (digest, vector) => void kept.set(digest, vector),
  };
  for (let time = 0; time < 2; time++) {
    const brief = createBriefings({ embed: embedAt(server.baseUrl, { cache }) });
    const { sources } = await brief({ twin, history: [], content: "Darf mein Hund mit?" });
    assert.equal(sources?.[0]?.heading, "Pets");
  }
  assert.deepEqual(server.asked.map(({ input }) => input.length).sort(), [1, 1, 4]);
  assert.equal(kept.size, 4);
});

test("an answer without a vector for each text is an outage", async () => {
  for (const answer of [
    {},
    { data: [] },
    { data: [{ embedding: [1] }, { embedding: [1, 2] }] },
    { data: [{ embedding: [1] }, { embedding: [1] }, { embedding: [1] }] },
    { data: [{ index: 1, embedding: [1] }] },
    { data: [1, 1].map((index) => ({ index, embedding: [1] })) },
    { data: [0, -1].map((index) => ({ index, embedding: [1] })) },
    { data: [0, 4_294_967_294].map((index) => ({ index, embedding: [1] })) },
    { data: [{ embedding: [1] }, { embedding: ["one"] }] },
    { data: [{ embedding: [1] }, { embedding: [[1]] }] },
    { data: [{ embedding: [1] }, { embedding: [1e300] }] },
    { data: [{ embedding: [1] }, { embedding: "AADAfw==" }] },
    { data: [{ embedding: [1] }, { embedding: "AACAPw".repeat(50_001) }] },
    { data: [{ embedding: Array(4_097).fill(1) }, { embedding: Array(4_097).fill(1) }] },
    "no",
    null,
  ]) {
    await using server = await startEmbeddings(() => answer);
    assert.equal(
      await embedAt(server.baseUrl)(["one", "two"], "sections"),
      undefined,
      JSON.stringify(answer),
    );
  }
});

test("vectors of 4,096 numbers are read, as numbers and in Base64", async () => {
  const vector = new Float32Array(4_096).fill(0.5);
  for (const embedding of [[...vector], Buffer.from(vector.buffer).toString("base64")]) {
    const fetch = async () => Response.json({ data: Array(16).fill({ embedding }) });
    const vectors = await embedAt("http://127.0.0.1:1/v1", { fetch })(Array(16).fill("one"), "sections");
    assert.deepEqual(vectors, Array(16).fill(vector));
  }
});

test("an answer without end is an outage, and is not read on", async () => {
  const piece = new TextEncoder().encode(" ".repeat(1_048_576));
  let taken = 0;
  let isCancelled = false;
  const body = new ReadableStream({
    pull: (controller) => {
      taken += piece.length;
      controller.enqueue(piece);
    },
    cancel: () => {
      isCancelled = true;
    },
  });
  const warnings: unknown[] = [];
  const embed = embedAt("http://127.0.0.1:1/v1", {
    fetch: async () => new Response(body),
    log: (_level, _message, fields) => void warnings.push(String(fields?.error)),
  });
  assert.equal(await embed(["one"], "question"), undefined);
  assert.deepEqual([taken < 12_000_000, isCancelled], [true, true]);
  assert.deepEqual(warnings, ["Error: it answers with more than 1048576 bytes"]);
});

test("an answer of far more values than vectors have is an outage", async () => {
  const answer = `{"data":[{"embedding":[1,2]}${",{}".repeat(250_000)}]}`;
  const fetch = async () => new Response(answer);
  assert.equal(await embedAt("http://127.0.0.1:1/v1", { fetch })(["one"], "question"), undefined);
});

test("answers that are read at once hold 32 MiB together at most, and later ones are read again", async () => {
  const clock = createManualClock(0);
  const warnings: string[] = [];
  const ending: (() => void)[] = [];
  const fetch = async () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(1_000_000).fill(32));
        ending.push(() => controller.close());
      },
    });
    return new Response(body);
  };
  const log: Log = (_level, _message, fields) => void warnings.push(String(fields?.error));
  const embed = embedAt("http://127.0.0.1:1/v1", { fetch, clock, log });
  const asked = Array.from({ length: 40 }, () => embed(["one"], "question"));
  while (warnings.length < 7) await settle();
  assert.match(warnings[0] ?? "", /more than 33554432 bytes together/);
  for (const end of ending.slice(0, 33)) end();
  await Promise.all(asked);
  await clock.advance(15_000);
  const whole = embedAt("http://127.0.0.1:1/v1", {
    fetch: async () => new Response('{"data":[{"embedding":[1,2]}]}'),
  });
  assert.deepEqual(await whole(["one"], "question"), [new Float32Array([1, 2])]);
});
