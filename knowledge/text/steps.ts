/**
 * Work on long texts in steps of some milliseconds, between which everything else may get a turn.
 *
 * @module
 */

import { type Clock, sleep } from "../../core/base/clock.ts";

/** Work that yields after each step. */
export type Steps<Result> = Generator<undefined, Result>;

/** How much of a text is read in a step, in UTF-16 code units. */
export const portion = 32_768;

/** The result of all steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** From which length on texts are read one after another, in UTF-16 code units: many at once would take the memory of all. */
const longText = 262_144;
/** The last long text's turn. */
let lastTurn: Promise<unknown> = Promise.resolve();

/** The result of steps on a text of this length, between which everything else gets a turn. */
export function inTurns<Result>(steps: Steps<Result>, length: number, clock: Clock): Promise<Result> {
  if (length < longText) return runSteps(steps, clock);
  const turn = lastTurn.then(() => runSteps(steps, clock));
  lastTurn = turn.catch(() => {});
  return turn;
}

async function runSteps<Result>(steps: Steps<Result>, clock: Clock): Promise<Result> {
  let step = steps.next();
  for (; !step.done; step = steps.next()) await sleep(clock, 0);
  return step.value;
}

/** Visits all items, in steps of about so many units, of which an item has `sizeOf`. */
export function* visitAll<Item>(
  items: Iterable<Item>,
  sizeOf: (item: Item) => number,
  ofStep: number,
  visit: (item: Item) => void,
): Steps<void> {
  let visited = 0;
  for (const item of items) {
    visit(item);
    visited += sizeOf(item);
    if (visited < ofStep) continue;
    visited = 0;
    yield;
  }
}
