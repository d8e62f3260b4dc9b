import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readApiKey, readToken } from "../../core/auth/credentials.ts";
import { ApiError } from "../../core/wire/errors.ts";
import { type HeaderFields, readHeaderFields } from "../../core/wire/request.ts";
import { settle } from "../support/clock.ts";

const plainChallenge = 'Bearer realm="twins"';
const refusedChallenge = 'Bearer realm="twins", error="invalid_token"';

/** Header fields taken verbatim; a `Headers` object would trim them. */
function fields(values: Readonly<Record<string, string>>): HeaderFields {
  const lower = new Map(Object.entries(values).map(([name, value]) => [name.toLowerCase(), value]));
  return readHeaderFields({ get: (name) => lower.get(name.toLowerCase()) ?? null });
}

function refusal(code: string, challenge?: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, code);
    assert.equal(error.headers["WWW-Authenticate"], challenge);
    return true;
  };
}

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
    assert.throws(() => readApiKey(readHeaderFields(headers)), refusal("invalid_request"));
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
