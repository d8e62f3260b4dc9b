/**
 * Requests that a client sends without waiting for the answers before them.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

/** The responses whose turn on their connection had not come when their request did. */
const queued = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Closes a response that waits for its turn once its connection has closed. Node tells that only to the response
 * whose turn it is: the others would be written, and followed, for a client that has gone.
 */
export function closeWithConnection({ socket }: IncomingMessage, response: ServerResponse): void {
  if (response.socket || !(socket instanceof Socket)) return; // it is its turn, or a host plays the request
  const waiting = queued.get(socket) ?? watch(socket);
  waiting.add(response);
  response.once("close", () => waiting.delete(response));
}

/** Whether a response waits behind others on its connection, so that its reader cannot take anything. */
export function waitsForTurn(response: ServerResponse): boolean {
  const { req, socket } = response; // where a host plays the request, it may have neither
  return !socket && req !== undefined && (queued.get(req.socket)?.has(response) ?? false);
}

/** Makes a function that tells whether a response had its turn all the time since one last asked. */
export function createTurns(response: ServerResponse): () => boolean {
  let waited = waitsForTurn(response);
  return () => {
    const waitedBefore = waited;
    waited = waitsForTurn(response);
    return !waitedBefore && !waited;
  };
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
