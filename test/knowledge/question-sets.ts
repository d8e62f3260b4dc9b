/**
 * Questions that nobody here wrote, with the sections that answer them. The engine is tuned on one half of a set (`tuning`), and
 * the other is reported (`reported`). XQuAD (google-deepmind/xquad): 240 paragraphs of 48 articles and 1,190 questions, the same
 * in twelve languages. And further files, `tuning.json` and `reported.json`: `[{name, sections: [{h, t}], questions: [[ask, position]],
 * foreign: [ask]}]`.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export const halves = ["tuning", "reported"] as const;

export type Half = (typeof halves)[number];

interface SectionText {
  readonly heading: string;
  readonly text: string;
}

interface Question {
  readonly ask: string;
  /** The section that answers it. */
  readonly heading: string;
  /** What the section says, where that is known. */
  readonly answer: string;
}

export interface TwinOfQuestions {
  readonly sections: readonly SectionText[];
  readonly questions: readonly Question[];
  /** What its sections do not answer. */
  readonly foreign: readonly string[];
}

export interface QuestionSet {
  readonly name: string;
  /** What the search looks through: all that there is, also of the other half. */
  readonly sections: readonly SectionText[];
  /** What the engine has. */
  readonly twins: readonly TwinOfQuestions[];
}

/** XQuAD, one language after another: a twin has the paragraphs of an article, and the next one's questions are foreign. */
export async function* readXquad(folder: string, half: Half): AsyncGenerator<QuestionSet> {
  for (const file of (await readdir(folder)).sort()) {
    const [, name] = /^xquad\.(\w+)\.json$/u.exec(file) ?? [];
    if (!name) continue;
    const articles = readArticles(await readFile(join(folder, file), "utf8"));
    const chosen = articles.filter((_, at) => at % 2 === halves.indexOf(half));
    const twins = chosen.map((article, at) => ({
      ...article,
      foreign: chosen[(at + 1) % chosen.length]?.questions.map(({ ask }) => ask) ?? [],
    }));
    yield { name, sections: articles.flatMap(({ sections }) => sections), twins };
  }
}

/** Further sets, of a twin each. */
export async function* readFurther(folder: string, half: Half): AsyncGenerator<QuestionSet> {
  const sets: {
    name: string;
    sections: { h: string | null; t: string }[];
    questions: [ask: string, position: number][];
    foreign: string[];
  }[] = JSON.parse(await readFile(join(folder, `${half}.json`), "utf8"));
  for (const { name, sections: read, questions, foreign } of sets) {
    const sections = read.map(({ h, t }, at) => ({ heading: h ?? headingOf(at), text: t }));
    const known = questions.map(([ask, at]) => ({ ask, heading: sections[at]?.heading ?? "", answer: "" }));
    yield { name, sections, twins: [{ sections, questions: known, foreign }] };
  }
}

export function toMarkdown(sections: readonly SectionText[]): string {
  const escaped = (text: string) => text.replace(/^#/gmu, "\\#").replaceAll("<", "&lt;");
  return sections.map(({ heading, text }) => `## ${heading}\n\n${escaped(text)}`).join("\n\n");
}

function readArticles(json: string) {
  const { data } = JSON.parse(json) as {
    data: { paragraphs: { context: string; qas: { question: string; answers: { text: string }[] }[] }[] }[];
  };
  let count = 0;
  return data.map(({ paragraphs }) => {
    const named = paragraphs.map((paragraph) => ({ ...paragraph, heading: headingOf(count++) }));
    return {
      sections: named.map(({ heading, context }) => ({ heading, text: context.replace(/\s+/gu, " ") })),
      questions: named.flatMap(({ heading, qas }) =>
        qas.map(({ question, answers: [first] }) => ({ ask: question, heading, answer: first?.text ?? "" })),
      ),
    };
  });
}

/** A heading that says nothing. */
function headingOf(at: number): string {
  return `§ ${at + 1}`;
}
