/**
 * A forward proxy for tests, as `HTTP_PROXY` and `HTTPS_PROXY` name one. Whatever host it is asked for, it connects to a
 * server on this machine.
 */

import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Certificate } from "../support/certificates.ts";
import { listen } from "../support/ports.ts";

/** A running {@link startForwardProxy}. */
export interface ForwardProxy {
  readonly url: string;
  /** What it was asked for: `GET http://host/path`, or `CONNECT host:port`. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** Starts a proxy in front of the server on this port. With a certificate, it is the end of the tunnels' TLS, too. */
export async function startForwardProxy(port: number, certificate?: Certificate): Promise<ForwardProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    forward(incoming, response, port);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("connect", ({ url }: IncomingMessage, socket: Socket) => {
    asked.push(`CONNECT ${url}`);
    socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    const inside = certificate ? new TLSSocket(socket, { isServer: true, ...certificate }) : socket;
    const upstream = connect(port, "127.0.0.1");
    inside.pipe(upstream).pipe(inside);
    for (const end of [inside, upstream]) end.on("error", () => inside.destroy() && upstream.destroy());
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function forward(incoming: IncomingMessage, response: ServerResponse, port: number): void {
  const { pathname, search } = new URL(incoming.url ?? "");
  const { method, headers } = incoming;
  const path = `${pathname}${search}`;
  const outgoing = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  incoming.pipe(outgoing);
  outgoing.on("error", () => response.destroy());
  response.on("close", () => outgoing.destroy());
}
