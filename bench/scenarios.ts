/**
 * What is measured, in the order in which it runs.
 *
 * @module
 */

import { frameworks, relays } from "./contenders/all.ts";
import type { Contender } from "./contenders/contender.ts";
import { completionsService } from "./contenders/twin-service/contender.ts";
import { fate } from "./fate/scenario.ts";
import type { Load, Model } from "./harness/workers.ts";
import { live } from "./live/scenario.ts";
import type { Part } from "./report/tables.ts";
import type { Effort } from "./requests/compare.ts";
import { burst, growingLists, json, send } from "./requests/scenarios.ts";

/** How much to measure. */
export interface ScenarioEffort extends Effort {
  /** How many replies `fate` is about. */
  readonly replies: number;
  /** How many conversations `listing` creates. */
  readonly conversations: number;
}

/** What a scenario works with. */
export interface Arena {
  readonly load: Load;
  readonly model: Model;
  /** Those of {@link Scenario.contenders} that can take part. */
  readonly contenders: readonly Contender[];
}

/** One scenario. */
export interface Scenario {
  readonly title: string;
  /** Who takes part, besides this service. */
  readonly contenders: readonly Contender[];
  run(arena: Arena, effort: ScenarioEffort): Promise<readonly Part[]>;
}

/** All scenarios, by name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  live: {
    title: "Live streams: a model gives 20 or 80 tokens a second to each",
    contenders: [...relays, completionsService],
    run: ({ contenders, ...stage }, effort) => live(contenders, stage, effort),
  },
  fate: {
    title: "The fate of replies",
    contenders: relays,
    run: ({ contenders, ...stage }, { replies, progress }) => fate(contenders, replies, stage, progress),
  },
  burst: {
    title: "Streamed replies of 256 tokens that are all there at once, 64 connections",
    contenders: frameworks,
    run: ({ load, contenders }, effort) => burst(load, contenders, effort),
  },
  json: {
    title: "GET /twins?limit=20, 64 connections",
    contenders: frameworks,
    run: ({ load, contenders }, effort) => json(load, contenders, effort),
  },
  send: {
    title: "Normal sends of this service, 64 connections",
    contenders: [],
    run: ({ load }, effort) => send(load, effort),
  },
  listing: {
    title: "Lists and histories of one owner, with many conversations and with few",
    contenders: [],
    run: (_, { conversations }) => growingLists(conversations),
  },
};
