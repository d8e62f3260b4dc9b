/**
 * What every limiter must do, wherever it stores its buckets. Run with {@link limiterContract}.
 *
 * Ids are new in every test, so that a database that other tests also use can be tested. The tests about time are
 * skipped if the limiter's clock cannot be set.
 *
 * @module
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import {
  type RateLimiter,
  type RatePolicy,
  refillInterval,
  remainingTokens,
  secondsToNextToken,
} from "../../core/limits/token-bucket.ts";
import type { ManualClock } from "../support/clock.ts";

/** A limiter under test. */
export interface OpenLimiter {
  readonly limiter: RateLimiter;
  /** The limiter's clock, if it can be set. */
  readonly clock?: ManualClock;
  /** Another process's limiter with the same buckets, if there can be one. */
  readonly other?: RateLimiter;
  /** Closes the limiter and opens it again with its data. Absent: its data is lost when it closes. */
  readonly reopen?: () => Promise<RateLimiter>;
  /** Closes the limiter and removes its data. */
  readonly dispose: () => Promise<void>;
}

const readOnly: RatePolicy = { capacity: 200 };
const fullAccess: RatePolicy = { capacity: 500 };

async function takeMany(
  limiter: RateLimiter,
  id: string,
  policy: RatePolicy,
  count: number,
): Promise<number> {
  let allowed = 0;
  for (let n = 0; n < count; n++) if ((await limiter.take(id, policy)).allowed) allowed++;
  return allowed;
}

/**
 * Runs the limiter suite on limiters that `open` creates.
 *
 * @example
 * ```ts
 * import { limiterContract } from "twin-service/testing";
 *
 * limiterContract("my limiter", async () => {
 *   const limiter = await createMyLimiter();
 *   return { limiter, dispose: async () => {} };
 * });
 * ```
 */
export function limiterContract(name: string, open: () => Promise<OpenLimiter>): void {
  describe(`${name}: limiter`, () => {
    let opened: OpenLimiter;
    let limiter: RateLimiter;
    before(async () => {
      opened = await open();
      limiter = opened.limiter;
    });
    after(() => opened.dispose());

    test("a new bucket is full", async () => {
      assert.deepEqual(await limiter.peek(randomUUID(), readOnly), { allowed: true, debt: 0 });
    });

    test("a full bucket admits its capacity and then refuses", async () => {
      const id = randomUUID();
      assert.equal(await takeMany(limiter, id, readOnly, 200), 200);
      const refused = await limiter.take(id, readOnly);
      assert.equal(refused.allowed, false);
      assert.equal(remainingTokens(refused.debt, readOnly), 0);
    });

    test("a decision says how full the bucket is afterwards", async () => {
      const id = randomUUID();
      const first = await limiter.take(id, readOnly);
      assert.equal(remainingTokens(first.debt, readOnly), 199);
      const second = await limiter.take(id, readOnly);
      assert.equal(remainingTokens(second.debt, readOnly), 198);
    });

    test("each id has a bucket of its own", async () => {
      const [id, neighbour] = [randomUUID(), randomUUID()];
      await takeMany(limiter, id, readOnly, 200);
      assert.equal((await limiter.take(id, readOnly)).allowed, false);
      assert.equal((await limiter.take(neighbour, readOnly)).allowed, true);
    });

    test("a peek takes nothing", async () => {
      const id = randomUUID();
      await limiter.take(id, readOnly);
      for (let n = 0; n < 5; n++) await limiter.peek(id, readOnly);
      const seen = await limiter.peek(id, readOnly);
      assert.deepEqual([seen.allowed, remainingTokens(seen.debt, readOnly)], [true, 199]);
    });

    test("a peek at an empty bucket says that nothing is left", async () => {
      const id = randomUUID();
      await takeMany(limiter, id, readOnly, 200);
      const seen = await limiter.peek(id, readOnly);
      assert.deepEqual([seen.allowed, remainingTokens(seen.debt, readOnly)], [false, 0]);
    });

    test("concurrent takes never admit one too many, of two processes either", async () => {
      const { other = limiter } = opened;
      const id = randomUUID();
      const takes = Array.from({ length: 300 }, (_, n) => (n % 2 ? limiter : other).take(id, readOnly));
      const decisions = await Promise.all(takes);
      assert.equal(decisions.filter(({ allowed }) => allowed).length, 200);
    });

    test("of two buckets at once, each gives a token, or neither", async () => {
      const key = { id: randomUUID(), policy: { capacity: 5 } };
      const user = { id: `${key.id}/ann`, policy: { capacity: 3 } };
      const left = async () => [
        remainingTokens((await limiter.peek(user.id, user.policy)).debt, user.policy),
        remainingTokens((await limiter.peek(key.id, key.policy)).debt, key.policy),
      ];
      const [ofUser, ofKey] = await limiter.takeBoth(user, key);
      assert.deepEqual([ofUser.allowed, ofKey.allowed], [true, true]);
      assert.equal(remainingTokens(ofUser.debt, user.policy), 2);
      assert.equal(remainingTokens(ofKey.debt, key.policy), 4);
      for (let n = 0; n < 2; n++) await limiter.takeBoth(user, key);
      const [empty, other] = await limiter.takeBoth(user, key);
      assert.deepEqual([empty.allowed, other.allowed], [false, true]);
      assert.deepEqual(await left(), [0, 2]);
      const bob = { id: `${key.id}/bob`, policy: { capacity: 3 } };
      for (let n = 0; n < 2; n++) await limiter.takeBoth(bob, key);
      const [mine, shared] = await limiter.takeBoth(bob, key);
      assert.deepEqual([mine.allowed, shared.allowed], [true, false]);
      assert.equal(remainingTokens((await limiter.peek(bob.id, bob.policy)).debt, bob.policy), 1);
    });

    test("of many requests at once on two buckets, exactly as many are admitted as both have tokens for", async () => {
      const { other = limiter } = opened;
      const key = { id: randomUUID(), policy: { capacity: 60 } };
      const users = ["ann", "bob", "eve"].map((name) => ({
        id: `${key.id}/${name}`,
        policy: { capacity: 25 },
      }));
      const takes = Array.from({ length: 300 }, async (_, n) => {
        const user = users[n % 3] ?? key;
        const decisions = await (n % 2 ? limiter : other).takeBoth(user, key);
        return decisions.every(({ allowed }) => allowed) ? [user.id] : [];
      });
      const admitted = (await Promise.all(takes)).flat();
      assert.equal(admitted.length, 60);
      for (const { id } of users) assert.ok(admitted.filter((each) => each === id).length <= 25);
    });

    test("another capacity does not refill a bucket: what is left is at most the new one", async () => {
      const id = randomUUID();
      const left = async (capacity: number) =>
        remainingTokens((await limiter.take(id, { capacity })).debt, { capacity });
      await takeMany(limiter, id, { capacity: 10 }, 3);
      assert.equal(await left(100), 6);
      assert.equal(await left(4), 3);
      await takeMany(limiter, id, { capacity: 4 }, 3);
      assert.equal((await limiter.take(id, { capacity: 7 })).allowed, false);
      assert.equal((await limiter.peek(id, { capacity: 4 })).allowed, false);
    });

    test("a full bucket stays full, whatever its capacity becomes", async () => {
      const id = randomUUID();
      await limiter.peek(id, { capacity: 10 });
      assert.equal(await takeMany(limiter, id, { capacity: 30 }, 31), 30);
    });

    for (const capacity of [1, 7, 999_983]) {
      test(`a capacity that does not divide an hour is kept exactly (${capacity})`, async () => {
        const [id, policy] = [randomUUID(), { capacity }];
        const takes = Math.min(capacity, 20);
        assert.equal(await takeMany(limiter, id, policy, takes), takes);
        const { debt } = await limiter.peek(id, policy);
        assert.ok(Math.abs(remainingTokens(debt, policy) - (capacity - takes)) <= takes);
        if (capacity === takes) assert.equal((await limiter.take(id, policy)).allowed, false);
      });
    }

    test("a bucket that is forgotten is full", async () => {
      const key = { id: randomUUID(), policy: { capacity: 2 } };
      const user = { id: `${key.id}/ann`, policy: { capacity: 2 } };
      await takeMany(limiter, key.id, key.policy, 1);
      await limiter.takeBoth(user, key);
      await limiter.forget([user.id, randomUUID()]);
      assert.deepEqual(await limiter.peek(user.id, user.policy), { allowed: true, debt: 0 });
      assert.equal((await limiter.peek(key.id, key.policy)).allowed, false);
    });

    test("a bucket is as empty as before after the limiter is closed and reopened", async (t) => {
      if (!opened.reopen) return t.skip("this limiter persists nothing");
      const [empty, used] = [randomUUID(), randomUUID()];
      await takeMany(limiter, empty, readOnly, 200);
      await takeMany(limiter, used, readOnly, 3);
      limiter = await opened.reopen();
      assert.equal((await limiter.take(empty, readOnly)).allowed, false);
      assert.equal(remainingTokens((await limiter.take(used, readOnly)).debt, readOnly), 196);
    });

    for (const policy of [readOnly, fullAccess]) {
      test(`a retry succeeds after the seconds given, but not one second earlier (${policy.capacity})`, async (t) => {
        const { clock } = opened;
        if (!clock) return t.skip("this limiter's clock cannot be set");
        const id = randomUUID();
        await takeMany(limiter, id, policy, policy.capacity);
        for (const waited of [0, 300, 1000, 1]) {
          await clock.advance(waited);
          const refused = await limiter.take(id, policy);
          assert.equal(refused.allowed, false);
          const seconds = secondsToNextToken(refused.debt, policy);
          assert.ok(seconds >= 1);
          await clock.advance((seconds - 1) * 1000);
          assert.equal((await limiter.take(id, policy)).allowed, false);
          await clock.advance(1000);
          assert.equal((await limiter.take(id, policy)).allowed, true);
        }
      });
    }

    test("a bucket fills up over an hour and no further", async (t) => {
      const { clock } = opened;
      if (!clock) return t.skip("this limiter's clock cannot be set");
      const id = randomUUID();
      await takeMany(limiter, id, readOnly, 200);
      await clock.advance(3_599_999);
      assert.equal((await limiter.peek(id, readOnly)).debt, 1000);
      await clock.advance(50 * 3_600_000);
      assert.equal((await limiter.peek(id, readOnly)).debt, 0);
      assert.equal(await takeMany(limiter, id, readOnly, 201), 200);
    });

    test("no interval admits more than the capacity plus what refills in it", async (t) => {
      const { clock } = opened;
      if (!clock) return t.skip("this limiter's clock cannot be set");
      const bursts = fc.array(
        fc.tuple(fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 1, max: 60 })),
        {
          minLength: 5,
          maxLength: 25,
        },
      );
      const property = fc.asyncProperty(bursts, async (waitsAndTakes) => {
        const id = randomUUID();
        const policy = { capacity: 60 };
        const admitted: number[] = [];
        for (const [wait, takes] of waitsAndTakes) {
          await clock.advance(wait);
          const allowed = await takeMany(limiter, id, policy, takes);
          for (let n = 0; n < allowed; n++) admitted.push(clock.now() * 1000);
        }
        for (const [first, from] of admitted.entries()) {
          for (const [last, to] of admitted.entries()) {
            const most = policy.capacity + Math.floor((to - from) / refillInterval(policy));
            assert.ok(last - first + 1 <= most, `${last - first + 1} admitted in ${to - from} µs`);
          }
        }
      });
      await fc.assert(property, { numRuns: 20, seed: 4 });
    });

    test("a clock that steps back neither refills a bucket nor locks it", async (t) => {
      const { clock } = opened;
      if (!clock) return t.skip("this limiter's clock cannot be set");
      const [id, unlooked] = [randomUUID(), randomUUID()];
      for (const each of [id, unlooked]) await takeMany(limiter, each, readOnly, 200);
      clock.step(-7_200_000);
      assert.equal((await limiter.take(id, readOnly)).allowed, false);
      await clock.advance(17_999);
      assert.equal((await limiter.take(id, readOnly)).allowed, false);
      await clock.advance(1);
      assert.equal(await takeMany(limiter, id, readOnly, 2), 1);
      assert.equal((await limiter.peek(unlooked, readOnly)).allowed, false);
      await clock.advance(18_000);
      assert.equal(await takeMany(limiter, unlooked, readOnly, 2), 1);
    });

    test("a clock that steps back before a restart does not refill a bucket", async (t) => {
      const { clock, reopen } = opened;
      if (!clock || !reopen) return t.skip("this limiter's clock cannot be set, or it persists nothing");
      const id = randomUUID();
      await takeMany(limiter, id, readOnly, 200);
      clock.step(-7_200_000);
      assert.equal((await limiter.take(id, readOnly)).allowed, false);
      await clock.advance(9000);
      limiter = await reopen();
      assert.equal((await limiter.take(id, readOnly)).allowed, false);
      await clock.advance(9000);
      assert.equal((await limiter.take(id, readOnly)).allowed, true);
    });
  });
}
