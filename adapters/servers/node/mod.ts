/// <reference types="node" preserve="true" />

/**
 * The service on `node:http`: as a server of its own, or as a handler inside a host's server.
 *
 * Answers are written to Node's response directly, without a web `Response` in between.
 *
 * @module
 */

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { type Socket, Server as TcpServer } from "node:net";
import type { Service } from "../../../core/service.ts";
import { maxHeaderBytes } from "../header-section.ts";
import {
  addressIn,
  keepAliveMs,
  lastAnswersMs,
  type RunningServer,
  requireService,
  type ServeOptions,
  urlOf,
} from "../running-server.ts";
import { answerInTurn, type Connection, connectionOf } from "./connection.ts";
import { JoinedMessage } from "./joined-message.ts";
import { connectRefusal, type ParserError, refusalOf, refuseBytes } from "./refusal.ts";
import { NodeRequest } from "./request.ts";

export type { RunningServer, ServeOptions } from "../running-server.ts";

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
  const listening = server.address();
  if (listening === null || typeof listening === "string") throw new Error("The server listens on no port.");
  const close: RunningServer["close"] = async ({ graceMs } = {}) => {
    closing = true;
    // Refuses new connections, and resolves once the open ones are closed. `close` itself would close idle ones at once.
    const closed = new Promise<void>((resolve) => {
      TcpServer.prototype.close.call(server, () => resolve());
    });
    for (const connection of connections) connection.leaveProxy();
    await service.close({ graceMs });
    const timer = setTimeout(() => server.closeAllConnections(), lastAnswersMs);
    for (const connection of connections) connection.close();
    await closed;
    clearTimeout(timer);
    server.close(); // ends Node's checks of how long requests take
  };
  return { url: urlOf(listening.address, listening.port), close, [Symbol.asyncDispose]: close };
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

/** How long a request's head may take to arrive, in milliseconds. Its body has a limit of the service's. */
const headMs = 60_000;

/** How long a whole request may take, in milliseconds, if its body is skipped. */
const requestMs = 120_000;

/** How often Node looks for connections that have taken longer, in milliseconds. */
const checkMs = 1_000;

/**
 * Creates a server that answers everything in the service's own shape, also what is no request. It does not listen yet.
 * `isClosing`: whether answers have to close their connections.
 */
function createNodeServer(
  service: Service,
  isClosing: () => boolean,
): { readonly server: Server; readonly connections: ReadonlySet<Connection> } {
  const answer = (awaitsContinue: boolean): RequestListener => {
    return (message, response) =>
      answerInTurn(service, new NodeRequest(message, response, awaitsContinue), isClosing);
  };
  const server = createServer({
    IncomingMessage: JoinedMessage,
    maxHeaderSize: maxHeaderBytes,
    requireHostHeader: false, // such a request gets an answer in our shape
    keepAliveTimeout: keepAliveMs,
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
  });
  server.on("request", answer(false));
  server.on("checkContinue", answer(true));
  server.on("checkExpectation", answer(false));
  server.on("connect", (_, socket: Socket) => {
    socket.on("error", () => socket.destroy());
    connectionOf(socket).endWith(() => refuseBytes(service, connectRefusal, socket));
  });
  server.on("clientError", (error: ParserError, socket: Socket) => {
    if (socket.writableEnded) return; // it was refused, and is still sending; destroyed now, it would get a reset instead
    if (!socket.writable || socket.bytesRead === 0)
      socket.destroy(); // it broke, or the client never sent anything
    else connectionOf(socket).breakOff(error, () => refuseBytes(service, refusalOf(error), socket));
  });
  return { server, connections: connectionsOf(server) };
}

/** The open connections of a server. */
function connectionsOf(server: Server): ReadonlySet<Connection> {
  const connections = new Set<Connection>();
  server.on("connection", (socket) => {
    const connection = connectionOf(socket);
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
  });
  return connections;
}
