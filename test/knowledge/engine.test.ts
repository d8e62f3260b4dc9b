/**
 * How the knowledge engine replies: word by word, from an index that is made once, in bounded time.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { textFaults } from "../../adapters/twin-text/mod.ts";
import type { Clock } from "../../core/base/clock.ts";
import type { PacingOptions } from "../../core/twins/engine.ts";
import {
  createBriefings,
  createKnowledgeEngine,
  createKnowledgeIndex,
  type KnowledgeSource,
  readDocument,
} from "../../knowledge/mod.ts";
import { Postings } from "../../knowledge/search/postings.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { ask, createTwin, keeper, wordsOf } from "./keeper.ts";

test("one progress event names the sources, with scores from 0 to 1", async () => {
  const { events } = await ask("How often does the lamp turn?");
  assert.equal(events.length, 1);
  const [{ stage, sources } = {}] = events as {
    stage?: string;
    sources?: { heading: string; score: number }[];
  }[];
  assert.deepEqual([stage, sources?.map(({ heading }) => heading)], ["sources", ["The lamp"]]);
  assert.ok((sources?.[0]?.score ?? 2) <= 1 && (sources?.[0]?.score ?? 0) > 0.8);
});

test("a source names the document that its section is of, null for the twin's own file, to clients and for models", async () => {
  const twin = createTwin("## The lamp\n\nIt turns every twelve seconds.", {
    knowledge: "search",
    documents: [
      { path: "notes/fog.html", text: "# Notes\n\n## Fog horn\n\nIt sounds every minute." },
      { path: "prices.txt", text: "A ticket costs 7 euros." },
    ],
  });
  const brief = createBriefings();
  for (const [content, document] of [
    ["How often does the lamp turn?", null],
    ["How often does the fog horn sound?", "notes/fog.html"],
    ["What does a ticket cost?", "prices.txt"],
  ] as const) {
    const [event] = (await ask(content, { twin })).events;
    const [told] = (event as { sources?: KnowledgeSource[] } | undefined)?.sources ?? [];
    const [briefed] = (await brief({ twin, history: [], content })).sources ?? [];
    assert.deepEqual([told?.document, briefed?.document], [document, document], content);
  }
});

test("the text is written word by word", async () => {
  const { writes, text } = await ask("lamp");
  assert.ok(writes.length > 10, `${writes.length} writes`);
  assert.match(text, /\n\nThe lamp turns/u);
});

for (const [what, words] of [
  ["a ligature that is read as eighteen letters", "\ufdfa".repeat(8_000)],
  ["a misspelt word, over and over", "lihgthouse ".repeat(2_900)],
] as const) {
  test(`a question that repeats itself is read quickly: ${what}`, { timeout: 10_000 }, async () => {
    for (let round = 0; round < 20; round++) {
      await ask(`${words} How often does the lamp turn?`, { history: [{ role: "user", content: words }] });
      await settle(); // lets the test's timeout fire
    }
  });
}

test("the same turn always gets the same answer", async () => {
  const replies = await Promise.all(Array.from({ length: 3 }, () => ask("storm")));
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
});

test("a new version of a twin answers from its new text", async () => {
  const engine = createKnowledgeEngine();
  for (const color of ["red", "green"]) {
    assert.equal((await ask("door", { engine, twin: createTwin(`# Door\n\n${color}`) })).text, color);
  }
});

test("of a long question, the beginning and the end are read", async () => {
  const padding = "x ".repeat(4_000);
  assert.deepEqual((await ask(`How often does the lamp turn? ${padding}`)).sources, ["The lamp"]);
  assert.deepEqual((await ask(`${padding} How often does the lamp turn?`)).sources, ["The lamp"]);
  assert.deepEqual((await ask(`${padding} How often does the lamp turn? ${padding}`)).sources, []);
});

test("overlong words and questions are cut before they cost memory or time", async () => {
  assert.equal((await wordsOf("x".repeat(30_000)))[0]?.length, 2_000);
  const words = Array.from({ length: 6000 }, (_, index) => `w${index}q`).join(" ");
  assert.ok((await wordsOf(words)).length <= 40);
  assert.deepEqual((await ask(words)).sources, []);
});

test("what a message says again and again is looked for once", async (t) => {
  const said = "Much is said in few words. ".repeat(40);
  const sections = Array.from({ length: 40 }, (_, n) => `## Topic ${n}\n\nTopic ${n} has words. ${said}`);
  const { mock } = t.mock.method(Postings.prototype, "rank");
  const content = "topic words said? ".repeat(220);
  const history = Array.from({ length: 4 }, () => ({ role: "user" as const, content }));
  await ask(content, { twin: createTwin(sections.join("\n\n")), history });
  assert.ok(mock.callCount() > 0 && mock.callCount() <= 4, `looked for ${mock.callCount()} times`);
});

test("while a message's parts are looked for in a large text, others get a turn", async (t) => {
  const twin = createTwin(Array.from({ length: 10_000 }, (_, n) => `## Topic ${n}\n\nWords.`).join("\n\n"));
  const engine = createKnowledgeEngine();
  await ask("What is topic 7?", { twin, engine });
  let [searches, most] = [0, 0];
  const rank = Postings.prototype.rank;
  t.mock.method(Postings.prototype, "rank", function (this: Postings, ...asked: Parameters<typeof rank>) {
    most = Math.max(most, ++searches);
    return rank.apply(this, asked);
  });
  const turns = setInterval(() => {
    searches = 0;
  });
  const parts = Array.from(
    { length: 25 },
    (_, n) => `odd topic zz${n} ${n % 5 === 4 ? "words?\n" : "words,"}`,
  );
  await ask(parts.join(" "), { twin, engine });
  clearInterval(turns);
  assert.ok(most > 0 && most <= 12, `${most} searches without a turn for others`);
});

test("of a message's words that the text does not have, eight are compared with those that it has", async (t) => {
  const { mock } = t.mock.method(Postings.prototype, "has");
  const word = (n: number) =>
    `${n}`.replaceAll(/\d/g, (digit) => "qxzwkvjyph".charAt(Number(digit))).padEnd(20, "x");
  const parts = Array.from({ length: 25 }, (_, n) =>
    Array.from({ length: 7 }, (_, at) => word(1_000 + 7 * n + at)).join(" "),
  );
  await ask(parts.map((part, at) => (at % 5 === 4 ? `${part}?\n` : `${part}, `)).join(""), {
    twin: createTwin(keeper),
  });
  assert.ok(mock.callCount() < 20_000, `${mock.callCount()} words were compared`);
});

test("of a message and those before it, as much is read as of 4,000 characters, however long they are", async (t) => {
  const [twin, engine] = [createTwin(keeper), createKnowledgeEngine()];
  await ask("Hi", { twin, engine }); // makes the index
  let read = 0;
  const { normalize } = String.prototype;
  t.mock.method(String.prototype, "normalize", function (this: string, form?: "NFC") {
    read += this.length;
    return normalize.call(this, form);
  });
  const readOf = async (content: string, before: string) => {
    read = 0;
    const history = [
      { role: "user", content: before },
      { role: "assistant", content: "Aye." },
    ] as const;
    await ask(content, { twin, engine, history });
    return read;
  };
  for (const part of ["\ufdfa", "topic ä and words, ", "what? ", "yes. ", "½"]) {
    const ofFew = await readOf(part.repeat(4_500 / part.length), part.repeat(4_500 / part.length));
    const ofMany = await readOf(part.repeat(131_072 / part.length), part.repeat(131_072 / part.length));
    assert.ok(ofMany <= 1.1 * ofFew, `${part}: ${ofMany} instead of ${ofFew} characters`);
  }
});

test("accents heaped on a letter take no longer than ordinary text", {
  timeout: 10_000,
}, async () => {
  const heap = `o${"\u0345".repeat(11_000)}${"\u0301".repeat(10_500)}${"\u0316".repeat(10_000)}dd`;
  const mixed = heap.replace(/\p{M}{8}/gu, "$&\uff9e").slice(0, 32_000);
  for (let count = 0; count < 30; count++) {
    await wordsOf(heap); // would take a second if the accents were sorted
    await wordsOf(mixed);
    await settle(); // lets the test's timeout fire
  }
});

test("blank lines where a document has its properties take no seconds", async () => {
  const blank = "\n".repeat(60_000);
  for (const text of [
    `---\n!${blank}!\n---\n# Lamp\n\nIt turns.`,
    `+++\n${blank}a = 1\n+++\n# Lamp\n\nIt turns.`,
  ]) {
    const documents = [{ path: "a.md", text }]; // each once took more than 4 seconds
    const index = await createKnowledgeIndex({ name: "Odd", instructions: "", documents });
    assert.equal(index.search("lamp")[0]?.text, "It turns.");
  }
});

test("many lines or items, and lines that are almost a heading or code, take no longer than ordinary text", {
  timeout: 60_000,
}, async () => {
  const blanks = " ".repeat(20_000);
  for (const text of [
    "a\n".repeat(200_000),
    "- a\n\n".repeat(100_000),
    `# a\n\n#${blanks}\u2028x`,
    `${"~".repeat(20_000)}\u2028x`,
    `# Voice\n${"- a: b\n".repeat(145_000)}`,
    "~~~ a\n".repeat(100_000),
    "{{".repeat(200_000),
    "<div>\n\n".repeat(100_000),
    "|".repeat(500_000),
    `## a\n\n${"Name of it:\n\n".repeat(60_000)}`,
    `| a | b |\n|---|---|\n${Array.from({ length: 50_000 }, (_, row) => `| ${row} | x |\n`).join("")}`,
  ]) {
    await createKnowledgeIndex({ name: "Odd", instructions: text }); // each once took more than 10 seconds
    await settle(); // lets the test's timeout fire
  }
});

test("questions that a section lists are not indexed with each of its items, and are read in turns", async () => {
  const { clock, turns } = createCountingClock();
  const asked = Array.from({ length: 50_000 }, (_, number) => `light ${number}`).join("; ");
  const text = `# Lamp\n<!-- asked as: ${asked} -->\n\n${"- It turns.\n".repeat(400)}`;
  const index = await createKnowledgeIndex({ name: "Odd", instructions: text }, { clock });
  const { postings } = index.ranking.postings;
  assert.ok(postings.length < 100_000, `${postings.length} postings`);
  assert.ok(turns() > 100, `${turns()} turns`);
  assert.equal(index.names.asked("Light 49999?")?.heading, "Lamp");
});

test("a question is looked for in a million places at most, those of its rarest words", async () => {
  const words = Array.from(
    { length: 40 },
    (_, number) =>
      `w${"aeiou".charAt(number % 5)}rd${String.fromCharCode(97 + (number % 26))}${"xyz".charAt(number % 3)}`,
  );
  const text = Array.from(
    { length: 7_000 },
    (_, number) => `## Lamp ${number}\n\n${words.join(" ")}.\n\n`,
  ).join("");
  const index = await createKnowledgeIndex({ name: "Odd", instructions: text });
  const { postings } = index.ranking;
  const { count } = postings;
  let looks = 0;
  postings.count = (...posting) => {
    looks++;
    return count.apply(postings, posting);
  };
  const [first] = index.find(index.read(`lamp 4711 ${words.join(" ")}`));
  assert.equal(first?.passage.heading, "Lamp 4711");
  assert.ok(looks < 1_010_000, `${looks} looks`);
});

test("one of thousands of sections with the same heading is quoted in no time", async () => {
  const sections = Array.from(
    { length: 10_000 },
    (_, number) => `# Tower ${number}\n\n## Lamp\n\nIt burns oil ${number}.`,
  );
  const twin = createTwin(sections.join("\n\n"));
  assert.match((await ask("Which lamp burns oil 4711?", { twin })).text, /burns oil 4711/); // 40,000 once took minutes
});

test("a section may list any number of questions", async () => {
  const twin = createTwin(`# Lamp\n<!-- asked as: ${"light;".repeat(150_000)} -->\n\nIt turns.`);
  assert.equal((await ask("light", { twin })).text, "It turns.");
});

test("with a pause, words come one at a time, and an abort ends them", async () => {
  const clock = createManualClock();
  const options: PacingOptions = { pauseMs: 100, clock };
  const abort = new AbortController();
  const writes: string[] = [];
  const reply = createKnowledgeEngine(options).reply(
    { twin: createTwin(keeper), history: [], content: "lamp" },
    {
      write: (text) => writes.push(text),
      progress() {},
      beginActing: async () => {},
      handOver: () => {},
      hold: () => true,
      signal: abort.signal,
    },
  );
  await clock.advance(250);
  assert.deepEqual(writes, ["Well", " now."]);
  abort.abort();
  await clock.advance(1000);
  await reply;
  assert.equal(writes.length, 2);
});

test("a long text is indexed in portions at the first question, and only once", async () => {
  const clock = createManualClock();
  const { reply } = createKnowledgeEngine({ clock });
  const words = "It turns. ".repeat(60).trim();
  const sections = Array.from(
    { length: 100 },
    (_, number) => `## Lamp ${number}\n\nNumber ${number}. ${words}`,
  );
  const twin = createTwin(sections.join("\n\n"));
  const answers: string[] = [];
  const askFor = (content: string) =>
    reply(
      { twin, history: [], content },
      {
        write: (text) => answers.push(text),
        progress() {},
        beginActing: async () => {},
        handOver: () => {},
        hold: () => true,
        signal: new AbortController().signal,
      },
    );
  const replies = [askFor("Lamp 42"), askFor("Lamp 99")];
  await settle();
  assert.deepEqual([answers.length, clock.pending], [0, 1]); // everything else gets a turn
  await clock.advance(0);
  await Promise.all(replies);
  await askFor("Lamp 0");
  assert.match(answers.join(""), /^Number 42\. .*Number 99\. .*Number 0\. /);
});

/** A clock on which all pauses end at once. Counts them. */
function createCountingClock() {
  let turns = 0;
  const clock: Clock = {
    now: () => 0,
    after(_milliseconds, callback) {
      turns++;
      setImmediate(callback);
      return () => {};
    },
  };
  return { clock, turns: () => turns };
}

test("a long document is read in portions, which end at headings that are in no code", async () => {
  const { clock, turns } = createCountingClock();
  const section = (number: number) =>
    `## Lamp ${number}\n\nSee [the list][list].\n\n\`\`\`sh\ncd /\n\n# light ${number}\n\`\`\`\n\n<pre>\n\n# dark ${number}\n</pre>\n\n${"It turns. ".repeat(300)}`;
  const sections = Array.from({ length: 200 }, (_, number) => section(number)).join("\n\n");
  const text = `${sections}\n\n[list]: https://example.com/lamps\n`;
  const twin = { name: "Odd", instructions: "You are Odd.", documents: [{ path: "lamps.md", text }] };
  const index = await createKnowledgeIndex(twin, { clock });
  const read = new Set(index.passages.map(({ heading }) => heading));
  const lamps = Array.from({ length: 200 }, (_, number) => `Lamp ${number}`);
  assert.deepEqual([...read], ["lamps", ...lamps]);
  assert.ok(turns() > (2 * text.length) / 40_000, `${turns()} turns`);
  const [first] = index.search("Lamp 7");
  assert.match(first?.text ?? "", /\[the list\]\(https:\/\/example\.com\/lamps\)[\s\S]*# light 7\n/u);
});

for (const [what, text] of [
  ["code blocks", "```\na\n```\n".repeat(30_000)],
  ["items", "- a\n".repeat(75_000)],
]) {
  test(`others have turns while thousands of tiny ${what} are read`, async () => {
    const { clock, turns } = createCountingClock();
    await createKnowledgeIndex({ name: "Odd", instructions: text ?? "" }, { clock });
    assert.ok(turns() > 100, `${turns()} turns`);
  });
}

test("others have turns while thousands of passages of a changed twin are kept", async () => {
  const { clock, turns } = createCountingClock();
  const documents = [{ path: "a.md", text: "## Lamp\n\nIt turns.\n\n".repeat(20_000) }];
  const twin = { name: "Odd", instructions: "You are Odd.", documents };
  const earlier = await createKnowledgeIndex(twin, { clock });
  const before = turns();
  const lens = { path: "b.md", text: "## Lens\n\nOf glass." };
  const index = await createKnowledgeIndex({ ...twin, documents: [...documents, lens] }, { clock }, earlier);
  assert.equal(index.search("lens")[0]?.text, "Of glass.");
  // One for every 2,000 that are kept, and for reading the names of 2,000.
  assert.ok(turns() - before > 20, `${turns() - before} turns`);
});

const towers = (number: number, oil: string) => ({
  path: `tower-${number}.md`,
  text: Array.from(
    { length: 60 },
    (_, at) =>
      `## Lamp ${number}-${at}\n\nLamp ${at} of tower ${number} burns ${oil}. ${"It turns. ".repeat(20)}`,
  ).join("\n\n"),
});

test("a paragraph of megabytes is read", () => {
  const { sections } = readDocument({ path: "a.md", text: `# Lamp\n\n${"It turns ".repeat(2_000_000)}` });
  assert.equal(sections.length, 1);
});

test("of a twin's texts, 400,000 lines are read, and where more are left out is told", async () => {
  const message =
    "The text is not read from here on: a twin's texts have 400,000 lines together at most, of which headings, items of lists and rows of tables count as 4 each.";
  for (const [entry, line] of [
    ["It turns.", 400_001],
    ["- It turns.", 100_001],
    ["1. It turns.", 100_001],
    ["| It | turns. |", 100_001],
    ["It | turns.", 100_001],
    ["# It turns.", 100_001],
  ] as const) {
    const { warnings } = readDocument({ path: "a.md", text: `${entry}\n`.repeat(400_001) });
    assert.deepEqual(warnings, [{ line, message }], entry);
  }
  const documents = ["a", "b"].map((name) => ({ path: `${name}.txt`, text: `${name}.\n\n`.repeat(150_000) }));
  const twin = createTwin("", { documents });
  const index = await createKnowledgeIndex(twin);
  const changed = await createKnowledgeIndex({ ...twin, documents: documents.toReversed() }, {}, index);
  for (const { passages } of [index, changed]) {
    const lines = passages.reduce((sum, { text }) => sum + 2 * text.split("\n\n").length, 0);
    assert.ok(Math.abs(lines - 400_000) < 10, `${lines} lines`);
  }
});

test("faults of a text of a megabyte are looked for in turns", async () => {
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  await textFaults({ name: "Ada", instructions: "# a\n\nb\n\n".repeat(125_000) }, 1);
  clearInterval(counting);
  assert.ok(turns > 10, `${turns} turns`);
});

test("an index that takes over what is the same in an earlier one finds the same as a new one", async () => {
  const twin = { name: "Odd", instructions: "You are Odd.\n\n## Intro\n\nHello lamps." };
  const first = await createKnowledgeIndex({
    ...twin,
    documents: [1, 2, 3].map((at) => towers(at, "paraffin")),
  });
  const changed = [towers(1, "paraffin"), towers(4, "whale oil"), towers(3, "gas")];
  const next = await createKnowledgeIndex({ ...twin, documents: changed }, {}, first);
  const anew = await createKnowledgeIndex({ ...twin, documents: changed });
  for (const question of [
    "Who burns whale oil?",
    "lamp 3-7",
    "gas of tower 3",
    "parafin",
    "hello",
    "tower 2",
  ])
    assert.deepEqual(next.search(question), anew.search(question), question);
  assert.match(first.search("lamp 2-7")[0]?.text ?? "", /tower 2 burns paraffin/u);
});

test("of a changed twin, the old text answers until the new one is indexed", async () => {
  const pauses: (() => void)[] = [];
  let isHeld = false;
  // The pauses of indexing are held where the test says so; everything else comes at once.
  const clock: Clock = {
    now: () => 0,
    after(milliseconds, callback) {
      if (isHeld && milliseconds === 0) pauses.push(callback);
      else setImmediate(callback);
      return () => {};
    },
  };
  const engine = createKnowledgeEngine({ clock });
  const twinOf = (oil: string) =>
    createTwin("", { documents: Array.from({ length: 12 }, (_, at) => towers(at, oil)) });
  const [old, changed] = [twinOf("paraffin"), twinOf("gas")];
  assert.match((await ask("Lamp 3-7", { engine, twin: old })).text, /burns paraffin/u);
  isHeld = true;
  assert.match((await ask("Lamp 3-7", { engine, twin: changed })).text, /burns paraffin/u);
  isHeld = false;
  for (const goOn of pauses) goOn();
  for (let turn = 0; turn < 20; turn++) await settle();
  assert.match((await ask("Lamp 3-7", { engine, twin: changed })).text, /burns gas/u);
});

/** A clock whose pauses of indexing wait until the test lets them go on. Everything else comes at once. */
function createStepClock() {
  const pauses: (() => void)[] = [];
  const clock: Clock = {
    now: () => 0,
    after(milliseconds, callback) {
      if (milliseconds === 0) pauses.push(callback);
      else setImmediate(callback);
      return () => {};
    },
  };
  /** Goes on, step by step, until that holds. Returns how many steps it took. */
  const goOn = async (until: () => boolean) => {
    for (let steps = 0; ; steps++) {
      await settle();
      const next = until() ? undefined : pauses.shift();
      if (!next) return steps;
      next();
    }
  };
  return { clock, pauses, goOn };
}

const manyTowers = createTwin("", {
  documents: Array.from({ length: 40 }, (_, at) => towers(at, at < 20 ? "paraffin" : "gas")),
});

test("of a new twin, what has been read answers, and all of it what that does not", async () => {
  const { clock, pauses, goOn } = createStepClock();
  const engine = createKnowledgeEngine({ clock });
  const answers: string[] = [];
  const askFor = (content: string) =>
    ask(content, { engine, twin: manyTowers }).then(({ text }) => answers.push(text));
  const asked = [askFor("Lamp 3-7")];
  const steps = await goOn(() => answers.length === 1);
  assert.match(answers[0] ?? "", /Lamp 7 of tower 3 burns paraffin/u);
  assert.equal(pauses.length, 1); // the index is not finished
  asked.push(askFor("Lamp 39-7"));
  const more = await goOn(() => answers.length === 2);
  assert.match(answers[1] ?? "", /Lamp 7 of tower 39 burns gas/u);
  assert.ok(more > steps, `${steps} and ${more} steps`);
  await Promise.all(asked);
});

test("a twin is not answered for from the text of another owner's twin with its id", async () => {
  const { clock, goOn } = createStepClock();
  const engine = createKnowledgeEngine({ clock });
  const answers: string[] = [];
  for (const [owner, oil] of [
    ["alice", "paraffin"],
    ["bob", "gas"],
  ] as const) {
    const documents = Array.from({ length: 12 }, (_, at) => towers(at, oil));
    const twin = createTwin("", { access: [owner], documents });
    const asked = ask("Lamp 3-7", { engine, twin }).then(({ text }) => answers.push(text));
    await goOn(() => false);
    await asked;
  }
  assert.match(answers[0] ?? "", /burns paraffin/u);
  assert.match(answers[1] ?? "", /burns gas/u);
});

test("an engine that was told of a long twin has its index before the question", async () => {
  const { clock, pauses, goOn } = createStepClock();
  const engine = createKnowledgeEngine({ clock });
  const short = createTwin(keeper, { id: "short" });
  const huge = createTwin("It turns. ".repeat(1_300_000), { id: "huge" });
  engine.prepare?.([short, manyTowers, huge]);
  const steps = await goOn(() => false);
  assert.ok(steps > 20, `${steps} steps`);
  assert.match((await ask("Lamp 39-7", { engine, twin: manyTowers })).text, /burns gas/u);
  assert.equal(pauses.length, 0);
});

test("a model's engine has an index of what is searched before the question", async () => {
  const { clock, pauses, goOn } = createStepClock();
  const brief = createBriefings({ clock });
  brief.prepare([manyTowers]);
  assert.ok((await goOn(() => false)) > 20);
  const { findings } = await brief({ twin: manyTowers, history: [], content: "Lamp 39-7" });
  assert.match(findings ?? "", /Lamp 7 of tower 39 burns gas/u);
  assert.equal(pauses.length, 0);
});
