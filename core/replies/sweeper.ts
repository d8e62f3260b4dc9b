/**
 * Cleans up: ends replies in progress that dead processes have left, and deletes expired claims.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type Repetition, repeat } from "../base/repeat.ts";
import type { Store } from "../store/store.ts";
import { failed } from "./outcome.ts";

/** What a sweeper needs. */
export interface SweeperOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether this process produces a reply, or is about to. */
  readonly isOurs: (replyId: string) => boolean;
}

/** Ends what was abandoned. */
export interface Sweeper {
  /** Ends orphans of an earlier process, then looks for abandoned replies every two seconds. Call it until it resolves. */
  start(): Promise<void>;
  /** Stops looking. */
  stop(): void;
}

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

export function createSweeper({ store, clock, log, isOurs }: SweeperOptions): Sweeper {
  let looksToWait = store.exclusive ? 0 : looksAtStart;
  /** When the last look began that succeeded. */
  let lookedAt = Infinity;
  let stopped = false;
  let sweeping: readonly Repetition[] = [];

  /**
   * Ends the replies whose producers have died. Another process may do the same without harm. A lease with this
   * process's name does not mean that it runs the reply: the beginning may have been stored, and the store's answer
   * lost.
   */
  async function endAbandoned(expiredBefore: number): Promise<void> {
    for (const reply of await store.findAbandonedReplies(expiredBefore)) {
      if (isOurs(reply.id)) continue;
      const completedAt = clock.now();
      const ending = { ...reply, ...failed("interrupted"), completedAt, leaseExpiredBefore: expiredBefore };
      if (await store.endReply(ending)) log("warn", "an abandoned reply was ended", { messageId: reply.id });
    }
  }

  /** Looks whether the store is in order, and ends what is abandoned if it may. */
  async function look(mayEnd: boolean, expiredBefore: number): Promise<void> {
    const wait = looksToWait;
    looksToWait = looksAfterOutage; // unless this look succeeds
    await (mayEnd ? endAbandoned(expiredBefore) : store.ping());
    looksToWait = wait;
  }

  async function sweepReplies(): Promise<void> {
    const now = clock.now();
    // After a sleep, only what had run out before it: whoever lives renews its lease before the next look. That may
    // follow another sleep, because some hosts freeze processes between requests.
    await look(looksToWait === 0, now - lookedAt < sleptMs ? now : lookedAt);
    if (looksToWait > 0) looksToWait--;
    lookedAt = now;
  }

  /** Repeats a sweep. An outage is logged once. */
  function repeatSweep(what: string, sweep: () => Promise<void>): Repetition {
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

  return {
    async start() {
      // On a store that only this process uses, another process's lease is that of an earlier run.
      await look(store.exclusive, Number.MAX_SAFE_INTEGER);
      if (stopped) return;
      sweeping = [
        repeatSweep("the store", sweepReplies),
        // Separately, so that claims that are many, or cannot be deleted, do not keep replies from being ended.
        repeatSweep("expired idempotency keys", () => store.sweepClaims(clock.now())),
      ];
    },
    stop() {
      stopped = true;
      for (const repetition of sweeping) repetition.stop();
    },
  };
}
