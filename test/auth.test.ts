import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import type { RequestHeaders } from "../core/answer.ts";
import { createApiKey, isWellFormedApiKey } from "../core/api-keys.ts";
import { readApiKey, readToken } from "../core/auth.ts";
import { ApiError } from "../core/errors.ts";
import { systemRandom } from "../core/ids.ts";
import { settle } from "./clock.ts";

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
});
