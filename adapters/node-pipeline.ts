/**
 * Requests that a client sends without waiting for the answers before them.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The responses whose turn on their connection has not come. */
const queued = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Closes a response that waits for its turn once its connection has closed. Node tells that only to the response
 * whose turn it is: the others would be written, and followed, for a client that has gone.
 */
export function closeWithConnection({ socket }: IncomingMessage, response: ServerResponse): void {
  if (response.socket) return; // it is its turn
  const waiting = queued.get(socket) ?? watch(socket);
  waiting.add(response);
  response.once("close", () => waiting.delete(response));
}

function watch(socket: Socket): Set<ServerResponse> {
  const waiting = new Set<ServerResponse>();
  queued.set(socket, waiting);
  socket.once("close", () => {
    for (const response of waiting) {
      if (response.socket) continue; // its turn has come
      response.destroy();
      response.emit("close");
    }
  });
  return waiting;
}
