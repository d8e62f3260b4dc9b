/**
 * Answers bytes that Node's parser does not take for a request.
 *
 * @module
 */

import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Service } from "../../../core/service.ts";
import { ApiError } from "../../../core/wire/errors.ts";
import { headersTooLong, maxHeaderBytes } from "../header-section.ts";
import { writeWhole } from "./body.ts";
import { closesLate } from "./connection.ts";

/** What Node's parser reports. */
export interface ParserError extends Error {
  readonly code?: string;
  /** The packet that it stopped in. */
  readonly rawPacket?: Buffer;
  /** How much of that it has read. */
  readonly bytesParsed?: number;
}

/** Why bytes are refused. */
export interface Refusal {
  readonly error: ApiError;
  /** The method, if there was one: the answer to HEAD has no body. */
  readonly method: string;
}

/** The refusal of CONNECT, whose connection the server would have to pass on. */
export const connectRefusal: Refusal = {
  error: invalid("CONNECT is not supported: this is not a proxy."),
  method: "CONNECT",
};

/** Answers with an error in our shape, and closes the connection. */
export function refuseBytes(service: Service, { error, method }: Refusal, socket: Socket): void {
  const message = Object.assign(new IncomingMessage(socket), { method });
  const response = new ServerResponse(message);
  response.assignSocket(socket);
  response.once("finish", () => socket.destroySoon()); // as Node does with its own
  closesLate(response);
  const { body, ...answer } = service.refuse(error);
  answer.headers.Connection = "close";
  writeWhole(answer, typeof body === "string" ? body : null, response);
}

/** Why Node's parser stopped. */
export function refusalOf(error: ParserError): Refusal {
  // The beginning of the request that is refused, as far as it came in one packet.
  const read = error.rawPacket?.toString("latin1", 0, error.bytesParsed) ?? "";
  const begun = read.split("\r\n\r\n").at(-1) ?? "";
  return { error: toApiError(error, begun), method: /^[A-Z]+(?= )/.exec(begun)?.[0] ?? "" };
}

function toApiError({ code }: ParserError, begun: string): ApiError {
  const lineEnd = begun.indexOf("\r\n");
  const isLongTarget = /^[A-Z]+ /.test(begun) && (lineEnd < 0 || lineEnd > maxHeaderBytes); // the first line alone
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return isLongTarget
        ? new ApiError("uri_too_long", "The path and query are too long.")
        : headersTooLong();
    case "HPE_INVALID_METHOD":
      return invalid("This is not an HTTP request, or its method is not known.");
    case "HPE_INVALID_EOF_STATE":
      return invalid("The connection ended within a request.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return invalid("The request did not arrive in time.");
    default:
      return invalid("This is not a valid HTTP/1.1 request.");
  }
}

function invalid(message: string): ApiError {
  return new ApiError("invalid_request", message);
}
