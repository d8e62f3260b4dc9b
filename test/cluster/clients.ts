/**
 * Clients of the servers of a cluster, for the tests of several processes.
 */

import assert from "node:assert/strict";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { dataOf, jsonRequest, parseEvents, textOf } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { type ServerProcess, token } from "./server.ts";

/** One of two servers, in no particular order. */
let turn = 0;
export function either<Value>([one, other]: readonly [Value, Value]): Value {
  return (turn++ * 7919) % 5 < 2 ? one : other;
}

/** The address of a server, or of a proxy in front of it. */
export type Address = Pick<ServerProcess, "url">;

export type Servers = [ServerProcess, ServerProcess];

/** Sends a request to one server. */
export function call(
  server: Address,
  method: string,
  path: string,
  credential: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${server.url}/api/v1${path}`, { method, ...jsonRequest(credential, body, headers) });
}

export async function newKey(server: Address, owner: string): Promise<{ key: string }> {
  const made = { name: "cluster", scope: "full_access" };
  return dataOf(await call(server, "POST", "/auth/api-keys", await token(owner), made));
}

export async function newConversation(server: Address, key: string, twinId: string): Promise<string> {
  const response = await call(server, "POST", "/conversations", key, { twinId });
  return `/conversations/${(await dataOf<{ id: string }>(response)).id}`;
}

/** An event stream being read: what has arrived, and when it ends. */
export interface Reading {
  readonly text: () => string;
  readonly raw: () => string;
  readonly done: Promise<void>;
}

export function read(response: Response, noted: (text: string) => void = () => {}): Reading {
  assert.equal(response.status, 200);
  let raw = "";
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const text = () => textOf(parseEvents(raw.slice(0, raw.lastIndexOf("\n\n") + 2)));
  const done = (async () => {
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      raw += part.value;
      noted(text());
    }
  })();
  return { text, raw: () => raw, done };
}

/** Begins a reply of that many words on a server, and waits for the first. */
export async function beginReply(server: Address, key: string, path: string, words: number) {
  const reading = read(
    await call(server, "POST", `${path}/messages/stream`, key, { content: String(words) }),
  );
  await until("the reply has begun", 10_000, () => reading.text() !== "");
  const messageId = /"messageId":"(\w+)"/.exec(reading.raw())?.[1];
  return { reading, replyPath: `${path}/messages/${messageId}` };
}

export async function historyOf(server: Address, key: string, path: string): Promise<MessageResource[]> {
  return dataOf(await call(server, "GET", `${path}/messages?limit=100`, key));
}

export async function ready(server: Address): Promise<boolean> {
  return (await fetch(`${server.url}/readyz`)).status === 200;
}

export const settings = { LEASE_MS: "3000", HEARTBEAT_MS: "1000", MODEL_NAME: "slow" };
