/**
 * Writes answers to `node:http` responses.
 *
 * @module
 */

import { ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Service } from "../../core/service.ts";
import type { Answer } from "../../core/wire/request.ts";
import { connectionOf } from "./connection.ts";
import { writeEvents } from "./events.ts";
import type { NodeRequest } from "./request.ts";
import { writeText } from "./text.ts";

/** How long a client that is still sending has to read why it was refused, in milliseconds. */
const lingerMs = 2_000;

/** Has the service answer a request, once the earlier ones of its connection are answered. */
export function answerInTurn(service: Service, request: NodeRequest, isClosing = () => false): void {
  async function begin(): Promise<void> {
    const { error } = request.headers;
    const answer = error ? service.refuse(error) : await service.answer(request);
    // A client that frames one request badly may do so with the next.
    if (error || isClosing()) answer.headers.Connection = "close";
    writeAnswer(answer, request);
  }
  if (request.socket instanceof Socket) connectionOf(request.socket).enter(request, begin);
  else void begin(); // a host simulates the request
}

/** Writes the answer to a request, unless the host has answered it by itself. */
function writeAnswer(answer: Answer, request: NodeRequest): void {
  const { response } = request;
  const { body, headers } = answer;
  if (response.headersSent) return;
  if (request.leavesBodyUnread && closesLate(response)) headers.Connection = "close";
  if (body === null || typeof body === "string") writeText(answer, body, response);
  else void writeEvents(answer, body, request);
}

/**
 * Has the connection closed late after this response: at first only our half, because a client that is still sending
 * would get a reset instead of the answer. False if there is none to close: over HTTP/2 it carries others, and a host
 * that simulates a request may have nothing but a stream to write to.
 */
export function closesLate(response: ServerResponse): boolean {
  const { socket } = response;
  if (!(response instanceof ServerResponse && socket instanceof Socket)) return false;
  // Node calls this as soon as the response is written.
  socket.destroySoon = () => {
    socket.end();
    setImmediate(() => socket.pause()); // not before Node has begun to skip the rest of the body
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
  return true;
}
