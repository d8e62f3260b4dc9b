/**
 * What a simulation runs in: a clock that jumps from one timer to the next, randomness from a seed, and a trace of all
 * events. Nothing depends on the machine, so that equal seeds give equal traces.
 */

import type { Clock } from "../../core/mod.ts";

/** Random numbers from a seed (mulberry32). */
export interface Random {
  /** A number from 0 up to 1, exclusive. */
  next(): number;
  /** A whole number from `low` to `high`, both inclusive. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly [Item, ...Item[]]): Item;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const random: Random = {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
    between: (low, high) => low + Math.floor(random.next() * (high - low + 1)),
    chance: (probability) => random.next() < probability,
    pick: (items) => items[Math.floor(random.next() * items.length)] ?? items[0],
  };
  return random;
}

/** The service broke one of the rules that a simulation checks. */
export class Violation extends Error {
  override readonly name = "Violation";
}

export interface World {
  readonly random: Random;
  /** Milliseconds since the epoch. */
  now(): number;
  /** A clock whose timers stop once `alive` is false, and wait until `frozenUntil`: a process's own. */
  clockOf(alive: () => boolean, frozenUntil?: () => number): Clock & { readonly pending: number };
  /** Resolves some time from now: for whatever is not part of a process. */
  pause(milliseconds: number): Promise<void>;
  /** Records what happened. */
  trace(text: string): void;
  /** A hash of everything that has happened so far. */
  readonly hash: string;
  /** What happened last, for people to read. */
  readonly lines: readonly string[];
  /** Aborts the run, wherever it is called. */
  violate(rule: string): never;
  /** The first broken rule, even if its error was caught on the way. */
  readonly violation: Violation | undefined;
  /** Lets events happen until `done`, with `check` after each. Fails if that takes longer than `limitMs`. */
  run(done: () => boolean, check: () => void, limitMs: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  /** Decides between timers of the same moment. */
  readonly order: number;
  readonly alive: () => boolean;
  readonly frozenUntil: () => number;
  readonly callback: () => void;
}

const never = () => 0;

/** How many of the latest lines are kept. */
const keptLines = 400;

export function createWorld(seed: number, startMs: number): World {
  const random = createRandom(seed);
  const timers = new Set<Timer>();
  const lines: string[] = [];
  let now = startMs;
  let hash = 0x811c9dc5;
  let violation: Violation | undefined;

  function schedule(milliseconds: number, owner: Pick<Timer, "alive" | "frozenUntil">, callback: () => void) {
    // Timers of the same moment fire in random order, because a runtime promises none.
    const timer = { ...owner, at: now + Math.max(0, milliseconds), order: random.next(), callback };
    timers.add(timer);
    return () => {
      timers.delete(timer);
    };
  }

  /** Removes and returns the next timer, and drops those of dead processes on the way. */
  function takeNext(): Timer | undefined {
    let next: { timer: Timer; at: number } | undefined;
    for (const timer of timers) {
      const at = Math.max(timer.at, timer.frozenUntil());
      if (!timer.alive()) timers.delete(timer);
      else if (!next || at < next.at || (at === next.at && timer.order < next.timer.order))
        next = { timer, at };
    }
    if (!next) return undefined;
    timers.delete(next.timer);
    return { ...next.timer, at: next.at };
  }

  return {
    random,
    now: () => now,
    clockOf(alive, frozenUntil = never) {
      return {
        now: () => now,
        after: (milliseconds, callback) => schedule(milliseconds, { alive, frozenUntil }, callback),
        get pending() {
          let count = 0;
          for (const timer of timers) if (timer.alive === alive) count++;
          return count;
        },
      };
    },
    pause(milliseconds) {
      return new Promise((resolve) => {
        schedule(milliseconds, { alive: () => true, frozenUntil: never }, resolve);
      });
    },
    trace(text) {
      const line = `${now - startMs} ${text}`;
      for (let index = 0; index < line.length; index++) {
        hash = Math.imul(hash ^ line.charCodeAt(index), 0x01000193);
      }
      if (lines.push(line) > 2 * keptLines) lines.splice(0, keptLines);
    },
    get hash() {
      return (hash >>> 0).toString(16).padStart(8, "0");
    },
    lines,
    violate(rule) {
      violation ??= new Violation(rule);
      throw violation;
    },
    get violation() {
      return violation;
    },
    async run(done, check, limitMs) {
      const until = now + limitMs;
      while (!done()) {
        const timer = takeNext();
        if (!timer || timer.at > until) throw new Violation("something waits forever");
        now = timer.at;
        timer.callback();
        // One macrotask: every promise that can settle without time passing has settled before it.
        await new Promise((resolve) => setImmediate(resolve));
        check();
        if (violation) throw violation;
      }
    },
  };
}
