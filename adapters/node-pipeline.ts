/**
 * Requests that a client sends without waiting for the answers before them: each is begun when it is its turn. Begun
 * at once, a few bytes a request would make as many answers as one likes, all kept until their turn.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { NodeRequest } from "./node-request.ts";

/** How many requests may wait on one connection: more than anybody sends ahead. */
const mostWaiting = 100;

/** A request and its response. */
export interface Exchange {
  readonly request: NodeRequest;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

/** The requests of a connection. */
interface Line {
  /** The one that came last, until its response has closed: an old object that held a young one would keep it. */
  last: Exchange | undefined;
  waiting: number;
}

const lines = new WeakMap<Duplex, Line>();

/** The request that came last on a connection, while its answer is not out. */
export function lastOn(socket: Duplex): Exchange | undefined {
  return lines.get(socket)?.last;
}

/**
 * Calls `begin` once the responses before this one are out, if they were begun here. Never, if the connection closes
 * before, as it does when too many wait.
 */
export function inTurn(exchange: Exchange, begin: () => void): void {
  const { socket } = exchange.message;
  const line = lineOf(socket);
  const before = line && enter(line, exchange);
  if (!line || !before || exchange.response.socket) {
    begin();
    return;
  }
  line.waiting++;
  if (line.waiting > mostWaiting) socket.destroy();
  before.once("close", () => {
    line.waiting--;
    if (!socket.destroyed) begin();
  });
}

/** Returns the response before, if it is not out yet. */
function enter(line: Line, exchange: Exchange): ServerResponse | undefined {
  const before = line.last?.response;
  line.last = exchange;
  exchange.request.signal.addEventListener("abort", () => {
    if (line.last === exchange) line.last = undefined;
  });
  return before;
}

function lineOf(socket: Socket): Line | undefined {
  if (!(socket instanceof Socket)) return undefined; // a host plays the request
  const known = lines.get(socket);
  if (known) return known;
  const line: Line = { last: undefined, waiting: 0 };
  lines.set(socket, line);
  return line;
}
