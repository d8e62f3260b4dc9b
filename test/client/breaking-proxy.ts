/**
 * A proxy between a client and a server that breaks connections where a test says.
 */

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { listen } from "../support/ports.ts";

/** How a connection breaks: it ends, it is reset, it falls silent, or the proxy answers 502 itself. */
export type Break = "end" | "reset" | "stall" | "502";

/**
 * Where a connection breaks: behind these texts of what the server sends, one after the other, and some bytes; or behind the
 * request, before the server sends anything.
 */
export interface Fault {
  readonly after: readonly string[] | "request";
  readonly plus?: number;
  readonly how: Break;
}

export interface BreakingProxy extends AsyncDisposable {
  readonly url: string;
  /** The request lines of all requests so far. */
  readonly requests: string[];
  /** The faults that are still to come: each happens once. */
  readonly faults: Fault[];
}

/** Starts a proxy whose connections break at the given faults, in their order. */
export async function openBreakingProxy(target: string, faults: readonly Fault[]): Promise<BreakingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  const pending = [...faults];
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {}); // it is what this proxy is for
      socket.on("close", () => sockets.delete(socket));
    }
    client.on("data", (bytes) => {
      requests.push(...(bytes.toString("latin1").match(/^[A-Z]+ \S+(?= HTTP\/1\.1)/gm) ?? []));
      upstream.write(bytes);
      const [fault] = pending;
      if (fault?.after === "request") breakAt(fault);
    });
    const breakAt = ({ how }: Fault) => {
      pending.shift();
      upstream.removeAllListeners("data").resume();
      breakConnection(client, how);
    };
    client.on("close", () => upstream.destroy());
    relay(upstream, client, pending, breakAt);
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    requests,
    faults: pending,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Passes on what the server sends, up to the next fault. */
function relay(
  upstream: Socket,
  client: Socket,
  faults: readonly Fault[],
  breakAt: (fault: Fault) => void,
): void {
  let received = Buffer.alloc(0);
  let sent = 0;
  upstream.on("data", (bytes) => {
    received = Buffer.concat([received, bytes]);
    const [fault] = faults;
    const end = fault && positionOf(fault, received);
    client.write(received.subarray(sent, end));
    sent = end ?? received.length;
    if (fault && end !== undefined) breakAt(fault);
  });
  upstream.on("close", () => client.end());
}

/** The number of bytes up to a fault. Undefined: it has not been reached. */
function positionOf({ after, plus = 0 }: Fault, received: Buffer): number | undefined {
  if (after === "request") return undefined;
  let position = 0;
  for (const text of after) {
    const found = received.indexOf(text, position);
    if (found < 0) return undefined;
    position = found + Buffer.byteLength(text);
  }
  return position + plus <= received.length ? position + plus : undefined;
}

function breakConnection(client: Socket, how: Break): void {
  switch (how) {
    case "end":
      return void client.end();
    case "reset":
      return void client.resetAndDestroy();
    case "502":
      return void client.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    case "stall":
      return;
  }
}
