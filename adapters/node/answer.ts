/**
 * Writes answers to `node:http` responses and to bare sockets.
 *
 * @module
 */

import { type OutgoingHttpHeaders, ServerResponse, STATUS_CODES } from "node:http";
import { Duplex } from "node:stream";
import type { Answer } from "../../core/wire/request.ts";
import { writeEvents } from "./events.ts";
import type { NodeRequest } from "./request.ts";
import { writeText } from "./text.ts";

/** How long a client that is still sending has to read why it was refused, in milliseconds. */
const lingerMs = 2_000;

/** Writes the answer to a request, unless the host has answered it by itself. */
export function writeAnswer(answer: Answer, request: NodeRequest, response: ServerResponse): void {
  const { body } = answer;
  if (response.headersSent) return;
  const connection = ownConnection(response);
  if (body !== null && typeof body !== "string") writeEvents(answer, body, request.signal, response);
  else if (request.leavesBodyUnread && connection)
    hangUp(connection, withHostFields(answer, response), request.method);
  else writeText(answer, body, response);
}

/**
 * The connection, if it can be closed after this response: over HTTP/2 it carries others, and a host that simulates a
 * request may have nothing but a stream to write to.
 */
function ownConnection(response: ServerResponse): Duplex | undefined {
  const { socket } = response;
  return response instanceof ServerResponse && socket instanceof Duplex ? socket : undefined;
}

/**
 * An answer that bypasses its response, with the header fields that the host has set there. The host's log finds the
 * status.
 */
function withHostFields({ status, headers, body }: Answer, response: ServerResponse): BareAnswer {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.removeHeader("Connection"); // it is closed, whatever the host would do
  return { status, headers: response.getHeaders(), body };
}

/** An answer for a bare socket. */
type BareAnswer = Omit<Answer, "headers"> & { readonly headers: OutgoingHttpHeaders };

/**
 * Answers on the bare socket and closes it: for input that is not a request, or a body that nobody will read. At first
 * only our half is closed, because a client that is still sending would get a reset instead of the answer.
 */
export function hangUp(socket: Duplex, { status, headers, body }: BareAnswer, method: string): void {
  if (!socket.writable) return; // closed meanwhile, or hung up on already
  const text = typeof body === "string" ? body : undefined;
  const fields = Object.entries({
    ...headers, // with the length that HEAD asks for
    ...(text !== undefined && { "Content-Length": Buffer.byteLength(text) }),
    Date: new Date().toUTCString(),
    Connection: "close",
  });
  const lines = fields.flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`));
  socket.pause();
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${method === "HEAD" ? "" : (text ?? "")}`,
  );
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
