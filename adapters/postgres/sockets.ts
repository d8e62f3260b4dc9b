/**
 * Tracks the sockets of connections to PostgreSQL, so that none is left open.
 *
 * @module
 */

import { Socket } from "node:net";
import { clearTimeout, setTimeout } from "node:timers";

/** How long connections may take to close, in milliseconds: in a frozen network they would wait forever. */
const closingMs = 1_000;

/** Sockets that can be closed together. */
export interface Sockets {
  /** Creates a socket that is not connected yet. */
  open(): Socket;
  /** Destroys all connections. */
  destroy(): void;
  /** Resolves once all are closed. Those that have not closed within a second are destroyed. */
  close(): Promise<void>;
}

export function createSockets(): Sockets {
  const open = new Set<Socket>();
  const awaiting: (() => void)[] = [];

  function destroy(): void {
    for (const socket of open) socket.destroy();
  }

  return {
    open() {
      const socket = new Socket();
      open.add(socket);
      socket.once("close", () => {
        open.delete(socket);
        if (open.size === 0) for (const allClosed of awaiting.splice(0)) allClosed();
      });
      return socket;
    },
    destroy,
    async close() {
      if (open.size === 0) return;
      const timer = setTimeout(destroy, closingMs);
      await new Promise<void>((allClosed) => {
        awaiting.push(allClosed);
      });
      clearTimeout(timer);
    },
  };
}
