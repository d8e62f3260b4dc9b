/** What words and meaning say of a section together. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, systemClock } from "../../core/base/clock.ts";
import {
  createKnowledgeEngine,
  createKnowledgeIndex,
  type Embed,
  readDocument,
} from "../../knowledge/mod.ts";
import { Meanings } from "../../knowledge/search/meaning.ts";
import { createManualClock } from "../support/clock.ts";
import { collectGarbage, skipOffV8 } from "../support/garbage.ts";
import { ask, createTwin } from "./keeper.ts";

const instructions = `
## Pets

A dog sleeps for free. A cat pays for its cushion.

## Water

The pool is open from May on. No dog may swim in the pool.

## Arriving

The station is near.

## Mornings

There are eggs until ten.
`;

/** A model that knows how much the question means each section: their vectors are at right angles. */
function embedAs(likeness: { readonly [heading: string]: number }): Embed {
  const headings = ["Pets", "Water", "Arriving", "Mornings"];
  const towards = headings.map((heading) => likeness[heading] ?? 0);
  const rest = Math.sqrt(1 - towards.reduce((sum, value) => sum + value ** 2, 0));
  return async (texts, of) =>
    texts.map((text) =>
      Float32Array.from(
        of === "question"
          ? [...towards, rest]
          : [...headings.map((heading) => Number(text.startsWith(heading))), 0],
      ),
    );
}

async function search(question: string, embed: Embed, text = instructions) {
  const index = await createKnowledgeIndex({ name: "Odd", instructions: text }, { embed });
  return index.search(question, { nearest: await index.nearest(question) });
}

test("a section whose words fit well stays first, though another one means something like the question", async () => {
  const found = await search("When is the pool open that no dog may swim in?", embedAs({ Pets: 0.6 }));
  assert.deepEqual(
    found.slice(0, 2).map(({ heading }) => heading),
    ["Water", "Pets"],
  );
});

test("a section that has a question's words and its meaning is more certain than by either", async () => {
  const question = "Which station does the castle of the duke have?";
  const [byWords] = await search(question, async () => undefined);
  const [byBoth] = await search(question, embedAs({ Arriving: 0.4 }));
  const [byMeaning] = await search("Wo ist der Bahnhof?", embedAs({ Arriving: 0.4 }));
  const scores = [byWords, byBoth, byMeaning].map((found) => found?.score ?? 0);
  const [words = 0, both = 0, meaning = 0] = scores;
  assert.ok(words > 0 && meaning > 0);
  assert.ok(both > words && both < words + meaning, scores.join());
});

test("a long section that only the meaning finds has text", async () => {
  const text = instructions.replace("The station is near.", "The station is near.\n\n".repeat(200));
  const [found] = await search("Wo ist der Bahnhof?", embedAs({ Arriving: 0.7 }), text);
  assert.match(found?.text ?? "", /The station is near/);
});

test("of a text of many sections, the first 8,192 are found by their meaning, in steps, and others by words alone", async () => {
  const text = Array.from({ length: 8_300 }, (_, at) => `## Part ${at}\n\nAbout ${at}.\n`).join("\n");
  const vectorOf = (at: number) => Object.assign(new Float32Array(1_024), { [at % 1_024]: 1 });
  let asked = 0;
  const embed: Embed = async (texts, of) => {
    return texts.map(() => vectorOf(of === "question" ? 3 : asked++));
  };
  let turns = 0;
  const clock: Clock = {
    now: systemClock.now,
    after(milliseconds, callback) {
      if (milliseconds === 0) turns++;
      return systemClock.after(milliseconds, callback);
    },
  };
  const index = await createKnowledgeIndex({ name: "Odd", instructions: text }, { embed, clock });
  await index.nearest("Wo?");
  assert.equal(asked, 8_192);
  turns = 0;
  const near = await index.nearest("Wo?");
  assert.ok(turns >= 7, `${turns} turns for others`);
  assert.ok(near.length > 0 && near.every(({ section }) => section % 1_024 === 3 && section < 8_192));
  assert.equal(index.search("What is part 8290 about?")[0]?.heading, "Part 8290");
});

test("a question in words of the text that fit nothing is refused if it means a section only somewhat", async () => {
  const engine = createKnowledgeEngine({ embed: embedAs({ Arriving: 0.4 }) });
  const twin = createTwin(instructions);
  const sourcesOf = async (question: string) => (await ask(question, { engine, twin })).sources;
  assert.deepEqual(await sourcesOf("Which dog won the race of the emperors?"), []);
  assert.deepEqual(await sourcesOf("Tell me the way to the station"), ["Arriving"]);
});

test("a question whose words the text does not have is answered if it means a section somewhat", async () => {
  const engine = createKnowledgeEngine({ embed: embedAs({ Arriving: 0.4 }) });
  const { sources } = await ask("Wo ist der Bahnhof?", { engine, twin: createTwin(instructions) });
  assert.deepEqual(sources, ["Arriving"]);
});

test("a question is not sent while the sections are read, and not waited for longer than two seconds", async () => {
  const clock = createManualClock();
  const sent: string[] = [];
  const embed: Embed = (_, of) => {
    sent.push(of);
    return new Promise(() => {});
  };
  const index = await createKnowledgeIndex({ name: "Odd", instructions }, { embed, clock });
  const nearest = index.nearest("Wo ist der Bahnhof?");
  clock.advance(2_000);
  assert.deepEqual([await nearest, sent], [[], ["sections"]]);
});

test("sections that were read before an outage are not sent again", async () => {
  const sent: string[] = [];
  const embed: Embed = async (texts, of) => {
    if (of === "sections") sent.push(...texts);
    return sent.length === 32 ? undefined : texts.map(() => Float32Array.of(1));
  };
  const sections = Array.from({ length: 40 }, (_, at) => `## Room ${at}\n\nIt has ${at} beds.`);
  const index = await createKnowledgeIndex({ name: "Odd", instructions: sections.join("\n\n") }, { embed });
  await index.nearest("Wo ist der Bahnhof?");
  assert.equal(sent.length, 32, "the second of three batches fails");
  await index.nearest("Wo ist der Bahnhof?");
  assert.equal(sent.length, 16 + 16 + 24);
});

const asked = "Wo ist der Bahnhof?";

/** Meanings of as many sections as may have vectors, which tell when these are read. */
function openLargest(read: () => void): Meanings {
  const [room] = readDocument({ path: "rooms.md", text: "## Room\n\nBeds." }).sections;
  assert.ok(room);
  const sections = Array.from({ length: 8_192 }, () => room);
  const embed: Embed = async (texts, of) => {
    if (of === "sections") read();
    return texts.map(() => Float32Array.of(1));
  };
  return new Meanings(embed, sections, systemClock);
}

test("vectors of eight twins as large as may be are kept, and those that were asked last", async () => {
  const sent = new Set<number>();
  const twins = Array.from({ length: 9 }, (_, twin) => openLargest(() => sent.add(twin)));
  const ask = async (...numbers: number[]) => {
    sent.clear();
    for (const number of numbers) await twins[number]?.nearest(asked);
    return [...sent];
  };
  assert.deepEqual(await ask(0, 1, 2, 3, 4, 5, 6, 7), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(await ask(0, 7), []);
  assert.deepEqual(await ask(8), [8]);
  assert.deepEqual(await ask(0, 7, 8, 1), [1]);
});

test("vectors of a text that was changed take no room from others", { skip: skipOffV8 }, async () => {
  let reads = 0;
  const kept = openLargest(() => reads++);
  await kept.nearest(asked);
  for (let version = 0; version < 8; version++) {
    await openLargest(() => {}).nearest(asked);
    await collectGarbage();
  }
  reads = 0;
  await kept.nearest(asked);
  assert.equal(reads, 0);
});

test("a question that is answered by itself is all that is sent, though others came before it", async () => {
  const sent: string[] = [];
  const model = embedAs({ Arriving: 0.7 });
  const embed: Embed = (texts, of) => {
    if (of === "question") sent.push(...texts);
    return model(texts, of);
  };
  const history = [
    { role: "user", content: "Wo ist der Flughafen?" },
    { role: "assistant", content: "The station is near." },
  ] as const;
  const engine = createKnowledgeEngine({ embed });
  const question = "Wo ist der Bahnhof?";
  const { sources } = await ask(question, { engine, twin: createTwin(instructions), history });
  assert.deepEqual([sources, sent], [["Arriving"], [question]]);
});
