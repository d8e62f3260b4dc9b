/**
 * The golden questions of a twin's file, asked.
 *
 * @module
 */

import type { TwinEngine } from "../../core/twins/engine.ts";
import type { GoldenQuestion } from "../../core/twins/reader.ts";
import type { Twin } from "../../core/twins/twins.ts";

/** How many golden questions of an owner's twin are asked: more count as failed. */
export const mostAsked = 100;

/** An answer to a golden question. */
export interface AskedQuestion {
  /** What the twin said. */
  readonly text: string;
  /** One for each expectation that it does not meet, as the end of a sentence that begins with the question. */
  readonly failures: readonly string[];
}

/** Asks a twin one of its golden questions. */
export async function askQuestion(
  engine: TwinEngine,
  twin: Twin,
  question: GoldenQuestion,
): Promise<AskedQuestion> {
  const answered = await ask(engine, twin, question.ask);
  return { text: answered.text, failures: failuresIn(question, answered) };
}

interface Answered {
  readonly text: string;
  /** Headings, the best first. */
  readonly sources: readonly string[];
}

async function ask(engine: TwinEngine, twin: Twin, content: string): Promise<Answered> {
  let text = "";
  let sources: readonly string[] = [];
  const output = {
    write(part: string) {
      text += part;
    },
    progress(event: { readonly [field: string]: unknown }) {
      if (Array.isArray(event.sources)) sources = event.sources.map(({ heading }) => String(heading));
    },
    beginActing: async () => {},
    handOver: () => {},
    hold: () => true,
    signal: new AbortController().signal,
  };
  await engine.reply({ twin, history: [], content }, output);
  return { text, sources };
}

function failuresIn(
  { source, says = [], never = [] }: GoldenQuestion,
  { text, sources }: Answered,
): string[] {
  const has = (part: string) => text.toLowerCase().includes(part.toLowerCase());
  const [from] = sources;
  const came = from === undefined ? "was not answered" : `was answered from ${JSON.stringify(from)}`;
  const asksOnly = source === undefined && says.length === 0 && never.length === 0;
  return [
    ...(asksOnly && from === undefined ? [`${came}.`] : []),
    ...(source === null && from !== undefined ? [`${came}, although nothing should answer it.`] : []),
    ...(typeof source === "string" && from !== source
      ? [`${came}, but belongs to ${JSON.stringify(source)}.`]
      : []),
    ...says.filter((part) => !has(part)).map((part) => `${came}, without ${JSON.stringify(part)}.`),
    ...never.filter(has).map((part) => `${came}, with ${JSON.stringify(part)}.`),
  ];
}
