import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { routes } from "../../core/api/routes.ts";
import type { Log, TwinEngine } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { requestIdPattern } from "../support/conformance.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  errorOf,
  openFixture,
  transports,
} from "../support/harness.ts";

/** Each path's methods, as `Allow` lists them. */
const allowed = new Map<string, string>();
for (const { path } of routes) {
  const here = routes.filter((route) => route.path === path);
  const methods: string[] = here.map(({ method }) => method);
  const isStream = (success: object) => "events" in success || "lines" in success;
  if (here.some(({ method, success }) => method === "GET" && !isStream(success))) methods.push("HEAD");
  allowed.set(path, [...methods, "OPTIONS"].sort().join(", "));
}

/** With these, there are all endpoints. */
const ownTwins = { reader: createTwinReader() };

for (const transport of transports) {
  describe(`HTTP, ${transport.name}`, () => {
    for (const [path, allow] of allowed) {
      const target = path.replaceAll(/\{\w+\}/g, "nowhere");

      test(`${path} refuses other methods and says which it allows`, async () => {
        await using fixture = await openFixture(transport, { ownTwins });
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
        await using fixture = await openFixture(transport, { ownTwins });
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
      assert.equal(allowed.get("/api/v1/conversations/{id}/stream"), "GET, OPTIONS");
      assert.equal(routes.length, 52);
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
          await assertErrorAnswer(
            await fixture.send(path, { method }),
            404,
            "not_found",
            `${method} ${path}`,
          );
        }
      }
    });

    test("a malformed escape in the path is a 404", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only");
      for (const segment of ["%", "%2", "%zz", "%ff", "%c3%28", "%ed%a0%80"]) {
        const response = await fixture.call("GET", `/twins/${segment}`, key);
        assert.equal(response.status, 404, segment);
      }
    });

    test("the store is not asked for an id with a control character or more than 1,024 characters", async () => {
      const asked: string[] = [];
      const memory = createMemoryStore();
      const store: Store = {
        ...memory,
        getConversation(reach, which) {
          asked.push(String(which));
          return memory.getConversation(reach, which);
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

    test("HEAD answers as GET does, without a body", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key("read_only");
      const headers = { "X-API-Key": key, "Accept-Encoding": "identity" }; // lengths of what is compressed are others
      for (const path of ["/healthz", "/api/v1/openapi.json", "/api/v1/twins", "/api/v1/twins/nowhere"]) {
        const [get, head] = await Promise.all(
          ["GET", "HEAD"].map((method) => fixture.send(path, { method, headers })),
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
        "/chat/twins//": twins,
        "/chat//api/v1/twins": twins,
        "/chat/api/v1/api/v1/twins": twins,
        "/chat/": undefined,
        "//": undefined,
      };
      for (const [path, exists] of Object.entries(meant)) {
        const response = await fixture.send(path);
        const { message } = await assertErrorAnswer(response, 404, "not_found", path);
        const hint = exists === undefined ? /^(There is nothing at this path\.|Paths begin .+)$/ : exists;
        if (typeof hint === "string") assert.ok(message.endsWith(`did you mean ${hint}?`), message);
        else assert.match(message, hint);
      }
    });

    test("a path of a service that is mounted without its basePath is 404 with what is to be set", async () => {
      await using fixture = await openFixture(transport);
      for (const path of ["/assistant/api/v1/twins", "/assistant/api/v1/twins/ada?x=1"]) {
        const { message } = await assertErrorAnswer(await fixture.send(path), 404, "not_found", path);
        assert.match(message, /; a service that is mounted at \/assistant needs the basePath \/assistant\.$/);
      }
    });

    test("a body that is empty, or spells a member otherwise, is refused with what is wrong", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const post = (body: string) =>
        fixture.send("/api/v1/conversations", {
          method: "POST",
          headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
          body,
        });
      const empty = await assertErrorAnswer(await post(""), 400, "invalid_json");
      assert.match(empty.message, /^The body is empty/);
      for (const name of ["twin_id", "TwinId", "twin-id"]) {
        const message = await assertRefusedField(await post(JSON.stringify({ [name]: "echo" })), "twinId");
        assert.ok(message.endsWith(`; ${name} is unknown`), message);
      }
    });

    test("a path and query of 8 KiB are accepted, one character more is not", async () => {
      await using fixture = await openFixture(transport);
      const path = "/healthz?".padEnd(8192, "x");
      assert.equal((await fixture.send(path)).status, 200);
      await assertErrorAnswer(await fixture.send(`${path}x`), 414, "uri_too_long");
    });

    test("a refusal's log line has its code; a path that leads nowhere is logged without its query, cut", async () => {
      const lines: (Readonly<Record<string, unknown>> | undefined)[] = [];
      const log: Log = (_, message, fields) => message === "request" && lines.push(fields);
      await using fixture = await openFixture(transport, { log });
      const key = await fixture.key();
      lines.length = 0;
      await fixture.call("GET", "/twins", key);
      await fixture.call("GET", "/twins/nobody", key);
      await fixture.send("/api/v1/twins");
      await fixture.send(`/nowhere/${"x".repeat(300)}?token=secret`);
      assert.deepEqual(
        lines.map((line) => [line?.status, line?.code, line?.route, line?.path]),
        [
          [200, undefined, "/api/v1/twins", undefined],
          [404, "twin_not_found", "/api/v1/twins/{id}", undefined],
          [401, "missing_credentials", "/api/v1/twins", undefined],
          [404, "not_found", undefined, `/nowhere/${"x".repeat(191)}`],
        ],
      );
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
}
