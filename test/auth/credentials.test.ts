import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { routes } from "../../core/api/routes.ts";
import { signToken } from "../../core/auth/jwt.ts";
import { createApiKey } from "../../core/auth/secrets.ts";
import { ApiError, type ErrorCode, type Log } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { ApiKeyResource, CreatedApiKeyResource } from "../../core/wire/schemas.ts";
import { countCalls } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import {
  assertErrorAnswer,
  dataOf,
  type Fixture,
  inProcess,
  openFixture,
  transports,
} from "../support/harness.ts";

const ofKeys = routes.filter((route) => route.credential === "api_key");
const ofTokens = routes.filter((route) => route.credential === "token");
const challenge = 'Bearer realm="twins"';

for (const transport of transports) {
  describe(`credentials, ${transport.name}`, () => {
    test("a key is read from either header, whatever the scheme's case, and from both if they agree", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only");
      const accepted: Record<string, string>[] = [
        { Authorization: `Bearer ${key}` },
        { Authorization: `bEARER \t ${key} \t` },
        { "X-API-Key": ` \t${key}\t ` },
        { Authorization: `Bearer ${key}`, "X-API-Key": key },
        { Authorization: "", "X-API-Key": key },
        { Authorization: `Bearer ${key}`, "X-API-Key": " " },
        { Authorization: `Basic ${btoa("x:y")}`, "X-API-Key": key },
      ];
      for (const headers of accepted) {
        const response = await fixture.send("/api/v1/twins", { headers });
        assert.equal(response.status, 200, JSON.stringify(headers));
      }
    });

    test("a key is read from nowhere else", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const elsewhere: Record<string, string>[] = [
        {},
        { Cookie: `X-API-Key=${key}; Authorization=Bearer ${key}` },
        { "Proxy-Authorization": `Bearer ${key}`, "Api-Key": key },
        { Authorization: key },
        { Authorization: `Basic ${btoa(`${key}:`)}` },
        { Authorization: `Bearer${key}` },
        { Authorization: `Bearer\u00a0${key}` },
        { Authorization: "Bearer \t ", "X-API-Key": "" },
      ];
      const query = `api_key=${key}&key=${key}&access_token=${key}&X-API-Key=${key}`;
      const body = JSON.stringify({ twinId: "echo", key, access_token: key });
      for (const given of elsewhere) {
        const headers = { "Content-Type": "application/json", ...given };
        const response = await fixture.send(`/api/v1/conversations?${query}`, {
          method: "POST",
          headers,
          body,
        });
        await assertAskedForCredentials(response, JSON.stringify(given));
      }
    });

    test("conflicting or repeated credentials are refused, for keys and for tokens", async () => {
      await using fixture = await openFixture(transport);
      const [one, other] = [await fixture.key(), await fixture.key()];
      const both = (bearer: string, apiKey: string) => ({
        Authorization: `Bearer ${bearer}`,
        "X-API-Key": apiKey,
      });
      const ambiguous: HeadersInit[] = [
        both(one, other),
        both(one, "nonsense"),
        both(one, `${one}, ${one}`),
        new Headers(Array(2).fill(["Authorization", `Bearer ${one}`])),
        new Headers(Array(2).fill(["X-API-Key", one])),
        { Authorization: `Bearer ${one},` },
        { Authorization: `Bearer ${one},${one}` },
        { "X-API-Key": "," },
      ];
      for (const headers of ambiguous) {
        for (const path of ["/api/v1/twins", "/api/v1/auth/api-keys"]) {
          const response = await fixture.send(path, { headers });
          assert.equal(response.headers.get("ratelimit"), null);
          const what = JSON.stringify([...new Headers(headers)]);
          await assertErrorAnswer(response, 400, "invalid_request", what);
        }
      }
    });

    test("unknown, malformed, expired and revoked keys get one identical 401", async () => {
      await using fixture = await openFixture(transport);
      const token = await fixture.token();
      const [expired, revoked, good] = [
        await createKey(fixture, token, { name: "expired", expiresInDays: 1 }),
        await createKey(fixture, token, { name: "revoked" }),
        await fixture.key("read_only"),
      ];
      fixture.clock.step(24 * 3600 * 1000);
      await fixture.call("DELETE", `/auth/api-keys/${revoked.id}`, await fixture.token());
      const refused = [
        expired.key,
        revoked.key,
        createApiKey().key,
        `${good.slice(0, -1)}${good.endsWith("a") ? "b" : "a"}`,
        `${good}a`,
        good.toUpperCase(),
        "x",
        "twin_",
        "x".repeat(6000),
        `\u00a0${good}`,
        await fixture.token(),
      ];
      const answers = new Set<string>();
      for (const key of refused) {
        const response = await fixture.send("/api/v1/twins", { headers: { "X-API-Key": key } });
        assert.equal(response.status, 401);
        const fields = [...response.headers].filter(([name]) => !/^(date|x-request-id)$/.test(name));
        answers.add(JSON.stringify(fields) + (await response.text()).replace(/req_\w+/, "req_"));
      }
      const [answer = "", ...others] = answers;
      assert.deepEqual(others, []);
      assert.match(answer, /"code":"invalid_api_key"/);
      assert.ok(answer.includes(JSON.stringify(`${challenge}, error="invalid_token"`)));
    });

    test("a key that fails its checksum is refused without a look-up", async () => {
      const { store, calls } = countCalls(createMemoryStore());
      await using fixture = await openFixture(transport, { store });
      const { key } = createApiKey();
      const wrong = `${key.slice(0, -1)}${key.endsWith("a") ? "b" : "a"}`;
      assert.equal((await fixture.call("GET", "/twins", wrong)).status, 401);
      assert.equal(calls.get("findKey"), undefined);
      assert.equal((await fixture.call("GET", "/twins", key)).status, 401);
      assert.equal(calls.get("findKey"), 1);
    });

    for (const { operationId, method, path } of ofKeys) {
      test(`${operationId} requires a key, and accepts no token in its place`, async () => {
        await using fixture = await openFixture(transport);
        const target = concrete(path);
        await assertAskedForCredentials(await fixture.send(target, { method }));
        const headers = { Authorization: `Bearer ${await fixture.token()}` };
        await assertRefused(await fixture.send(target, { method, headers }), "invalid_api_key");
      });
    }

    for (const { operationId, method, path } of ofTokens) {
      test(`${operationId} requires a token, and accepts no key in its place`, async () => {
        await using fixture = await openFixture(transport);
        const target = concrete(path);
        await assertAskedForCredentials(await fixture.send(target, { method }));
        const key = await fixture.key();
        for (const headers of [{ Authorization: `Bearer ${key}` }, { "X-API-Key": key }]) {
          const withKey = await fixture.send(target, { method, headers });
          const message = await assertRefused(withKey, "invalid_token");
          assert.match(message, /^An API key is not accepted here/);
        }
      });
    }

    for (const { operationId, method, path } of ofKeys.filter((route) => route.method !== "GET")) {
      test(`${operationId} requires the scope full_access`, async () => {
        await using fixture = await openFixture(transport);
        const headers = { "X-API-Key": await fixture.key("read_only") };
        const response = await fixture.send(concrete(path), { method, headers });
        const expected = `${challenge}, error="insufficient_scope", scope="full_access"`;
        assert.equal(response.headers.get("www-authenticate"), expected);
        await assertErrorAnswer(response, 403, "insufficient_scope");
      });
    }

    test("keys of both scopes can read everything that their owner has created", async () => {
      await using fixture = await openFixture(transport);
      const writer = await fixture.key();
      const reader = await fixture.key("read_only");
      const path = `/conversations/${await fixture.conversation(writer)}`;
      const sent = await fixture.call("POST", `${path}/messages`, writer, { content: "Hi" });
      const { id } = await dataOf<{ id: string }>(sent);
      const readable = [
        "/twins",
        "/twins/echo",
        "/conversations",
        path,
        `${path}/messages`,
        `${path}/messages/${id}`,
        `${path}/messages/${id}/stream`,
        "/usage",
      ];
      for (const each of readable) {
        for (const key of [reader, writer]) {
          const response = await fixture.call("GET", each, key);
          await response.text();
          assert.equal(response.status, 200, each);
        }
      }
    });

    test("a token must be signed with the service's secret", async () => {
      await using fixture = await openFixture(transport);
      const { clock } = fixture;
      const secret = "another secret, at least 32 bytes long";
      for (const token of [
        await signToken({ secret, sub: "alice", expiresInSeconds: 60, clock }),
        "a.b.c",
        "nonsense",
      ]) {
        await assertRefused(await fixture.call("GET", "/auth/api-keys", token), "invalid_token", token);
      }
      const response = await fixture.call("GET", "/auth/api-keys", await fixture.token());
      assert.deepEqual(await dataOf<ApiKeyResource[]>(response), []);
    });

    test("a token that the host's own verifier refuses is a 401 with a challenge", async () => {
      const verifyToken = () => Promise.reject(new ApiError("invalid_token", "The session is over."));
      await using fixture = await openFixture(transport, { verifyToken });
      const response = await fixture.call("GET", "/auth/api-keys", "session");
      assert.equal(await assertRefused(response, "invalid_token"), "The session is over.");
    });

    test("a challenge from the host's own verifier replaces the service's", async () => {
      const headers = { "www-authenticate": "Session" };
      const verifyToken = () => Promise.reject(new ApiError("invalid_token", "It is over.", { headers }));
      await using fixture = await openFixture(transport, { verifyToken });
      const response = await fixture.call("GET", "/auth/api-keys", "session");
      assert.equal(response.headers.get("www-authenticate"), "Session");
    });

    test("a host's own verifier that names no valid owner is a 500, and the log says why", async () => {
      const said: unknown[] = [];
      const log: Log = (_, __, { error } = {}) => void said.push(error);
      for (const owner of [undefined, null, "", "  ", 42, "a\nb", "a".repeat(256)]) {
        const verifyToken = async () => owner as string;
        await using fixture = await openFixture(transport, { verifyToken, log });
        const response = await fixture.call("POST", "/auth/api-keys", "session", { name: "app" });
        assert.equal(response.status, 500, JSON.stringify(owner));
        assert.match(String(said[0]), /verifyToken must resolve with the owner/);
        said.length = 0;
      }
    });
  });
}

/** A path that matches a route's pattern, for objects that do not exist. */
function concrete(pattern: string): string {
  return pattern.replaceAll(/\{\w+\}/g, "nowhere");
}

/** Fails unless no credential was found. `what` says in a failure which request it was. */
async function assertAskedForCredentials(response: Response, what?: string): Promise<void> {
  assert.equal(response.headers.get("www-authenticate"), challenge, what);
  await assertErrorAnswer(response, 401, "missing_credentials", what);
}

/** Fails unless the credential was not accepted. `what` as above. Returns the error's message. */
async function assertRefused(response: Response, code: ErrorCode, what?: string): Promise<string> {
  assert.equal(response.headers.get("www-authenticate"), `${challenge}, error="invalid_token"`, what);
  return (await assertErrorAnswer(response, 401, code, what)).message;
}

async function createKey(fixture: Fixture, token: string, body: object): Promise<CreatedApiKeyResource> {
  return dataOf(await fixture.call("POST", "/auth/api-keys", token, body));
}

test("a field full of spaces takes no longer to read than any other", { timeout: 10_000 }, async () => {
  await using fixture = await openFixture(inProcess);
  const credential = `a${" ".repeat(32_000)}b`; // a quadratic scan would take more than a minute in all
  for (let count = 0; count < 100; count++) {
    assert.equal((await fixture.call("GET", "/twins", credential)).status, 401);
    await settle(); // lets the test's timeout fire
  }
});
