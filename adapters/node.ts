/**
 * The service on Node's `node:http`: as a server of its own, or as a handler inside somebody else's.
 *
 * Answers are written to the socket as they are, without a web `Response` between.
 *
 * @module
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import { ApiError } from "../core/errors.ts";
import type { Service } from "../core/service.ts";
import { hangUp, writeAnswer } from "./node-answer.ts";
import { NodeRequest } from "./node-request.ts";

/** Options of {@link serve}. */
export interface ServeOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** Default 8787; 0 picks a free one. */
  readonly port?: number;
}

/** A server that listens. */
export interface RunningServer {
  /** Where it listens, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /**
   * Takes no new connections, closes the service with `graceMs` milliseconds for running replies (default
   * 25,000), then ends the connections.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** What a request's header fields may come to, in bytes. */
const maxHeaderBytes = 64 * 1024;

/** How many header fields a request may have. */
const maxHeaderFields = 100;

/** How long idle connections stay open: longer than load balancers keep theirs, in milliseconds. */
const keepAliveMs = 65_000;

/** How long the last answers have to reach their readers, in milliseconds. */
const lastAnswersMs = 5_000;

/** A handler for `node:http`, Express and other servers with its `(request, response)` functions. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * The service as a handler of a server that already exists. Mount it before anything that reads bodies. The
 * path is taken whole, so the service's `basePath` must name where it is mounted.
 */
export function toNodeHandler(service: Service): NodeHandler {
  return (message, response) => {
    const request = new NodeRequest(message, response);
    const refusal = framingError(message);
    if (refusal) writeAnswer(service.refuse(refusal), request, response);
    else void service.answer(request).then((answer) => writeAnswer(answer, request, response));
  };
}

/** Starts a server. Rejects if it cannot listen. */
export async function serve(service: Service, options: ServeOptions = {}): Promise<RunningServer> {
  const { host = "127.0.0.1", port = 8787 } = options;
  const handler = toNodeHandler(service);
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: keepAliveMs,
    requireHostHeader: false, // Node's own refusal has no body; framingError() answers
  });
  let closing = false;

  function handle(message: IncomingMessage, response: ServerResponse): void {
    if (closing) response.setHeader("Connection", "close");
    handler(message, response);
  }
  server.on("request", handle);
  server.on("checkContinue", handle); // NodeRequest says 100 once the body is asked for
  server.on("checkExpectation", (message, response) => {
    const error = new ApiError("invalid_request", "Of Expect, only 100-continue is understood.");
    writeAnswer(service.refuse(error), new NodeRequest(message, response), response);
  });
  server.on("connect", (_, socket) => hangUp(socket, service.refuse(notAPath())));
  server.on("clientError", (error: ClientError, socket) => refuseSocket(service, error, socket));

  await listen(server, host, port);
  return {
    url: urlOf(server),
    async close({ graceMs } = {}) {
      closing = true;
      const closed = stopListening(server);
      await service.close(graceMs === undefined ? {} : { graceMs });
      const timer = setTimeout(() => server.closeAllConnections(), lastAnswersMs);
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      server.closeIdleConnections();
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

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server listens on no port.");
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

/**
 * Refuses new connections. `http.Server.close()` would drop idle ones at once (Node ≥ 19), whose clients may
 * be about to ask whether the server is still ready.
 */
function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => {
      server.close(() => {}); // stops the HTTP layer's own timers; it is closed already
      resolve();
    });
  });
}

/** What Node's parser lets through, and what the service does not see of the header section. */
function framingError(message: IncomingMessage): ApiError | undefined {
  const { rawHeaders, httpVersion } = message;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return new ApiError("invalid_request", "The protocol must be HTTP/1.1 or HTTP/1.0.");
  }
  if (rawHeaders.length / 2 > maxHeaderFields) {
    return new ApiError("headers_too_large", `There are more than ${maxHeaderFields} header fields.`);
  }
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === "host") hosts++;
  }
  if (hosts > 1 || (hosts === 0 && httpVersion === "1.1")) {
    return new ApiError("invalid_request", "There must be exactly one Host header.");
  }
  return undefined;
}

interface ClientError extends Error {
  readonly code?: string;
  /** The bytes that the parser stopped in. */
  readonly rawPacket?: Uint8Array;
}

/** Answers bytes that are no request. */
function refuseSocket(service: Service, error: ClientError, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
  else hangUp(socket, service.refuse(parserError(error)));
}

function parserError(error: ClientError): ApiError {
  if (error.code === "HPE_HEADER_OVERFLOW") {
    const inRequestLine = !error.rawPacket?.includes(10);
    if (inRequestLine) return new ApiError("uri_too_long", "The path and query are too long.");
    return new ApiError("headers_too_large", `The header section is longer than ${maxHeaderBytes} bytes.`);
  }
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new ApiError("invalid_request", "The request did not arrive in time.");
  }
  return new ApiError("invalid_request", "What arrived is not an HTTP/1.1 request.");
}

function notAPath(): ApiError {
  return new ApiError("not_found", "There is nothing at this path.");
}
