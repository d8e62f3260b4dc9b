import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFallbackLimiter, type FallbackLimiterOptions } from "../../core/limits/fallback-limiter.ts";
import { createMemoryLimiter } from "../../core/limits/memory-limiter.ts";
import type { RateLimiter } from "../../core/limits/token-bucket.ts";
import { limiterContract } from "../contracts/limiter.contract.ts";
import { createManualClock } from "../support/clock.ts";

const policy = { capacity: 200 };
const interval = 18_000_000;

limiterContract("fallback over memory", async () => {
  const clock = createManualClock();
  const limiter = createFallbackLimiter({ shared: createMemoryLimiter({ clock }), clock });
  return { limiter, clock, dispose: async () => limiter.close() };
});

describe("a fallback limiter", () => {
  /** A shared limiter that can be down. */
  function open() {
    const clock = createManualClock();
    const memory = createMemoryLimiter({ clock });
    const state = { down: false, asked: 0 };
    const unlessDown =
      <Asked extends unknown[], Answer>(method: (...asked: Asked) => Promise<Answer>) =>
      async (...asked: Asked): Promise<Answer> => {
        state.asked++;
        if (state.down) throw new Error("connection refused");
        return method(...asked);
      };
    const shared: RateLimiter = {
      take: unlessDown(memory.take),
      takeBoth: unlessDown(memory.takeBoth),
      peek: unlessDown(memory.peek),
      forget: unlessDown(memory.forget),
    };
    const logged: string[] = [];
    const limiter = createFallbackLimiter({ shared, clock, log: (level) => void logged.push(level) });
    const told = () => logged.filter((level) => level !== "debug");
    return { clock, state, memory, limiter, told };
  }

  test("it limits with a full bucket of its own while the shared limiter is down", async () => {
    const { state, limiter } = open();
    for (let n = 0; n < 200; n++) await limiter.take("a", policy);
    assert.equal((await limiter.take("a", policy)).allowed, false);
    state.down = true;
    const before = state.asked;
    for (let n = 0; n < 200; n++) assert.equal((await limiter.take("a", policy)).allowed, true);
    assert.equal((await limiter.take("a", policy)).allowed, false);
    assert.equal((await limiter.peek("a", policy)).allowed, false);
    assert.equal(state.asked, before + 1, "one request finds out, and the others do not ask");
    limiter.close();
  });

  test("it logs an outage once and its end once", async () => {
    const { clock, state, limiter, told } = open();
    state.down = true;
    await Promise.all(Array.from({ length: 10 }, () => limiter.take("a", policy)));
    await clock.advance(60_000);
    assert.deepEqual(told(), ["warn"]);
    state.down = false;
    await clock.advance(60_000);
    assert.deepEqual(told(), ["warn", "info"]);
    state.down = true;
    await limiter.peek("a", policy);
    assert.deepEqual(told(), ["warn", "info", "warn"]);
    limiter.close();
  });

  test("it returns to the shared limiter within five seconds of its recovery", async () => {
    const { clock, state, memory, limiter } = open();
    state.down = true;
    await limiter.take("a", policy);
    await clock.advance(123_456);
    state.down = false;
    await clock.advance(5000);
    await limiter.take("a", policy);
    assert.equal((await memory.peek("a", policy)).debt, interval);
  });

  test("it no longer checks whether the shared limiter is back once it is closed", async () => {
    const { clock, state, limiter } = open();
    state.down = true;
    await limiter.take("a", policy);
    assert.equal(clock.pending, 1);
    limiter.close();
    assert.equal(clock.pending, 0);
  });

  test("it does not start such checks if it is closed while it asks the shared limiter", async () => {
    const { clock, state, limiter } = open();
    state.down = true;
    const taking = limiter.take("a", policy);
    limiter.close();
    await taking;
    assert.equal(clock.pending, 0);
  });

  test("anything but a shared limiter is refused: each process would limit alone", () => {
    const own = createMemoryLimiter();
    const refused: readonly [options: object, message: RegExp][] = [
      [own, /^createFallbackLimiter: take is not known; the names are shared, clock, log\.$/],
      [{ shared: Promise.resolve(own) }, /shared must be a rate limiter, .+, not \[object Promise\]\.$/],
      [{}, /shared must be a rate limiter, .+, not undefined\.$/],
    ];
    for (const [options, message] of refused) {
      const create = () => createFallbackLimiter(options as FallbackLimiterOptions);
      assert.throws(create, { name: "TypeError", message });
    }
  });
});
