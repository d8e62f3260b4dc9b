/**
 * The service on Node's `node:http`: as a server of its own, or as a handler inside somebody else's.
 *
 * Answers are written to the socket directly, without a web `Response` in between.
 *
 * @module
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Service } from "../core/service.ts";
import { maxHeaderBytes } from "./header-section.ts";
import { writeAnswer } from "./node-answer.ts";
import { type Exchange, inTurn } from "./node-pipeline.ts";
import { framingError, refuseUnhandled } from "./node-refusal.ts";
import { NodeRequest } from "./node-request.ts";
import {
  addressIn,
  keepAliveMs,
  lastAnswersMs,
  type RunningServer,
  requireService,
  type ServeOptions,
  urlOf,
} from "./running-server.ts";

export type { RunningServer, ServeOptions } from "./running-server.ts";

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

function respond(service: Service, exchange: Exchange, isClosing = () => false): void {
  const { request, message, response } = exchange;
  inTurn(exchange, () => {
    const refusal = framingError(message);
    if (!refusal) {
      void service.answer(request).then((answer) => {
        if (isClosing() && !response.headersSent) response.setHeader("Connection", "close");
        writeAnswer(answer, request, response);
      });
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
  const server = createServer({
    maxHeaderSize: maxHeaderBytes, // the path counts, too
    keepAliveTimeout: keepAliveMs,
    requireHostHeader: false, // Node's own refusal has no body; framingError() answers
  });
  const sockets = new Set<Socket>();
  let closing = false;
  const isClosing = () => closing;

  function handle(message: IncomingMessage, response: ServerResponse, awaitsContinue = false): void {
    // Node's parser loses what follows an offer to upgrade.
    if (message.headers.upgrade !== undefined) response.setHeader("Connection", "close");
    const request = new NodeRequest(message, response, { awaitsContinue });
    respond(service, { request, message, response }, isClosing);
  }

  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("request", (message, response) => handle(message, response));
  server.on("checkExpectation", (message, response) => handle(message, response)); // Node would answer 417 by itself
  server.on("checkContinue", (message, response) => handle(message, response, true));
  refuseUnhandled(server, service);

  await listen(server, host, port);
  const listening = addressOf(server);
  return {
    url: urlOf(listening.address, listening.port),
    async close({ graceMs } = {}) {
      closing = true;
      const closed = stopListening(server);
      await service.close({ graceMs });
      const timer = setTimeout(() => server.closeAllConnections(), lastAnswersMs);
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      server.closeIdleConnections();
      // A browser's connection in advance, say: Node does not count it as idle before its first request.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      await closed;
      clearInterval(sweep);
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

/**
 * Refuses new connections. `http.Server.close()` would also close idle ones (Node ≥ 19), whose clients may be about to
 * check whether the server is still ready.
 */
function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => {
      server.close(() => {}); // stops the HTTP layer's own timers; it is closed already
      resolve();
    });
  });
}
