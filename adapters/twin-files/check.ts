/**
 * Checks twin files: their faults, and the answers to the questions that their front matter lists.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { systemClock } from "../../core/base/clock.ts";
import { noLog } from "../../core/base/log.ts";
import type { TwinEngine } from "../../core/twins/engine.ts";
import type { Twin } from "../../core/twins/twins.ts";
import type { GoldenQuestion, TwinFileOptions } from "./file.ts";
import { type FileState, readFolder, usualEngines } from "./folder.ts";

/** The result of {@link checkTwins}. */
export interface Check {
  /** One line for each fault, such as `twins/ada.md:12: …`, and one that sums up. */
  readonly lines: readonly string[];
  /** Whether there is no fault. */
  readonly passed: boolean;
}

/** Options of {@link checkTwins}. */
export type CheckOptions = Pick<TwinFileOptions, "toolProblem">;

/**
 * Checks the twin files of a folder, and asks the questions that they list as `tests`. No network is needed.
 *
 * @example
 * ```ts
 * import { checkTwins } from "twin-service/twin-files";
 *
 * const { lines, passed } = await checkTwins("./twins");
 * console.log(lines.join("\n"), passed);
 * ```
 *
 * @throws if the folder cannot be read.
 */
export async function checkTwins(folder: string, { toolProblem }: CheckOptions = {}): Promise<Check> {
  const options = {
    defaultEngine: "knowledge",
    engines: usualEngines,
    toolProblem,
    clock: systemClock,
    log: noLog,
  };
  const files = await readFolder(folder, new Map(), options);
  const { createKnowledgeEngine, readDocument, readInstructions } = await import("../../knowledge/mod.ts");
  const engine = createKnowledgeEngine();
  const lines: string[] = [];
  const notes: string[] = [];
  let questions = 0;
  for (const [file, state] of files) {
    questions += state.tests.length;
    if (state.twin && state.unread) notes.push(`${state.twin.id}: ${state.unread}`);
    const { twin, problems, instructionsLine } = state;
    const say = (path: string, line: number, message: string) =>
      lines.push(`${join(folder, path)}:${line}: ${message}`);
    for (const problem of problems) say(problem.file, problem.line, problem.problem);
    if (!twin || problems.length > 0) continue;
    for (const { line, message } of readInstructions(twin.name, twin.instructions).warnings)
      say(file, instructionsLine + line - 1, message);
    for (const document of twin.documents)
      for (const { line, message } of readDocument(document).warnings)
        say(join(dirname(file), document.path), line, message);
    for (const { line, message } of await failuresOf(state, engine)) say(file, line, message);
  }
  if (files.size === 0) {
    lines.push(`${folder}: there is no twin: neither a Markdown file nor a folder with a twin.md.`);
  }
  const faults = lines.length === 0 ? "no faults" : count(lines.length, "fault");
  const summary = `${count(files.size, "twin file")}, ${count(questions, "question")}: ${faults}`;
  return { lines: [...lines, ...notes, summary], passed: lines.length === 0 };
}

interface Fault {
  readonly line: number;
  readonly message: string;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

async function failuresOf({ twin, tests }: FileState, engine: TwinEngine): Promise<Fault[]> {
  const failures: Fault[] = [];
  if (!twin) return failures;
  for (const test of tests) {
    for (const failure of failuresIn(test, await ask(engine, twin, test.ask))) {
      failures.push({ line: test.line, message: `${JSON.stringify(test.ask)} ${failure}` });
    }
  }
  return failures;
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
