/**
 * A limiter that steps in while the shared one cannot be reached.
 *
 * @module
 */

import { type Clock, systemClock } from "../base/clock.ts";
import { type Log, noLog } from "../base/log.ts";
import { clockRule, limiterRule, logRule, optional, type RulesFor, requireOptions } from "../base/rules.ts";
import { createMemoryLimiter } from "./memory-limiter.ts";
import type { RateLimiter } from "./token-bucket.ts";

/** Options of {@link createFallbackLimiter}. */
export interface FallbackLimiterOptions {
  /** The limiter that several processes share. When it is down, it must reject instead of waiting forever. */
  readonly shared: RateLimiter;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Default: silence. */
  readonly log?: Log | undefined;
}

const rules: RulesFor<FallbackLimiterOptions> = {
  shared: limiterRule,
  clock: optional(clockRule),
  log: optional(logRule),
};

/** A limiter that also answers while the shared one is down. `using` closes it. */
export interface FallbackLimiter extends RateLimiter, Disposable {
  /** Whether the shared limiter is asked. False: this process limits alone. */
  isShared(): boolean;
  /** Stops checking whether the shared limiter is back. */
  close(): void;
}

/** Pause between two checks whether the shared limiter is back, in milliseconds. */
const probeMs = 1000;

/** The bucket that is used to check. Taking from it shows that the shared limiter can also be written. */
const probe = { id: "fallback-probe", policy: { capacity: 3600 } } as const;

/**
 * Asks the shared limiter; while that one rejects, it limits with buckets of its own, which start out full: never
 * unlimited, never an error. Only `forget` needs the shared one, and rejects with it. Each outage and each recovery is
 * logged once.
 *
 * @example
 * ```ts
 * import { createFallbackLimiter } from "twin-service";
 * import { createRedisLimiter } from "twin-service/redis";
 *
 * const limiter = createFallbackLimiter({ shared: createRedisLimiter(redisClient) });
 * ```
 *
 * @throws {TypeError} for an option that is unknown or invalid; the message says what is accepted.
 */
export function createFallbackLimiter(options: FallbackLimiterOptions): FallbackLimiter {
  requireOptions("createFallbackLimiter", options, rules);
  const { shared, clock = systemClock, log = noLog } = options;
  const own = createMemoryLimiter({ clock });
  const outage = new Outage(shared, clock, log);
  const close = () => outage.close();

  async function ask<Result>(question: (limiter: RateLimiter) => Promise<Result>): Promise<Result> {
    if (!outage.lasts) {
      try {
        return await question(shared);
      } catch (error) {
        outage.begin(error);
      }
    }
    return question(own);
  }

  return {
    take: (id, policy) => ask((limiter) => limiter.take(id, policy)),
    takeBoth: (first, second) => ask((limiter) => limiter.takeBoth(first, second)),
    peek: (id, policy) => ask((limiter) => limiter.peek(id, policy)),
    async forget(ids) {
      await Promise.all([own.forget(ids), shared.forget(ids)]);
    },
    isShared: () => !outage.lasts,
    close,
    [Symbol.dispose]: close,
  };
}

/** Whether the shared limiter is down: it is, from a failure until a check succeeds. */
class Outage {
  /** Whether it is down now. */
  lasts = false;
  readonly #shared: RateLimiter;
  readonly #clock: Clock;
  readonly #log: Log;
  #closed = false;
  #cancelProbe = () => {};

  constructor(shared: RateLimiter, clock: Clock, log: Log) {
    this.#shared = shared;
    this.#clock = clock;
    this.#log = log;
  }

  begin(error: unknown): void {
    if (this.lasts) return;
    this.lasts = true;
    this.#log("warn", "the shared rate limiter cannot be reached; this process limits alone", { error });
    this.#scheduleProbe();
  }

  /** Stops checking. */
  close(): void {
    this.#closed = true;
    this.#cancelProbe();
  }

  #scheduleProbe(): void {
    if (!this.#closed) this.#cancelProbe = this.#clock.after(probeMs, () => void this.#probe());
  }

  async #probe(): Promise<void> {
    try {
      await this.#shared.take(probe.id, probe.policy);
    } catch (error) {
      this.#log("debug", "the shared rate limiter is still down", { error });
      this.#scheduleProbe();
      return;
    }
    this.lasts = false;
    this.#log("info", "the shared rate limiter is back");
  }
}
