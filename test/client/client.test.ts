/**
 * The client's methods, on a service of the tests.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  type ConnectionError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  TwinClient,
  TwinServiceError,
  UnprocessableEntityError,
} from "../../client/mod.ts";
import { createGate } from "../support/gate.ts";
import { type Fixture, openFixture, overSocket } from "../support/harness.ts";
import { allOf } from "./collect.ts";
import { hurry } from "./device.ts";

/** A service that echoes, and a client with a full_access key. */
async function openClient(): Promise<AsyncDisposable & { fixture: Fixture; client: TwinClient }> {
  const fixture = await openFixture(overSocket);
  const client = new TwinClient({ baseUrl: fixture.url, apiKey: await fixture.key() });
  return { fixture, client, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() };
}

describe("the client", () => {
  test("lists and reads twins", async () => {
    await using opened = await openClient();
    const { client } = opened;
    const { data, pagination, hasNextPage } = await client.twins.list();
    assert.deepEqual(
      [data.map(({ id }) => id), pagination.total, hasNextPage],
      [["echo", "private"], 2, false],
    );
    assert.equal((await client.twins.get("echo")).name, "Echo");
  });

  test("creates, lists, reads, renames and deletes conversations", async () => {
    await using opened = await openClient();
    const { client } = opened;
    const { id } = await client.conversations.create({ twinId: "echo", title: "First" });
    await client.conversations.create({ twinId: "private" });
    assert.deepEqual(
      (await client.conversations.list({ twinId: "echo" })).data.map(({ title }) => title),
      ["First"],
    );
    assert.equal((await client.conversations.update(id, { title: "Renamed" })).title, "Renamed");
    assert.equal((await client.conversations.get(id)).title, "Renamed");
    await client.conversations.delete(id);
    await assert.rejects(client.conversations.get(id), NotFoundError);
  });

  test("iterates over all pages of a list, and loads them one by one", async () => {
    await using opened = await openClient();
    const { client } = opened;
    for (const title of ["a", "b", "c", "d", "e"])
      await client.conversations.create({ twinId: "echo", title });
    const list = client.conversations.list({ limit: 2 });
    const titles = (await allOf(list)).map(({ title }) => title);
    assert.deepEqual(titles, ["e", "d", "c", "b", "a"]);
    const second = await (await list).getNextPage();
    assert.deepEqual([second.data.map(({ title }) => title), second.hasNextPage], [["c", "b"], true]);
    assert.deepEqual((await allOf(second)).length, 3);
  });

  test("sends messages and reads them", async () => {
    await using opened = await openClient();
    const { client } = opened;
    const { id } = await client.conversations.create({ twinId: "echo" });
    const reply = await client.messages.send(id, { content: "Hello there" });
    assert.equal(reply.content, "Hello there");
    assert.deepEqual(await client.messages.get(id, reply.id), reply);
    const newest = await client.messages.list(id, { order: "desc", limit: 1 });
    assert.deepEqual(newest.data, [reply]);
    assert.deepEqual((await allOf(client.messages.list(id, { after: String(reply.inReplyTo) }))).length, 1);
  });

  test("creates, lists and revokes keys with a JWT", async () => {
    await using fixture = await openFixture(overSocket);
    const client = new TwinClient({ baseUrl: fixture.url, apiKey: await fixture.token() });
    const { id, key } = await client.keys.create({ name: "made here", scope: "full_access" });
    const own = new TwinClient({ baseUrl: fixture.url, apiKey: key });
    assert.equal((await own.usage.get()).limit, 500);
    assert.ok((await client.keys.list()).data.some(({ name }) => name === "made here"));
    await client.keys.revoke(id);
    await assert.rejects(own.usage.get(), AuthenticationError);
  });

  test("takes the JWT for keys in a call, too", async () => {
    await using opened = await openClient();
    const { fixture, client } = opened;
    const token = await fixture.token();
    assert.equal((await client.keys.create({ name: "second" }, { token })).scope, "read_only");
    await assert.rejects(client.keys.list(), AuthenticationError);
  });

  test("works below a base path", async () => {
    await using fixture = await openFixture(overSocket, { basePath: "/assistant" });
    const client = new TwinClient({ baseUrl: `${fixture.url}/assistant/`, apiKey: await fixture.key() });
    assert.equal((await client.twins.list()).data.length, 2);
  });

  for (const [name, options] of [
    ["an address that is none", { baseUrl: "twins", apiKey: "k" }],
    ["an address with /api/v1", { baseUrl: "http://localhost/api/v1", apiKey: "k" }],
    ["neither a key nor a way to get one", { baseUrl: "http://localhost" }],
    ["both", { baseUrl: "http://localhost", apiKey: "k", getToken: () => "k" }],
    ["a time limit that is none", { baseUrl: "http://localhost", apiKey: "k", timeoutMs: NaN }],
    ["a silence without length", { baseUrl: "http://localhost", apiKey: "k", silenceMs: 0 }],
    ["a negative number of retries", { baseUrl: "http://localhost", apiKey: "k", maxRetries: -1 }],
  ] as const) {
    test(`refuses ${name}`, () => {
      assert.throws(() => new TwinClient(options), TypeError);
    });
  }
});

describe("errors", () => {
  test("are classes by status, with what the service says", async () => {
    await using opened = await openClient();
    const { fixture, client } = opened;
    const readOnly = new TwinClient({ baseUrl: fixture.url, apiKey: await fixture.key("read_only") });
    const stranger = new TwinClient({ baseUrl: fixture.url, apiKey: "no key" });
    const conversation = await client.conversations.create({ twinId: "echo" }, { idempotencyKey: "one" });
    const cases = [
      [
        BadRequestError,
        400,
        "validation_error",
        () => client.messages.send(conversation.id, { content: " " }),
      ],
      [AuthenticationError, 401, "invalid_api_key", () => stranger.twins.list()],
      [
        PermissionDeniedError,
        403,
        "insufficient_scope",
        () => readOnly.conversations.create({ twinId: "echo" }),
      ],
      [NotFoundError, 404, "twin_not_found", () => client.twins.get("none/at all")],
      [
        UnprocessableEntityError,
        422,
        "idempotency_key_reused",
        () => client.conversations.create({ twinId: "private" }, { idempotencyKey: "one" }),
      ],
    ] as const;
    for (const [Class, status, code, call] of cases) {
      const error = await call().then(
        () => assert.fail(`${code} was expected`),
        (error: unknown) => error,
      );
      assert.ok(error instanceof Class && error instanceof TwinServiceError, code);
      assert.deepEqual([error.status, error.code], [status, code]);
      assert.match(error.requestId ?? "", /^req_/);
    }
  });

  test("list the refused fields", async () => {
    await using opened = await openClient();
    const { client } = opened;
    await assert.rejects(client.twins.list({ limit: 101 }), ({ details }: TwinServiceError) => {
      assert.deepEqual(details?.fields, [{ path: "limit", message: "must be a whole number from 1 to 100" }]);
      return true;
    });
  });

  test("say when a limit allows the next request", async () => {
    await using fixture = await openFixture(overSocket);
    const client = new TwinClient({ baseUrl: fixture.url, apiKey: await fixture.key("read_only") });
    for (let request = 0; request < 200; request++) await client.twins.list();
    await assert.rejects(client.twins.list(), (error) => {
      assert.ok(error instanceof RateLimitError);
      assert.deepEqual([error.status, error.retryAfterSeconds, error.limit], [429, 18, 200]);
      return true;
    });
  });

  for (const [status, Class] of [
    [401, AuthenticationError],
    [403, PermissionDeniedError],
    [404, NotFoundError],
    [413, TwinServiceError],
    [429, RateLimitError],
  ] as const) {
    test(`are a proxy's own ${status}, though it says nothing`, async () => {
      let [requests, tokens] = [0, 0];
      const fetch = async () => new Response(null, { status: requests++ < 9 ? status : 500 });
      const getToken = () => `token ${++tokens}`;
      const client = new TwinClient({ baseUrl: "http://twins.test", getToken, fetch, maxRetries: 2 });
      await assert.rejects(client.twins.list(), (error) => {
        assert.ok(error instanceof Class);
        assert.equal(error.status, status);
        return true;
      });
      assert.equal(requests, status === 401 ? 2 : 1);
      assert.equal(tokens, requests); // after a 401 another one is asked for
    });
  }

  test("tell a service that cannot be reached, after the retries", async () => {
    let calls = 0;
    const fetch = async () => {
      calls++;
      throw new TypeError("fetch failed", {
        cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
      });
    };
    const client = new TwinClient({ baseUrl: "http://twins.test", apiKey: "k", fetch, maxRetries: 1 });
    await assert.rejects(client.twins.list(), ({ code, status, message }: ConnectionError) => {
      assert.deepEqual([code, status], ["connection_failed", undefined]);
      assert.equal(message, "The service at http://twins.test cannot be reached (ECONNREFUSED).");
      return true;
    });
    assert.equal(calls, 2);
  });

  test("tell an answer that takes too long", async () => {
    const client = new TwinClient({ baseUrl: "http://twins.test", apiKey: "k", fetch: never, maxRetries: 0 });
    await assert.rejects(
      client.twins.list({}, { timeoutMs: 10 }),
      ({ code }: ConnectionError) => code === "timeout",
    );
  });

  test("are none of a limit that is longer than a timer can be", async () => {
    await using fixture = await openFixture(overSocket);
    const limits = { timeoutMs: Infinity, silenceMs: Infinity };
    const client = new TwinClient({ baseUrl: fixture.url, apiKey: await fixture.key(), ...limits });
    const { id } = await client.conversations.create({ twinId: "echo" });
    assert.equal((await client.messages.stream(id, { content: "Hello" }).final()).content, "Hello");
  });

  test("of an aborted call are its signal's reason", async () => {
    const client = new TwinClient({ baseUrl: "http://twins.test", apiKey: "k", fetch: never });
    const controller = new AbortController();
    const listing = client.twins.list({}, { signal: controller.signal });
    controller.abort(new Error("the page was left"));
    await assert.rejects(listing, /the page was left/);
  });
});

/** A fetch that is never answered. */
const never: typeof fetch = (_, init) =>
  new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));

describe("requests that are sent again", () => {
  /** A client of a service that answers with these statuses, and the requests that it got. */
  function scripted(statuses: readonly number[]) {
    const sent: Request[] = [];
    const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
      const request = new Request(input, init);
      const status = statuses[sent.length] ?? 200;
      sent.push(request);
      if (status === 204) return new Response(null, { status });
      return Response.json(status === 200 ? { data: { id: "x" } } : { error: { code: "some_code" } }, {
        status,
      });
    };
    return { sent, client: new TwinClient({ baseUrl: "http://twins.test", apiKey: "k", fetch }) };
  }

  test("keep one Idempotency-Key, which no other call has", async () => {
    const { sent, client } = scripted([503, 500]);
    await client.conversations.create({ twinId: "echo" });
    await client.conversations.create({ twinId: "echo" });
    const [first, second, third, other] = sent.map(({ headers }) => headers.get("Idempotency-Key"));
    assert.match(first ?? "", /^[0-9a-f]{32}$/);
    assert.deepEqual([second, third], [first, first]);
    assert.notEqual(other, first);
  });

  test("are neither keys nor client tokens, which have no Idempotency-Key either", async () => {
    for (const create of [
      (client: TwinClient) => client.keys.create({ name: "a" }),
      (client: TwinClient) => client.clientTokens.create({ endUser: "u" }),
    ]) {
      const { sent, client } = scripted([503]);
      await assert.rejects(create(client), TwinServiceError);
      assert.deepEqual(
        sent.map(({ headers }) => headers.get("Idempotency-Key")),
        [null],
      );
    }
  });

  test("take what an earlier attempt has deleted for deleted", async () => {
    const { sent, client } = scripted([502, 404]);
    await client.conversations.delete("conv_1");
    assert.equal(sent.length, 2);
  });

  test("are none that were refused", async () => {
    const { sent, client } = scripted([409]);
    await assert.rejects(client.conversations.create({ twinId: "echo" }), ConflictError);
    assert.equal(sent.length, 1);
  });
});

describe("getToken", () => {
  test("is called once, and again after a 401", async () => {
    await using fixture = await openFixture(overSocket);
    const tokens = ["expired", await fixture.key()];
    let calls = 0;
    const getToken = async () => tokens[calls++] ?? assert.fail("asked once too often");
    const client = new TwinClient({ baseUrl: fixture.url, getToken });
    await Promise.all([client.twins.list(), client.twins.list(), client.usage.get()]);
    await client.twins.list();
    assert.equal(calls, 2);
  });

  test("is called once for all requests that a token is refused to at the same time", async () => {
    await using fixture = await openFixture(overSocket);
    const tokens = ["expired", await fixture.key()];
    let calls = 0;
    const getToken = async () => tokens[calls++] ?? assert.fail("asked once too often");
    const allRefused = createGate();
    let refusals = 0;
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const response = await globalThis.fetch(input, init);
      if (response.status === 401 && ++refusals === 4) allRefused.open();
      if (response.status === 401) await allRefused.opened;
      return response;
    };
    const client = new TwinClient({ baseUrl: fixture.url, getToken, fetch });
    await Promise.all(Array.from({ length: 4 }, () => client.twins.list()));
    assert.equal(calls, 2);
  });

  for (const [way, fail] of [
    ["rejects", () => Promise.reject(new Error("not signed in"))],
    [
      "throws",
      () => {
        throw new Error("not signed in");
      },
    ],
  ] as const) {
    test(`that ${way} fails the call, and is asked again by the next`, async () => {
      await using fixture = await openFixture(overSocket);
      const key = await fixture.key();
      let calls = 0;
      const getToken = () => (calls++ === 0 ? fail() : key);
      const client = new TwinClient({ baseUrl: fixture.url, getToken });
      await assert.rejects(client.twins.list(), /not signed in/);
      assert.equal((await client.twins.list()).data.length, 2);
    });
  }

  test("that has no connection as it renews a token is asked again by whatever waits for that", async () => {
    using _hurried = hurry();
    await using fixture = await openFixture(overSocket);
    const key = await fixture.key();
    const noConnection = () => Promise.reject(new TypeError("fetch failed"));
    const given = ["expired", noConnection, noConnection, key];
    const getToken = async () => {
      const next = given.shift() ?? assert.fail("asked once too often");
      return typeof next === "string" ? next : next();
    };
    const client = new TwinClient({ baseUrl: fixture.url, getToken });
    assert.equal((await client.twins.list()).data.length, 2);
    assert.deepEqual(given, []);
  });

  test("that gives the same token again ends in the 401", async () => {
    await using fixture = await openFixture(overSocket);
    const client = new TwinClient({ baseUrl: fixture.url, getToken: () => "expired" });
    await assert.rejects(client.twins.list(), AuthenticationError);
  });
});
