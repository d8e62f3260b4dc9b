/**
 * Guards: what they refuse is neither asked nor told, wherever a reply can be read.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { createTwinList, type Guard, type ServiceOptions, type TwinEngine } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { openMcp } from "../mcp-clients/fixture.ts";
import { openOpenAI } from "../openai-clients/fixture.ts";
import { type Chat, openChat, withOutages } from "../support/chat.ts";
import { createManualClock, settle } from "../support/clock.ts";
import {
  dataOf,
  inProcess,
  jsonRequest,
  newTwin,
  overSocket,
  parseEvents,
  type StreamEvent,
  startOfTests,
  textOf,
  unlimited,
} from "../support/harness.ts";
import { openCutOff } from "./cut-off.ts";

const refused = /secret/i;

/** Stops texts with a forbidden word. */
const stops: Guard = {
  input: (text) => (refused.test(text) ? { stop: "Not that." } : undefined),
  output: (text) => (refused.test(text) ? { stop: "[stopped]" } : undefined),
};

/** Replaces a forbidden word. */
const replaces: Guard = {
  input: async (text) => (refused.test(text) ? { replace: text.replace(refused, "…") } : undefined),
  output: async (text) => (refused.test(text) ? { replace: "[…] " } : undefined),
};

/** A chat with a guard, and a list of what it was asked. */
function openGuarded(guard: Guard, options: Partial<ServiceOptions> = {}): Promise<Chat> {
  const { clock: _, ...rest } = options;
  return openChat(inProcess, { guard, ...rest });
}

const stagesOf = (events: readonly StreamEvent[]) =>
  events.flatMap(({ data }) => (data.type === "progress" ? [data.progress] : []));

function endOf(events: readonly StreamEvent[]): MessageResource {
  const last = events.at(-1)?.data;
  assert.ok(last?.type === "complete");
  return last.message;
}

describe("a guard of questions", { timeout: 300_000 }, () => {
  test("stops a reply before the engine is asked, and says so", async () => {
    await using chat = await openGuarded(stops);
    const events = await (await chat.stream("My secret?")).rest();
    assert.equal(chat.engine.asked, 0);
    assert.deepEqual(stagesOf(events).slice(1), [{ stage: "guard", side: "input" }]);
    assert.equal(textOf(events), "Not that.");
    const { status, finishReason, content, usage } = endOf(events);
    assert.deepEqual(
      { status, finishReason, content, usage },
      { status: "completed", finishReason: "content_filter", content: "Not that.", usage: null },
    );
  });

  for (const [where, another] of [
    ["", false],
    [", in another process", true],
  ] as const) {
    test(`a stopped exchange is left out of later histories${where}, and shown`, async () => {
      await using chat = await openGuarded(stops);
      await chat.send("My secret?");
      const next = another ? await chat.another() : chat;
      const { run } = await next.begin("Hello?");
      assert.deepEqual(run.turn.history, []);
      run.finish();
      const listed = await dataOf<MessageResource[]>(await chat.get("/messages"));
      assert.deepEqual(
        listed.map(({ content }) => content),
        ["My secret?", "Not that.", "Hello?", ""],
      );
      if (another) await next.service.close({ graceMs: 0 });
    });

    test(`a replaced question is told as its replacement, later, too${where}; shown is what was written`, async () => {
      await using chat = await openGuarded(replaces);
      const first = await chat.begin("A secret?");
      assert.equal(first.run.turn.content, "A …?");
      first.run.write("Yes.");
      first.run.finish();
      await first.stream.rest();
      const next = another ? await chat.another() : chat;
      const { run } = await next.begin("And now?");
      assert.deepEqual(run.turn.history, [
        { role: "user", content: "A …?" },
        { role: "assistant", content: "Yes." },
      ]);
      run.finish();
      const [question] = await dataOf<MessageResource[]>(await chat.get("/messages"));
      assert.equal(question?.content, "A secret?");
      if (another) await next.service.close({ graceMs: 0 });
    });
  }

  for (const [where, another, path] of [
    ["", false, "/messages"],
    [", in another process", true, "/messages"],
    [", of a response that is not stored", true, "/v1/responses"],
  ] as const) {
    test(`a question that was asked while a person answered is judged before a twin is told it${where}`, async () => {
      const guard: Guard = {
        input(text) {
          if (text.includes("secret")) return { stop: "Not that." };
          return text.includes("4711") ? { replace: text.replace("4711", "…") } : undefined;
        },
      };
      await using chat = await openGuarded(guard, { openaiApi: createOpenAIApi() });
      const { fixture, key, conversationId } = chat;
      const answeredBy = (who: string) =>
        fixture.call("PATCH", `/conversations/${conversationId}`, key, { answeredBy: who });
      await answeredBy("person");
      for (const question of ["My number is 4711.", "And a secret."]) await chat.send(question);
      await chat.post("/messages", { role: "assistant", content: "Thank you.", answeredBy: "twin" });
      const next = another ? await chat.another() : chat;
      const body = { model: "scripted", input: "Hello?", conversation: conversationId, store: false };
      const asking =
        path === "/messages"
          ? next.send("Hello?")
          : next.service.fetch(
              new Request(`http://twins.test${path}`, { method: "POST", ...jsonRequest(key, body) }),
            );
      const { turn, finish } = await next.engine.next();
      assert.deepEqual(turn.history, [{ role: "user", content: "My number is …." }]);
      finish();
      assert.equal((await asking).status, 200);
      const shown = await dataOf<MessageResource[]>(await chat.get("/messages?limit=2"));
      assert.deepEqual(
        shown.map(({ content }) => content),
        ["My number is 4711.", "And a secret."],
      );
    });
  }

  test("nothing is asked before the replacement is stored, also if the store is away for a while", async () => {
    let away = false;
    const store = createMemoryStore();
    const guard: Guard = {
      input(text) {
        away = true;
        return { replace: `${text}!` };
      },
    };
    await using chat = await openGuarded(guard, { store: withOutages(store, () => away) });
    const stream = await chat.stream("Hello?");
    await stream.next();
    await chat.clock.advance(2_000);
    assert.equal(chat.engine.asked, 0);
    away = false;
    await chat.clock.advance(2_000);
    const run = await chat.engine.next();
    assert.equal(run.turn.content, "Hello?!");
    run.finish();
    await stream.rest();
  });
});

describe("a guard of replies", { timeout: 300_000 }, () => {
  test("is asked about each sentence, with the text so far, before it is told", async () => {
    const asked: string[][] = [];
    await using chat = await openGuarded({
      output(text, turn, whole) {
        asked.push([text, whole, turn.content]);
        return text === "Two! " ? { replace: "2. " } : null;
      },
    });
    const { run, stream } = await chat.begin();
    run.write("One. Tw");
    assert.equal((await stream.next()).data.type, "delta");
    run.write("o! Th");
    run.write("ree");
    run.finish();
    const events = await stream.rest();
    assert.deepEqual(asked, [
      ["One. ", "One. ", "Hello?"],
      ["Two! ", "One. Two! ", "Hello?"],
      ["Three", "One. 2. Three", "Hello?"],
    ]);
    assert.equal(endOf(events).content, "One. 2. Three");
  });

  test("stops a reply: what was told stays, its own text is the end, and the engine stops", async () => {
    await using chat = await openGuarded(stops);
    const { run, stream } = await chat.begin();
    run.write("Fine. The secret is 7. More");
    await run.aborted;
    run.write(" and more.");
    const events = await stream.rest();
    assert.deepEqual(stagesOf(events), [{ stage: "guard", side: "output" }]);
    const { content, finishReason, status } = endOf(events);
    assert.deepEqual([content, finishReason, status], ["Fine. [stopped]", "content_filter", "completed"]);
    const { run: later } = await chat.begin("And?");
    assert.deepEqual(
      later.turn.history.map(({ content }) => content),
      ["Hello?", "Fine. [stopped]"],
    );
    later.finish();
  });

  test("a reply that its last sentence stops has the model's usage", async () => {
    await using chat = await openGuarded(stops);
    const { run, stream } = await chat.begin();
    run.write("The secret");
    const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3, cachedInputTokens: null };
    run.finish({ usage });
    assert.deepEqual(endOf(await stream.rest()).usage, usage);
  });

  test("text waits no longer than two seconds, or 2,000 characters, for the end of its sentence", async () => {
    const asked: string[] = [];
    await using chat = await openGuarded({ output: (text) => void asked.push(text) });
    const { run, stream } = await chat.begin();
    run.write("Well");
    await chat.clock.advance(1_999);
    assert.deepEqual(asked, []);
    run.write(", \ud83d");
    await chat.clock.advance(1);
    assert.deepEqual(asked, ["Well, "]);
    run.write(`\ude00${"x".repeat(4_500)}`);
    await settle();
    assert.deepEqual(
      asked.slice(1).map(({ length }) => length),
      [2_000, 2_000],
    );
    run.finish();
    assert.equal(endOf(await stream.rest()).content, `Well, \u{1F600}${"x".repeat(4_500)}`);
  });

  test("text that waits for the end of its sentence waits no longer where the clock is set back", async () => {
    const asked: string[] = [];
    await using chat = await openGuarded({ output: (text) => void asked.push(text) });
    const { run, stream } = await chat.begin();
    run.write("Well");
    await settle();
    chat.clock.step(-3_600_000);
    await chat.clock.advance(2_000);
    assert.deepEqual(asked, ["Well"]);
    run.finish();
    await stream.rest();
  });

  test("the whole reply can be held until it has ended", async () => {
    const asked: string[] = [];
    await using chat = await openGuarded({
      hold: "reply",
      output: (text) => void asked.push(text),
    });
    const { run, stream } = await chat.begin();
    run.write("One. Two. ");
    await chat.clock.advance(10_000);
    run.write("Three.");
    run.finish();
    const events = await stream.rest();
    assert.deepEqual(asked, ["One. Two. Three."]);
    assert.equal(textOf(events), "One. Two. Three.");
  });

  test("a reply that is held ends with length where it would be too long, or hold too much memory", async () => {
    const guard: Guard = { hold: "reply", output: () => undefined };
    await using chat = await openGuarded(guard);
    const { run, messageId } = await chat.begin();
    const piece = "x".repeat(1024 * 1024);
    for (let count = 0; count < 6; count++) run.write(piece);
    await run.aborted;
    await settle();
    const { content, finishReason } = await chat.message(messageId);
    assert.equal(finishReason, "length");
    assert.equal(content.length, 4 * 1024 * 1024);
  });

  for (const [what, output] of [
    [
      "throws",
      () => {
        throw new Error("secret");
      },
    ],
    ["takes more than ten seconds", () => new Promise<undefined>(() => {})],
    ["says something else", () => ({ replace: 7 }) as never],
  ] as const satisfies readonly (readonly [string, Guard["output"]])[]) {
    test(`a reply whose guard ${what} fails, and nothing of what was held is told`, async () => {
      await using chat = await openGuarded({
        output: (text) => (text.startsWith("Then") ? output() : undefined),
      });
      const { run, stream, messageId } = await chat.begin();
      run.write("One. Then this. And that");
      await settle();
      await chat.clock.advance(10_001);
      const events = await stream.rest();
      assert.equal(textOf(events), "One. ");
      const last = events.at(-1)?.data;
      assert.equal(last?.type === "error" && last.error.code, "model_error");
      assert.ok(run.signal.aborted);
      assert.equal((await chat.message(messageId)).content, "One. ");
    });
  }

  test("a cancelled reply keeps what has passed, and nothing of what was held", async () => {
    await using chat = await openGuarded(stops);
    const { run, messageId } = await chat.begin();
    run.write("One. Tw");
    await settle();
    await chat.cancel(messageId);
    assert.ok(run.signal.aborted);
    const { content, status } = await chat.message(messageId);
    assert.deepEqual([content, status], ["One. ", "cancelled"]);
  });

  test("what an engine wrote before it failed is told if it passes", async () => {
    await using chat = await openGuarded(stops);
    const { run, stream, messageId } = await chat.begin();
    run.write("One. Tw");
    run.fail(new Error("away"));
    await stream.rest();
    const { content, status } = await chat.message(messageId);
    assert.deepEqual([content, status], ["One. Tw", "failed"]);
  });

  test("a process that takes a reply over goes on behind what has passed, and holds the rest again", async () => {
    await using cut = await openCutOff({ continues: "partial", saved: "One. Two" });
    const asked: string[][] = [];
    const other = await cut.another({
      guard: {
        output(text, turn, whole) {
          asked.push([text, whole]);
          return stops.output?.(text, turn, whole);
        },
      },
    });
    cut.cutOff();
    await cut.expire();
    const run = await cut.engine.next();
    assert.equal(run.turn.partial, "One. Two");
    run.write(" is fine. The secret is");
    await settle();
    const { content } = await other.message(cut.messageId);
    assert.equal(content, "One. Two");
    run.write(" out.");
    run.finish();
    const end = endOf(await (await other.resume(cut.messageId)).rest());
    assert.equal(end.content, "One. Two is fine. [stopped]");
    assert.deepEqual(asked[0], [" is fine. ", "One. Two is fine. "]);
    cut.reconnect();
    await other.service.close({ graceMs: 0 });
  });
});

describe("a guard of all doors", { timeout: 120_000 }, () => {
  test("nothing that it refuses comes through /v1, stored or not", async () => {
    await using api = await openOpenAI(inProcess, { guard: stops });
    const ask = async (content: string, headers?: HeadersInit) => {
      const answering = api.chat({ model: "echo", messages: [{ role: "user", content }] }, headers);
      const { choices } = (await (await answering).json()) as {
        choices: { finish_reason: string; message: { content: string } }[];
      };
      return [choices[0]?.message.content, choices[0]?.finish_reason];
    };
    for (const headers of [undefined, { "x-conversation-id": "chat 1" }]) {
      assert.deepEqual(await ask("Hello.", headers), ["Hello.", "stop"]);
      assert.deepEqual(await ask("A secret.", headers), ["Not that.", "content_filter"]);
    }
  });

  for (const [where, path, isStored] of [
    ["chat completions", "/chat/completions", false],
    ["chat completions that are stored", "/chat/completions", true],
    ["responses", "/responses", false],
    ["responses that are stored", "/responses", true],
  ] as const) {
    test(`questions of a history that a client sends are judged as if they were asked: ${where}`, async () => {
      const judged: [string, number][] = [];
      const guard: Guard = {
        async input(text, { history }) {
          judged.push([text, history.length]);
          if (text.includes("secret")) return { stop: "Not that." };
          return text.includes("Ada") ? { replace: text.replace("Ada", "Ann") } : undefined;
        },
      };
      await using api = await openOpenAI(inProcess, { guard });
      const said = [
        { role: "user", content: "I am Ada." },
        { role: "assistant", content: "Hello, Ada." },
        { role: "user", content: "Tell me the secret." },
        { role: "assistant", content: "The secret is 7." },
        { role: "user", content: "Go on." },
      ];
      const body = path === "/responses" ? { input: said, store: isStored } : { messages: said };
      const name = { "x-conversation-id": "chat 1" };
      const headers = isStored && path === "/chat/completions" ? name : undefined;
      const answering = api.send("POST", path, { model: "ada", ...body }, headers);
      const run = await api.engine.next();
      assert.deepEqual(
        run.turn.history.map(({ content }) => content),
        ["I am Ann.", "Hello, Ada."],
      );
      assert.equal(run.turn.content, "Go on.");
      run.write("Fine.");
      run.finish();
      assert.equal((await answering).status, 200);
      assert.deepEqual(judged, [
        ["Go on.", 4],
        ["I am Ada.", 0],
        ["Tell me the secret.", 2],
      ]);
    });
  }

  test("nothing that it refuses comes through /mcp", async () => {
    await using mcp = await openMcp(inProcess, { guard: stops });
    const stopped = await mcp.ask({ twin: "scripted", question: "A secret?" });
    assert.equal(stopped.structuredContent?.reply, "Not that.");
    const asking = mcp.ask({ twin: "scripted", question: "Hello?" });
    const run = await mcp.chat.engine.next();
    run.write("Fine. A secret.");
    run.finish();
    assert.equal((await asking).structuredContent?.reply, "Fine. [stopped]");
  });

  for (const transport of [inProcess, overSocket]) {
    test(`however an engine cuts its text, no character of what is refused is read anywhere, ${transport.name}`, async () => {
      const random = randomFrom(Number(process.env.GUARD_SEED ?? (transport === inProcess ? 1 : 2)));
      const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
      const written: string[] = [];
      const engine: TwinEngine = {
        async reply(_, output) {
          const text = written.at(-1) ?? "";
          for (let from = 0; from < text.length; ) {
            const to = from + 1 + Math.floor(random() * pick([2, 10, 60]));
            output.write(text.slice(from, to));
            if (random() < 0.3) await settle();
            from = to;
          }
          return { finishReason: "stop", usage: null };
        },
      };
      const clock = createManualClock(startOfTests);
      // A marker that no other sentence has: any character of it is a leak.
      const forbidden = /[\u2600-\u26ff]/u;
      const output: Guard["output"] = async (text) =>
        forbidden.test(text) ? { replace: "(left out) " } : undefined;
      await using chat = await openChat(transport, {
        clock,
        limiter: unlimited,
        guard: { output },
        twins: createTwinList([newTwin({ id: "scripted", engine: "cuts" })]),
        engines: { cuts: engine },
      });
      const { call } = chat.fixture;
      const person = { twinId: "scripted", endUser: "user 1" };
      const { id: hers } = await dataOf<{ id: string }>(
        await call("POST", "/conversations", chat.key, person),
      );
      await using other = await chat.another();
      const cuts = Number(process.env.GUARD_CUTS ?? 1_000) / (transport === inProcess ? 1 : 10);
      for (let count = 0; count < cuts; count++) {
        const sentences = Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
          pick([
            "All is well. ",
            "Is 3.5 more than 2? ",
            "世界。",
            "Dr. Who said: yes!\n",
            "☀☁☂ is ☃. ",
            "“☆” he said. ",
          ]),
        );
        written.push(sentences.join(""));
        const path = `/conversations/${hers}/messages`;
        const sent = await call("POST", `${path}/stream`, chat.key, { content: "Hello?" });
        const told = await sent.text();
        assert.doesNotMatch(told, forbidden);
        const whole = [...sentencesOf.segment(sentences.join(""))];
        const expected = whole.map(({ segment }) => (forbidden.test(segment) ? "(left out) " : segment));
        const { id, content } = endOf(parseEvents(told));
        assert.equal(content, expected.join(""));
        if (count % 10 > 0) continue;
        const isRare = count % 100 === 0;
        const process = isRare ? other.fixture : chat.fixture;
        const reads = [`${path}/${id}/stream`, `${path}?limit=100`];
        if (isRare) reads.push("/end-users/user%201/export");
        for (const read of reads)
          assert.doesNotMatch(await (await process.call("GET", read, chat.key)).text(), forbidden);
      }
    });
  }
});

const sentencesOf = new Intl.Segmenter("en", { granularity: "sentence" });

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
