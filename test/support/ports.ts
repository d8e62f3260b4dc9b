/**
 * Ports of the servers and programs that tests start.
 */

import { randomInt } from "node:crypto";
import { type AddressInfo, createConnection, createServer, type Server } from "node:net";
import { until } from "./until.ts";

/** Has a server of the test's own listen on a free port of 127.0.0.1, and returns the port. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/**
 * A port that no process listens on, and that no outgoing connection is given before it is used: systems assign those
 * from 32768 up. Two calls in a row return two different ports.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    lastPort = lastPort < 32_000 ? lastPort + 1 : 20_000;
    if (await isFree(lastPort)) return lastPort;
  }
}

let lastPort = randomInt(20_000, 32_000);

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** Resolves once a port accepts connections. Rejects after 10 seconds. */
export async function untilListening(port: number): Promise<void> {
  await until(`something listens on port ${port}`, 10_000, () => {
    return new Promise<boolean>((resolve) => {
      const socket = createConnection(port, "127.0.0.1");
      socket.once("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
  });
}
