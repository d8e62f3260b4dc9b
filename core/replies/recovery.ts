/**
 * Cleans up, after a restart and while others run: when a process dies, takes over the replies that it has left, or ends them,
 * and deletes expired claims and client tokens.
 *
 * @module
 */

import { type Repetition, repeat } from "../base/clock.ts";
import type { AbandonedReply } from "../store/store.ts";
import type { Twin } from "../twins/twins.ts";
import type { Production, ReplyContext } from "./context.ts";
import { decidedBefore } from "./decisions.ts";
import { cancelled, failed } from "./draft.ts";
import { tellReached } from "./limits.ts";
import type { RunningReplies } from "./running.ts";
import { newLease } from "./saver.ts";
import { endOfStored, exchangeOf } from "./stored-reply.ts";

/** Pause between two looks, in milliseconds. */
const lookMs = 2000;

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

/** How many abandoned replies are settled at once. */
const settledAtOnce = 20;

/** Takes over or ends what was abandoned. */
export class Recovery {
  readonly #context: ReplyContext;
  readonly #running: RunningReplies;
  #looksToWait: number;
  /** When the last look began that succeeded. */
  #lookedAt = Infinity;
  #stopped = false;
  #repetitions: readonly Repetition[] = [];

  constructor(context: ReplyContext, running: RunningReplies) {
    this.#context = context;
    this.#running = running;
    this.#looksToWait = context.store.exclusive ? 0 : looksAtStart;
  }

  /** Settles what an earlier process has left, then looks for abandoned replies every two seconds. Call it until it resolves. */
  async start(): Promise<void> {
    const { store, clock, deliverDue } = this.#context;
    // On a store that only this process uses, another process's lease is that of an earlier run.
    await this.#look(store.exclusive, Number.MAX_SAFE_INTEGER);
    if (this.#stopped) return;
    this.#repetitions = [
      this.#repeat("the store", () => this.#lookAgain()),
      // Separately, so that claims that are many, or cannot be deleted, do not keep replies from being ended.
      this.#repeat("expired idempotency keys and client tokens", async () => {
        await store.sweep(clock.now());
        await deliverDue?.(); // without a timer of its own, as usually nothing is due
      }),
    ];
  }

  /** Stops looking. */
  stop(): void {
    this.#stopped = true;
    for (const repetition of this.#repetitions) repetition.stop();
  }

  /** Repeats work on the store. An outage is logged once. */
  #repeat(what: string, work: () => Promise<void>): Repetition {
    const { clock, log } = this.#context;
    let failing = false;
    return repeat(
      clock,
      () => lookMs,
      async () => {
        try {
          await work();
          failing = false;
        } catch (error) {
          log(failing ? "debug" : "warn", `${what} could not be swept; it will be tried again`, { error });
          failing = true;
        }
      },
    );
  }

  async #lookAgain(): Promise<void> {
    const now = this.#context.clock.now();
    // After a sleep, only what had run out before it: a live holder renews its lease before the next look. That may
    // follow another sleep, because some hosts freeze processes between requests.
    await this.#look(this.#looksToWait === 0, now - this.#lookedAt < sleptMs ? now : this.#lookedAt);
    if (this.#looksToWait > 0) this.#looksToWait--;
    this.#lookedAt = now;
  }

  /** Looks whether the store is in order, and settles what is abandoned if it may. */
  async #look(maySettle: boolean, expiredBefore: number): Promise<void> {
    const wait = this.#looksToWait;
    this.#looksToWait = looksAfterOutage; // unless this look succeeds
    await (maySettle ? this.#settleAbandoned(expiredBefore) : this.#context.store.ping());
    this.#looksToWait = wait;
  }

  /**
   * Takes over or ends the replies whose producers have died. Another process may do the same without harm. A lease of
   * this process does not mean that it runs the reply: the reply may have been stored, and the store's answer lost.
   */
  async #settleAbandoned(expiredBefore: number): Promise<void> {
    const abandoned = await this.#context.store.findAbandonedReplies(expiredBefore);
    for (let from = 0; from < abandoned.length; from += settledAtOnce) {
      const some = abandoned.slice(from, from + settledAtOnce);
      await Promise.all(some.map((found) => this.#settle(found, expiredBefore)));
    }
  }

  async #settle(found: AbandonedReply, expiredBefore: number): Promise<void> {
    if (this.#stopped || this.#running.find(found.id)) return;
    const production = await nextAttempt(this.#context, found);
    if (!production) return this.#end(found, expiredBefore);
    const taking = this.#takeOver(found, production);
    this.#context.inFlight.track(taking); // a shutdown waits until the reply is produced here
    await taking;
  }

  async #takeOver(found: AbandonedReply, production: Production): Promise<void> {
    const { store, log } = this.#context;
    const { reply, lease } = production;
    if (!(await store.takeOverReply(found, lease, reply.content.length))) return;
    log("warn", "an abandoned reply was taken over", { messageId: reply.id, attempt: reply.attempt });
    this.#running.start(this.#running.prepare(production));
  }

  async #end(found: AbandonedReply, leaseExpiredBefore: number): Promise<void> {
    const { store, log } = this.#context;
    const { reserved } = found;
    const end = await endOfStored(
      this.#context,
      found,
      found.cancelRequested ? cancelled : failed("interrupted"),
    );
    const ended = await store.endReply({ ...end, leaseExpiredBefore, ...(reserved && { reserved }) });
    tellReached(this.#context, ended);
    if (ended) log("warn", "an abandoned reply was ended", { messageId: found.id });
  }
}

/** How often a reply is tried in all: one that makes its process crash must not do so to one process after another. */
const mostAttempts = 2;

/** How to go on with an abandoned reply. Undefined: that is not possible, or not wanted any more. */
async function nextAttempt(context: ReplyContext, found: AbandonedReply): Promise<Production | undefined> {
  if (found.cancelRequested || found.lastAttempt || found.attempt >= mostAttempts) return undefined;
  const { store, engines } = context;
  const { owner, conversationId } = found;
  const conversation = await store.getConversation({ owner }, conversationId);
  const { reply, question } = await exchangeOf(store, found);
  if (!conversation || !reply || !question) return undefined;
  const twin = await twinOf(context, owner, conversation.twinId, reply.twinRevision);
  const engine = twin && engines[twin.engine];
  if (!engine || (reply.content !== "" && !engine.continues)) return undefined;
  const decided = await decidedBefore(store, owner, question);
  const next = { ...reply, attempt: found.attempt + 1, continuedFrom: reply.content.length };
  const lease = newLease(context);
  return {
    owner,
    reserved: found.reserved,
    twin,
    engine,
    question,
    reply: next,
    lease,
    requestId: undefined,
    traceparent: undefined,
    readAlong: false,
    mayAsk: true, // else it was the last attempt
    decided,
  };
}

/** A twin source that fails must not keep conversations busy. */
async function twinOf(
  { twins, log }: ReplyContext,
  owner: string,
  id: string,
  revision: string | null,
): Promise<Twin | undefined> {
  try {
    return await twins.get(owner, id, revision ?? undefined);
  } catch (error) {
    log("error", "an abandoned reply is not taken over, because its twin could not be read", {
      twinId: id,
      error,
    });
    return undefined;
  }
}
