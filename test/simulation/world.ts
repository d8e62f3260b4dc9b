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

export class World {
  readonly random: Random;
  /** What happened last, for people to read. */
  readonly lines: string[] = [];
  /** The first broken rule, even if its error was caught on the way. */
  violation: Violation | undefined;
  readonly #timers = new Set<Timer>();
  readonly #startMs: number;
  #now: number;
  #hash = 0x811c9dc5;

  constructor(seed: number, startMs: number) {
    this.random = createRandom(seed);
    this.#startMs = startMs;
    this.#now = startMs;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#now;
  }

  /** A clock whose timers stop once `alive` is false, and wait until `frozenUntil`: a process's own. */
  clockOf(alive: () => boolean, frozenUntil = never): Clock & { readonly pending: () => number } {
    return {
      now: () => this.#now,
      after: (milliseconds, callback) => this.#schedule(milliseconds, { alive, frozenUntil }, callback),
      pending: () => [...this.#timers].filter((timer) => timer.alive === alive).length,
    };
  }

  /** Resolves some time from now: for whatever is not part of a process. */
  pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#schedule(milliseconds, { alive: () => true, frozenUntil: never }, resolve);
    });
  }

  /** Records what happened. */
  trace(text: string): void {
    const line = `${this.#now - this.#startMs} ${text}`;
    for (let index = 0; index < line.length; index++) {
      this.#hash = Math.imul(this.#hash ^ line.charCodeAt(index), 0x01000193);
    }
    if (this.lines.push(line) > 2 * keptLines) this.lines.splice(0, keptLines);
  }

  /** A hash of everything that has happened so far. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  /** Aborts the run, wherever it is called. */
  violate(rule: string): never {
    this.violation ??= new Violation(rule);
    throw this.violation;
  }

  /** Lets events happen until `done`, with `check` after each. Fails if that takes longer than `limitMs`. */
  async run(done: () => boolean, check: () => void, limitMs: number): Promise<void> {
    const until = this.#now + limitMs;
    while (!done()) {
      const timer = this.#takeNext();
      if (!timer || timer.at > until) throw new Violation("something waits forever");
      this.#now = timer.at;
      timer.callback();
      // One macrotask: every promise that can settle without time passing has settled before it.
      await new Promise((resolve) => setImmediate(resolve));
      check();
      if (this.violation) throw this.violation;
    }
  }

  #schedule(milliseconds: number, owner: Pick<Timer, "alive" | "frozenUntil">, callback: () => void) {
    const at = this.#now + Math.max(0, milliseconds);
    // Timers of the same moment fire in random order, because a runtime promises none.
    const timer = { ...owner, at, order: this.random.next(), callback };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Removes and returns the next timer, and drops those of dead processes on the way. */
  #takeNext(): Timer | undefined {
    let next: { timer: Timer; at: number } | undefined;
    for (const timer of this.#timers) {
      const at = Math.max(timer.at, timer.frozenUntil());
      if (!timer.alive()) this.#timers.delete(timer);
      else if (!next || at < next.at || (at === next.at && timer.order < next.timer.order))
        next = { timer, at };
    }
    if (!next) return undefined;
    this.#timers.delete(next.timer);
    return { ...next.timer, at: next.at };
  }
}
