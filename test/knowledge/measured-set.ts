/**
 * The measured set: 300 questions to 30 twins in ten languages, in `set/`. Half of them were used to tune the engine, the
 * other half are held out: written before, and not looked at while tuning.
 */

import { readdir, readFile } from "node:fs/promises";
import { parse } from "yaml";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";
import { newTwin } from "../support/harness.ts";
import { ask } from "./keeper.ts";

export const halves = ["tuning", "held"] as const;

export type Half = (typeof halves)[number];

/** What became of a question. Those without an answer in the text should be refused, the others answered. */
export type Verdict = "right" | "wrong" | "refused" | "refused wrongly";

export interface Measured {
  readonly language: string;
  readonly half: Half;
  readonly question: string;
  /** Whether the text has an answer. */
  readonly answerable: boolean;
  readonly verdict: Verdict;
  /** What was expected, and what came, for people. */
  readonly note: string;
}

type Question = readonly [ask: string, source: string | null, says?: string];

const folder = new URL("./set/", import.meta.url);

/** Asks all questions of the set. */
export async function measureKnowledge(): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const language of (await readdir(folder)).sort()) {
    const questions: Record<string, Record<Half, Question[]>> = parse(
      await readFile(new URL(`${language}/questions.yaml`, folder), "utf8"),
    );
    for (const [id, byHalf] of Object.entries(questions)) {
      const instructions = await readFile(new URL(`${language}/${id}.md`, folder), "utf8");
      const [, name = id] = /^# (.*)$/mu.exec(instructions) ?? [];
      const twin = newTwin({ id, name, engine: "knowledge", instructions });
      const engine = createKnowledgeEngine();
      for (const half of halves) {
        for (const question of byHalf[half]) {
          const { text, sources } = await ask(question[0], { engine, twin });
          const answerable = question[1] !== null;
          const judged = judge(question, text, sources);
          measured.push({ language, half, question: question[0], answerable, ...judged });
        }
      }
    }
  }
  return measured;
}

/** An answer is right if it comes first of all from the right section, and contains what it must. */
function judge([, source, says = ""]: Question, text: string, sources: readonly string[]) {
  const note = `${source ?? "nothing"}${says && ` (${says})`}, got ${sources.join(", ") || "nothing"}: ${text}`;
  if (sources.length === 0)
    return { note, verdict: source === null ? "refused" : "refused wrongly" } as const;
  const right = sources[0] === source && text.toLowerCase().includes(says.toLowerCase());
  return { note, verdict: right ? "right" : "wrong" } as const;
}
