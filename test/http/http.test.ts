import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, test } from "node:test";
import { routes } from "../../core/api/routes.ts";
import {
  ApiError,
  createEchoEngine,
  createMemoryLimiter,
  createMemoryStore,
  createService,
  type Store,
  type TwinEngine,
} from "../../core/mod.ts";
import { countCalls } from "../support/chat.ts";
import { requestIdPattern } from "../support/conformance.ts";
import { dataOf, errorOf, inProcess, openFixture, transports } from "../support/harness.ts";

/** Each path's methods, as `Allow` lists them. */
const allowed = new Map<string, string>();
for (const { path } of routes) {
  const here = routes.filter((route) => route.path === path);
  const methods: string[] = here.map(({ method }) => method);
  const isStream = (success: object) => "events" in success || "lines" in success;
  if (here.some(({ method, success }) => method === "GET" && !isStream(success))) methods.push("HEAD");
  allowed.set(path, [...methods, "OPTIONS"].sort().join(", "));
}

for (const transport of transports) {
  describe(`HTTP, ${transport.name}`, () => {
    for (const [path, allow] of allowed) {
      const target = path.replaceAll(/\{\w+\}/g, "nowhere");

      test(`${path} refuses other methods and says which it allows`, async () => {
        await using fixture = await openFixture(transport);
        for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "PURGE", "get", "Post"]) {
          const sent = new Request("http://twins.test", { method }).method;
          if (allow.split(", ").includes(sent)) continue;
          const response = await fixture.send(target, { method });
          assert.equal(response.status, 405, method);
          assert.equal(response.headers.get("allow"), allow);
          if (method === "HEAD") continue;
          assert.equal((await errorOf(response)).code, "method_not_allowed");
        }
      });

      test(`${path} answers OPTIONS with its methods, without a credential`, async () => {
        await using fixture = await openFixture(transport);
        const response = await fixture.send(target, { method: "OPTIONS" });
        assert.equal(response.status, 204);
        assert.equal(response.headers.get("allow"), allow);
        assert.equal(await response.text(), "");
        assert.equal(response.headers.get("content-type"), null);
      });
    }

    test("the table of endpoints is complete", () => {
      const stream = "/api/v1/conversations/{id}/messages/stream";
      assert.equal(allowed.get(stream), "OPTIONS, POST");
      assert.equal(allowed.get("/api/v1/conversations/{id}"), "DELETE, GET, HEAD, OPTIONS, PATCH");
      assert.equal(
        allowed.get("/api/v1/conversations/{id}/messages/{messageId}/stream"),
        "GET, OPTIONS",
        "a stream has no HEAD",
      );
      assert.equal(allowed.get("/api/v1/end-users/{endUser}/export"), "GET, OPTIONS");
      assert.equal(routes.length, 25);
    });

    test("paths that do not exist are 404, whatever the method and without a credential", async () => {
      await using fixture = await openFixture(transport);
      const paths = [
        "/",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v2/twins",
        "/api/v1/twins/",
        "/api/v1//twins",
        "//api/v1/twins",
        "/API/v1/twins",
        "/api/v1/Twins",
        "/api/v1/twins/a/b",
        "/api/v1%2Ftwins",
        "/api%2Fv1%2Ftwins",
        "/api/v1/conversations//messages",
        "/api/v1/conversations/a/messages/b/stream/",
        "/api/v1/conversations/a/messages/b/nothing",
        "/api/v1/auth",
        "/api/v1/__proto__",
        "/api/v1/constructor",
        "/__proto__/toString",
        "/healthz/",
        "/api/v1/healthz",
        "/api/v1/twins;v=1",
      ];
      for (const path of paths) {
        for (const method of ["GET", "POST", "OPTIONS"]) {
          const response = await fixture.send(path, { method });
          assert.equal(response.status, 404, `${method} ${path}`);
          assert.equal((await errorOf(response)).code, "not_found");
        }
      }
    });

    test("a malformed escape, a control character or an overlong segment in the path is a 404", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only");
      for (const segment of [
        "%",
        "%2",
        "%zz",
        "%ff",
        "%c3%28",
        "%ed%a0%80",
        "%00",
        "%0a",
        "a".repeat(1025),
      ]) {
        const response = await fixture.call("GET", `/twins/${segment}`, key);
        assert.equal(response.status, 404, segment);
      }
    });

    test("the store is not asked for an id with a control character or more than 1,024 characters", async () => {
      const asked: string[] = [];
      const memory = createMemoryStore();
      const store: Store = {
        ...memory,
        getConversation(reach, id) {
          asked.push(id);
          return memory.getConversation(reach, id);
        },
      };
      await using fixture = await openFixture(transport, { store });
      const key = await fixture.key("read_only");
      for (const id of ["%00", "a%1fb", "%7f", "x".repeat(1025), `${"x".repeat(1022)}%78`]) {
        assert.equal((await fixture.call("GET", `/conversations/${id}`, key)).status, 404, id);
      }
      assert.deepEqual(asked, []);
      for (const id of ["x".repeat(1024), `${"x".repeat(1021)}%78`]) {
        await fixture.call("GET", `/conversations/${id}`, key);
      }
      assert.deepEqual(asked, ["x".repeat(1024), "x".repeat(1022)]);
    });

    test("an escaped slash or dot does not lead to another path", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const id = await fixture.conversation(key);
      for (const path of [`/twins%2Fecho`, `/conversations/${id}%2Fmessages`, "/twins/%2e%2e%2fusage"]) {
        assert.equal((await fixture.call("GET", path, key)).status, 404, path);
      }
    });

    test("a literal segment wins over a parameter", async () => {
      await using fixture = await openFixture(transport);
      const response = await fixture.send("/api/v1/conversations/a/messages/stream");
      assert.equal(response.status, 405);
      assert.equal(response.headers.get("allow"), "OPTIONS, POST");
    });

    test("HEAD answers as GET does, without a body", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only");
      for (const path of ["/healthz", "/api/v1/openapi.json", "/api/v1/twins", "/api/v1/twins/nowhere"]) {
        const [get, head] = await Promise.all(
          ["GET", "HEAD"].map((method) => fixture.send(path, { method, headers: { "X-API-Key": key } })),
        );
        assert.equal(head?.status, get?.status);
        assert.equal(await head?.text(), "");
        const length = new TextEncoder().encode(await get?.text()).length;
        assert.equal(head?.headers.get("content-length"), String(length));
        assert.equal(head?.headers.get("content-type"), get?.headers.get("content-type"));
      }
    });

    test("a request id is never the client's, and is the same in header and body", async () => {
      await using fixture = await openFixture(transport);
      const response = await fixture.send("/nowhere", { headers: { "X-Request-Id": "req_mine" } });
      const id = response.headers.get("x-request-id") ?? "";
      assert.match(id, requestIdPattern);
      assert.equal((await errorOf(response)).requestId, id);
    });

    test("everything moves under the base path, health included", async () => {
      await using fixture = await openFixture(transport, { basePath: "/chat" });
      for (const path of ["/healthz", "/readyz", "/api/v1/openapi.json"]) {
        assert.equal((await fixture.send(`/chat${path}`)).status, 200);
        assert.equal((await fixture.send(path)).status, 404);
      }
      assert.equal((await fixture.send("/chat/api/v1/twins")).status, 401);
      for (const path of [
        "/chat",
        "/chatapi/v1/twins",
        "/chat-healthz",
        "/Chat/healthz",
        "/chat/chat/healthz",
      ]) {
        assert.equal((await fixture.send(path)).status, 404, path);
      }
      // A host that cuts it off has mounted the service wrongly.
      const { message } = await errorOf(await fixture.send("/elsewhere"));
      assert.equal(message, "Paths begin with /chat/ here.");
      const key = await fixture.key("read_only");
      assert.equal((await fixture.call("GET", "/twins", key)).status, 200);
    });

    test("a path that lacks the base path or the version, or ends in a slash, is 404 with the path that exists", async () => {
      await using fixture = await openFixture(transport, { basePath: "/chat" });
      const twins = "/chat/api/v1/twins";
      const meant: Record<string, string | undefined> = {
        "/api/v1/twins": twins,
        "/chat/twins": twins,
        "/twins": twins,
        "/twins/": twins,
        "/chat/api/v1/twins/": twins,
        "/twins/ada?page=2": "/chat/api/v1/twins/ada",
        "/chat/conversations/c%2F1/messages/": "/chat/api/v1/conversations/c%2F1/messages",
        "/healthz": "/chat/healthz",
        "/chat/healthz/": "/chat/healthz",
        "/chat/api/v1/": undefined,
        "/chat/twins//": undefined,
        "/chat/": undefined,
        "//": undefined,
      };
      for (const [path, exists] of Object.entries(meant)) {
        const response = await fixture.send(path);
        assert.equal(response.status, 404, path);
        const { code, message } = await errorOf(response);
        assert.equal(code, "not_found", path);
        const hint = exists === undefined ? /^(There is nothing at this path\.|Paths begin .+)$/ : exists;
        if (typeof hint === "string") assert.ok(message.endsWith(`did you mean ${hint}?`), message);
        else assert.match(message, hint);
      }
    });

    test("a path and query of 8 KiB are accepted, one character more is not", async () => {
      await using fixture = await openFixture(transport);
      const path = "/healthz?".padEnd(8192, "x");
      assert.equal((await fixture.send(path)).status, 200);
      const response = await fixture.send(`${path}x`);
      assert.equal(response.status, 414);
      assert.equal((await errorOf(response)).code, "uri_too_long");
    });

    test("an unexpected exception is a 500 that reveals nothing, and is logged in full", async () => {
      const logged: unknown[] = [];
      const store = {
        ...createMemoryStore(),
        getConversation: () => Promise.reject(new Error("no such table: secrets")),
      };
      await using fixture = await openFixture(transport, {
        store,
        log: (level, message, fields) => level === "error" && logged.push({ message, ...fields }),
      });
      const response = await fixture.call("GET", "/conversations/a", await fixture.key("read_only"));
      assert.equal(response.status, 500);
      const { requestId, ...error } = await errorOf(response);
      assert.deepEqual(error, {
        code: "internal_error",
        message: "Something went wrong on the server.",
      });
      const [entry, ...others] = logged as { requestId: string; error: Error }[];
      assert.deepEqual(others, []);
      assert.equal(entry?.requestId, requestId);
      assert.match(String(entry?.error.stack), /no such table: secrets/);
    });

    test("a failed reply is logged as one error, however often its failure is returned", async () => {
      const logged: unknown[] = [];
      const engine: TwinEngine = { reply: () => Promise.reject(new Error("out of order")) };
      await using fixture = await openFixture(transport, {
        engines: { echo: engine },
        log: (level, message, fields) => level === "error" && logged.push([message, fields?.requestId]),
      });
      const key = await fixture.key();
      const path = `/conversations/${await fixture.conversation(key)}/messages`;
      const once = { "Idempotency-Key": "once" };
      const first = await fixture.call("POST", path, key, { content: "Hi" }, once);
      const again = await fixture.call("POST", path, key, { content: "Hi" }, once);
      assert.deepEqual([first.status, again.status], [502, 502]);
      assert.deepEqual(logged, [["a reply failed", (await errorOf(first)).requestId]]);
    });

    test("a request is logged once, without secrets, query or text", async () => {
      const lines: string[] = [];
      await using fixture = await openFixture(transport, {
        log: (_, message, fields) => lines.push(JSON.stringify({ message, ...fields })),
      });
      const key = await fixture.key();
      const conversation = await fixture.conversation(key);
      lines.length = 0;
      const path = `/conversations/${conversation}/messages?api_key=${key}`;
      await (await fixture.call("POST", path, key, { content: "A private matter" })).text();
      const [line = "", ...others] = lines;
      assert.deepEqual(others, []);
      const { requestId, keyId, ...entry } = JSON.parse(line) as Record<string, unknown>;
      assert.match(String(requestId), requestIdPattern);
      assert.match(String(keyId), /^key_/);
      assert.deepEqual(entry, {
        message: "request",
        method: "POST",
        route: "/api/v1/conversations/{id}/messages",
        status: 200,
        durationMs: 0,
        owner: "alice",
      });
      assert.doesNotMatch(line, /private matter|twin_|Bearer/);
    });

    test("a request with a JWT is logged with its owner", async () => {
      const owners: unknown[] = [];
      await using fixture = await openFixture(transport, {
        log: (_, __, fields) => owners.push(fields?.owner),
      });
      await fixture.call("GET", "/auth/api-keys", await fixture.token("bob"));
      assert.deepEqual(owners, ["bob"]);
    });
  });

  describe(`cross-origin requests, ${transport.name}`, () => {
    const origin = "https://app.example.com";
    const corsOrigins = [origin];

    test("a listed origin may read every answer, and no other origin may", async () => {
      await using fixture = await openFixture(transport, { corsOrigins });
      for (const path of ["/healthz", "/nowhere", "/api/v1/twins"]) {
        const response = await fixture.send(path, { headers: { Origin: origin } });
        assert.equal(response.headers.get("access-control-allow-origin"), origin);
        assert.equal(response.headers.get("vary"), "Origin");
        assert.deepEqual(response.headers.get("access-control-expose-headers")?.split(", "), [
          "Idempotency-Replayed",
          "Location",
          "RateLimit",
          "RateLimit-Policy",
          "Retry-After",
          "X-RateLimit-Limit",
          "X-RateLimit-Remaining",
          "X-RateLimit-Reset",
          "X-Request-Id",
        ]);
        assert.equal(response.headers.get("access-control-allow-credentials"), null);
        for (const other of [
          "https://evil.example.com",
          `${origin}.evil.com`,
          "null",
          origin.toUpperCase(),
        ]) {
          const refused = await fixture.send(path, { headers: { Origin: other } });
          assert.equal(refused.headers.get("access-control-allow-origin"), null, other);
          assert.equal(refused.headers.get("vary"), "Origin");
        }
      }
    });

    test("a preflight request is told the path's methods and the service's headers", async () => {
      await using fixture = await openFixture(transport, { corsOrigins });
      const headers = { Origin: origin, "Access-Control-Request-Method": "POST" };
      const response = await fixture.send("/api/v1/conversations", { method: "OPTIONS", headers });
      assert.equal(response.status, 204);
      assert.equal(response.headers.get("access-control-allow-origin"), origin);
      assert.equal(response.headers.get("access-control-allow-methods"), "GET, HEAD, OPTIONS, POST");
      assert.equal(
        response.headers.get("access-control-allow-headers"),
        "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-API-Key",
      );
      assert.equal(response.headers.get("access-control-max-age"), "600");
    });

    test("no CORS header fields are sent if no origin is listed", async () => {
      await using fixture = await openFixture(transport);
      const headers = { Origin: origin, "Access-Control-Request-Method": "POST" };
      const response = await fixture.send("/api/v1/conversations", { method: "OPTIONS", headers });
      const names = [...response.headers.keys()];
      assert.deepEqual(
        names.filter((name) => name.startsWith("access-control") || name === "vary"),
        [],
      );
    });
  });
}

describe("single endpoints", () => {
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

  test("a fragment is not part of a request's target", async () => {
    await using fixture = await openFixture(inProcess);
    for (const path of ["/healthz#/nowhere", "/healthz?a=b#/nowhere"]) {
      assert.equal((await fixture.service.fetch(new Request(`http://host.test${path}`))).status, 200, path);
    }
  });

  test("a host's error whose header fields cannot be sent is a 500", async () => {
    for (const [name, value] of [
      ["X-Reason", "never \u2013 ever"],
      ["X Reason", "none"],
      ["X-Reason", "a\nb"],
    ] as const) {
      await using fixture = await openFixture(inProcess, {
        verifyToken: async () => {
          throw new ApiError("invalid_token", "No.", { headers: { [name]: value } });
        },
      });
      assert.equal((await fixture.call("GET", "/auth/api-keys", "token")).status, 500);
    }
  });

  test("a host's error whose details JSON cannot represent is a 500", async () => {
    for (const value of [1n, Object.assign([], { toJSON: () => assert.fail("no JSON") })]) {
      await using fixture = await openFixture(inProcess, {
        verifyToken: async () => {
          throw new ApiError("invalid_token", "No.", { details: { value } });
        },
      });
      assert.equal((await fixture.call("GET", "/auth/api-keys", "token")).status, 500);
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

  test("a host's error with an unknown code is a 500, not a 200", async () => {
    await using fixture = await openFixture(inProcess, {
      verifyToken: async () => {
        throw new ApiError("unauthorized" as "invalid_token", "No.");
      },
    });
    assert.equal((await fixture.call("GET", "/auth/api-keys", "token")).status, 500);
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
