/**
 * Hourly limits of a process that limits alone, and the port of the store that keeps its buckets.
 *
 * A bucket holds `capacity` tokens and refills evenly over its window. It is stored as its *debt*, the time until it is
 * full again: taking a token adds one refill interval, and the passing of time reduces it. All arithmetic is in whole
 * microseconds, so nothing is lost to rounding.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { type Clock, systemClock } from "../base/clock.ts";
import {
  clockRule,
  objectWith,
  optional,
  type RulesFor,
  requireOptions,
  wholeNumber,
} from "../base/rules.ts";
import { type Bucket, debtAt, type RateDecision, type RateLimiter, takeToken } from "./token-bucket.ts";

/** Where a process that limits alone stores its buckets, so that they survive it. */
export interface BucketStore {
  /** The last saved state of a bucket. */
  load(id: string): Promise<Bucket | undefined>;
  /**
   * Saves a bucket; resolves once it would survive the end of this process. Calls overlap, and take effect in order. A
   * store should combine the calls of one turn of the event loop into one write.
   */
  save(id: string, bucket: Bucket): Promise<void>;
}

/** Options of {@link createMemoryLimiter}. */
export interface MemoryLimiterOptions {
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Keeps the buckets across restarts. Default: they end with the process. */
  readonly buckets?: BucketStore | undefined;
  /** With `buckets`: how many are also cached in memory, up to 10,000,000. Default: 10,000. */
  readonly cached?: number | undefined;
}

const rules: RulesFor<MemoryLimiterOptions> = {
  clock: optional(clockRule),
  buckets: optional(objectWith("a bucket store", "load", "save")),
  cached: optional(wholeNumber([1, 10_000_000])),
};

/**
 * Creates a limiter for one process, which decides in memory. With a bucket store, a taken token is saved before `take`
 * resolves; if that fails, `take` rejects, and the token stays taken.
 *
 * @example
 * ```ts
 * import { createMemoryLimiter } from "twin-service";
 *
 * const limiter = createMemoryLimiter();
 * const { allowed } = await limiter.take("key_1", { capacity: 200 });
 * ```
 *
 * @throws {TypeError} for an option that is unknown or invalid; the message says what is accepted.
 */
export function createMemoryLimiter(options: MemoryLimiterOptions = {}): RateLimiter {
  requireOptions("createMemoryLimiter", options, rules);
  const { clock = systemClock, buckets, cached = 10_000 } = options;
  return buckets ? createSavingLimiter(clock, buckets, cached) : createForgetfulLimiter(clock);
}

/** The number of buckets at which full ones are first swept. */
const firstSweep = 1000;

function createForgetfulLimiter(clock: Clock): RateLimiter {
  const held = new Map<string, Bucket>();
  let sweepAt = firstSweep;

  /** Deletes full buckets, which are as good as none, each time that their number has doubled since the last sweep. */
  function sweep(at: number): void {
    if (held.size < sweepAt) return;
    for (const [id, bucket] of held) if (debtAt(bucket, at) === 0) held.delete(id);
    sweepAt = Math.max(firstSweep, 2 * held.size);
  }

  return {
    async take(id, policy) {
      const at = microseconds(clock);
      const decision = takeToken(debtAt(held.get(id), at), policy);
      held.set(id, { debt: decision.debt, at });
      sweep(at);
      return decision;
    },
    async peek(id, policy) {
      const at = microseconds(clock);
      const bucket = held.get(id);
      const debt = debtAt(bucket, at);
      if (bucket) held.set(id, { debt, at }); // if the clock was set back, it counts from here
      return { allowed: takeToken(debt, policy).allowed, debt };
    },
  };
}

/** A bucket in memory, and whether the store has it. */
interface Entry {
  bucket: Bucket | undefined;
  /** Set until the bucket is loaded; rejects if that fails. */
  loading: Promise<void> | undefined;
  /** Calls that use the entry now. */
  users: number;
  /** Changes made, and the last change that is saved. */
  changes: number;
  saved: number;
}

function createSavingLimiter(clock: Clock, buckets: BucketStore, cached: number): RateLimiter {
  /** The recently used entries. */
  const held = new LRUCache<string, Entry>({
    max: cached,
    dispose(entry, id, reason) {
      if (reason === "evict" && !isIdle(entry)) displaced.set(id, entry);
    },
  });
  /** Those that are being loaded, or were evicted while in use or unsaved: they must not be loaded a second time. */
  const displaced = new Map<string, Entry>();

  /** The entry of a bucket, kept in memory until {@link letGo}. To be used once it is loaded. */
  function hold(id: string): Entry {
    const entry = held.get(id) ?? displaced.get(id) ?? load(id);
    entry.users++;
    return entry;
  }

  function load(id: string): Entry {
    const entry: Entry = { bucket: undefined, loading: undefined, users: 0, changes: 0, saved: 0 };
    entry.loading = buckets.load(id).then((bucket) => {
      entry.bucket = bucket;
      entry.loading = undefined;
    });
    displaced.set(id, entry);
    return entry;
  }

  function letGo(id: string, entry: Entry): void {
    entry.users--;
    if (displaced.size === 0 || !isIdle(entry)) return;
    const wasDisplaced = displaced.delete(id);
    if (wasDisplaced && !entry.loading) held.set(id, entry);
  }

  /** Decides on a bucket, given its debt, and saves it if that has changed it. */
  async function update(id: string, decide: (debt: number) => RateDecision): Promise<RateDecision> {
    const entry = hold(id);
    try {
      if (entry.loading) await entry.loading;
      const at = microseconds(clock);
      const before = entry.bucket;
      const debt = debtAt(before, at);
      const decision = decide(debt);
      const bucket = { debt: decision.debt, at };
      entry.bucket = bucket;
      const clockSteppedBack = before !== undefined && at < before.at;
      if (bucket.debt > debt || clockSteppedBack) {
        const change = ++entry.changes;
        await buckets.save(id, bucket);
        entry.saved = Math.max(entry.saved, change);
      }
      return decision;
    } finally {
      letGo(id, entry);
    }
  }

  return {
    take: (id, policy) => update(id, (debt) => takeToken(debt, policy)),
    peek: (id, policy) => update(id, (debt) => ({ ...takeToken(debt, policy), debt })),
  };
}

/** Whether the entry is not in use and the store has its last change. */
function isIdle({ users, saved, changes }: Entry): boolean {
  return users === 0 && saved === changes;
}

function microseconds(clock: Clock): number {
  return clock.now() * 1000;
}
