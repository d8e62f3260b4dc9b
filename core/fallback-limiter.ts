/**
 * What limits while the shared limiter cannot be reached.
 *
 * @module
 */

import { type Clock, systemClock } from "./clock.ts";
import { createMemoryLimiter, type RateDecision, type RateLimiter, type RatePolicy } from "./limit.ts";
import { type Log, noLog } from "./log.ts";

/** Options of {@link createFallbackLimiter}. */
export interface FallbackLimiterOptions {
  /** The limiter that several processes share. It must reject, and not wait for ever, when it is down. */
  readonly shared: RateLimiter;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Default: keeps silent. */
  readonly log?: Log | undefined;
}

/** A limiter that answers while the shared one is down, too. */
export interface FallbackLimiter extends RateLimiter {
  /** Stops looking whether the shared limiter is back. */
  close(): void;
}

/** Pause between two looks whether the shared limiter is back, in milliseconds. */
const probeMs = 1000;

/** The bucket that is used to look. Taking from it shows that the shared limiter can be written, too. */
const probe = { id: "fallback-probe", policy: { capacity: 3600 } } as const;

/**
 * Asks the shared limiter, and while that one rejects limits with buckets of its own, which are full at
 * first: never unlimited, never an error. Each outage and each recovery is logged once.
 *
 * @example
 * ```ts
 * import { createFallbackLimiter } from "twin-service";
 * import { createRedisLimiter } from "twin-service/redis";
 *
 * const limiter = createFallbackLimiter({ shared: createRedisLimiter(redisClient) });
 * ```
 */
export function createFallbackLimiter(options: FallbackLimiterOptions): FallbackLimiter {
  const { shared, clock = systemClock, log = noLog } = options;
  const own = createMemoryLimiter({ clock });
  let down = false;
  let closed = false;
  let cancelProbe = () => {};

  function fallBack(error: unknown): void {
    if (down) return;
    down = true;
    log("warn", "the shared rate limiter cannot be reached; this process limits alone", { error });
    scheduleProbe();
  }

  function scheduleProbe(): void {
    if (!closed) cancelProbe = clock.after(probeMs, () => void look());
  }

  async function look(): Promise<void> {
    try {
      await shared.take(probe.id, probe.policy);
    } catch (error) {
      log("debug", "the shared rate limiter is still down", { error });
      return scheduleProbe();
    }
    down = false;
    log("info", "the shared rate limiter is back");
  }

  async function ask(method: "take" | "peek", id: string, policy: RatePolicy): Promise<RateDecision> {
    if (!down) {
      try {
        return await shared[method](id, policy);
      } catch (error) {
        fallBack(error);
      }
    }
    return own[method](id, policy);
  }

  return {
    take: (id, policy) => ask("take", id, policy),
    peek: (id, policy) => ask("peek", id, policy),
    close() {
      closed = true;
      cancelProbe();
    },
  };
}
