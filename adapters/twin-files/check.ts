/**
 * Checks twin files: their faults, and the answers to the questions that their front matter lists.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { systemClock } from "../../core/base/clock.ts";
import { counted } from "../../core/base/counted.ts";
import { noLog } from "../../core/base/log.ts";
import type { TwinEngine } from "../../core/twins/engine.ts";
import { askQuestion, type TwinFileOptions, textFaults, usualEngines } from "../twin-text/mod.ts";
import { type FileState, readFolder } from "./folder.ts";

/** The result of {@link checkTwins}. */
export interface Check {
  /** One line for each fault, such as `twins/ada.md:12: …`, and one that sums up. */
  readonly lines: readonly string[];
  /** Whether there is no fault. */
  readonly passed: boolean;
}

/** Options of {@link checkTwins}. */
export interface CheckOptions extends Pick<TwinFileOptions, "toolProblem"> {
  /** The engines that the service has: a twin with another one is noted, which is no fault. Default: any. */
  readonly engines?: readonly string[] | undefined;
}

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
export async function checkTwins(
  folder: string,
  { toolProblem, engines }: CheckOptions = {},
): Promise<Check> {
  const options = {
    defaultEngine: "knowledge",
    engines: usualEngines,
    toolProblem,
    clock: systemClock,
    log: noLog,
  };
  const files = await readFolder(folder, new Map(), options);
  const { createKnowledgeEngine, readDocument } = await import("../../knowledge/mod.ts");
  const engine = createKnowledgeEngine();
  const lines: string[] = [];
  const notes: string[] = [];
  let questions = 0;
  for (const [file, state] of files) {
    questions += state.tests.length;
    const { twin, problems, instructionsLine, unread } = state;
    if (twin && unread) notes.push(`${twin.id}: ${unread}`);
    if (twin && engines && !engines.includes(twin.engine))
      notes.push(`${twin.id}: its engine ${twin.engine} is not set up here, so its replies would fail`);
    const say = (path: string, line: number, message: string) =>
      lines.push(`${join(folder, path)}:${line}: ${message}`);
    for (const problem of problems) say(problem.file, problem.line, problem.problem);
    if (!twin || problems.length > 0) continue;
    for (const { line, message } of await textFaults(twin, instructionsLine)) say(file, line, message);
    for (const document of twin.documents)
      for (const { line, message } of readDocument(document).warnings)
        say(join(dirname(file), document.path), line, message);
    for (const { line, message } of await failuresOf(state, engine)) say(file, line, message);
  }
  if (files.size === 0) {
    lines.push(`${folder}: there is no twin: neither a Markdown file nor a folder with a twin.md.`);
  }
  const faults = lines.length === 0 ? "no faults" : counted(lines.length, "fault");
  const summary = `${counted(files.size, "twin file")}, ${counted(questions, "question")}: ${faults}`;
  return { lines: [...lines, ...notes, summary], passed: lines.length === 0 };
}

interface Fault {
  readonly line: number;
  readonly message: string;
}

async function failuresOf({ twin, tests }: FileState, engine: TwinEngine): Promise<Fault[]> {
  const faults: Fault[] = [];
  if (!twin) return faults;
  for (const test of tests) {
    const { failures } = await askQuestion(engine, twin, test);
    for (const failure of failures)
      faults.push({ line: test.line, message: `${JSON.stringify(test.ask)} ${failure}` });
  }
  return faults;
}
