/**
 * Writes answers to `node:http` responses and to bare sockets.
 *
 * @module
 */

import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Answer } from "../core/answer.ts";
import type { EventStream } from "../core/sse.ts";
import type { NodeRequest } from "./node-request.ts";

/** How long a reader may take nothing of an answer that is written, in milliseconds. */
const stallMs = 60_000;

/** How long a client that still sends has to read why it was refused, in milliseconds. */
const lingerMs = 2_000;

/** Writes an answer to a request, unless it has got one: a body that is no HTTP is refused while it is read. */
export function writeAnswer(answer: Answer, request: NodeRequest, response: ServerResponse): void {
  const { body } = answer;
  if (response.headersSent) return;
  const { socket } = response;
  if (body !== null && typeof body !== "string") writeEvents(answer, body, response);
  else if (request.leavesBodyUnread && socket) hangUp(socket, answer);
  else writeText(answer, body, response);
}

function writeText({ status, headers }: Answer, body: string | null, response: ServerResponse): void {
  const length = body === null ? {} : { "Content-Length": Buffer.byteLength(body) };
  response.writeHead(status, { ...headers, ...length });
  response.end(body ?? undefined);
  response.socket?.setTimeout(stallMs);
}

/**
 * Writes an event stream: what there is once a turn of the event loop, and no more than the socket takes.
 */
function writeEvents({ status, headers }: Answer, events: EventStream, response: ServerResponse): void {
  let scheduled = false;
  let blocked = false;

  function flush(): void {
    scheduled = false;
    while (!blocked && !response.destroyed) {
      const text = events.read();
      if (text === "") break;
      blocked = !response.write(text);
    }
    if (!events.ended || response.writableEnded) return;
    response.end();
    response.socket?.setTimeout(stallMs);
  }

  function ready(): void {
    if (scheduled || blocked) return;
    scheduled = true;
    setImmediate(flush);
  }

  events.attach(ready, () => response.destroy());
  response.on("drain", () => {
    blocked = false;
    flush();
  });
  response.on("close", () => events.detach());
  if (response.destroyed) {
    events.detach();
  } else {
    response.writeHead(status, headers);
    flush();
  }
}

/**
 * Answers on the bare socket and closes it: where there is no request to answer, or a body that nobody will
 * read. First only our half is closed: a client that still sends would take a reset for the answer.
 */
export function hangUp(socket: Duplex, { status, headers, body }: Answer): void {
  if (!socket.writable) return; // closed meanwhile, or hung up on already
  const text = typeof body === "string" ? body : "";
  const fields = Object.entries({
    ...headers,
    "Content-Length": Buffer.byteLength(text),
    Date: new Date().toUTCString(),
    Connection: "close",
  });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.pause();
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${text}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
