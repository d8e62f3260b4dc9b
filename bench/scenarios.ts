/**
 * What is measured, in the order in which it runs.
 *
 * @module
 */

import { burst } from "./burst/scenario.ts";
import { contenders } from "./contenders/all.ts";
import type { Contender } from "./contenders/contender.ts";
import { fate } from "./fate/scenario.ts";
import { list } from "./list/scenario.ts";
import { live } from "./live/scenario.ts";
import type { Effort, Stage } from "./live/session.ts";
import type { Part } from "./report/tables.ts";

/** How much to measure. */
export interface ScenarioEffort extends Effort {
  /** How many replies `fate` is about. */
  readonly replies: number;
}

/** One scenario. */
export interface Scenario {
  readonly title: string;
  /** Who takes part, by the names that `--servers` takes. */
  readonly contenders: Readonly<Record<string, Contender>>;
  /** Measures those that can take part. */
  run(ready: readonly Contender[], stage: Stage, effort: ScenarioEffort): Promise<readonly Part[]>;
}

/** All scenarios, by name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  live: {
    title: "Live streams: a model gives 20 or 80 tokens a second to each",
    contenders: contenders.live,
    run: live,
  },
  devices: {
    title: "Live streams beside devices that look on at other conversations",
    contenders: contenders.devices,
    async run(ready, stage, effort) {
      const parts = await live(ready, stage, { ...effort, isBrief: true });
      return parts.map((part) => ({ ...part, title: `${part.title}, beside devices that look on` }));
    },
  },
  fate: {
    title: "The fate of replies",
    contenders: contenders.fate,
    run: (ready, stage, { replies, progress }) => fate(ready, replies, stage, progress),
  },
  burst: {
    title: "Streamed replies of 256 tokens that are all there at once, 64 connections",
    contenders: contenders.burst,
    run: burst,
  },
  list: {
    title: "A list of twins, for a key with a limit, 64 connections",
    contenders: contenders.list,
    run: list,
  },
};
