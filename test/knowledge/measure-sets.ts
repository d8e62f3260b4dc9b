/** How well the search and the engine answer sets of questions, beside MiniSearch. */

import MiniSearch from "minisearch";
import { type Clock, systemClock } from "../../core/base/clock.ts";
import { createKnowledgeEngine, createKnowledgeIndex, type Embed } from "../../knowledge/mod.ts";
import { newTwin } from "../support/harness.ts";
import { ask } from "./keeper.ts";
import { type QuestionSet, toMarkdown } from "./question-sets.ts";

/** Prints a line of percentages for each set, and how far scores can be trusted. */
export async function printSets(sets: AsyncIterable<QuestionSet>, embed: Embed | undefined): Promise<void> {
  console.log(
    "questions | search: first, among 8 | MiniSearch: first, among 8 | engine: right, wrong without caveat, right of those without | others: refused, without caveat, refused after an answer",
  );
  const bins = Array.from({ length: 10 }, () => ({ asked: 0, right: 0 }));
  for await (const set of sets) {
    const search = await measureSearch(set, embed);
    const engine = await measureEngine(set, embed);
    const { asked, right, plain, plainRight, foreign, refused, foreignPlain, refusedLater, scores } = engine;
    const groups = [
      [search.first / asked, search.amongEight / asked],
      [search.miniSearchFirst / asked, search.miniSearchAmongEight / asked],
      [right / asked, (plain - plainRight) / asked, plainRight / plain],
      [refused / foreign, foreignPlain / foreign, refusedLater / foreign],
    ];
    const percent = (share: number) => `${(100 * share).toFixed(1)} %`.padStart(7);
    const shares = groups.map((group) => group.map(percent).join(" "));
    console.log([`${set.name.padEnd(14)}${String(asked).padStart(5)}`, ...shares].join(" | "));
    for (const [score, isRight] of scores) {
      const bin = bins[Math.min(9, Math.floor(score * 10))];
      if (bin) bin.asked++;
      if (bin && isRight) bin.right++;
    }
  }
  for (const [at, { asked, right }] of bins.entries())
    if (asked > 0) console.log(`score from 0.${at}: ${right} of ${asked} right`);
}

/** Waits for vectors longer than people do: a twin's first question is asked while its sections are read. */
const patientClock: Clock = {
  now: systemClock.now,
  after: (milliseconds, callback) => systemClock.after(100 * milliseconds, callback),
};

async function measureSearch({ sections, twins }: QuestionSet, embed: Embed | undefined) {
  const twin = { name: "Odd", instructions: toMarkdown(sections) };
  const index = await createKnowledgeIndex(twin, { embed, clock: patientClock });
  const other = new MiniSearch({
    fields: ["heading", "text"],
    idField: "heading",
    tokenize,
    searchOptions: { boost: { heading: 2 } },
  });
  other.addAll(sections);
  const counts = { first: 0, amongEight: 0, miniSearchFirst: 0, miniSearchAmongEight: 0 };
  for (const { ask, heading } of twins.flatMap(({ questions }) => questions)) {
    const nearest = await index.nearest(ask);
    const ours = index.search(ask, { characters: 1_000_000, nearest });
    const theirs = other.search(ask).slice(0, 8);
    if (ours[0]?.heading === heading) counts.first++;
    if (ours.some((found) => found.heading === heading)) counts.amongEight++;
    if (theirs[0]?.id === heading) counts.miniSearchFirst++;
    if (theirs.some(({ id }) => id === heading)) counts.miniSearchAmongEight++;
  }
  return counts;
}

/** MiniSearch as one would use it for all languages alike: words, and character n-grams in them. */
function tokenize(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).flatMap((word) => {
    const length = /[\p{scx=Han}\p{scx=Kana}\p{scx=Hira}\p{scx=Thai}]/u.test(word) ? 2 : 3;
    const grams = Array.from({ length: Math.max(0, word.length - length + 1) }, (_, at) =>
      word.slice(at, at + length),
    );
    return [word, ...grams];
  });
}

async function measureEngine({ twins }: QuestionSet, embed: Embed | undefined) {
  const engine = createKnowledgeEngine({ embed, clock: patientClock });
  const scores: [score: number, right: boolean][] = [];
  const counts = { asked: 0, right: 0, plain: 0, plainRight: 0 };
  const others = { foreign: 0, refused: 0, foreignPlain: 0, refusedLater: 0 };
  for (const { sections, questions, foreign } of twins) {
    const instructions = `# Odd\n\n## Voice\n\n- nearest: ${caveat}\n\n${toMarkdown(sections)}`;
    const twin = newTwin({ id: "odd", name: "Odd", engine: "knowledge", instructions });
    for (const question of questions) {
      const { text, sources, events } = await ask(question.ask, { engine, twin });
      const right = sources[0] === question.heading && squeeze(text).includes(squeeze(question.answer));
      counts.asked++;
      if (right) counts.right++;
      if (sources.length === 0) continue;
      scores.push([scoreOf(events), right]);
      if (text.startsWith(caveat)) continue;
      counts.plain++;
      if (right) counts.plainRight++;
    }
    for (const [at, question] of foreign.entries()) {
      const { text, sources } = await ask(question, { engine, twin });
      others.foreign++;
      if (sources.length === 0) others.refused++;
      else if (!text.startsWith(caveat)) others.foreignPlain++;
      const before = questions[at % questions.length]?.ask ?? "";
      const history = [
        { role: "user", content: before } as const,
        { role: "assistant", content: "…" } as const,
      ];
      const later = await ask(question, { engine, twin, history });
      if (later.sources.length === 0) others.refusedLater++;
    }
  }
  return { ...counts, ...others, scores };
}

const caveat = "(not sure)";

function squeeze(text: string): string {
  return text.toLowerCase().replace(/[\s\\]+/gu, "");
}

function scoreOf(events: readonly { readonly [field: string]: unknown }[]): number {
  const [{ sources } = { sources: [] }] = events;
  return Array.isArray(sources) ? Number(sources[0]?.score ?? 0) : 0;
}
