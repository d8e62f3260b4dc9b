/**
 * Cleans up: ends replies in progress that dead processes have left, and deletes expired claims.
 *
 * @module
 */

import { type Repetition, repeat } from "../base/repeat.ts";
import type { ReplyContext } from "./context.ts";
import { failed } from "./outcome.ts";
import type { RunningReplies } from "./running.ts";

/** Pause between two looks, in milliseconds. */
const sweepMs = 2000;

/**
 * How many looks must succeed before one ends anything, after the store was down. Leases have run out whose holders are
 * alive: a holder's call may hang for 7 seconds (PostgreSQL's driver), and its next one, a second later, renews the
 * lease.
 */
const looksAfterOutage = 5;

/**
 * The same at a start, which may follow an outage that this process did not see, so live holders get the time of two
 * looks. No more, because usually the replies are those of a dead process, and must be ended within 5 seconds.
 */
const looksAtStart = 1;

/**
 * The time between two looks after which leases of live holders may have run out, in milliseconds: the machine of all
 * processes slept, or their clocks were set.
 */
const sleptMs = 10_000;

/** Ends what was abandoned. */
export class Sweeper {
  readonly #context: ReplyContext;
  readonly #running: RunningReplies;
  #looksToWait: number;
  /** When the last look began that succeeded. */
  #lookedAt = Infinity;
  #stopped = false;
  #sweeping: readonly Repetition[] = [];

  constructor(context: ReplyContext, running: RunningReplies) {
    this.#context = context;
    this.#running = running;
    this.#looksToWait = context.store.exclusive ? 0 : looksAtStart;
  }

  /** Ends orphans of an earlier process, then looks for abandoned replies every two seconds. Call it until it resolves. */
  async start(): Promise<void> {
    const { store, clock } = this.#context;
    // On a store that only this process uses, another process's lease is that of an earlier run.
    await this.#look(store.exclusive, Number.MAX_SAFE_INTEGER);
    if (this.#stopped) return;
    this.#sweeping = [
      this.#repeat("the store", () => this.#sweepReplies()),
      // Separately, so that claims that are many, or cannot be deleted, do not keep replies from being ended.
      this.#repeat("expired idempotency keys", () => store.sweepClaims(clock.now())),
    ];
  }

  /** Stops looking. */
  stop(): void {
    this.#stopped = true;
    for (const repetition of this.#sweeping) repetition.stop();
  }

  /** Repeats a sweep. An outage is logged once. */
  #repeat(what: string, sweep: () => Promise<void>): Repetition {
    const { clock, log } = this.#context;
    let failing = false;
    return repeat(
      clock,
      () => sweepMs,
      async () => {
        try {
          await sweep();
          failing = false;
        } catch (error) {
          log(failing ? "debug" : "warn", `${what} could not be swept; it will be tried again`, { error });
          failing = true;
        }
      },
    );
  }

  async #sweepReplies(): Promise<void> {
    const now = this.#context.clock.now();
    // After a sleep, only what had run out before it: whoever lives renews its lease before the next look. That may
    // follow another sleep, because some hosts freeze processes between requests.
    await this.#look(this.#looksToWait === 0, now - this.#lookedAt < sleptMs ? now : this.#lookedAt);
    if (this.#looksToWait > 0) this.#looksToWait--;
    this.#lookedAt = now;
  }

  /** Looks whether the store is in order, and ends what is abandoned if it may. */
  async #look(mayEnd: boolean, expiredBefore: number): Promise<void> {
    const wait = this.#looksToWait;
    this.#looksToWait = looksAfterOutage; // unless this look succeeds
    await (mayEnd ? this.#endAbandoned(expiredBefore) : this.#context.store.ping());
    this.#looksToWait = wait;
  }

  /**
   * Ends the replies whose producers have died. Another process may do the same without harm. A lease of this process
   * does not mean that it runs the reply: the reply may have been stored, and the store's answer lost.
   */
  async #endAbandoned(expiredBefore: number): Promise<void> {
    const { store, clock, log } = this.#context;
    for (const { owner, conversationId, id } of await store.findAbandonedReplies(expiredBefore)) {
      if (this.#running.find(id)) continue;
      const end = { owner, conversationId, id, ...failed("interrupted"), completedAt: clock.now() };
      if (await store.endReply({ ...end, leaseExpiredBefore: expiredBefore }))
        log("warn", "an abandoned reply was ended", { messageId: id });
    }
  }
}
