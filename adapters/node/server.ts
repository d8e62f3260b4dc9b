/**
 * A `node:http` server that answers everything in the service's own shape, also what is no request.
 *
 * @module
 */

import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { Service } from "../../core/service.ts";
import { maxHeaderBytes } from "../http/header-section.ts";
import { keepAliveMs } from "../http/running-server.ts";
import { answerInTurn } from "./answer.ts";
import { type Connection, connectionOf } from "./connection.ts";
import { connectRefusal, type ParserError, refusalOf, refuseBytes } from "./refusal.ts";
import { NodeRequest } from "./request.ts";

/** How long a request's head may take to arrive, in milliseconds. Its body has a limit of the service's. */
const headMs = 60_000;

/** How long a whole request may take, in milliseconds, if its body is skipped. */
const requestMs = 120_000;

/** How often Node looks for connections that have taken longer, in milliseconds. */
const checkMs = 1_000;

/** Creates a server that does not listen yet. `isClosing`: whether answers have to close their connections. */
export function createNodeServer(
  service: Service,
  isClosing: () => boolean,
): { readonly server: Server; readonly connections: ReadonlySet<Connection> } {
  const answer = (awaitsContinue: boolean): RequestListener => {
    return (message, response) =>
      answerInTurn(service, new NodeRequest(message, response, awaitsContinue), isClosing);
  };
  const server = createServer({
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
