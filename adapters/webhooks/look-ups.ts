/**
 * Finds the addresses of names for many owners. The system has few threads for that, which also read files, and a name whose server
 * does not answer keeps one until the system gives up: after 15 seconds or more, when whoever asked has left.
 *
 * @module
 */

import { type Clock, isWithin } from "../../core/base/clock.ts";
import { FairQueue } from "../../core/base/fair-queue.ts";
import type { LookUp } from "./addresses.ts";

/** How many names are looked up at the same time: half of the threads that Node has. */
const atOnce = 2;

/** How long a look-up takes that is slow, and for how long that is remembered of its owner, in milliseconds. */
const slowMs = 1_000;
const rememberedMs = 10 * 60_000;

/** For whom a name is looked up. */
export interface Asking {
  readonly owner: string;
  readonly clock: Clock;
  /** Aborted when nobody waits for it any more. */
  readonly signal: AbortSignal;
}

/**
 * Looks names up for owners in turns. An owner has one turn at a time, and so have all those together whose names were slow:
 * two of these would otherwise keep all others waiting. A turn ends with its look-up, whoever still waits for it.
 */
export class LookUps {
  readonly #lookUp: LookUp;
  readonly #queue: FairQueue;
  /** When owners had a slow look-up last, in this order. */
  readonly #slow = new Map<string | undefined, number>();

  constructor(lookUp: LookUp) {
    this.#lookUp = async (name) => lookUp(name);
    const isSlow = (owner: string | undefined) => this.#slow.has(owner);
    this.#queue = new FairQueue(
      atOnce,
      (owner, running) => !running.includes(owner) && !(isSlow(owner) && running.some(isSlow)),
    );
  }

  /** Finds all addresses of a name. Rejects if there are none, and when the signal is aborted. */
  async find(name: string, { owner, clock, signal }: Asking): Promise<readonly string[]> {
    this.#forget(clock.now());
    const end = await this.#queue.take(owner, name, signal);
    const begunAt = clock.now();
    const finding = this.#lookUp(name).finally(() => {
      if (!isWithin(slowMs, begunAt, clock.now())) this.#remember(owner, clock.now());
      end();
    });
    return beforeAbort(finding, signal);
  }

  #remember(owner: string, now: number): void {
    this.#slow.delete(owner);
    this.#slow.set(owner, now);
  }

  #forget(now: number): void {
    for (const [owner, at] of this.#slow) {
      if (isWithin(rememberedMs, at, now)) return;
      this.#slow.delete(owner);
    }
  }
}

/** Rejects if the signal is aborted before the work is done, which then goes on unheeded. */
function beforeAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
