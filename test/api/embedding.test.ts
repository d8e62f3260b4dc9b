import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ApiError, createTwinList, type HostUser, type LogLevel } from "../../core/mod.ts";
import type { IncomingRequest } from "../../core/wire/request.ts";
import type { UsageResource } from "../../core/wire/schemas.ts";
import { createService } from "../../mod.ts";
import {
  assertErrorAnswer,
  dataOf,
  errorOf,
  eventsOf,
  inProcess,
  openFixture,
  textOf,
  transports,
} from "../support/harness.ts";

/** A log that keeps its entries. */
function createTestLog() {
  const entries: string[] = [];
  const log = (level: LogLevel, message: string) => {
    if (level !== "info") entries.push(`${level}: ${message}`);
  };
  return { entries, log };
}

describe("a service of twins alone", () => {
  const twins = createTwinList([
    { id: "ada", name: "Ada", engine: "knowledge", instructions: "# Opening\n\nThe shop opens at nine." },
  ]);

  test("it says once what is not durable, and that it refuses every request", async () => {
    const { entries, log } = createTestLog();
    const service = createService({ twins, log });
    assert.deepEqual(entries, [
      "warn: keys, conversations and limits are kept in memory and lost when this process ends: give createService " +
        "a store and a limiter to keep them; every request is refused: give createService verifyToken or authenticate",
    ]);
    assert.equal((await service.fetch(new Request("http://twins.test/healthz"))).status, 200);
    assert.equal((await service.fetch(new Request("http://twins.test/api/v1/twins"))).status, 401);
    assert.equal(entries.length, 1);
    await service.close();
  });

  test("it says of which twins the engine is not set up, before anyone asks them", async () => {
    const told: unknown[] = [];
    const service = createService({
      twins: createTwinList([
        { id: "ada", name: "Ada", engine: "knowledge" },
        { id: "eve", name: "Eve", engine: "openai" },
      ]),
      authenticate: () => ({ owner: "me" }),
      log: (_, message, fields) => void (fields && told.push([message, fields])),
    });
    const message = "a twin's engine is not set up, so its replies will fail";
    assert.deepEqual(told, [[message, { twin: "eve", engine: "openai" }]]);
    await service.close();
  });

  test("it has the engines echo and knowledge", async () => {
    const service = createService({ twins, log: createTestLog().log, authenticate: () => ({ owner: "me" }) });
    const headers = { "Content-Type": "application/json" };
    const post = (path: string, body: object) =>
      service.fetch(
        new Request(`http://twins.test/api/v1${path}`, {
          method: "POST",
          headers,
          body: JSON.stringify(body),
        }),
      );
    const { id } = await dataOf<{ id: string }>(await post("/conversations", { twinId: "ada" }));
    const question = { content: "When does the shop open?" };
    const events = await eventsOf(await post(`/conversations/${id}/messages/stream`, question));
    assert.match(textOf(events), /opens at nine/);
    await service.close();
  });
});

/** A host that knows its users by a header field. */
function knownByHeader(request: IncomingRequest): HostUser | null {
  const [owner, endUser, scope] = request.headers.get("x-user")?.split(" ") ?? [];
  if (!owner) return null;
  return { owner, ...(endUser && { endUser }), ...(scope && { scope: scope as "read_only" }) };
}

for (const transport of transports) {
  describe(`a host that knows its users, ${transport.name}`, () => {
    const open = (authenticate: (request: IncomingRequest) => HostUser | null | Promise<HostUser | null>) =>
      openFixture(transport, { verifyToken: undefined, authenticate });
    const as = (user: string, init: RequestInit = {}): RequestInit => ({
      ...init,
      headers: { "X-User": user, ...(init.body && { "Content-Type": "application/json" }) },
    });
    const begin = (body: object = { twinId: "echo" }) => ({ method: "POST", body: JSON.stringify(body) });

    test("a request needs no key, sees its owner's objects alone, and has a bucket of its user's own", async () => {
      await using fixture = await open(async (request) => knownByHeader(request));
      const made = await fixture.send("/api/v1/conversations", as("alice", begin()));
      assert.equal(made.status, 201);
      assert.equal(made.headers.get("x-ratelimit-limit"), "500");
      const { id } = await dataOf<{ id: string }>(made);
      assert.equal((await fixture.send(`/api/v1/conversations/${id}`, as("alice"))).status, 200);
      assert.equal((await fixture.send(`/api/v1/conversations/${id}`, as("bob"))).status, 404);
      const usage = async (user: string) =>
        (await dataOf<UsageResource>(await fixture.send("/api/v1/usage", as(user)))).remaining;
      assert.deepEqual(
        [await usage("alice"), await usage("bob"), await usage("alice a"), await usage("alice b")],
        [498, 499, 500, 500],
      );
    });

    test("an end user sees their own conversations alone, and begins no others", async () => {
      await using fixture = await open(knownByHeader);
      const path = "/api/v1/conversations";
      const { id, endUser } = await dataOf<{ id: string; endUser: string }>(
        await fixture.send(path, as("app ann", begin())),
      );
      assert.equal(endUser, "ann");
      assert.equal((await fixture.send(`${path}/${id}`, as("app ann"))).status, 200);
      assert.equal((await fixture.send(`${path}/${id}`, as("app ben"))).status, 404);
      const count = async (user: string, query = "") =>
        (await dataOf<unknown[]>(await fixture.send(path + query, as(user)))).length;
      assert.deepEqual([await count("app ann"), await count("app ben"), await count("app")], [1, 0, 1]);
      assert.equal(await count("app ben", "?endUser=ann"), 0);
      const other = await fixture.send(path, as("app ann", begin({ twinId: "echo", endUser: "ben" })));
      assert.equal((await errorOf(other)).code, "validation_error");
    });

    test("an end user can do nothing to the owner's others", async () => {
      await using fixture = await open(knownByHeader);
      await fixture.send("/api/v1/conversations", as("app ben", begin()));
      for (const [method, path, body] of [
        ["GET", "/end-users/ben/export", undefined],
        ["DELETE", "/end-users/ben", undefined],
        ["POST", "/client-tokens", { endUser: "ben" }],
        ["DELETE", "/client-tokens?endUser=ben", undefined],
        ["GET", "/usage/history", undefined],
      ] as const) {
        const init = { method, ...(body && { body: JSON.stringify(body) }) };
        const refused = await fixture.send(`/api/v1${path}`, as("app ann", init));
        await assertErrorAnswer(refused, 403, "insufficient_scope", `${method} ${path}`);
      }
      const kept = await fixture.send("/api/v1/conversations", as("app ben"));
      assert.equal((await dataOf<unknown[]>(kept)).length, 1);
    });

    test("an owner exports and erases an end user, whose bucket is then full, but has no key for client tokens", async () => {
      await using fixture = await open(knownByHeader);
      await fixture.send("/api/v1/conversations", as("app ann", begin()));
      const exported = await fixture.send("/api/v1/end-users/ann/export", as("app"));
      assert.match(await exported.text(), /^\{"conversation":\{/);
      const erased = await fixture.send("/api/v1/end-users/ann", as("app", { method: "DELETE" }));
      assert.deepEqual(await dataOf(erased), {
        endUser: "ann",
        conversations: 1,
        messages: 0,
        clientTokens: 0,
      });
      const usage = await fixture.send("/api/v1/usage", as("app ann"));
      assert.equal((await dataOf<UsageResource>(usage)).remaining, 500);
      const wanted = { method: "POST", body: JSON.stringify({ endUser: "ann" }) };
      const refused = await fixture.send("/api/v1/client-tokens", as("app", wanted));
      assert.equal(refused.status, 403);
      assert.match((await errorOf(refused)).message, /^This needs an API key/);
    });

    test("a scope and a size of the bucket may be given", async () => {
      await using fixture = await open(() => ({ owner: "alice", scope: "read_only", requestsPerHour: 2 }));
      const statuses = [];
      for (const init of [begin(), {}, {}]) {
        statuses.push((await fixture.send("/api/v1/conversations", as("", init))).status);
      }
      assert.deepEqual(statuses, [403, 200, 429]);
    });

    test("a user who is not known is 401, and Authorization is the host's", async () => {
      await using fixture = await open(knownByHeader);
      const response = await fixture.send("/api/v1/twins", { headers: { Authorization: "Basic a, b" } });
      assert.equal((await errorOf(response)).code, "missing_credentials");
      assert.equal(response.headers.get("www-authenticate"), 'Bearer realm="twins"');
      const known = await fixture.send("/api/v1/twins", {
        headers: { Authorization: "Bearer twin_of-the-host", "X-User": "alice" },
      });
      assert.equal(known.status, 200);
    });
  });
}

describe("a host that knows its users", () => {
  test("without verifyToken there are no keys, and their endpoints are 404", async () => {
    await using fixture = await openFixture(inProcess, {
      verifyToken: undefined,
      authenticate: knownByHeader,
    });
    const { fetch, handlers } = fixture.service;
    const request = (method: string, path: string) =>
      new Request(`http://twins.test/api/v1${path}`, { method, headers: { "X-User": "alice" } });
    for (const [method, path] of [
      ["GET", "/auth/api-keys"],
      ["POST", "/auth/api-keys"],
      ["DELETE", "/auth/api-keys/key_1"],
    ] as const) {
      assert.equal((await fetch(request(method, path))).status, 404, path);
    }
    assert.equal((await handlers.listApiKeys(request("GET", "/auth/api-keys"))).status, 404);
    const document = (await (await fetch(request("GET", "/openapi.json"))).json()) as { paths: object };
    assert.doesNotMatch(Object.keys(document.paths).join(), /auth/);
  });

  test("that returns something else than a user is told what it must return", async () => {
    const logged: string[] = [];
    await using fixture = await openFixture(inProcess, {
      authenticate: (() => "alice") as never,
      log: (_, __, fields) => logged.push(String(fields?.error)),
    });
    assert.equal((await fixture.send("/api/v1/twins")).status, 500);
    assert.match(logged.join(), /authenticate must be an object with owner, endUser, .+, not "alice"\./);
  });

  test("keys work beside it where tokens can be verified: what looks like one is checked as one", async () => {
    await using fixture = await openFixture(inProcess, { authenticate: knownByHeader });
    const id = await fixture.conversation(await fixture.key("full_access", "bob"));
    const key = await fixture.key("read_only", "bob");
    const send = (headers: Record<string, string>) =>
      fixture.send(`/api/v1/conversations/${id}`, { headers: { "X-User": "alice", ...headers } });
    assert.equal((await send({ "X-API-Key": key })).status, 200);
    assert.equal((await send({ Authorization: `bearer ${key}` })).status, 200);
    assert.equal((await send({ Authorization: "Bearer twin_forged" })).status, 401);
    assert.equal((await send({ "X-API-Key": "twinct_forged" })).status, 401);
    assert.equal((await send({ "X-API-Key": "of-the-host" })).status, 404);
  });

  test("what it throws is the answer if it is meant for the client, and 500 without detail if not", async () => {
    const failures: [unknown, number][] = [
      [new ApiError("unavailable", "Sessions cannot be read right now."), 503],
      [new Error("redis://secret"), 500],
    ];
    for (const [failure, status] of failures) {
      const authenticate = () => {
        throw failure;
      };
      await using fixture = await openFixture(inProcess, { authenticate });
      const response = await fixture.send("/api/v1/twins");
      assert.equal(response.status, status);
      assert.doesNotMatch((await errorOf(response)).message, /redis/);
    }
  });

  test("what it returns must be a user: a mistake makes no owner of all", async () => {
    for (const user of [
      undefined,
      {},
      "alice",
      { owner: "" },
      { owner: "a\n" },
      { owner: "alice", endUser: "." },
      { owner: "alice", endUser: "x".repeat(129) },
      { owner: "alice", scope: "admin" },
      { owner: "alice", requestsPerHour: 0 },
      { owner: "alice", role: "admin" },
    ]) {
      await using fixture = await openFixture(inProcess, { authenticate: () => user as never });
      assert.equal((await fixture.send("/api/v1/twins")).status, 500, JSON.stringify(user));
    }
  });
});
