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

/** The result of steps, between which everything else gets a turn. */
export async function runSteps<Result>(steps: Steps<Result>, clock: Clock): Promise<Result> {
  let step = steps.next();
  for (; !step.done; step = steps.next()) await sleep(clock, 0);
  return step.value;
}

/** What an item takes besides its size: thousands of tiny ones would be a long step. */
export const ofEach = 32;

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
    visited += sizeOf(item) + ofEach;
    if (visited < ofStep) continue;
    visited = 0;
    yield;
  }
}

/** A line that is longer than this many portions is cut. */
const longestLine = 4;

/** Where the line ends that a place is in, with its line break. */
function lineEnd(text: string, at: number): number {
  const most = text.slice(at, at + longestLine * portion);
  const end = most.indexOf("\n");
  return at + (end < 0 ? most.length : end + 1);
}

/** Visits a text by portions of whole lines. */
export function* visitLines(text: string, visit: (lines: string) => void): Steps<void> {
  for (let from = 0; from < text.length; ) {
    if (from > 0) yield;
    const end = lineEnd(text, from + portion);
    visit(text.slice(from, end));
    from = end;
  }
}

/** A text changed by portions of whole lines. */
export function* changeLines(text: string, change: (lines: string) => string): Steps<string> {
  const changed: string[] = [];
  yield* visitLines(text, (lines) => changed.push(change(lines)));
  return changed.join("");
}

/** What a pattern found in a text. */
export interface Found {
  readonly index: number;
  readonly end: number;
  readonly groups: Readonly<Record<string, string | undefined>>;
}

/** How many characters before the place where it begins to look a pattern can look back at. */
const lookedBackAt = 256;

/** Finds patterns in a text, in steps of about a portion, however many it finds in one. */
export class LineSearch {
  readonly #text: string;
  #turnedAt = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** What a pattern finds next from a place on. It is global, and what it finds is within a line. */
  *find(pattern: RegExp, from: number): Steps<Found | undefined> {
    const text = this.#text;
    for (let at = from; at < text.length; ) {
      // One that was searched for in vain has gone ahead.
      if (Math.abs(at - this.#turnedAt) >= portion) {
        this.#turnedAt = at;
        yield;
      }
      const begin = Math.max(0, at - lookedBackAt);
      const end = lineEnd(text, at + portion);
      pattern.lastIndex = at - begin;
      const found = pattern.exec(text.slice(begin, end));
      if (found) {
        return { index: begin + found.index, end: begin + pattern.lastIndex, groups: found.groups ?? {} };
      }
      // Of a line that is cut, what begins before the cut may end behind it.
      at = end === text.length || text.charAt(end - 1) === "\n" ? end : end - lookedBackAt;
    }
    return undefined;
  }
}
