/**
 * Networks and pools that fail on demand.
 */

import { connect as connectTo, createServer, type Socket } from "node:net";
import type { Pool } from "pg";
import { listen } from "../support/ports.ts";

/** A proxy to a server that can silently stop forwarding, on demand or when the client sends certain words. */
export async function openNetwork(server: string, lastWords?: string) {
  const { hostname, port } = new URL(server);
  let leadsTo = Number(port || 5432);
  const sockets: Socket[] = [];
  const freeze = () => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  const proxy = createServer((near) => {
    const far = connectTo(leadsTo, hostname);
    near.on("data", (text) => {
      if (lastWords !== undefined && text.includes(lastWords)) freeze(); // before it is forwarded
    });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("error", () => {});
      from.pipe(to);
      sockets.push(from);
    }
  });
  const url = new URL(server);
  url.host = `127.0.0.1:${await listen(proxy)}`;
  return {
    url: url.href,
    get connections() {
      return sockets.length / 2;
    },
    freeze,
    /** Has new connections lead to another port, as in a failover. */
    moveTo(other: number) {
      leadsTo = other;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

/** A pool whose queries all fail with this error, and how many there were. */
export function failingPool(error: Error) {
  let asked = 0;
  const query = async () => {
    asked++;
    throw error;
  };
  return { pool: { connect: async () => ({ query, release() {} }) } as unknown as Pool, asked: () => asked };
}
