import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Scope } from "../../core/mod.ts";
import type { UsageResource } from "../../core/wire/schemas.ts";
import {
  assertErrorAnswer,
  dataOf,
  type Fixture,
  inProcess,
  openFixture,
  startOfTests,
} from "../support/harness.ts";

const limits: readonly { scope: Scope; capacity: number; intervalMs: number }[] = [
  { scope: "read_only", capacity: 200, intervalMs: 18_000 },
  { scope: "full_access", capacity: 500, intervalMs: 7_200 },
];

describe("limits", () => {
  for (const { scope, capacity, intervalMs } of limits) {
    const retryAfter = Math.ceil(intervalMs / 1000);

    test(`a ${scope} key has ${capacity} requests, then one every ${intervalMs} ms`, async () => {
      await using fixture = await openFixture(inProcess);
      const key = await fixture.key(scope);
      for (let left = capacity - 1; left >= 0; left--) {
        const response = await fixture.call("GET", "/twins/echo", key);
        assert.equal(response.status, 200);
        assert.equal(response.headers.get("ratelimit-policy"), `"hourly";q=${capacity};w=3600`);
        assert.equal(response.headers.get("ratelimit"), `"hourly";r=${left};t=${retryAfter}`);
        assert.equal(response.headers.get("x-ratelimit-limit"), String(capacity));
        assert.equal(response.headers.get("x-ratelimit-remaining"), String(left));
        const fullAt = startOfTests + (capacity - left) * intervalMs;
        assert.equal(response.headers.get("x-ratelimit-reset"), String(Math.ceil(fullAt / 1000)));
      }

      const refused = await fixture.call("GET", "/twins/echo", key);
      assert.equal(refused.headers.get("retry-after"), String(retryAfter));
      assert.equal(refused.headers.get("ratelimit"), `"hourly";r=0;t=${retryAfter}`);
      assert.equal(refused.headers.get("x-ratelimit-remaining"), "0");
      const { details } = await assertErrorAnswer(refused, 429, "rate_limited");
      assert.deepEqual(details, { retryAfterSeconds: retryAfter, limit: capacity });

      await fixture.clock.advance(intervalMs - 1);
      assert.equal(await statusOf(fixture, key), 429, "a millisecond too early");
      await fixture.clock.advance(1);
      assert.equal(await statusOf(fixture, key), 200);
      assert.equal(await statusOf(fixture, key), 429);
    });
  }

  test("every authenticated request costs one token, however it is answered", async () => {
    await using fixture = await openFixture(inProcess);
    const reader = await fixture.key("read_only");
    const writer = await fixture.key("full_access");
    const conversation = await fixture.conversation(writer);
    const requests = [
      ["GET", "/twins?limit=0", reader, 400],
      ["GET", "/twins/nowhere", reader, 404],
      ["POST", "/conversations", reader, 403],
      ["HEAD", "/twins", reader, 200],
      ["GET", "/conversations/conv_nowhere", reader, 404],
      ["POST", "/conversations", writer, 415],
      ["POST", `/conversations/${conversation}/messages/stream`, writer, 200],
    ] as const;
    for (const [method, path, key, status] of requests) {
      const before = await remaining(fixture, key);
      const body = status === 200 && method === "POST" ? { content: "Hello" } : undefined;
      const response = await fixture.call(method, path, key, body);
      await response.text();
      assert.equal(response.status, status, `${method} ${path}`);
      assert.equal(response.headers.get("x-ratelimit-remaining"), String(before - 1));
      assert.equal(await remaining(fixture, key), before - 1);
    }
  });

  test("usage, OPTIONS, health, unknown paths and methods, and requests without a valid key cost nothing", async () => {
    await using fixture = await openFixture(inProcess);
    const key = await fixture.key("read_only");
    const headers = { "X-API-Key": key };
    await fixture.send("/api/v1/twins", { method: "OPTIONS", headers });
    for (const path of ["/healthz", "/readyz", "/api/v1/openapi.json", "/api/v1/nowhere"]) {
      const response = await fixture.send(path, { headers });
      assert.equal(response.headers.get("ratelimit"), null, path);
    }
    await fixture.send("/api/v1/twins", { method: "DELETE", headers });
    await fixture.send("/api/v1/twins");
    await fixture.send("/api/v1/twins", { headers: { ...headers, Authorization: "Bearer other" } });
    const usage = await fixture.call("GET", "/usage", key);
    assert.equal(usage.status, 200);
    assert.equal(usage.headers.get("ratelimit"), '"hourly";r=200;t=0');
    assert.equal(usage.headers.get("x-ratelimit-reset"), String(Math.ceil(startOfTests / 1000)));
    assert.deepEqual(await dataOf<UsageResource>(usage), {
      scope: "read_only",
      limit: 200,
      remaining: 200,
      resetAt: "2026-01-02T03:04:05.678Z",
      budgets: [],
    });
  });

  test("usage says what is left, even if the bucket is empty", async () => {
    await using fixture = await openFixture(inProcess);
    const key = await fixture.key("read_only");
    await drain(fixture, key, 200);
    await fixture.clock.advance(500);
    const response = await fixture.call("GET", "/usage", key);
    assert.equal(response.headers.get("ratelimit"), '"hourly";r=0;t=18');
    assert.deepEqual(await dataOf<UsageResource>(response), {
      scope: "read_only",
      limit: 200,
      remaining: 0,
      resetAt: "2026-01-02T04:04:05.678Z",
      budgets: [],
    });
  });

  test("a streamed send over the limit is a plain JSON 429, and stores nothing", async () => {
    await using fixture = await openFixture(inProcess);
    const key = await fixture.key("full_access");
    const conversation = await fixture.conversation(key);
    await drain(fixture, key, 499);
    const path = `/conversations/${conversation}/messages/stream`;
    await assertErrorAnswer(await fixture.call("POST", path, key, { content: "Hello" }), 429, "rate_limited");
    await fixture.clock.advance(7_200);
    const list = await fixture.call("GET", `/conversations/${conversation}/messages`, key);
    assert.deepEqual(await dataOf(list), []);
  });
});

test("an operator may set how many requests an hour a scope allows", async () => {
  await using fixture = await openFixture(inProcess, { requestsPerHour: { read_only: 3 } });
  const key = await fixture.key("read_only");
  const first = await fixture.call("GET", "/twins/echo", key);
  assert.equal(first.headers.get("ratelimit-policy"), '"hourly";q=3;w=3600');
  await drain(fixture, key, 2);
  const refused = await fixture.call("GET", "/twins/echo", key);
  assert.equal(refused.headers.get("retry-after"), "1200");
  const other = await fixture.call("GET", "/twins/echo", await fixture.key("full_access"));
  assert.equal(other.headers.get("x-ratelimit-limit"), "500");
  for (const wrong of [{ read_only: 0 }, { full_access: 1_000_001 }, { other: 1 }, 5]) {
    const opened = openFixture(inProcess, { requestsPerHour: wrong as never });
    await assert.rejects(opened, /requestsPerHour must be an object of whole numbers/);
  }
});

async function statusOf(fixture: Fixture, key: string): Promise<number> {
  return (await fixture.call("GET", "/twins/echo", key)).status;
}

async function remaining(fixture: Fixture, key: string): Promise<number> {
  return (await dataOf<UsageResource>(await fixture.call("GET", "/usage", key))).remaining;
}

/** Takes tokens, which must be available. */
async function drain(fixture: Fixture, key: string, count: number): Promise<void> {
  for (let done = 0; done < count; done++) assert.equal(await statusOf(fixture, key), 200);
}
