/**
 * The service on `node:http`: as a server of its own, or as a handler inside a host's server.
 *
 * Answers are written to Node's response directly, without a web `Response` in between.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, Server } from "node:net";
import type { Service } from "../../core/service.ts";
import {
  addressIn,
  lastAnswersMs,
  type RunningServer,
  requireService,
  type ServeOptions,
  urlOf,
} from "../http/running-server.ts";
import { answerInTurn } from "./answer.ts";
import { NodeRequest } from "./request.ts";
import { createNodeServer } from "./server.ts";

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
    answerInTurn(service, request);
    return new Promise((resolve) => {
      if (request.aborted) resolve();
      else request.addEventListener("abort", resolve);
    });
  };
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
  let closing = false;
  const { server, connections } = createNodeServer(service, () => closing);
  await listen(server, host, port);
  const listening = addressOf(server);
  return {
    url: urlOf(listening.address, listening.port),
    async close({ graceMs } = {}) {
      closing = true;
      const closed = stopListening(server);
      await service.close({ graceMs });
      const timer = setTimeout(() => server.closeAllConnections(), lastAnswersMs);
      for (const connection of connections) connection.close();
      await closed;
      clearTimeout(timer);
      server.close(); // ends Node's checks of how long requests take
    },
  };
}

/** Refuses new connections. Resolves once the open ones are closed; `close` itself would close idle ones at once. */
function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    Server.prototype.close.call(server, () => resolve());
  });
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
