/**
 * The service on Node: as a server of its own, which speaks HTTP/1.1 itself, or as a handler inside somebody else's
 * `node:http`.
 *
 * Answers are written to the socket directly, without a web `Response` in between.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Service } from "../../core/service.ts";
import {
  addressIn,
  lastAnswersMs,
  type RunningServer,
  requireService,
  type ServeOptions,
  urlOf,
} from "../http/running-server.ts";
import { writeAnswer } from "./answer.ts";
import { Connection, patrolMs } from "./http1/connection.ts";
import { type Exchange, inTurn } from "./pipeline.ts";
import { framingError, NodeRequest } from "./request.ts";

export type { RunningServer, ServeOptions } from "../http/running-server.ts";

/**
 * A handler for `node:http`, Express and other servers that use its `(request, response)` functions. For hosts that
 * wait for their handlers, it resolves once the response has closed. Never rejects.
 */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * The service as a handler for an existing server. Mount it before anything that reads bodies. It sees the full path,
 * so the service's `basePath` must be the path that it is mounted at.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { toNodeHandler } from "twin-service/node";
 *
 * createServer(toNodeHandler(service)).listen(8787);
 * ```
 *
 * @throws {TypeError} for anything but a service.
 */
export function toNodeHandler(service: Service): NodeHandler {
  requireService(service);
  return (message, response) => {
    const request = new NodeRequest(message, response);
    respond(service, { request, message, response });
    return new Promise((resolve) => {
      if (request.signal.aborted) resolve();
      else request.signal.addEventListener("abort", resolve);
    });
  };
}

function respond(service: Service, exchange: Exchange): void {
  const { request, message, response } = exchange;
  inTurn(exchange, () => {
    const refusal = framingError(message);
    if (!refusal) {
      void service.answer(request).then((answer) => writeAnswer(answer, request, response));
      return;
    }
    response.setHeader("Connection", "close"); // a client that frames one request badly may do so with the next
    writeAnswer(service.refuse(refusal), request, response);
  });
}

/**
 * Starts a server. Rejects if it cannot listen, and with a `TypeError` for an empty host or anything but a service.
 *
 * @example
 * ```ts
 * import { serve } from "twin-service/node";
 *
 * const server = await serve(service, { host: "0.0.0.0", port: 8787 });
 * console.log(`listening on ${server.url}`);
 * ```
 */
export async function serve(service: Service, options: ServeOptions = {}): Promise<RunningServer> {
  requireService(service);
  const { host, port } = addressIn(options);
  const connections = new Set<Connection>();
  let closing = false;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = new Connection(socket, { service, isClosing: () => closing });
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
  });

  await listen(server, host, port);
  const listening = addressOf(server);
  const patrol = setInterval(() => {
    for (const connection of connections) connection.countPatrol();
  }, patrolMs).unref();
  return {
    url: urlOf(listening.address, listening.port),
    async close({ graceMs } = {}) {
      closing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve())); // refuses new connections
      await service.close({ graceMs });
      const timer = setTimeout(() => {
        for (const connection of connections) connection.socket.destroy();
      }, lastAnswersMs);
      for (const connection of connections) connection.closeIfIdle();
      await closed;
      clearInterval(patrol);
      clearTimeout(timer);
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server listens on no port.");
  return address;
}
