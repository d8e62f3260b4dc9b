/**
 * What the tests of the endpoints for OpenAI's clients share: a service whose engine the test plays, and requests to `/v1`.
 */

import assert from "node:assert/strict";
import { createOpenAIApi, type OpenAIApiOptions } from "../../adapters/openai-clients/mod.ts";
import { createEchoEngine, createTwinList, type ServiceOptions } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import {
  dataOf,
  type Fixture,
  jsonRequest,
  newTwin,
  openFixture,
  startOfTests,
  type Transport,
} from "../support/harness.ts";
import { createScriptedEngine, type ScriptedEngine } from "../support/scripted-engine.ts";

/** The header field by which a client names its conversation, and the one that says that it tries again. */
export const named = { "x-conversation-id": "chat 1" };
export const retried = { "x-stainless-retry-count": "1" };

/** A service that OpenAI's clients can use. */
export interface OpenAIFixture extends AsyncDisposable {
  readonly fixture: Fixture;
  readonly engine: ScriptedEngine;
  /** A full_access key. */
  readonly key: string;
  /** Sends a request to a path below `/v1`, with the key unless told otherwise. */
  send(method: string, path: string, body?: unknown, headers?: HeadersInit): Promise<Response>;
  /** Asks the scripted twin. */
  chat(body?: object, headers?: HeadersInit): Promise<Response>;
  /** All conversations that are stored, newest first. */
  conversations(): Promise<ConversationResource[]>;
  /** All their messages, oldest first; or those on their current paths. */
  messages(path?: "current"): Promise<MessageResource[]>;
  /** Another service on the same store, engine and clock: a second process, or a later one. */
  another(options?: Partial<ServiceOptions>): Promise<OpenAIFixture>;
}

export async function openOpenAI(
  transport: Transport,
  options: Partial<ServiceOptions> = {},
  apiOptions: OpenAIApiOptions = {},
): Promise<OpenAIFixture> {
  const engine = createScriptedEngine();
  const twins = [
    newTwin({ id: "ada", name: "Ada", engine: "scripted", description: "A twin." }),
    newTwin({ id: "echo", name: "Echo" }),
    newTwin({ id: "private", name: "Private", access: ["bob"] }),
  ];
  const all: Partial<ServiceOptions> = {
    store: createMemoryStore(),
    twins: createTwinList(twins),
    engines: { scripted: engine, echo: createEchoEngine() },
    openaiApi: createOpenAIApi(apiOptions),
    ...options,
  };
  const fixture = await openFixture(transport, all);
  return openOn(fixture, { transport, engine, all, key: await fixture.key() });
}

interface Setting {
  readonly transport: Transport;
  readonly engine: ScriptedEngine;
  readonly all: Partial<ServiceOptions>;
  readonly key: string;
}

/** Sends requests to a path below `/v1`, with a key. */
function senderTo(fixture: Fixture, key: string, base = ""): OpenAIFixture["send"] {
  return (method, path, body, headers) => {
    const init = { method, ...jsonRequest(key, body, headers) };
    const target = `${base}/v1${path}`;
    return fixture.url === ""
      ? fixture.service.fetch(new Request(`http://twins.test${target}`, init))
      : fetch(fixture.url + target, init);
  };
}

function openOn(fixture: Fixture, setting: Setting): OpenAIFixture {
  const { transport, engine, all, key } = setting;
  const send = senderTo(fixture, key, all.basePath);
  const conversations = async () =>
    dataOf<ConversationResource[]>(await fixture.call("GET", "/conversations?limit=100", key));
  return {
    fixture,
    engine,
    key,
    send,
    chat: (body = {}, headers) =>
      send(
        "POST",
        "/chat/completions",
        { model: "ada", messages: [{ role: "user", content: "Hello?" }], ...body },
        headers,
      ),
    conversations,
    async messages(path) {
      const lists = (await conversations()).map(async ({ id }) =>
        dataOf<MessageResource[]>(
          await fixture.call("GET", `/conversations/${id}/messages?limit=100${path ? "" : "&path=all"}`, key),
        ),
      );
      return (await Promise.all(lists)).flat().sort((one, other) => (one.id < other.id ? -1 : 1));
    },
    another: async (options = {}) =>
      openOn(await openFixture(transport, { ...all, ...options }, fixture.clock), setting),
    async [Symbol.asyncDispose]() {
      const disposed = fixture[Symbol.asyncDispose]();
      await fixture.clock.advance(20_000); // longer than a shutdown waits for anything
      await disposed;
    },
  };
}

/** Fails unless a request was refused because of this parameter; null: because of none in particular. */
export async function assertParam(
  answered: Promise<Response>,
  status: number,
  param: string | null,
): Promise<void> {
  const response = await answered;
  const { error } = (await response.json()) as { error: { param: string | null } };
  assert.deepEqual([response.status, error.param], [status, param]);
}

/** The seconds in which tests start. */
export const startSeconds: number = Math.floor(startOfTests / 1000);

/** The data of a stream's events, parsed; `[DONE]` as it is, and comments left out. */
export function readData(text: string): unknown[] {
  return text
    .split("\n\n")
    .filter((event) => event !== "" && !event.startsWith(":"))
    .map((event) => {
      const data =
        event
          .split("\n")
          .find((line) => line.startsWith("data: "))
          ?.slice(6) ?? "";
      return data === "[DONE]" ? data : JSON.parse(data);
    });
}
