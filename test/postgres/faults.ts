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
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

/**
 * A network on which no notification arrives, and connections have another process's number, as behind a pooler that gives
 * each transaction another connection.
 */
export async function openPooling(server: string) {
  const { hostname, port } = new URL(server);
  const sockets: Socket[] = [];
  const proxy = createServer((near) => {
    const far = connectTo(Number(port || 5432), hostname);
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on("error", () => {});
    near.pipe(far);
    let rest = Buffer.alloc(0);
    far.on("data", (some) => {
      rest = Buffer.concat([rest, some]);
      while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
        const message = rest.subarray(0, 1 + rest.readUInt32BE(1));
        rest = rest.subarray(message.length);
        const kind = String.fromCharCode(message[0] ?? 0);
        if (kind === "K") message.writeUInt32BE(message.readUInt32BE(5) + 1, 5); // BackendKeyData
        if (kind !== "A") near.write(message); // NotificationResponse
      }
    });
    far.on("close", () => near.destroy());
    near.on("close", () => far.destroy());
  });
  const url = new URL(server);
  url.host = `127.0.0.1:${await listen(proxy)}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
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
