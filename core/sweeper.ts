/**
 * Looking for what processes that died have left: replies in progress, and claims that have expired.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import { failed } from "./ending.ts";
import type { Log } from "./log.ts";
import { type Repetition, repeat } from "./repeat.ts";
import type { Store } from "./store.ts";

/** What a sweeper works with. */
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
  /** Looks no more. */
  stop(): void;
}

/** Pause between two looks, in milliseconds. */
const sweepMs = 2000;

/**
 * How many looks must go well before one ends anything, once the store was away. Leases ran out whose holders live: a
 * call of theirs may hang for 7 seconds (PostgreSQL's driver), and a second later comes the next, which renews them.
 */
const looksAfterOutage = 5;

/**
 * The same at a start. It may come after an outage that nobody here saw, so holders who live get the time of two looks.
 * No more, because as a rule the replies are those of a process that died, and are to be ended within 5 seconds.
 */
const looksAtStart = 1;

export function createSweeper({ store, clock, log, isOurs }: SweeperOptions): Sweeper {
  let looksToWait = store.exclusive ? 0 : looksAtStart;
  let failing = false;
  let claimsFailing = false;
  let stopped = false;
  let sweeping: readonly Repetition[] = [];

  /**
   * Ends the replies whose producers have died. Another process that does the same does no harm. Our own
   * name on a lease does not say that we run the reply: its beginning may have reached the store, and the
   * answer not us.
   */
  async function endAbandoned(expiredBefore: number): Promise<void> {
    for (const reply of await store.findAbandonedReplies(expiredBefore)) {
      if (isOurs(reply.id)) continue;
      const completedAt = clock.now();
      const ending = { ...reply, ...failed("interrupted"), completedAt, leaseExpiredBefore: expiredBefore };
      if (await store.endReply(ending)) log("warn", "an abandoned reply was ended", { messageId: reply.id });
    }
  }

  async function sweepReplies(): Promise<void> {
    try {
      if (looksToWait === 0) await endAbandoned(clock.now());
      else await store.ping();
      looksToWait = Math.max(0, looksToWait - 1);
      failing = false;
    } catch (error) {
      looksToWait = looksAfterOutage;
      log(failing ? "debug" : "warn", "the store could not be swept; it will be tried again", { error });
      failing = true;
    }
  }

  async function sweepClaims(): Promise<void> {
    try {
      await store.sweepClaims(clock.now());
      claimsFailing = false;
    } catch (error) {
      const message = "expired idempotency keys could not be swept; it will be tried again";
      log(claimsFailing ? "debug" : "warn", message, { error });
      claimsFailing = true;
    }
  }

  return {
    async start() {
      // A lease of another process on a store that only this one uses is an earlier life's.
      try {
        if (store.exclusive) await endAbandoned(Number.MAX_SAFE_INTEGER);
        else await store.ping();
      } catch (error) {
        looksToWait = looksAfterOutage; // for the start that is tried next
        throw error;
      }
      if (stopped) return;
      // Apart, so that claims that are many, or cannot be swept, keep no reply from being ended.
      sweeping = [sweepReplies, sweepClaims].map((sweep) => repeat(clock, () => sweepMs, sweep));
    },
    stop() {
      stopped = true;
      for (const repetition of sweeping) repetition.stop();
    },
  };
}
