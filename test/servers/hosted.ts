/**
 * What the tests of the Node adapter share: a host's own server, and a reader that stops reading.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { mock } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type NodeHandler, toNodeHandler } from "../../adapters/servers/node/mod.ts";
import type { Service } from "../../core/mod.ts";
import type { Transport } from "../support/harness.ts";
import { listen } from "../support/ports.ts";

/** A host's own server, which a test can observe. */
export function hosted() {
  const server = createServer();
  const transport: Transport = {
    name: "in a host's own server",
    async open(service: Service) {
      server.on("request", toNodeHandler(service));
      const url = `http://127.0.0.1:${await listen(server)}`;
      return {
        url,
        send: (path, init) => fetch(url + path, init),
        async close() {
          await service.close({ graceMs: 0 });
          server.close();
          server.closeAllConnections();
        },
      };
    },
  };
  return { server, transport };
}

/** Has a host do something of its own with each request, and with the service's handler. */
export function putBefore(
  server: Server,
  host: (handle: NodeHandler, message: IncomingMessage, response: ServerResponse) => unknown,
): void {
  const [handle] = server.listeners("request") as NodeHandler[];
  if (!handle) throw new Error("The service has no handler yet.");
  server.removeAllListeners("request");
  server.on("request", (message, response) => void host(handle, message, response));
}

/** Stops the timers of `setTimeout` until the end of the holder's block: they run only when a test says so. */
export function stopTimers(): Disposable & { tick(milliseconds: number): void } {
  mock.timers.enable({ apis: ["setTimeout"] });
  return {
    tick: (milliseconds) => mock.timers.tick(milliseconds),
    [Symbol.dispose]: () => mock.timers.reset(),
  };
}

/** Counts the responses of a server that have been destroyed so far. */
export function countDestroyed(server: Server): () => number {
  const responses: ServerResponse[] = [];
  server.prependListener("request", (_, response) => responses.push(response));
  return () => responses.filter((response) => response.destroyed && !response.writableFinished).length;
}

/** What resolves once the connections of a server take no more: until then, the system's buffers may grow for a reader. */
export function watchWrites(server: Server): () => Promise<void> {
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  const taken = () => sockets.reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0);
  return async () => {
    for (let before = -1; before !== taken(); ) {
      before = taken();
      await setTimeout(100); // only the system knows
    }
  };
}

/** A connection that sends `requests`, reads the beginning of the answer, and then no more until told to. */
export async function openReader(url: string, requests: string) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {}); // being cut may be a reset
  socket.write(requests);
  const [head] = (await once(socket, "data")) as [Buffer];
  socket.pause();
  let text = head.toString("latin1");
  return {
    write: (more: string) => socket.write(more),
    /** Reads about 4 MB more. */
    async takeSome(): Promise<void> {
      for (let taken = 0; taken < 4_000_000; ) {
        const bytes: Buffer | null = socket.read();
        if (bytes) text += bytes.toString("latin1");
        else await once(socket, "readable");
        taken += bytes?.length ?? 0;
      }
    },
    /** Everything received once the connection is closed or `end` has arrived. */
    async readUntil(end: string): Promise<string> {
      const closed = once(socket, "close");
      let tail = text.slice(-end.length);
      socket.on("data", (bytes: Buffer) => {
        const more = bytes.toString("latin1");
        text += more;
        tail = tail.slice(-end.length) + more; // searching all of a long text for each piece would take forever
        if (tail.includes(end)) socket.destroy();
      });
      socket.resume();
      await closed;
      return text;
    },
  };
}
