/**
 * `FUZZ_REQUESTS=1000000` and `FUZZ_SOCKET_REQUESTS=100000` make more requests than the defaults, 10,000 and 500.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { routes } from "../../core/api/routes.ts";
import type { Route } from "../../core/http/route.ts";
import type { IncomingRequest } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { EventSender } from "../../core/wire/event-sender.ts";
import { assertCommon, assertError } from "../support/conformance.ts";
import { type Fixture, inProcess, openFixture, overSocket, unlimited } from "../support/harness.ts";
import { parseAnswers, talk } from "../support/raw-socket.ts";

/** Every run makes the same requests; fast-check reports the seed with the request that failed. */
const seed = 20_260_102;

const requestCount = Number(process.env.FUZZ_REQUESTS ?? 10_000);
const socketRequestCount = Number(process.env.FUZZ_SOCKET_REQUESTS ?? 500);

/** What requests are made of: what is right in one place is wrong in most others. */
interface Known {
  readonly keys: readonly string[];
  readonly token: string;
  /** A conversation that exists, unless a request has deleted it. */
  conversation: string;
}

/** Stands for the id of a conversation that exists. */
const existing = Symbol("a conversation that exists");

describe("random requests", () => {
  test(`${requestCount} of them in-process never get a 5xx, and store nothing when they are refused`, async () => {
    const { store, takeWrites } = countingStore();
    await using fixture = await openFixture(inProcess, { store, limiter: unlimited });
    const known = await knownOf(fixture);
    const statuses = new Map<number, number>();
    for (const key of known.keys) await fixture.call("GET", "/twins", key); // the first use of a key is noted
    takeWrites();
    await fc.assert(
      fc.asyncProperty(requestOf(known), async (each) => {
        const { status, headers, body } = await fixture.service.answer(each());
        if (body !== null && typeof body === "object" && "wake" in body)
          new EventSender(body, () => ({ write: () => true, end() {}, cut() {} })).leave();
        known.conversation = /conv_\w+$/.exec(headers.Location ?? "")?.[0] ?? known.conversation;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        const fields = new Headers(headers);
        assertCommon({ headers: fields });
        const writes = takeWrites();
        if (status < 400) return;
        assert.ok(status < 500, `${status}: ${body}`);
        assert.equal(writes, 0, "a refused request stores nothing");
        if (body !== null) assertError(JSON.parse(String(body)), fields);
      }),
      { seed, numRuns: requestCount, endOnFailure: true },
    );
    // Requests that all fail at the same step would prove little.
    for (const status of [200, 201, 204, 400, 401, 403, 404, 405, 415]) {
      assert.ok((statuses.get(status) ?? 0) >= 10, `${status} among ${JSON.stringify([...statuses])}`);
    }
  });

  test(`${socketRequestCount} of them, damaged, over sockets get well-formed answers, and the server survives`, async () => {
    await using fixture = await openFixture(overSocket, { limiter: unlimited });
    const { keys, conversation } = await knownOf(fixture);
    const [key = ""] = keys;
    const requests = [
      wire("GET /healthz", ""),
      wire("GET /api/v1/twins?page=1&limit=5", key),
      wire("POST /api/v1/conversations", key, '{"twinId":"echo","title":"x"}'),
      wire(`POST /api/v1/conversations/${conversation}/messages`, key, '{"content":"Hello"}'),
      wire("OPTIONS /api/v1/conversations", ""),
      wire("DELETE /api/v1/conversations/nowhere", key),
    ];
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...requests), damages, async (text, changes) => {
        const bytes = Buffer.from(damaged(text, changes), "latin1");
        const answers = parseAnswers(await talk(fixture.url, (socket) => socket.end(bytes)));
        for (const { status, headers, body } of answers) {
          answered++;
          assertCommon({ headers });
          assert.ok(status < 500, `${status}: ${body}`);
          if (status >= 400) assertError(JSON.parse(body), headers);
        }
      }),
      { seed, numRuns: socketRequestCount, endOnFailure: true },
    );
    assert.ok(answered > 0.8 * socketRequestCount, `${answered} answers`);
    assert.equal((await fixture.send("/healthz")).status, 200);
  });
});

async function knownOf(fixture: Fixture): Promise<Known> {
  const keys = [await fixture.key("full_access"), await fixture.key("read_only")];
  const conversation = await fixture.conversation(keys[0] ?? "");
  return { keys, token: await fixture.token(), conversation };
}

/** A store that counts its writes, and a function that reads and resets the count. */
function countingStore(): { readonly store: Store; takeWrites(): number } {
  const store = createMemoryStore();
  let writes = 0;

  function counted<Arguments extends unknown[], Result>(
    method: (...args: Arguments) => Promise<Result>,
    changes: (result: Result) => boolean,
  ): (...args: Arguments) => Promise<Result> {
    return async (...args) => {
      const result = await method(...args);
      if (changes(result)) writes++;
      return result;
    };
  }

  const isThere = (result: unknown) => result !== undefined;
  return {
    store: {
      ...store,
      createKey: counted(store.createKey, (result) => result === "created"),
      updateKey: counted(store.updateKey, isThere),
      createConversation: counted(store.createConversation, (made) => made === undefined),
      updateConversation: counted(store.updateConversation, isThere),
      deleteConversation: counted(store.deleteConversation, isThere),
      beginReply: counted(store.beginReply, ({ result }) => result === "begun"),
    },
    takeWrites() {
      const taken = writes;
      writes = 0;
      return taken;
    },
  };
}

const strange = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom("", "%", "%00", "%2F", "..", "%zz", "\ud800", "__proto__", "a".repeat(1100), "💬"),
);

/** A function that makes the request: its body can be read only once. */
function requestOf(known: Known): fc.Arbitrary<() => IncomingRequest> {
  const route = fc.constantFrom(...routes);
  const id = rarely(strange, fc.constantFrom(existing, existing, "echo", "private", "stream"));
  const method = fc.constantFrom("GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "BREW", "");
  const textOf = (id: string | symbol) => (typeof id === "string" ? id : known.conversation);
  const request = fc.record({
    route,
    id,
    messageId: id,
    method: rarely(method, fc.constant(undefined)),
    url: rarely(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.constant(undefined)),
    query: queryString,
    credential: rarely(otherCredential(known), fc.constant(undefined)),
    headers: rarely(fc.dictionary(headerName, strange, { maxKeys: 2 }), fc.constant({})),
    body: fc.option(bodyBytes, { freq: 5 }),
  });
  return request.map(({ route, id, messageId, method, url, query, credential, headers, body }) => () => {
    const target = route.path
      .replace("{id}", () => textOf(id))
      .replace("{messageId}", () => textOf(messageId));
    const right = { authorization: `Bearer ${route.credential === "token" ? known.token : known.keys[0]}` };
    const fields = new Map(
      Object.entries({ "content-type": "application/json", ...(credential ?? right), ...headers }),
    );
    return {
      method: method ?? route.method,
      url: url ?? `http://twins.test${target}${query}`,
      headers: { get: (name) => fields.get(name.toLowerCase()) ?? null },
      body: body && oneChunk(body),
    };
  });
}

function rarely<One, Other>(rare: fc.Arbitrary<One>, usual: fc.Arbitrary<Other>): fc.Arbitrary<One | Other> {
  return fc.oneof({ weight: 1, arbitrary: rare }, { weight: 7, arbitrary: usual });
}

async function* oneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** The members of all bodies, or the parameters of all queries. */
function namesIn(part: "body" | "query"): string[] {
  return [...new Set(routes.flatMap((route: Route) => Object.keys(route[part]?.properties ?? {})))];
}

const headerName = fc.constantFrom(
  "host",
  "content-type",
  "content-encoding",
  "content-length",
  "idempotency-key",
  "last-event-id",
  "origin",
  "authorization",
  "x-api-key",
);

const queryString = fc.oneof(
  fc.constant(""),
  fc
    .array(
      fc.tuple(
        fc.constantFrom(...namesIn("query"), "x"),
        fc.oneof(fc.constantFrom("1", "0", "desc", "echo"), strange),
      ),
      { maxLength: 3 },
    )
    .map((parameters) => `?${parameters.map(([name, value]) => `${name}=${value}`).join("&")}`),
);

function otherCredential({ keys: [writer = "", reader = ""], token }: Known) {
  return fc.constantFrom<Record<string, string>>(
    {},
    { authorization: `Bearer ${token}` },
    { authorization: `Bearer ${writer}, Bearer ${writer}` },
    { authorization: "Bearer x", "x-api-key": writer },
    { "x-api-key": reader },
    { "x-api-key": `${writer}0` },
  );
}

const field = fc.oneof(strange, fc.constantFrom("echo", "private", "read_only", "Hello"), fc.jsonValue());

const bodyBytes = fc.oneof(
  fc
    .record(Object.fromEntries(namesIn("body").map((name) => [name, field])), { requiredKeys: [] })
    .map((body) => Buffer.from(JSON.stringify(body))),
  fc.constant(Buffer.from('{"twinId":"echo","content":"Hi","title":"T","name":"k"}')),
  fc.json().map(Buffer.from),
  fc.uint8Array({ maxLength: 64 }),
);

function wire(requestLine: string, key: string, body = ""): string {
  const credential = key && `X-API-Key: ${key}\r\n`;
  const length = body && `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `${requestLine} HTTP/1.1\r\nHost: twins.test\r\nConnection: close\r\n${credential}${length}\r\n${body}`;
}

interface Damage {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

/** Up to three places where some bytes are cut out and others put in. */
const damages = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    remove: fc.nat(4),
    insert: fc.oneof(
      fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 4 }),
      fc.constantFrom("\r\n", " ", ":", "%", "/", "\0", "Transfer-Encoding: chunked\r\n"),
    ),
  }),
  { maxLength: 3 },
);

function damaged(text: string, changes: readonly Damage[]): string {
  return changes.reduce((bytes, { at, remove, insert }) => {
    const from = Math.floor(at * bytes.length);
    return bytes.slice(0, from) + insert + bytes.slice(from + remove);
  }, text);
}
