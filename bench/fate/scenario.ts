/**
 * The second scenario: the fate of replies.
 *
 * @module
 */

import { messageOf } from "../command-line/errors.ts";
import type { Contender } from "../contenders/contender.ts";
import { continuingService, twinService } from "../contenders/twin-service/contender.ts";
import type { Stage } from "../live/session.ts";
import type { Part, Row } from "../report/tables.ts";
import { type Fate, fatesOf, killing, leaving } from "./stages.ts";

const notes = [
  "finished: the server has the whole text afterwards. kept: it has a part. lost: it has nothing.",
  "doubled: when the client sent the same request again, the model was asked once more. got: that client received the " +
    "whole text.",
];

/** What happens to replies of each contender. */
export async function fate(
  contenders: readonly Contender[],
  replies: number,
  stage: Stage,
  progress: (line: string) => void,
): Promise<Part[]> {
  const rows: { left: Row[]; killed: Row[] } = { left: [], killed: [] };
  const failures: string[] = [];
  for (const contender of contenders.flatMap(variantsOf)) {
    const { name } = contender;
    try {
      const fates = await fatesOf(contender, [leaving, killing], replies, stage);
      const [left, killed] = fates.map((each) => rowOf(name, each));
      if (left) rows.left.push(left);
      if (killed) rows.killed.push(killed);
      progress(`  ${name}: ${JSON.stringify(fates)}`);
    } catch (error) {
      failures.push(`${name} failed: ${messageOf(error)}`);
    }
  }
  const part = (what: string, own: readonly Row[], more: readonly string[]): Part => ({
    title: `${replies} replies, ${what}, and the requests sent again`,
    unit: "finished",
    rows: own,
    notes: more,
  });
  return [
    part("their clients leave in the middle", rows.left, notes),
    part("the server is killed in the middle and started again", rows.killed, failures),
  ];
}

/** This service takes part a second time, as it can ask some models to go on with a reply. */
function variantsOf(contender: Contender): readonly Contender[] {
  return contender === twinService ? [twinService, continuingService] : [contender];
}

function rowOf(name: string, { finished, kept, lost, doubled, got }: Fate): Row {
  return { name, median: finished, low: finished, high: finished, more: { kept, lost, doubled, got } };
}
