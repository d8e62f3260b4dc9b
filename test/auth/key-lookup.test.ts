import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KeyLookup } from "../../core/auth/key-lookup.ts";
import { createApiKey } from "../../core/auth/secrets.ts";
import { sha256, systemRandom } from "../../core/base/ids.ts";
import { ApiError } from "../../core/wire/errors.ts";
import { key as keyRecord } from "../contracts/store-records.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";

/** A look-up over a store with one key, whose answers a test can hold back. */
function openLookup() {
  const clock = createManualClock();
  const { key, prefix, hash } = createApiKey(systemRandom);
  const record = keyRecord("alice", { id: "key_1", prefix, hash, createdAt: clock.now() });
  const state = {
    record,
    lookUps: 0,
    touches: [] as number[],
    failure: undefined as Error | undefined,
    answering: undefined as Promise<void> | undefined,
    logged: [] as string[],
  };
  const lookup = new KeyLookup({
    clock,
    log: (level, message) => state.logged.push(`${level} ${message}`),
    sha256,
    store: {
      async findKey(wanted) {
        state.lookUps++;
        const isIts = wanted === state.record.hash || wanted === state.record.previousHash;
        const found = isIts ? state.record : undefined; // as it is now, however late the answer
        await state.answering;
        if (state.failure) throw state.failure;
        return found;
      },
      getKey: async () => undefined,
      findClientToken: async () => undefined,
      async updateKey(owner, id, change) {
        assert.equal(`${owner}/${id}`, "alice/key_1");
        if ("lastUsedAt" in change) state.touches.push(change.lastUsedAt);
        if (state.failure) throw state.failure;
        return state.record;
      },
    },
  });
  const use = (text = key) => lookup.authenticate({ apiKey: text, authorization: null });
  return { clock, lookup, state, hash, use };
}

/** Matches the refusal of a key that is not valid. */
function refused(error: unknown): boolean {
  assert.ok(error instanceof ApiError);
  assert.equal(error.code, "invalid_api_key");
  assert.equal(error.headers["WWW-Authenticate"], 'Bearer realm="twins", error="invalid_token"');
  return true;
}

describe("the look-up of keys", () => {
  test("an unknown key is accepted as soon as the store knows it", async () => {
    const { use, state } = openLookup();
    const { key, hash } = createApiKey(systemRandom);
    await assert.rejects(use(key), refused);
    state.record = { ...state.record, hash };
    assert.equal((await use(key)).key, state.record);
  });

  test("the use of a previous secret is logged once an hour, and that of the new one never", async () => {
    const { use, state, clock, hash } = openLookup();
    const next = createApiKey(systemRandom);
    const previousUntil = clock.now() + 2 * 3_600_000;
    state.record = { ...state.record, hash: next.hash, previousHash: hash, previousUntil };
    await use(next.key);
    assert.deepEqual(state.logged, []);
    const warning = "warn a key's previous secret is still used";
    for (const [milliseconds, lines] of [
      [0, 1],
      [3_599_999, 1],
      [1, 2],
    ] as const) {
      await clock.advance(milliseconds);
      await use();
      await use();
      assert.deepEqual(
        state.logged,
        Array.from({ length: lines }, () => warning),
      );
    }
    await clock.advance(3_600_000);
    await assert.rejects(use(), refused);
    assert.equal((await use(next.key)).key, state.record);
  });

  test("a look-up is cached for five seconds and no longer", async () => {
    const { use, state, clock } = openLookup();
    await use();
    await clock.advance(4_999);
    await use();
    assert.equal(state.lookUps, 1);
    state.record = { ...state.record, revokedAt: clock.now() };
    await clock.advance(1);
    await assert.rejects(use(), refused);
    assert.equal(state.lookUps, 2);
  });

  test("a look-up's five seconds start when it is made, not when it is answered", async () => {
    const { use, state, clock } = openLookup();
    const answer = createGate();
    state.answering = answer.opened;
    const first = use();
    await clock.advance(4_000);
    answer.open();
    await first;
    await clock.advance(1_000);
    await use();
    assert.equal(state.lookUps, 2);
  });

  test("a cached look-up expires when the clock steps back", async () => {
    const { use, state, clock } = openLookup();
    await use();
    clock.step(-60_000);
    await use();
    assert.equal(state.lookUps, 2);
  });

  test("simultaneous uses of a key share one look-up", async () => {
    const { use, state } = openLookup();
    await Promise.all(Array.from({ length: 20 }, () => use()));
    assert.equal(state.lookUps, 1);
  });

  test("a look-up in flight during a revocation is neither cached nor shared with later requests", async () => {
    const { use, state, lookup } = openLookup();
    const answer = createGate();
    state.answering = answer.opened;
    const before = use();
    await settle();
    state.record = { ...state.record, revokedAt: 1 };
    lookup.forget(state.record.id);
    state.answering = undefined;
    await assert.rejects(use(), refused);
    answer.open();
    await before;
    await assert.rejects(use(), refused);
  });

  test("a failed look-up rejects and is not cached", async () => {
    const { use, state } = openLookup();
    state.failure = new Error("down");
    await assert.rejects(use(), /down/);
    state.failure = undefined;
    await use();
    assert.equal(state.lookUps, 2);
  });

  test("the use of a key is recorded at most once a minute", async () => {
    const { use, state, clock } = openLookup();
    const start = clock.now();
    await use();
    await clock.advance(59_999);
    await use();
    assert.deepEqual(state.touches, [start]);
    await clock.advance(1);
    await use();
    assert.deepEqual(state.touches, [start, start + 60_000]);
  });

  test("a use recorded by another process counts too", async () => {
    const { use, state, clock } = openLookup();
    state.record = { ...state.record, lastUsedAt: clock.now() - 59_999 };
    await use();
    assert.deepEqual(state.touches, []);
  });

  test("a refused key is not recorded as used", async () => {
    const { use, state } = openLookup();
    state.record = { ...state.record, revokedAt: 1 };
    await assert.rejects(use());
    assert.deepEqual(state.touches, []);
  });

  test("a use that cannot be recorded is logged, not retried for a minute, and does not fail the request", async () => {
    const { state, clock, use } = openLookup();
    await use();
    await clock.advance(56_000);
    await use(); // looked up; recording is not due yet
    await clock.advance(4_000);
    state.failure = new Error("down");
    assert.equal((await use()).key.id, "key_1");
    await use();
    await settle();
    assert.deepEqual(state.logged, ["warn noting the use of an API key failed"]);
  });
});
