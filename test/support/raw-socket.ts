/**
 * Bytes to a server and back: for requests that no well-behaved client sends.
 */

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import type { Chat } from "./chat.ts";
import { assertCommon, assertError } from "./conformance.ts";

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Sends bytes, and resolves with all that comes back until the server closes. Rejects on a reset. */
export function sendBytes(url: string, ...parts: readonly (string | Uint8Array)[]): Promise<string> {
  return talk(url, (socket) => {
    for (const part of parts) socket.write(part);
  });
}

/**
 * Opens a connection for `speak`, and calls `heard` with everything received so far each time that more arrives.
 * Resolves with all of it once the connection is closed.
 */
export function talk(
  url: string,
  speak: (socket: Socket) => void,
  heard: (text: string, socket: Socket) => void = () => {},
): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(Number(port), hostname, () => speak(socket));
    socket.setTimeout(20_000, () => socket.destroy(new Error(`No end after: ${JSON.stringify(text)}`)));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      heard(text, socket);
    });
    socket.on("end", () => socket.destroy());
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
}

/** A request's head with the fields that every request has. */
export function head(requestLine: string, ...fields: readonly string[]): string {
  return [requestLine, "Host: twins.test", "Connection: close", ...fields, "", ""].join("\r\n");
}

/** A request that sends a message into a conversation, and leaves the connection open. */
export function post(
  { key, conversationId: own }: Pick<Chat, "key" | "conversationId">,
  path: string,
  conversationId = own,
): string {
  const body = JSON.stringify({ content: "Hello?" });
  return [
    `POST /api/v1/conversations/${conversationId}/${path} HTTP/1.1`,
    "Host: twins.test",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

/** The answers in what came over a connection, `100 Continue` among them. */
export function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n");
    const [statusLine = "", ...fields] = rest.slice(0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    assert.ok(end > 0 && status, `not an answer: ${JSON.stringify(rest.slice(0, 200))}`);
    const headers = new Headers(
      fields.map((field) => [field.slice(0, field.indexOf(":")), field.slice(field.indexOf(":") + 1).trim()]),
    );
    const length = Number(headers.get("content-length") ?? 0);
    answers.push({ status, headers, body: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

/** Fails unless what was received is a single error answer with this status and code. */
export function assertRefused(text: string, status: number, code: string): RawAnswer {
  const [answer, ...more] = parseAnswers(text);
  assert.ok(answer, "there is an answer");
  assert.deepEqual(more, [], "there is only one answer");
  assert.equal(answer.status, status, answer.body);
  assertCommon(answer);
  assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
  const body = JSON.parse(answer.body) as { error: { code: string } };
  assertError(body, answer.headers);
  assert.equal(body.error.code, code);
  return answer;
}
