/**
 * What the tests of the API share: a service on a clock of its own, reached in-process or over a socket.
 */

import assert from "node:assert/strict";
import { createJwtVerifier, signToken } from "../../core/auth/jwt.ts";
import { noLog } from "../../core/base/log.ts";
import {
  createEchoEngine,
  createMemoryLimiter,
  createService,
  createTwinList,
  type ErrorObject,
  type RateLimiter,
  type Scope,
  type Service,
  type ServiceOptions,
  type Twin,
  type TwinSource,
} from "../../core/mod.ts";
import type { WebhookDelivery } from "../../core/store/deliverer.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import type { Pagination, StreamEventData } from "../../core/wire/schemas.ts";
import { createManualClock, type ManualClock } from "./clock.ts";
import { assertConforms, assertEvent } from "./conformance.ts";
import { serve } from "./runtime.ts";

const admitted = { allowed: true, debt: 0 };

/** A limiter that admits everything, for tests of something else. */
export const unlimited: RateLimiter = {
  take: async () => admitted,
  takeBoth: async () => [admitted, admitted],
  peek: async () => admitted,
  forget: async () => {},
};

/** Webhooks that take every address, and are told nothing. */
export const silentWebhooks: WebhookDelivery = {
  check: async () => undefined,
  open: () => ({ told() {}, async start() {}, async deliverDue() {}, async close() {} }),
};

/** When the tests' clocks start: 2026-01-02T03:04:05.678Z. */
export const startOfTests = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

/** The secret that tokens for the fixtures are signed with. */
export const fixtureSecret = "a secret for tests, 32 bytes long or more";

/** One way to reach a service. */
export interface Transport {
  readonly name: string;
  open(service: Service): Promise<Connection>;
}

/** A service that can be reached. */
interface Connection {
  /** Where it listens; empty in-process. */
  readonly url: string;
  send(path: string, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

/** Requests and responses handed over as objects. */
export const inProcess: Transport = {
  name: "in-process",
  async open(service) {
    return {
      url: "",
      send: (path, init) => service.fetch(new Request(`http://twins.test${path}`, init)),
      close: () => service.close({ graceMs: 0 }),
    };
  },
};

/** Through the server of the runtime that the tests run on. */
export const overSocket: Transport = {
  name: "over a socket",
  async open(service) {
    const server = await serve(service, { port: 0 });
    return {
      url: server.url,
      send: (path, init) => fetch(server.url + path, init),
      close: () => server.close({ graceMs: 0 }),
    };
  },
};

/** The two transports that every endpoint test runs on. */
export const transports: readonly Transport[] = [inProcess, overSocket];

/** A service under test, and what its tests do with it. */
export interface Fixture extends AsyncDisposable {
  readonly service: Service;
  readonly store: Store;
  readonly clock: ManualClock;
  /** Where the service listens; empty in-process. */
  readonly url: string;
  /** Sends a request unchanged. Every answer is checked against the OpenAPI document. */
  send(path: string, init?: RequestInit): Promise<Response>;
  /** Sends JSON with a credential: an API key or a token. */
  call(
    method: string,
    path: string,
    credential: string,
    body?: unknown,
    headers?: HeadersInit,
  ): Promise<Response>;
  token(owner?: string): Promise<string>;
  /** The secret of a new key. */
  key(scope?: Scope, owner?: string): Promise<string>;
  /** The id of a new conversation. */
  conversation(key: string, twinId?: string): Promise<string>;
}

/** The same fixture, for engines that do not end: closing it passes the time that a shutdown waits for replies. */
export function closingInTime<Opened extends Fixture>(fixture: Opened): Opened {
  return {
    ...fixture,
    async [Symbol.asyncDispose]() {
      const disposed = fixture[Symbol.asyncDispose]();
      await fixture.clock.advance(20_000); // longer than a shutdown waits for anything
      await disposed;
    },
  };
}

export function newTwin(twin: Partial<Twin> & { readonly id: string }): Twin {
  return {
    name: twin.id,
    description: null,
    avatarUrl: null,
    greeting: null,
    tags: [],
    handover: false,
    tokensPerDay: null,
    createdAt: startOfTests,
    updatedAt: startOfTests,
    engine: "echo",
    model: null,
    temperature: null,
    access: null,
    instructions: "Repeat what the user says. This sentence is secret.",
    documents: [],
    language: null,
    knowledge: null,
    tools: [],
    confirm: [],
    ...twin,
  };
}

/** A source with one twin, until it is removed. */
export function removable(twin: Twin): { readonly twins: TwinSource; remove(): void } {
  let items = [twin];
  return {
    twins: {
      list: async () => ({ items, total: items.length }),
      get: async (_, id) => items.find((each) => each.id === id),
    },
    remove() {
      items = [];
    },
  };
}

const twins = [
  newTwin({ id: "echo", name: "Echo" }),
  newTwin({ id: "private", name: "Private", access: ["alice"] }),
];

/** Opens a service of echoing twins in memory; options replace its parts. */
export async function openFixture(
  transport: Transport,
  options: Partial<ServiceOptions> = {},
  clock: ManualClock = createManualClock(startOfTests),
): Promise<Fixture> {
  const { store = createMemoryStore() } = options;
  const service = createService({ ...partsOn(clock), ...options, store });
  const { url, send: sendAsIs, close } = await transport.open(service);
  const root = `${options.basePath ?? ""}/api/v1`;

  async function send(path: string, init: RequestInit = {}): Promise<Response> {
    const response = await sendAsIs(path, init);
    await assertConforms(init.method ?? "GET", path, response, options.basePath);
    return response;
  }

  const call: Fixture["call"] = (method, path, credential, body, headers) =>
    send(root + path, { method, ...jsonRequest(credential, body, headers) });
  const token = (owner = "alice") =>
    signToken({ secret: fixtureSecret, sub: owner, expiresInSeconds: 3600, clock });

  return {
    service,
    store,
    clock,
    url,
    send,
    call,
    token,
    async key(scope = "full_access", owner = "alice") {
      const response = await call("POST", "/auth/api-keys", await token(owner), { name: "test", scope });
      return (await dataOf<{ key: string }>(response)).key;
    },
    async conversation(key, twinId = "echo") {
      return (await dataOf<{ id: string }>(await call("POST", "/conversations", key, { twinId }))).id;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** What a fixture's service is made of, unless a test says otherwise. */
function partsOn(clock: ManualClock) {
  return {
    twins: createTwinList(twins),
    engines: { echo: createEchoEngine() },
    limiter: createMemoryLimiter({ clock }),
    verifyToken: createJwtVerifier({ secret: fixtureSecret, clock }),
    clock,
    log: noLog,
    webhooks: silentWebhooks,
  };
}

/** A request's credential, and its body, which is JSON already if it is a text. */
export function jsonRequest(credential: string, body?: unknown, headers?: HeadersInit): RequestInit {
  const json = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  return {
    headers: {
      authorization: `Bearer ${credential}`,
      ...(json !== undefined && { "content-type": "application/json" }),
      ...Object.fromEntries(new Headers(headers)),
    },
    ...(json !== undefined && { body: json }),
  };
}

/** The payload of a successful answer. */
export async function dataOf<Data>(response: Response): Promise<Data> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
  return (JSON.parse(text) as { data: Data }).data;
}

/** The ids in a list, in its order. */
export async function listIds({ call }: Fixture, credential: string, path: string): Promise<string[]> {
  return (await dataOf<{ id: string }[]>(await call("GET", path, credential))).map(({ id }) => id);
}

/** How many conversations a key's owner has. */
export async function countConversations({ call }: Fixture, key: string): Promise<number> {
  const response = await call("GET", "/conversations", key);
  return ((await response.json()) as { pagination: Pagination }).pagination.total;
}

/** The error of a refused request. */
export async function errorOf(response: Response): Promise<ErrorObject> {
  return ((await response.json()) as { error: ErrorObject }).error;
}

/** Fails unless a request was refused like this. `what` says in a failure which one it was. Returns the error. */
export async function assertErrorAnswer(
  response: Response,
  status: number,
  code: ErrorObject["code"],
  what?: string,
): Promise<ErrorObject> {
  assert.equal(response.status, status, what);
  const error = await errorOf(response);
  assert.equal(error.code, code, what);
  return error;
}

/** Fails unless a request was refused because of this field alone. Returns what is said of it. */
export async function assertRefusedField(response: Response, path: string, what?: string): Promise<string> {
  const { details = {} } = await assertErrorAnswer(response, 400, "validation_error", what);
  const fields = details.fields as { path: string; message: string }[];
  assert.deepEqual(
    fields.map((field) => field.path),
    [path],
    what,
  );
  return fields[0]?.message ?? "";
}

/** One event of a stream. */
export interface StreamEvent {
  readonly id: number;
  readonly data: StreamEventData;
}

/** All events of a stream that ends. */
export async function eventsOf(response: Response): Promise<StreamEvent[]> {
  return parseEvents(await response.text());
}

/** Reads whole events strictly: an `id` line, a `data` line, a blank line; comments are left out. */
export function parseEvents(text: string): StreamEvent[] {
  const blocks = text.split("\n\n").filter((block) => block !== "" && !block.startsWith(":"));
  return blocks.map((block) => {
    const event = /^id: (\d+)\ndata: (.+)$/.exec(block);
    if (!event) throw new Error(`Not an event: ${JSON.stringify(block)}`);
    const data = JSON.parse(event[2] ?? "");
    assertEvent(data);
    return { id: Number(event[1]), data };
  });
}

/** The deltas of a stream, joined. */
export function textOf(events: readonly StreamEvent[]): string {
  return events.map(({ data }) => (data.type === "delta" ? data.content : "")).join("");
}

/** Events that end a stream. */
export function terminal(events: readonly StreamEvent[]): StreamEvent[] {
  return events.filter(({ data }) => data.type === "complete" || data.type === "error");
}
