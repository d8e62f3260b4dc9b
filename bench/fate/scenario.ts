/**
 * The second scenario: the fate of replies.
 *
 * @module
 */

import { messageOf } from "../command-line/errors.ts";
import type { Contender } from "../contenders/contender.ts";
import type { Stage } from "../live/session.ts";
import type { Part, Row } from "../report/tables.ts";
import { type Fate, type Fates, fatesOf } from "./stages.ts";

const notes = [
  "finished: the server has the whole text afterwards. kept: it has a part. lost: it has nothing.",
  "doubled: when the client sent the same request again, the model was asked a second time. got: that client received " +
    "the whole text.",
];

/** What happens to replies of each contender. */
export async function fate(
  contenders: readonly Contender[],
  replies: number,
  stage: Stage,
  progress: (line: string) => void,
): Promise<Part[]> {
  const found = new Map<string, Fates>();
  const failures: string[] = [];
  for (const contender of contenders) {
    try {
      const fates = await fatesOf(contender, replies, stage);
      found.set(contender.name, fates);
      progress(`  ${contender.name}: ${JSON.stringify(fates)}`);
    } catch (error) {
      failures.push(`${contender.name} failed: ${messageOf(error)}`);
    }
  }
  const part = (what: string, of: (fates: Fates) => Fate, more: readonly string[]): Part => ({
    title: `${replies} replies, ${what}, and the requests sent again`,
    unit: "finished",
    rows: [...found].map(([name, fates]) => rowOf(name, of(fates))),
    notes: more,
  });
  return [
    part("their clients leave in the middle", ({ left }) => left, notes),
    part("the server is killed in the middle and started again", ({ killed }) => killed, failures),
  ];
}

function rowOf(name: string, { finished, kept, lost, doubled, got }: Fate): Row {
  return { name, median: finished, low: finished, high: finished, more: { kept, lost, doubled, got } };
}
