/**
 * Answers what `node:http` itself would refuse without a body, or with one of its own: bytes that are not a request,
 * requests that its parser does not accept, and invalid header sections.
 *
 * @module
 */

import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { Answer } from "../core/answer.ts";
import { trimBlanks } from "../core/blanks.ts";
import { ApiError } from "../core/errors.ts";
import type { Service } from "../core/service.ts";
import { type HeadFields, headError, headersTooLong, readField } from "./header-section.ts";
import { hangUp } from "./node-answer.ts";
import { lastOn } from "./node-pipeline.ts";
import { rawHeadersOf } from "./node-request.ts";

/** What is wrong with a head that Node's parser accepts. */
export function framingError(message: IncomingMessage): ApiError | undefined {
  return headError({ httpVersion: message.httpVersion, rawHeaders: rawHeadersOf(message) });
}

/** Makes a server answer what `node:http` does not hand over as a request. */
export function refuseUnhandled(server: Server, service: Service): void {
  server.on("connect", ({ method = "", url = "", httpVersion, rawHeaders }, socket) => {
    socket.on("error", () => socket.destroy()); // Node has taken its own listener away
    const unhandled = { method, url, httpVersion, rawHeaders, isWhole: true };
    answerInTurn(socket, () => answerUnhandled(service, unhandled));
  });
  server.on("clientError", (error: ClientError, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    const unhandled = requestWithUnknownMethod(error);
    if (unhandled) answerInTurn(socket, () => answerUnhandled(service, unhandled));
    else answerInTurn(socket, () => service.refuse(parserError(error)), methodOf(error));
  });
}

/** The service refuses such a request, and says which methods it takes. */
function answerUnhandled(
  service: Service,
  { method, url, ...head }: UnhandledRequest,
): Answer | Promise<Answer> {
  const error = head.isWhole ? headError(head) : undefined;
  if (error) return service.refuse(error);
  const headers = { get: (name: string) => readField(head.rawHeaders, name) };
  return service.answer({ method, url, headers, body: null });
}

/**
 * Answers bytes that begin with `method`, as far as one can tell, after the requests before them. Not if these bytes are
 * the body of such a request, whose own answer then refuses them.
 */
function answerInTurn(socket: Duplex, answer: () => Answer | Promise<Answer>, method = ""): void {
  const last = async () => {
    if (socket.writable) hangUp(socket, await answer(), method); // an answer that nobody gets would still be logged
  };
  const exchange = lastOn(socket);
  if (!exchange) {
    void last();
    return;
  }
  const { request, message, response } = exchange;
  if (message.complete || response.headersSent) {
    socket.pause(); // the parser would stop at each further byte again
    response.once("close", last);
  } else {
    response.setHeader("Connection", "close");
    request.breakOff();
  }
}

interface ClientError extends Error {
  readonly code?: string;
  /** The bytes in which the parser stopped. */
  readonly rawPacket?: Buffer;
  /** How many of them it parsed. */
  readonly bytesParsed?: number;
}

/** The bytes that the parser accepted before it stopped. */
function parsedText({ rawPacket, bytesParsed }: ClientError): string {
  return rawPacket?.toString("latin1", 0, bytesParsed) ?? "";
}

/** The method of the request in which the parser stopped. Other requests may precede it in the packet. */
function methodOf(error: ClientError): string | undefined {
  const text = parsedText(error);
  return /^[A-Z]+(?= )/.exec(text.slice(text.lastIndexOf("\r\n\r\n") + 1).trimStart())?.[0];
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
  return new ApiError("invalid_request", "This is not a valid HTTP/1.1 request.");
}

/** A request whose method Node handles differently, or does not know. */
interface UnhandledRequest extends HeadFields {
  readonly method: string;
  readonly url: string;
  /** Whether all of its head is there. */
  readonly isWhole: boolean;
}

const requestLine = /^([\w!#$%&'*+.^`|~-]+) (\S+) HTTP\/(1\.[01])\r\n/;

/**
 * A request whose only fault is a method that Node's parser does not know. The service does not know it either, but
 * says which methods it takes.
 */
function requestWithUnknownMethod(error: ClientError): UnhandledRequest | undefined {
  if (error.code !== "HPE_INVALID_METHOD") return undefined;
  const text = error.rawPacket?.toString("latin1") ?? "";
  const [line = "", method, url, httpVersion] = requestLine.exec(text) ?? [];
  if (!method || !url || !httpVersion || parsedText(error).length > method.length) return undefined;
  const [section = ""] = text.slice(line.length).split(/^\r\n|\r\n\r\n/);
  const rawHeaders = section.split("\r\n").flatMap(nameAndValue);
  return { method, url, httpVersion, rawHeaders, isWhole: text.includes("\r\n\r\n") };
}

function nameAndValue(field: string): string[] {
  const colon = field.indexOf(":");
  return colon < 0 ? [] : [field.slice(0, colon), trimBlanks(field.slice(colon + 1))];
}
