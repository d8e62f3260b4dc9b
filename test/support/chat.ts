/**
 * What the tests of replies share: a conversation with a twin whose engine the test plays itself.
 */

import { createTwinList, type ServiceOptions } from "../../core/mod.ts";
import { createMemoryStore, type Store, StoreUnavailable } from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { createManualClock, type ManualClock } from "./clock.ts";
import { type EventReader, readEvents } from "./event-reader.ts";
import { dataOf, type Fixture, newTwin, openFixture, startOfTests, type Transport } from "./harness.ts";
import { createScriptedEngine, type Run, type ScriptedEngine } from "./scripted-engine.ts";

export interface Chat extends AsyncDisposable, Pick<Fixture, "service" | "clock"> {
  readonly engine: ScriptedEngine;
  /** A full_access key, and the conversation that was created with it. */
  readonly key: string;
  readonly conversationId: string;
  readonly fixture: Fixture;
  /** POST to a path below the conversation. */
  post(path: string, body?: unknown, headers?: HeadersInit): Promise<Response>;
  /** GET of a path below the conversation. */
  get(path: string, headers?: HeadersInit): Promise<Response>;
  send(content?: string, headers?: HeadersInit): Promise<Response>;
  stream(content?: string, headers?: HeadersInit): Promise<EventReader>;
  /** Streams a message. Resolves once the engine is asked for the reply. */
  begin(content?: string, headers?: HeadersInit): Promise<Begun>;
  resume(messageId: string, after?: number): Promise<EventReader>;
  cancel(messageId: string): Promise<Response>;
  /** Deletes the conversation. */
  remove(): Promise<Response>;
  message(id: string): Promise<MessageResource>;
  status(): Promise<string>;
  /** Another service on the same store, engine and clock: a second process, or a later one. */
  another(options?: Partial<ServiceOptions>): Promise<Chat>;
}

export interface ChatOptions extends Partial<Omit<ServiceOptions, "clock">> {
  readonly engine?: ScriptedEngine;
  readonly clock?: ManualClock;
}

/** A reply in progress. Of its stream, the first event has been read. */
export interface Begun {
  readonly stream: EventReader;
  readonly messageId: string;
  readonly run: Run;
}

export async function openChat(transport: Transport, options: ChatOptions = {}): Promise<Chat> {
  const { engine = createScriptedEngine(), store = createMemoryStore(), ...more } = options;
  const { clock = createManualClock(startOfTests), ...rest } = more;
  const all = {
    twins: createTwinList([newTwin({ id: "scripted", engine: "scripted" })]),
    engines: { scripted: engine },
    store,
    ...rest,
  };
  const fixture = await openFixture(transport, all, clock);
  const key = await fixture.key();
  const conversationId = await fixture.conversation(key, "scripted");
  return chatOn(fixture, { transport, engine, key, conversationId, options: all });
}

interface Setting {
  readonly transport: Transport;
  readonly engine: ScriptedEngine;
  readonly key: string;
  readonly conversationId: string;
  readonly options: Partial<ServiceOptions>;
}

function chatOn(fixture: Fixture, setting: Setting): Chat {
  const { transport, engine, key, conversationId } = setting;
  const root = `/conversations/${conversationId}`;
  const chat: Chat = {
    fixture,
    engine,
    key,
    conversationId,
    service: fixture.service,
    clock: fixture.clock,
    post: (path, body, headers) => fixture.call("POST", root + path, key, body, headers),
    get: (path, headers) => fixture.call("GET", root + path, key, undefined, headers),
    send: (content = "Hello?", headers) => chat.post("/messages", { content }, headers),
    stream: async (content = "Hello?", headers) =>
      readEvents(await chat.post("/messages/stream", { content }, headers)),
    async begin(content, headers) {
      const stream = await chat.stream(content, headers);
      return { stream, messageId: await acceptedId(stream), run: await engine.next() };
    },
    resume: async (messageId, after) =>
      readEvents(
        await chat.get(`/messages/${messageId}/stream${after === undefined ? "" : `?after=${after}`}`),
      ),
    cancel: (messageId) => chat.post(`/messages/${messageId}/cancel`),
    remove: () => fixture.call("DELETE", root, key),
    message: async (id) => dataOf(await chat.get(`/messages/${id}`)),
    status: async () => (await dataOf<{ status: string }>(await chat.get(""))).status,
    async another(options = {}) {
      const all = { ...setting.options, ...options };
      return chatOn(await openFixture(transport, all, fixture.clock), { ...setting, options: all });
    },
    async [Symbol.asyncDispose]() {
      const disposed = fixture[Symbol.asyncDispose]();
      await fixture.clock.advance(20_000); // longer than a shutdown waits for anything
      await disposed;
    },
  };
  return chat;
}

/** The id of the reply that a stream's first event names. */
export async function acceptedId(stream: EventReader): Promise<string> {
  const { data } = await stream.next();
  if (data.type !== "progress") throw new Error(`The first event is ${data.type}.`);
  return String(data.progress.messageId);
}

/** A store that is unreachable while `isAway()`: its calls wait, then fail, even if it has come back by then. */
export function withOutages(store: Store, isAway: () => boolean, wait = async () => {}): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return async (...args: unknown[]) => {
        if (!isAway()) return Reflect.apply(member, target, args);
        await wait();
        throw new StoreUnavailable("away");
      };
    },
  });
}

/** A store that counts the calls of each method. */
export function countCalls(store: Store): { readonly store: Store; readonly calls: Map<string, number> } {
  const calls = new Map<string, number>();
  const proxy = new Proxy(store, {
    get(target, name, receiver) {
      const value = Reflect.get(target, name, receiver);
      if (typeof value !== "function") return value;
      return (...parameters: unknown[]) => {
        calls.set(String(name), (calls.get(String(name)) ?? 0) + 1);
        return value.apply(target, parameters);
      };
    },
  });
  return { store: proxy, calls };
}
