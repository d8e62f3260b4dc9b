/**
 * XQuAD (google-deepmind/xquad): 240 paragraphs of 48 articles and 1,190 questions, the same in twelve languages. Nobody here
 * wrote them. The engine is tuned on the articles at even positions (`tuning`), and the others are reported (`reported`).
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import MiniSearch from "minisearch";
import { createKnowledgeEngine, createKnowledgeIndex } from "../../knowledge/mod.ts";
import { newTwin } from "../support/harness.ts";
import { ask } from "./keeper.ts";

export const articleHalves = ["tuning", "reported"] as const;

export type ArticleHalf = (typeof articleHalves)[number];

interface Question {
  readonly ask: string;
  readonly answer: string;
  /** The position of its paragraph among all. */
  readonly at: number;
}

export interface Article {
  readonly paragraphs: readonly { readonly at: number; readonly text: string }[];
  readonly questions: readonly Question[];
}

/** The shares of a language's questions, from 0 to 1. */
export interface LanguageResult {
  readonly language: string;
  readonly questions: number;
  /** The right one of 240 sections comes first. */
  readonly first: number;
  /** It is among the first eight. */
  readonly amongEight: number;
  /** The same, of MiniSearch with words and character n-grams. */
  readonly miniSearchFirst: number;
  readonly miniSearchAmongEight: number;
  /** The whole engine, with the five sections of an article, quotes the right one with the answer in it. */
  readonly right: number;
  /** It quotes something else, without a caveat. */
  readonly wrongWithoutCaveat: number;
  /** Of all answers without a caveat. */
  readonly rightWithoutCaveat: number;
  /** Questions of other articles that are refused. */
  readonly foreignRefused: number;
  readonly foreignWithoutCaveat: number;
  /** Every answer's score, and whether it was right. */
  readonly scores: readonly (readonly [score: number, right: boolean])[];
}

/** The articles of one language after another. */
export async function* readXquad(folder: string): AsyncGenerator<{ language: string; articles: Article[] }> {
  for (const file of (await readdir(folder)).sort()) {
    const [, language] = /^xquad\.(\w+)\.json$/u.exec(file) ?? [];
    if (language) yield { language, articles: readArticles(await readFile(join(folder, file), "utf8")) };
  }
}

/** Prints a line for each language, and how far scores can be trusted. */
export async function printXquad(folder: string, half: ArticleHalf): Promise<void> {
  console.log(`XQuAD, the ${half} half of its articles
     search: first, among 8 | MiniSearch: first, among 8 | engine: right, wrong without caveat, right of those without | other articles: refused, without caveat`);
  const bins = Array.from({ length: 10 }, () => ({ asked: 0, right: 0 }));
  for await (const result of measureXquad(folder, half)) {
    const { language, first, amongEight, miniSearchFirst, miniSearchAmongEight } = result;
    const { right, wrongWithoutCaveat, rightWithoutCaveat, foreignRefused, foreignWithoutCaveat } = result;
    const groups = [
      [first, amongEight],
      [miniSearchFirst, miniSearchAmongEight],
      [right, wrongWithoutCaveat, rightWithoutCaveat],
      [foreignRefused, foreignWithoutCaveat],
    ];
    const percent = (share: number) => `${(100 * share).toFixed(1)} %`.padStart(7);
    console.log(`${language}   ${groups.map((group) => group.map(percent).join(" ")).join(" | ")}`);
    for (const [score, isRight] of result.scores) {
      const bin = bins[Math.min(9, Math.floor(score * 10))];
      if (bin) bin.asked++;
      if (bin && isRight) bin.right++;
    }
  }
  for (const [at, { asked, right }] of bins.entries())
    if (asked > 0) console.log(`score from 0.${at}: ${right} of ${asked} right`);
}

/** Measures one language after another. */
export async function* measureXquad(folder: string, half: ArticleHalf): AsyncGenerator<LanguageResult> {
  for await (const { language, articles } of readXquad(folder)) {
    const chosen = articles.filter((_, at) => at % 2 === articleHalves.indexOf(half));
    const questions = chosen.flatMap((article) => article.questions);
    const paragraphs = articles.flatMap((article) => article.paragraphs);
    yield {
      language,
      questions: questions.length,
      ...(await measureSearch(paragraphs, questions)),
      ...(await measureEngine(chosen)),
    };
  }
}

function readArticles(json: string): Article[] {
  const { data } = JSON.parse(json) as {
    data: { paragraphs: { context: string; qas: { question: string; answers: { text: string }[] }[] }[] }[];
  };
  let count = 0;
  return data.map(({ paragraphs }) => {
    const numbered = paragraphs.map((paragraph) => ({ ...paragraph, at: count++ }));
    return {
      paragraphs: numbered.map(({ at, context }) => ({ at, text: context.replace(/\s+/gu, " ") })),
      questions: numbered.flatMap(({ at, qas }) =>
        qas.map(({ question, answers: [first] }) => ({ ask: question, answer: first?.text ?? "", at })),
      ),
    };
  });
}

/** A heading that says nothing. */
function headingOf(at: number): string {
  return `§ ${at + 1}`;
}

export function toMarkdown(paragraphs: Article["paragraphs"]): string {
  return paragraphs.map(({ at, text }) => `## ${headingOf(at)}\n\n${text}`).join("\n\n");
}

async function measureSearch(paragraphs: Article["paragraphs"], questions: readonly Question[]) {
  const index = await createKnowledgeIndex({ name: "Odd", instructions: toMarkdown(paragraphs) });
  const other = createMiniSearch(paragraphs);
  const share = (find: (question: string) => readonly string[], among: number) =>
    questions.filter(({ ask, at }) => find(ask).slice(0, among).includes(headingOf(at))).length /
    questions.length;
  const ours = (question: string) =>
    index.search(question, { characters: 1_000_000 }).map(({ heading }) => heading);
  const theirs = (question: string) => other.search(question).map(({ id }) => headingOf(id));
  return {
    first: share(ours, 1),
    amongEight: share(ours, 8),
    miniSearchFirst: share(theirs, 1),
    miniSearchAmongEight: share(theirs, 8),
  };
}

/** MiniSearch as one would use it for all languages alike: words, and character n-grams in them. */
function createMiniSearch(paragraphs: Article["paragraphs"]): MiniSearch {
  const index = new MiniSearch({ fields: ["text"], idField: "at", tokenize });
  index.addAll(paragraphs);
  return index;
}

function tokenize(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).flatMap((word) => {
    const length = /[\p{scx=Han}\p{scx=Kana}\p{scx=Hira}\p{scx=Thai}]/u.test(word) ? 2 : 3;
    const grams = Array.from({ length: Math.max(0, word.length - length + 1) }, (_, at) =>
      word.slice(at, at + length),
    );
    return [word, ...grams];
  });
}

/** Twins with the paragraphs of an article each, asked its questions and those of the next article. */
async function measureEngine(articles: readonly Article[]) {
  const engine = createKnowledgeEngine();
  const scores: [score: number, right: boolean][] = [];
  const counts = { asked: 0, right: 0, plain: 0, plainRight: 0, foreign: 0, refused: 0, foreignPlain: 0 };
  for (const [number, { paragraphs, questions }] of articles.entries()) {
    const instructions = `# Odd\n\n## Voice\n\n- nearest: ${caveat}\n\n${toMarkdown(paragraphs)}`;
    const twin = newTwin({ id: "odd", name: "Odd", engine: "knowledge", instructions });
    for (const question of questions) {
      const { text, sources, events } = await ask(question.ask, { engine, twin });
      const right = sources[0] === headingOf(question.at) && squeeze(text).includes(squeeze(question.answer));
      counts.asked++;
      if (right) counts.right++;
      if (sources.length === 0) continue;
      scores.push([scoreOf(events), right]);
      if (text.startsWith(caveat)) continue;
      counts.plain++;
      if (right) counts.plainRight++;
    }
    for (const question of articles[(number + 1) % articles.length]?.questions ?? []) {
      const { text, sources } = await ask(question.ask, { engine, twin });
      counts.foreign++;
      if (sources.length === 0) counts.refused++;
      else if (!text.startsWith(caveat)) counts.foreignPlain++;
    }
  }
  return {
    right: counts.right / counts.asked,
    wrongWithoutCaveat: (counts.plain - counts.plainRight) / counts.asked,
    rightWithoutCaveat: counts.plainRight / counts.plain,
    foreignRefused: counts.refused / counts.foreign,
    foreignWithoutCaveat: counts.foreignPlain / counts.foreign,
    scores,
  };
}

const caveat = "(not sure)";

function squeeze(text: string): string {
  return text.toLowerCase().replace(/[\s\\]+/gu, "");
}

function scoreOf(events: readonly { readonly [field: string]: unknown }[]): number {
  const [{ sources } = { sources: [] }] = events;
  return Array.isArray(sources) ? Number(sources[0]?.score ?? 0) : 0;
}
