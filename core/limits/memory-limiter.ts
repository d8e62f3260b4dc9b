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
import {
  type Bucket,
  debtAt,
  type NamedBucket,
  type RateDecision,
  type RateLimiter,
  type RatePolicy,
  takeToken,
  takeTokens,
} from "./token-bucket.ts";

/** Where a process that limits alone stores its buckets, so that they survive it. */
export interface BucketStore {
  /** The last saved state of a bucket. */
  load(id: string): Promise<Bucket | undefined>;
  /**
   * Saves a bucket; resolves once it would survive the end of this process. Calls overlap, and take effect in order. A
   * store should combine the calls of one turn of the event loop into one write.
   */
  save(id: string, bucket: Bucket): Promise<void>;
  /** Removes buckets, like {@link BucketStore.save}. */
  forget(ids: readonly string[]): Promise<void>;
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
  buckets: optional(objectWith("a bucket store", "load", "save", "forget")),
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
  if (!buckets) return createForgetfulLimiter(clock);
  const saved = new SavedBuckets(clock, buckets, cached);
  return {
    ...methodsOf((named, decisions) => saved.update(named, decisions)),
    forget: (ids) => saved.forget(ids),
  };
}

/** The number of buckets at which full ones are first swept. */
const firstSweep = 1000;

function createForgetfulLimiter(clock: Clock): RateLimiter {
  const held = new Map<string, SizedBucket>();
  let sweepAt = firstSweep;

  /** Deletes full buckets, which are as good as none, each time that their number has doubled since the last sweep. */
  function sweep(at: number): void {
    if (held.size < sweepAt) return;
    for (const [id, bucket] of held) if (debtAt(bucket, at, bucket) === 0) held.delete(id);
    sweepAt = Math.max(firstSweep, 2 * held.size);
  }

  function decide(named: readonly NamedBucket[], decisions: Decide): RateDecision[] {
    const at = microseconds(clock);
    const policies = named.map(({ policy }) => policy);
    const decided = decisions(
      named.map(({ id, policy }) => debtAt(held.get(id), at, policy)),
      policies,
    );
    for (const [index, { id, policy }] of named.entries()) {
      held.set(id, { debt: decided[index]?.debt ?? 0, at, capacity: policy.capacity });
    }
    sweep(at);
    return decided;
  }

  return {
    ...methodsOf(async (named, decisions) => decide(named, decisions)),
    async forget(ids) {
      for (const id of ids) held.delete(id);
    },
  };
}

/** A bucket whose capacity is known. */
interface SizedBucket extends Bucket {
  readonly capacity: number;
}

/** Decides on buckets, given their debts. */
type Decide = (debts: readonly number[], policies: readonly RatePolicy[]) => RateDecision[];

const look: Decide = (debts, policies) =>
  policies.map((policy, index) => {
    const debt = debts[index] ?? 0;
    return { allowed: takeToken(debt, policy).allowed, debt };
  });

/** The methods of a limiter that decides on any number of buckets in one step. */
function methodsOf(
  decide: (named: readonly NamedBucket[], decisions: Decide) => Promise<readonly RateDecision[]>,
): Omit<RateLimiter, "forget"> {
  return {
    take: async (id, policy) => only(await decide([{ id, policy }], takeTokens)),
    peek: async (id, policy) => only(await decide([{ id, policy }], look)),
    async takeBoth(first, second) {
      const [one, two] = await decide([first, second], takeTokens);
      return [only([one]), only([two])];
    },
  };
}

function only([decision]: readonly (RateDecision | undefined)[]): RateDecision {
  if (!decision) throw new Error("There is a decision on each bucket.");
  return decision;
}

/** A bucket in memory, and whether the store has it. */
interface HeldBucket {
  bucket: Bucket | undefined;
  /** Set until the bucket is loaded; rejects if that fails. */
  loading: Promise<void> | undefined;
  /** Calls that use the entry now. */
  users: number;
  /** Changes made, and the last change that is saved. */
  changes: number;
  saved: number;
}

/** Buckets in memory, each change of which is saved. */
class SavedBuckets {
  readonly #clock: Clock;
  readonly #store: BucketStore;
  /** The recently used entries. */
  readonly #held: LRUCache<string, HeldBucket>;
  /** Those that are being loaded, or were evicted while in use or unsaved: they must not be loaded a second time. */
  readonly #displaced = new Map<string, HeldBucket>();

  constructor(clock: Clock, store: BucketStore, cached: number) {
    this.#clock = clock;
    this.#store = store;
    this.#held = new LRUCache({
      max: cached,
      dispose: (entry, id, reason) => {
        if (reason === "evict" && !isIdle(entry)) this.#displaced.set(id, entry);
      },
    });
  }

  /** Decides on buckets in one step, once all are loaded. */
  async update(named: readonly NamedBucket[], decisions: Decide): Promise<RateDecision[]> {
    const entries = named.map(({ id, policy }) => ({ id, policy, entry: this.#hold(id) }));
    try {
      for (const { entry } of entries) if (entry.loading) await entry.loading;
      const at = microseconds(this.#clock);
      const debts = entries.map(({ entry, policy }) => debtAt(entry.bucket, at, policy));
      const decided = decisions(
        debts,
        entries.map(({ policy }) => policy),
      );
      await Promise.all(
        entries.map(({ id, policy, entry }, index) => {
          const bucket = { debt: decided[index]?.debt ?? 0, at, capacity: policy.capacity };
          return this.#change(id, entry, bucket, debts[index] ?? 0);
        }),
      );
      return decided;
    } finally {
      for (const { id, entry } of entries) this.#letGo(id, entry);
    }
  }

  async forget(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const entry = this.#held.peek(id) ?? this.#displaced.get(id);
      if (entry) Object.assign(entry, { bucket: undefined, loading: undefined }); // it stays, as it may be in use
    }
    await this.#store.forget(ids);
  }

  /** The entry of a bucket, kept in memory until `#letGo`. To be used once it is loaded. */
  #hold(id: string): HeldBucket {
    const entry = this.#held.get(id) ?? this.#displaced.get(id) ?? this.#load(id);
    entry.users++;
    return entry;
  }

  #load(id: string): HeldBucket {
    const entry: HeldBucket = { bucket: undefined, loading: undefined, users: 0, changes: 0, saved: 0 };
    const loading = this.#store.load(id).then((bucket) => {
      if (entry.loading !== loading) return; // it was forgotten meanwhile
      entry.bucket = bucket;
      entry.loading = undefined;
    });
    entry.loading = loading;
    this.#displaced.set(id, entry);
    return entry;
  }

  #letGo(id: string, entry: HeldBucket): void {
    entry.users--;
    if (this.#displaced.size === 0 || !isIdle(entry)) return;
    const wasDisplaced = this.#displaced.delete(id);
    if (wasDisplaced && !entry.loading) this.#held.set(id, entry);
  }

  /** Changes an entry that is loaded, and saves it if that matters. */
  async #change(id: string, entry: HeldBucket, bucket: Bucket, debtBefore: number): Promise<void> {
    const { bucket: before } = entry;
    entry.bucket = bucket;
    const clockSteppedBack = before !== undefined && bucket.at < before.at;
    if (bucket.debt <= debtBefore && !clockSteppedBack) return;
    const number = ++entry.changes;
    await this.#store.save(id, bucket);
    entry.saved = Math.max(entry.saved, number);
  }
}

/** Whether the entry is not in use and the store has its last change. */
function isIdle({ users, saved, changes }: HeldBucket): boolean {
  return users === 0 && saved === changes;
}

function microseconds(clock: Clock): number {
  return clock.now() * 1000;
}
