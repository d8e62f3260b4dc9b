/**
 * Answers what `node:http` itself would refuse without a word, or in words of its own: bytes that are no
 * request, requests that its parser does not take, and what a header section may not hold.
 *
 * @module
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Answer, IncomingRequest } from "../core/answer.ts";
import { ApiError } from "../core/errors.ts";
import type { Service } from "../core/service.ts";
import { headersTooLong, maxHeaderFields, tooManyHeaders, unknownExpectation } from "./header-section.ts";
import { hangUp, writeAnswer } from "./node-answer.ts";
import { NodeRequest, rawHeadersOf } from "./node-request.ts";

/** What Node's parser lets through, and what the service does not see of the header section. */
export function framingError(message: IncomingMessage): ApiError | undefined {
  const { httpVersion } = message;
  const rawHeaders = rawHeadersOf(message);
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return new ApiError("invalid_request", "The protocol must be HTTP/1.1 or HTTP/1.0.");
  }
  if (rawHeaders.length / 2 > maxHeaderFields) {
    return tooManyHeaders();
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

/** The request that came last on a connection, while its answer is not out. */
interface Exchange {
  readonly request: NodeRequest;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Makes a server answer bytes that are no request, in their turn: after the requests before them. Returns what is to be
 * told of each request.
 */
export function refuseStrangeBytes(server: Server, service: Service): (exchange: Exchange) => void {
  const last = new WeakMap<Duplex, Exchange>();

  function note(exchange: Exchange): void {
    const { socket } = exchange.message;
    last.set(socket, exchange);
    exchange.request.signal.addEventListener("abort", () => {
      if (last.get(socket) === exchange) last.delete(socket);
    });
  }

  function refuse(socket: Duplex, answer: Answer): void {
    const exchange = last.get(socket);
    if (!exchange) {
      hangUp(socket, answer);
      return;
    }
    const { request, message, response } = exchange;
    if (message.complete || response.headersSent) {
      socket.pause(); // the parser would stop at each further byte again
      response.once("close", () => hangUp(socket, answer));
    } else {
      // The bytes are this request's own body.
      response.setHeader("Connection", "close");
      writeAnswer(answer, request, response);
    }
  }

  server.on("checkExpectation", (message, response) => {
    writeAnswer(service.refuse(unknownExpectation()), new NodeRequest(message, response), response);
  });
  server.on("connect", (_, socket) => {
    socket.on("error", () => socket.destroy()); // Node has taken its own listener away
    refuse(socket, service.refuse(new ApiError("not_found", "There is nothing at this path.")));
  });
  server.on("clientError", (error: ClientError, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    const request = requestOfOtherMethod(error);
    if (request) void service.answer(request).then((answer) => refuse(socket, answer));
    else refuse(socket, service.refuse(parserError(error)));
  });
  return note;
}

interface ClientError extends Error {
  readonly code?: string;
  /** The bytes that the parser stopped in. */
  readonly rawPacket?: Buffer;
  /** How many of them it took. */
  readonly bytesParsed?: number;
}

/** The bytes that the parser took before it stopped. */
function parsedText({ rawPacket, bytesParsed }: ClientError): string {
  return rawPacket?.toString("latin1", 0, bytesParsed) ?? "";
}

function parserError(error: ClientError): ApiError {
  if (error.code === "HPE_HEADER_OVERFLOW") {
    const inRequestLine = /^[A-Z]+ \S*$/.test(parsedText(error));
    if (inRequestLine) return new ApiError("uri_too_long", "The path and query are too long.");
    return headersTooLong();
  }
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new ApiError("invalid_request", "The request did not arrive in time.");
  }
  return new ApiError("invalid_request", "What arrived is not an HTTP/1.1 request.");
}

const requestLine = /^([\w!#$%&'*+.^`|~-]+) (\S+) HTTP\/1\.[01]\r\n/;

/**
 * A request whose only fault is a method that Node's parser does not know. The service knows none of these
 * either, but tells which it knows.
 */
function requestOfOtherMethod(error: ClientError): IncomingRequest | undefined {
  if (error.code !== "HPE_INVALID_METHOD") return undefined;
  const text = error.rawPacket?.toString("latin1") ?? "";
  const [, method, url] = requestLine.exec(text) ?? [];
  if (!method || !url || parsedText(error).length > method.length) return undefined;
  const host = /\r\nhost:[ \t]*([^\r\n]*?)[ \t]*\r\n/i.exec(text)?.[1] ?? null;
  return { method, url, headers: { get: (name) => (name === "host" ? host : null) }, body: null };
}
