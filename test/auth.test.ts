import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import type { RequestHeaders } from "../core/answer.ts";
import { createApiKey, isWellFormedApiKey } from "../core/api-keys.ts";
import { createKeyring, insufficientScope, readApiKey, readToken, scopePermits } from "../core/auth.ts";
import { ApiError } from "../core/errors.ts";
import { systemRandom } from "../core/ids.ts";
import { sha256 } from "../core/sha256.ts";
import type { ApiKeyRecord } from "../core/store.ts";
import { createManualClock, settle } from "./clock.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const plainChallenge = 'Bearer realm="twins"';
const refusedChallenge = 'Bearer realm="twins", error="invalid_token"';

/** Header fields taken verbatim; a `Headers` object would trim them. */
function fields(values: Readonly<Record<string, string>>): RequestHeaders {
  const lower = new Map(Object.entries(values).map(([name, value]) => [name.toLowerCase(), value]));
  return { get: (name) => lower.get(name.toLowerCase()) ?? null };
}

function refusal(code: string, challenge?: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, code);
    assert.equal(error.headers["WWW-Authenticate"], challenge);
    return true;
  };
}

describe("API keys", () => {
  test("a new key has the right form, prefix and hash, and ends with its CRC-32", () => {
    for (let count = 0; count < 200; count++) {
      const { key, prefix, hash } = createApiKey(systemRandom);
      assert.match(key, /^twin_[0-9A-Za-z]{49}$/);
      assert.equal(prefix, key.slice(0, 12));
      assert.equal(hash, createHash("sha256").update(key).digest("hex"));
      let rest = crc32(key.slice(0, 48));
      let digits = "";
      for (let digit = 0; digit < 6; digit++) {
        digits = alphabet.charAt(rest % 62) + digits;
        rest = Math.floor(rest / 62);
      }
      assert.equal(key.slice(48), digits);
      assert.ok(isWellFormedApiKey(key));
    }
  });

  test("random bytes that would favour some characters are discarded", () => {
    const bytes = [...Array.from({ length: 64 }, () => 248), ...Array.from({ length: 64 }, (_, at) => at)];
    let at = 0;
    const { key } = createApiKey((buffer) => {
      for (let index = 0; index < buffer.length; index++) buffer[index] = bytes[at++] ?? 255;
      return buffer;
    });
    assert.equal(key.slice(5, 48), alphabet.slice(0, 43));
  });

  test("all characters come up equally often", () => {
    const counts = new Map<string, number>();
    for (let count = 0; count < 2_000; count++) {
      for (const character of createApiKey(systemRandom).key.slice(5, 48)) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    const expected = (2_000 * 43) / 62;
    // Without rejection, the first 8 characters would come up a quarter more often. 8 standard deviations: 22 %.
    for (const character of alphabet) {
      const count = counts.get(character) ?? 0;
      assert.ok(
        Math.abs(count - expected) < 8 * Math.sqrt(expected),
        `${character}: ${count} of ${expected}`,
      );
    }
  });

  test("a key with any one character changed is not well-formed", () => {
    const { key } = createApiKey(systemRandom);
    for (let at = 0; at < key.length; at++) {
      const other = key.charAt(at) === "x" ? "y" : "x";
      assert.ok(!isWellFormedApiKey(key.slice(0, at) + other + key.slice(at + 1)), `character ${at}`);
    }
  });

  test("other texts are not well-formed", () => {
    const { key } = createApiKey(systemRandom);
    for (const text of ["", "twin_", key.slice(0, -1), `${key}0`, `${key}\n`, ` ${key}`, "a.b.c"]) {
      assert.ok(!isWellFormedApiKey(text), JSON.stringify(text));
    }
  });
});

describe("credentials in header fields", () => {
  test("a key is read from either header, without the spaces and tabs around it", () => {
    for (const headers of [
      { Authorization: "Bearer abc" },
      { Authorization: "bEARER abc" },
      { Authorization: " \tBearer \t abc \t" },
      { "X-API-Key": "abc" },
      { "X-API-Key": "\t abc " },
      { Authorization: "Bearer abc", "X-API-Key": "abc" },
      { Authorization: "", "X-API-Key": "abc" },
      { Authorization: "Bearer abc", "X-API-Key": " " },
      { Authorization: "Basic eDp5", "X-API-Key": "abc" },
    ]) {
      assert.equal(readApiKey(fields(headers)), "abc", JSON.stringify(headers));
    }
  });

  test("only spaces and tabs are trimmed", () => {
    assert.equal(readApiKey(fields({ "X-API-Key": "\u00a0abc\u00a0" })), "\u00a0abc\u00a0");
    assert.equal(readApiKey(fields({ Authorization: "Bearer \u00a0abc" })), "\u00a0abc");
  });

  test("no credential, an empty one and one of another scheme all count as missing", () => {
    for (const headers of [
      {},
      { Authorization: "" },
      { Authorization: "Bearer" },
      { Authorization: "Bearer \t " },
      { Authorization: "Bearerabc" },
      { Authorization: "Basic eDp5" },
      { Authorization: "abc" },
      { Authorization: "Bearer\u00a0abc" },
      { "X-API-Key": " \t" },
    ]) {
      const text = JSON.stringify(headers);
      assert.throws(() => readApiKey(fields(headers)), refusal("missing_credentials", plainChallenge), text);
      assert.throws(() => readToken(fields(headers)), refusal("missing_credentials", plainChallenge), text);
    }
  });

  test("two credentials are ambiguous, and neither counts", () => {
    for (const headers of [
      { Authorization: "Bearer abc", "X-API-Key": "abd" },
      { Authorization: "Bearer abc, Bearer abc" },
      { Authorization: "Bearer abc, " },
      { Authorization: "Bearer abc,abc" },
      { "X-API-Key": "abc, abc" },
      { "X-API-Key": "," },
      { Authorization: "Bearer abc", "X-API-Key": "abc, abc" },
    ]) {
      assert.throws(() => readApiKey(fields(headers)), refusal("invalid_request"), JSON.stringify(headers));
      assert.throws(() => readToken(fields(headers)), refusal("invalid_request"), JSON.stringify(headers));
    }
  });

  test("a field full of spaces takes no longer to read than any other", { timeout: 10_000 }, async () => {
    const credential = `a${" ".repeat(32_000)}b`; // a quadratic scan would take more than a minute in all
    for (let count = 0; count < 100; count++) {
      assert.equal(readApiKey(fields({ Authorization: `Bearer ${credential}` })), credential);
      await settle(); // lets the test's timeout fire
    }
  });

  test("headers sent twice are recognized in the form in which fetch joins them", () => {
    const headers = new Headers();
    headers.append("X-API-Key", "abc");
    headers.append("X-API-Key", "abc");
    assert.throws(() => readApiKey(headers), refusal("invalid_request"));
  });

  test("a token is read only from Authorization", () => {
    assert.equal(readToken(fields({ Authorization: "bearer a.b.c" })), "a.b.c");
    assert.equal(readToken(fields({ Authorization: "Bearer a.b.c", "X-API-Key": "a.b.c" })), "a.b.c");
    assert.throws(
      () => readToken(fields({ "X-API-Key": "abc" })),
      refusal("invalid_token", refusedChallenge),
    );
  });

  test("the refusal of an insufficient scope names the required one", () => {
    const error = insufficientScope("full_access");
    assert.equal(error.status, 403);
    assert.equal(
      error.headers["WWW-Authenticate"],
      'Bearer realm="twins", error="insufficient_scope", scope="full_access"',
    );
  });

  test("full_access includes read_only, but not the other way round", () => {
    assert.ok(scopePermits("full_access", "read_only"));
    assert.ok(scopePermits("full_access", "full_access"));
    assert.ok(scopePermits("read_only", "read_only"));
    assert.ok(!scopePermits("read_only", "full_access"));
  });
});

/** A keyring over a store with one key, whose answers a test can hold back. */
function openKeyring() {
  const clock = createManualClock();
  const { key, prefix, hash } = createApiKey(systemRandom);
  const record: ApiKeyRecord = {
    id: "key_1",
    owner: "alice",
    name: "test",
    scope: "read_only",
    prefix,
    hash,
    createdAt: clock.now(),
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
  };
  const state = {
    record,
    lookUps: 0,
    touches: [] as number[],
    failure: undefined as Error | undefined,
    gate: undefined as Promise<void> | undefined,
    logged: [] as string[],
  };
  const keyring = createKeyring({
    clock,
    log: (level, message) => state.logged.push(`${level} ${message}`),
    sha256,
    store: {
      async findKey(wanted) {
        state.lookUps++;
        const found = wanted === state.record.hash ? state.record : undefined; // as it is now, however late the answer
        await state.gate;
        if (state.failure) throw state.failure;
        return found;
      },
      async touchKey(owner, id, at) {
        assert.equal(`${owner}/${id}`, "alice/key_1");
        state.touches.push(at);
        if (state.failure) throw state.failure;
      },
    },
  });
  const use = (text = key) => keyring.authenticate(fields({ "X-API-Key": text }));
  return { clock, keyring, state, hash, use };
}

describe("the keyring", () => {
  const refused = refusal("invalid_api_key", refusedChallenge);

  test("a known key yields its record", async () => {
    const { use, state } = openKeyring();
    assert.equal(await use(), state.record);
  });

  test("malformed keys are refused without a look-up, unknown ones after one, all with the same error", async () => {
    const { use, state, clock } = openKeyring();
    const messages = new Set<string>();
    const collect = (error: unknown) => {
      messages.add(error instanceof ApiError ? JSON.stringify([error.message, error.headers]) : "");
      return refused(error);
    };
    await assert.rejects(use("twin_x"), collect);
    await assert.rejects(use("a.b.c"), collect);
    assert.equal(state.lookUps, 0);
    await assert.rejects(use(createApiKey(systemRandom).key), collect);
    assert.equal(state.lookUps, 1);
    state.record = { ...state.record, expiresAt: clock.now() };
    await assert.rejects(use(), collect);
    await clock.advance(5_000);
    state.record = { ...state.record, expiresAt: null, revokedAt: clock.now() };
    await assert.rejects(use(), collect);
    assert.equal(messages.size, 1);
  });

  test("an unknown key is accepted as soon as the store knows it", async () => {
    const { use, state } = openKeyring();
    const { key, hash } = createApiKey(systemRandom);
    await assert.rejects(use(key), refused);
    state.record = { ...state.record, hash };
    assert.equal(await use(key), state.record);
  });

  test("a look-up is cached for five seconds and no longer", async () => {
    const { use, state, clock } = openKeyring();
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
    const { use, state, clock } = openKeyring();
    const { promise, resolve } = gate();
    state.gate = promise;
    const first = use();
    await clock.advance(4_000);
    resolve();
    await first;
    await clock.advance(1_000);
    await use();
    assert.equal(state.lookUps, 2);
  });

  test("a cached look-up expires when the clock steps back", async () => {
    const { use, state, clock } = openKeyring();
    await use();
    clock.step(-60_000);
    await use();
    assert.equal(state.lookUps, 2);
  });

  test("a key that expires while it is cached is refused from that moment on", async () => {
    const { use, state, clock } = openKeyring();
    state.record = { ...state.record, expiresAt: clock.now() + 1_000 };
    await clock.advance(999);
    await use();
    await clock.advance(1);
    await assert.rejects(use(), refused);
  });

  test("simultaneous uses of a key share one look-up", async () => {
    const { use, state } = openKeyring();
    await Promise.all(Array.from({ length: 20 }, () => use()));
    assert.equal(state.lookUps, 1);
  });

  test("a forgotten key is looked up again", async () => {
    const { use, state, keyring, hash } = openKeyring();
    await use();
    state.record = { ...state.record, revokedAt: 1 };
    keyring.forget(hash);
    await assert.rejects(use(), refused);
  });

  test("a look-up in flight during a revocation is neither cached nor shared with later requests", async () => {
    const { use, state, keyring, hash } = openKeyring();
    const { promise, resolve } = gate();
    state.gate = promise;
    const before = use();
    await settle();
    state.record = { ...state.record, revokedAt: 1 };
    keyring.forget(hash);
    state.gate = undefined;
    await assert.rejects(use(), refused);
    resolve();
    await before;
    await assert.rejects(use(), refused);
  });

  test("a failed look-up rejects and is not cached", async () => {
    const { use, state } = openKeyring();
    state.failure = new Error("down");
    await assert.rejects(use(), /down/);
    state.failure = undefined;
    await use();
    assert.equal(state.lookUps, 2);
  });

  test("the use of a key is recorded at most once a minute", async () => {
    const { use, state, clock } = openKeyring();
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
    const { use, state, clock } = openKeyring();
    state.record = { ...state.record, lastUsedAt: clock.now() - 59_999 };
    await use();
    assert.deepEqual(state.touches, []);
  });

  test("a refused key is not recorded as used", async () => {
    const { use, state } = openKeyring();
    state.record = { ...state.record, revokedAt: 1 };
    await assert.rejects(use());
    assert.deepEqual(state.touches, []);
  });

  test("a use that cannot be recorded is logged, not retried for a minute, and does not fail the request", async () => {
    const { state, clock, use } = openKeyring();
    await use();
    await clock.advance(56_000);
    await use(); // looked up; recording is not due yet
    await clock.advance(4_000);
    state.failure = new Error("down");
    assert.equal((await use()).id, "key_1");
    await use();
    await settle();
    assert.deepEqual(state.logged, ["warn noting the use of an API key failed"]);
  });
});

function gate(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settled) => {
    resolve = settled;
  });
  return { promise, resolve };
}
