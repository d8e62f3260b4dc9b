import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, test } from "node:test";
import { routes } from "../../core/api/routes.ts";
import { ApiError, createEchoEngine, createMemoryLimiter, createService } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import { countCalls } from "../support/chat.ts";
import { dataOf, inProcess, openFixture } from "../support/harness.ts";

describe("what a host gives the service, and takes of it", () => {
  test("an endpoint's own handler takes the same steps, for hosts with a router of their own", async () => {
    await using fixture = await openFixture(inProcess);
    const { handlers } = fixture.service;
    const headers = { "X-API-Key": await fixture.key("read_only") };
    const elsewhere = new Request("http://host.test/bots/7", { headers });
    const found = await handlers.getTwin(elsewhere, { id: "echo" });
    assert.equal(found.status, 200);
    assert.equal(((await found.json()) as { data: { id: string } }).data.id, "echo");
    const byPath = await handlers.getTwin(new Request("http://host.test/any/twins/echo", { headers }));
    assert.equal(byPath.status, 200);
    assert.equal((await handlers.getTwin(new Request("http://host.test/twins/echo"))).status, 401);
    const wrongMethod = await handlers.getTwin(new Request("http://host.test/twins/echo", { method: "PUT" }));
    assert.equal(wrongMethod.status, 405);
    assert.equal(wrongMethod.headers.get("allow"), "GET, HEAD, OPTIONS");
    assert.deepEqual(Object.keys(handlers).sort(), routes.map(({ operationId }) => operationId).sort());
  });

  test("a handler that a host routes to is as strict as a request routed by its path", async () => {
    await using fixture = await openFixture(inProcess);
    const { resumeMessageStream, getTwin } = fixture.service.handlers;
    const headers = { "X-API-Key": await fixture.key("read_only") };
    const url = "http://host.test/conversations/1/messages/2/stream";
    assert.equal((await resumeMessageStream(new Request(url, { method: "HEAD", headers }))).status, 405);
    const odd = new Request("http://host.test/twins/echo", { headers: { ...headers, Host: "a/b?" } });
    assert.equal((await getTwin(odd)).status, 400);
    for (const id of ["a\0b", "", "x".repeat(1025)]) {
      assert.equal(
        (await getTwin(new Request("http://host.test/twins/echo", { headers }), { id })).status,
        404,
      );
    }
  });

  test("spaces and tabs around a credential are not part of it, if a host hands them over", async () => {
    await using fixture = await openFixture(inProcess);
    const key = await fixture.key("read_only");
    for (const [name, value] of [
      ["x-api-key", `\t ${key} `],
      ["authorization", ` \tBearer \t ${key} \t`],
    ] as const) {
      const headers = { get: (asked: string) => (asked.toLowerCase() === name ? value : null) };
      const request = { method: "GET", url: "/api/v1/twins", headers, body: null };
      assert.equal((await fixture.service.answer(request)).status, 200, name);
    }
  });

  test("a fragment is not part of a request's target", async () => {
    await using fixture = await openFixture(inProcess);
    for (const path of ["/healthz#/nowhere", "/healthz?a=b#/nowhere"]) {
      assert.equal((await fixture.service.fetch(new Request(`http://host.test${path}`))).status, 200, path);
    }
  });

  test("a host's error that cannot be sent is a 500", async () => {
    for (const [what, code, options] of [
      ["an unknown code", "unauthorized", {}],
      ["a header field beyond Latin-1", "invalid_token", { headers: { "X-Reason": "never \u2013 ever" } }],
      ["a space in a field's name", "invalid_token", { headers: { "X Reason": "none" } }],
      ["a line break in a field", "invalid_token", { headers: { "X-Reason": "a\nb" } }],
      ["details that are no JSON", "invalid_token", { details: { value: 1n } }],
    ] as const) {
      const verifyToken = async () => {
        throw new ApiError(code as "invalid_token", "No.", options);
      };
      await using fixture = await openFixture(inProcess, { verifyToken });
      assert.equal((await fixture.call("GET", "/auth/api-keys", "token")).status, 500, what);
    }
  });

  test("an error with an unknown code or header field is refused with a message that says what is accepted", () => {
    assert.throws(() => new ApiError("unauthorized" as "invalid_token", "No."), {
      name: "TypeError",
      message: /^The error code unauthorized is not one of invalid_request, .+, model_timeout\.$/,
    });
    assert.throws(() => new ApiError("invalid_token", "No.", { headers: { "a b": "c" } }), {
      name: "TypeError",
      message: 'The header field "a b" cannot be sent: its name or value is not valid HTTP.',
    });
  });

  test("a source of randomness may return other bytes instead of filling those it is given", async () => {
    const random = ({ length }: Uint8Array) => crypto.getRandomValues(new Uint8Array(length));
    const ids = new Set<string | null>();
    for (let count = 0; count < 2; count++) {
      await using fixture = await openFixture(inProcess, { random });
      ids.add((await fixture.send("/healthz")).headers.get("x-request-id"));
    }
    assert.equal(ids.size, 2);
  });

  test("a body that the host has already read is a 500, and the log says what to do", async () => {
    const said: unknown[] = [];
    await using fixture = await openFixture(inProcess, {
      log: (_, __, { error } = {}) => void said.push(error),
    });
    const headers = { Authorization: `Bearer ${await fixture.token()}`, "Content-Type": "application/json" };
    const url = "http://twins.test/api/v1/auth/api-keys";
    const request = new Request(url, { method: "POST", headers, body: '{"name":"app"}' });
    await request.text();
    assert.equal((await fixture.service.fetch(request)).status, 500);
    assert.match(String(said.find(Boolean)), /body was read before.+mount the service before/);
  });

  test("an option that would be silently misunderstood is refused with what is accepted", async () => {
    const refused: readonly [options: Record<string, unknown>, message: RegExp][] = [
      [
        { basePath: "twins-api" },
        /basePath must be empty, or a path such as \/twins-api, .+, not "twins-api"/,
      ],
      [{ basePath: "/twins-api/" }, /basePath/],
      [{ basePath: "/my%20app" }, /basePath.+letters, digits and/],
      [{ basePath: "/a/../b" }, /basePath/],
      [
        { corsOrigins: ["https://a.example/"] },
        /corsOrigins must be a list of origins such as .+, not \["https:\/\/a\.example\/"\]/,
      ],
      [{ heartbeatMs: Number.NaN }, /heartbeatMs must be a whole number from 1 to 3600000, not NaN/],
      [{ maxReplyMs: Number.POSITIVE_INFINITY }, /maxReplyMs/],
      [{ leaseMs: 0 }, /leaseMs/],
      [{ heartbeatMs: null }, /heartbeatMs.+not null/],
      [{ corsOrigins: ["null"] }, /corsOrigins/],
      [{ sha256: (text: string) => hash("sha256", text, "base64") }, /sha256 must be .+, not "/],
      [{ sha256: (text: string) => hash("sha256", Buffer.from(text, "latin1")) }, /sha256 must be .+, not "/],
      [{ sha256: null }, /sha256 must be .+, not null/],
      [{ sha256: async (text: string) => hash("sha256", text) }, /sha256 must be .+, not \[object Promise\]/],
      [{ onDisconnect: "cancl" }, /onDisconnect must be one of continue, cancel, not "cancl"/],
      [{ onDisconnet: "cancel" }, /createService: onDisconnet is not known; the names are twins, store, .+/],
      [{ store: null }, /store must be a store, such as createMemoryStore\(\) returns, not null/],
      [{ store: { store: createMemoryStore() } }, /store must be a store/],
      [{ twins: [] }, /twins must be a source of twins, such as createTwinList\(\) returns/],
      [
        { engines: Object.assign(Object.create(null), { echo: 1 }) },
        /engines must be .+, not \[object Object\]/,
      ],
      [{ engines: { echo: createEchoEngine } }, /engines must be .+, each with a function reply/],
      [
        { engines: { echo: { ...createEchoEngine(), continues: "always" } } },
        /engines must be .+ and continues, if given, exact or partial/,
      ],
      [{ limiter: createMemoryLimiter }, /limiter must be a rate limiter, .+, not a function/],
      [{ verifyToken: "secret" }, /verifyToken must be a function that resolves with a token's owner, not "/],
      [{ log: console }, /log must be a function/],
      [{ clock: { now: Date.now } }, /clock must be a clock, not \[object Object\]/],
      [{ clock: { after: setTimeout } }, /clock must be a clock/],
      [{ corsOrigins: "https://a.example" }, /corsOrigins must be a list of origins/],
    ];
    for (const [options, message] of refused) {
      await assert.rejects(openFixture(inProcess, options), { name: "TypeError", message });
    }
    assert.throws(() => createService(undefined as never), /createService: twins must be a source/);
    const engines = Object.assign(Object.create(null), { echo: createEchoEngine() }); // like a module namespace
    await using __ = await openFixture(inProcess, { engines });
    const corsOrigins = ["https://a.example", "capacitor://localhost"];
    await using _ = await openFixture(inProcess, { basePath: "/@a/b.c", leaseMs: undefined, corsOrigins });
  });

  test("services with and without the runtime's own SHA-256 recognize each other's keys and repeated requests", async () => {
    const store = createMemoryStore();
    await using portable = await openFixture(inProcess, { store });
    await using native = await openFixture(inProcess, { store, sha256: (text) => hash("sha256", text) });
    const key = await portable.key();
    const headers = { "Idempotency-Key": "once" };
    const body = { twinId: "echo", title: "S\u00e9ance" };
    const ids: string[] = [];
    for (const { call } of [portable, native, portable]) {
      const { id } = await dataOf<{ id: string }>(await call("POST", "/conversations", key, body, headers));
      ids.push(id);
    }
    assert.equal(new Set(ids).size, 1);
  });

  test("nothing runs before the first request", async () => {
    const { store, calls } = countCalls(createMemoryStore());
    await using fixture = await openFixture(inProcess, { store });
    assert.equal(calls.size, 0);
    assert.equal(fixture.clock.pending, 0);
    await fixture.key();
    assert.ok(calls.size > 0);
  });
});
