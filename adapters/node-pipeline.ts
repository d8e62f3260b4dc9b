/**
 * Requests that a client sends without waiting for the answers before them: each is begun when it is its turn. Begun
 * at once, a few bytes a request would make as many answers as one likes, all kept until their turn.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

/** How many requests may wait on one connection: more than anybody sends ahead. */
const mostWaiting = 100;

/** The requests of a connection. */
interface Line {
  last: ServerResponse | undefined;
  waiting: number;
}

const lines = new WeakMap<Socket, Line>();

/**
 * Calls `begin` once the responses before this one are out, if they were begun here. Never, if the connection closes
 * before, as it does when too many wait.
 */
export function inTurn({ socket }: IncomingMessage, response: ServerResponse, begin: () => void): void {
  const line = lineOf(socket);
  const last = line?.last;
  if (line) line.last = response;
  if (!line || !last || response.socket || last.closed) {
    begin();
    return;
  }
  line.waiting++;
  if (line.waiting > mostWaiting) socket.destroy();
  last.once("close", () => {
    line.waiting--;
    if (!socket.destroyed) begin();
  });
}

function lineOf(socket: Socket): Line | undefined {
  if (!(socket instanceof Socket)) return undefined; // a host plays the request
  const known = lines.get(socket);
  if (known) return known;
  const line: Line = { last: undefined, waiting: 0 };
  lines.set(socket, line);
  return line;
}
