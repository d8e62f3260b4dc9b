import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import { apiKeys, createApiKey } from "../../core/auth/secrets.ts";
import { systemRandom } from "../../core/base/ids.ts";
import { type ApiKeyRecord, createMemoryStore, type Store } from "../../core/store/mod.ts";
import type { ApiKeyResource, CreatedApiKeyResource } from "../../core/wire/schemas.ts";
import { openChat } from "../support/chat.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  type Fixture,
  inProcess,
  openFixture,
  textOf,
  transports,
} from "../support/harness.ts";

const keys = "/auth/api-keys";

for (const transport of transports) {
  describe(`API keys, ${transport.name}`, () => {
    test("a key is read_only and never expires by default, and its secret is shown only once", async () => {
      await using fixture = await openFixture(transport);
      const token = await fixture.token();
      const response = await fixture.call("POST", keys, token, { name: "laptop" });
      assert.equal(response.status, 201);
      const { key, ...created } = await dataOf<CreatedApiKeyResource>(response);
      assert.ok(apiKeys.isWellFormed(key));
      assert.equal(response.headers.get("location"), `/api/v1/auth/api-keys/${created.id}`);
      const { id, ...rest } = created;
      assert.match(id, /^key_/);
      assert.deepEqual(rest, {
        name: "laptop",
        scope: "read_only",
        prefix: key.slice(0, 12),
        requestsPerHour: null,
        tokensPerDay: null,
        tokensPerMonth: null,
        createdAt: "2026-01-02T03:04:05.678Z",
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
        previousUntil: null,
      });
      const list = await fixture.call("GET", keys, token);
      const text = await list.text();
      assert.ok(!text.includes(key));
      assert.deepEqual((JSON.parse(text) as { data: unknown }).data, [created]);
    });

    test("a key gets the requested scope and expiry", async () => {
      await using fixture = await openFixture(transport);
      const token = await fixture.token();
      for (const [expiresInDays, expiresAt] of [
        [1, "2026-01-03T03:04:05.678Z"],
        [3650, "2035-12-31T03:04:05.678Z"],
        [null, null],
      ]) {
        const body = { name: "k", scope: "full_access", expiresInDays };
        const created = await dataOf<CreatedApiKeyResource>(await fixture.call("POST", keys, token, body));
        assert.equal(created.scope, "full_access");
        assert.equal(created.expiresAt, expiresAt);
      }
    });

    test("a key works until the moment it expires", async () => {
      await using fixture = await openFixture(transport);
      const body = { name: "k", expiresInDays: 1 };
      const created = await fixture.call("POST", keys, await fixture.token(), body);
      const { key } = await dataOf<CreatedApiKeyResource>(created);
      fixture.clock.step(24 * 3600 * 1000 - 1);
      assert.equal((await fixture.call("GET", "/twins", key)).status, 200);
      await fixture.clock.advance(1);
      await assertErrorAnswer(await fixture.call("GET", "/twins", key), 401, "invalid_api_key");
    });

    test("invalid fields are refused, each by its name", async () => {
      await using fixture = await openFixture(transport);
      const token = await fixture.token();
      const bodies: [string, unknown][] = [
        ["name", {}],
        ["name", { name: null }],
        ["name", { name: 7 }],
        ["name", { name: "" }],
        ["name", { name: " \u00a0" }],
        ["name", { name: "x".repeat(101) }],
        ["scope", { name: "k", scope: null }],
        ["scope", { name: "k", scope: "admin" }],
        ["scope", { name: "k", scope: ["read_only"] }],
        ["expiresInDays", { name: "k", expiresInDays: 0 }],
        ["expiresInDays", { name: "k", expiresInDays: 3651 }],
        ["expiresInDays", { name: "k", expiresInDays: 1.5 }],
        ["expiresInDays", { name: "k", expiresInDays: "7" }],
      ];
      for (const [path, body] of bodies) {
        const response = await fixture.call("POST", keys, token, body);
        const message = await assertRefusedField(response, path, JSON.stringify(body));
        assert.match(message, /^(must be|is required: )/);
      }
      assert.deepEqual(await listKeys(fixture), []);
    });

    test("Idempotency-Key is refused, since a secret cannot be shown twice", async () => {
      await using fixture = await openFixture(transport);
      const headers = { "Idempotency-Key": "once" };
      const response = await fixture.call("POST", keys, await fixture.token(), { name: "k" }, headers);
      await assertErrorAnswer(response, 400, "idempotency_not_supported");
      assert.deepEqual(await listKeys(fixture), []);
    });

    test("keys are listed newest first, in pages, and only to their owner", async () => {
      await using fixture = await openFixture(transport);
      const token = await fixture.token();
      for (const name of ["1", "2", "3"]) await fixture.call("POST", keys, token, { name });
      const response = await fixture.call("GET", `${keys}?limit=2`, token);
      const { data, pagination } = (await response.json()) as { data: ApiKeyResource[]; pagination: unknown };
      assert.deepEqual(
        data.map(({ name }) => name),
        ["3", "2"],
      );
      assert.deepEqual(pagination, { page: 1, limit: 2, total: 3, totalPages: 2, hasMore: true });
      assert.deepEqual(await listKeys(fixture, "bob"), []);
    });

    test("a revoked key is refused at once, stays listed, and is revoked only once", async () => {
      await using fixture = await openFixture(transport);
      const token = await fixture.token();
      const key = await fixture.key("read_only");
      assert.equal((await fixture.call("GET", "/twins", key)).status, 200);
      const [before] = await listKeys(fixture);
      for (let time = 0; time < 2; time++) {
        const response = await fixture.call("DELETE", `${keys}/${before?.id}`, token);
        assert.equal(response.status, 204);
        assert.equal(await response.text(), "");
        assert.equal((await fixture.call("GET", "/twins", key)).status, 401);
        const [after] = await listKeys(fixture);
        assert.equal(after?.revokedAt, "2026-01-02T03:04:05.678Z");
        await fixture.clock.advance(1000);
      }
    });

    test("a stream that has begun is completed when its key is revoked", async () => {
      await using chat = await openChat(transport);
      const { stream, run } = await chat.begin();
      const [key] = await listKeys(chat.fixture);
      const token = await chat.fixture.token();
      assert.equal((await chat.fixture.call("DELETE", `${keys}/${key?.id}`, token)).status, 204);
      assert.equal((await chat.get("")).status, 401);
      run.write("Hello");
      run.finish();
      const events = await stream.rest();
      assert.equal(textOf(events), "Hello");
      assert.equal(events.at(-1)?.data.type, "complete");
    });

    test("another owner's key gets the same answer as one that does not exist, and stays valid", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only", "bob");
      const [bobs] = await listKeys(fixture, "bob");
      const bodies = [];
      for (const id of [bobs?.id, "key_nowhere"]) {
        const response = await fixture.call("DELETE", `${keys}/${id}`, await fixture.token());
        assert.equal(response.status, 404);
        bodies.push((await response.text()).replace(/req_\w+/, "req_"));
      }
      assert.match(bodies[0] ?? "", /"code":"api_key_not_found"/);
      assert.equal(bodies[0], bodies[1]);
      assert.equal((await fixture.call("GET", "/twins", key)).status, 200);
    });

    test("lastUsedAt is when the key was last used", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only");
      await fixture.clock.advance(1000);
      await fixture.call("GET", "/twins", key);
      const [used] = await listKeys(fixture);
      assert.equal(used?.lastUsedAt, "2026-01-02T03:04:06.678Z");
    });

    test("a rotated key has another secret, and the one before works until its time is over", async () => {
      await using fixture = await openFixture(transport);
      const token = await fixture.token();
      const before = await fixture.key("full_access");
      const [made] = await listKeys(fixture);
      const response = await fixture.call("POST", `${keys}/${made?.id}/rotate`, token, {
        overlapSeconds: 10,
      });
      assert.equal(response.status, 200);
      const { key, ...rotated } = await dataOf<CreatedApiKeyResource>(response);
      const shown = { prefix: key.slice(0, 12), previousUntil: "2026-01-02T03:04:15.678Z" };
      assert.deepEqual(rotated, { ...made, ...shown });
      for (const secret of [key, before])
        assert.equal((await fixture.call("GET", "/twins", secret)).status, 200);
      fixture.clock.step(9_999);
      assert.equal((await fixture.call("GET", "/twins", before)).status, 200);
      fixture.clock.step(1);
      await assertErrorAnswer(await fixture.call("GET", "/twins", before), 401, "invalid_api_key");
      assert.equal((await fixture.call("GET", "/twins", key)).status, 200);
      const [listed] = await listKeys(fixture);
      assert.equal(listed?.previousUntil, null);
    });

    test("another process takes the new secret at once, and refuses one that has ended within 5 seconds", async () => {
      await using fixture = await openFixture(transport);
      await using other = await openFixture(transport, { store: fixture.store }, fixture.clock);
      const before = await fixture.key();
      const statusOf = async (secret: string) => (await other.call("GET", "/twins", secret)).status;
      assert.equal(await statusOf(before), 200);
      const token = await fixture.token();
      const [made] = await dataOf<{ id: string }[]>(await fixture.call("GET", "/auth/api-keys", token));
      const rotate = `/auth/api-keys/${made?.id}/rotate`;
      const rotated = await fixture.call("POST", rotate, token, { overlapSeconds: 0 });
      const { key } = await dataOf<CreatedApiKeyResource>(rotated);
      assert.equal(await statusOf(key), 200);
      await fixture.clock.advance(5_001);
      assert.deepEqual([await statusOf(before), await statusOf(key)], [401, 200]);
    });

    test("rotating again ends the secret before the last at once, and an overlap of 0 the last", async () => {
      await using fixture = await openFixture(transport);
      const first = await fixture.key();
      const [made] = await listKeys(fixture);
      const rotate = async (body?: object) =>
        dataOf<CreatedApiKeyResource>(
          await fixture.call("POST", `${keys}/${made?.id}/rotate`, await fixture.token(), body),
        );
      const statusOf = async (secret: string) => (await fixture.call("GET", "/twins", secret)).status;
      const { key: second, previousUntil } = await rotate(); // no body is an empty one
      assert.equal(previousUntil, "2026-01-03T03:04:05.678Z", "a day, by default");
      assert.deepEqual([await statusOf(first), await statusOf(second)], [200, 200]);
      const { key: third } = await rotate({});
      assert.deepEqual(
        [await statusOf(first), await statusOf(second), await statusOf(third)],
        [401, 200, 200],
      );
      const { key: fourth, previousUntil: none } = await rotate({ overlapSeconds: 0 });
      assert.equal(none, null);
      assert.deepEqual(
        [await statusOf(second), await statusOf(third), await statusOf(fourth)],
        [401, 401, 200],
      );
    });

    test("a rotated key's bucket and client tokens go on, also after two rotations without an overlap", async () => {
      await using fixture = await openFixture(transport);
      const before = await fixture.key("full_access");
      const made = await fixture.call("POST", "/client-tokens", before, { endUser: "ann" });
      const { token: browser } = await dataOf<{ token: string }>(made);
      const left = async (secret: string) =>
        (await dataOf<{ remaining: number }>(await fixture.call("GET", "/usage", secret))).remaining;
      const remaining = await left(before);
      const [{ id } = { id: "" }] = await listKeys(fixture);
      let after = "";
      for (let time = 0; time < 2; time++) {
        const path = `${keys}/${id}/rotate`;
        const rotated = await fixture.call("POST", path, await fixture.token(), { overlapSeconds: 0 });
        after = (await dataOf<CreatedApiKeyResource>(rotated)).key;
      }
      assert.equal(await left(after), remaining);
      assert.equal((await fixture.call("GET", "/twins", browser)).status, 200);
      await fixture.call("DELETE", `${keys}/${id}`, await fixture.token());
      for (const ended of [after, browser])
        await assertErrorAnswer(await fixture.call("GET", "/twins", ended), 401, "invalid_api_key");
    });

    test("what cannot be rotated is refused, and nothing changes", async () => {
      await using fixture = await openFixture(transport);
      const token = await fixture.token();
      const secret = await fixture.key();
      const [before] = await listKeys(fixture);
      const path = `${keys}/${before?.id}/rotate`;
      for (const overlapSeconds of [-1, 604_801, 1.5, "60", null])
        await assertRefusedField(
          await fixture.call("POST", path, token, { overlapSeconds }),
          "overlapSeconds",
        );
      await assertRefusedField(
        await fixture.call("POST", path, token, { overlapseconds: 0 }),
        "overlapseconds",
      );
      const headers = { "Idempotency-Key": "once" };
      const once = await fixture.call("POST", path, token, {}, headers);
      await assertErrorAnswer(once, 400, "idempotency_not_supported");
      const bobs = await fixture.call("POST", path, await fixture.token("bob"), {});
      await assertErrorAnswer(bobs, 404, "api_key_not_found");
      assert.deepEqual((await listKeys(fixture))[0]?.prefix, before?.prefix);
      assert.equal((await fixture.call("GET", "/twins", secret)).status, 200);
      await fixture.call("DELETE", `${keys}/${before?.id}`, token);
      await assertErrorAnswer(await fixture.call("POST", path, token, {}), 404, "api_key_not_found");
      const short = await fixture.call("POST", keys, token, { name: "short", expiresInDays: 1 });
      const { id } = await dataOf<CreatedApiKeyResource>(short);
      await fixture.clock.advance(24 * 3600 * 1000);
      const late = await fixture.call("POST", `${keys}/${id}/rotate`, await fixture.token(), {});
      await assertErrorAnswer(late, 404, "api_key_not_found");
    });

    test("an owner has at most 50 live keys", async () => {
      await using fixture = await openFixture(transport);
      const create = async () => fixture.call("POST", keys, await fixture.token(), { name: "k" });
      for (let count = 0; count < 50; count++) {
        assert.equal((await create()).status, 201);
        fixture.clock.step(120_000);
      }
      await assertErrorAnswer(await create(), 409, "key_limit_reached");
      const [newest] = await listKeys(fixture);
      await fixture.call("DELETE", `${keys}/${newest?.id}`, await fixture.token());
      assert.equal((await create()).status, 201, "in place of the revoked one");
    });

    test("each owner may try to create 30 keys an hour, and failed attempts count", async () => {
      await using fixture = await openFixture(transport);
      const create = async (owner: string) => fixture.call("POST", keys, await fixture.token(owner), {});
      for (let count = 0; count < 30; count++) assert.equal((await create("alice")).status, 400);
      const refused = await create("alice");
      assert.equal(refused.headers.get("retry-after"), "120");
      const { details } = await assertErrorAnswer(refused, 429, "rate_limited");
      assert.deepEqual(details, { retryAfterSeconds: 120, limit: 30 });
      assert.equal((await create("bob")).status, 400);
      await fixture.clock.advance(119_000);
      assert.equal((await create("alice")).status, 429);
      await fixture.clock.advance(1_000);
      assert.equal((await create("alice")).status, 400);
      assert.equal((await create("alice")).status, 429);
    });
  });
}

test("of a key's secret, only its digest and its first characters are stored", async () => {
  const store = createMemoryStore();
  const stored: ApiKeyRecord[] = [];
  const createKey: Store["createKey"] = (record, maxLive) => {
    stored.push(record);
    return store.createKey(record, maxLive);
  };
  await using fixture = await openFixture(inProcess, { store: { ...store, createKey } });
  const key = await fixture.key();
  assert.equal(stored[0]?.hash, createHash("sha256").update(key).digest("hex"));
  assert.ok(!JSON.stringify(stored).includes(key.slice(12)));
});

async function listKeys(fixture: Fixture, owner = "alice"): Promise<ApiKeyResource[]> {
  return dataOf(await fixture.call("GET", `${keys}?limit=100`, await fixture.token(owner)));
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

describe("the form of API keys", () => {
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
      assert.ok(apiKeys.isWellFormed(key));
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
      assert.ok(!apiKeys.isWellFormed(key.slice(0, at) + other + key.slice(at + 1)), `character ${at}`);
    }
  });

  test("other texts are not well-formed", () => {
    const { key } = createApiKey(systemRandom);
    for (const text of ["", "twin_", key.slice(0, -1), `${key}0`, `${key}\n`, ` ${key}`, "a.b.c"]) {
      assert.ok(!apiKeys.isWellFormed(text), JSON.stringify(text));
    }
  });
});
