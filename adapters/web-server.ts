/**
 * What the servers of Deno and Bun have in common: they hand over a web `Request` and take a web `Response`.
 *
 * @module
 */

import { toWebBody } from "../core/answer.ts";
import { maxBodyBytes } from "../core/body.ts";
import { ApiError } from "../core/errors.ts";
import type { Service } from "../core/service.ts";
import {
  headersTooLong,
  maxHeaderBytes,
  maxHeaderFields,
  tooManyHeaders,
  unknownCoding,
  unknownExpectation,
} from "./header-section.ts";
import { afterJoin } from "./shared-timer.ts";

/** How a server answers. */
export interface RespondOptions {
  /** Whether the server is to stop. */
  readonly isClosing: () => boolean;
  /** Whether the runtime reads on to the end of a body that was refused, unless the connection is closed. */
  readonly drainsBodies?: boolean;
  /** Whether the runtime keeps what a client sends on while its answer is streamed, however much it is. */
  readonly keepsBodies?: boolean;
}

/** How a request is answered. */
export interface Sending {
  readonly response: Response;
  /** Whether more of its body is to come. */
  readonly streams: boolean;
}

/** Answers a request, unless its header section is refused, which the service itself does not look at. */
export async function respond(
  service: Service,
  request: Request,
  { isClosing, drainsBodies = false, keepsBodies = false }: RespondOptions,
): Promise<Sending> {
  const error = headersError(request.headers) ?? (keepsBodies ? unreadBodyError(request) : undefined);
  const answer = error ? service.refuse(error) : await service.answer(request);
  const leavesBody = drainsBodies && request.body && (!request.bodyUsed || answer.status === 413);
  if (leavesBody || isClosing()) answer.headers.Connection = "close";
  const { status, headers } = answer;
  const body = await toWebBody(answer, afterJoin);
  return { response: new Response(body, { status, headers }), streams: body instanceof ReadableStream };
}

/** Of a GET nobody reads the body: it may be short, and must say so. */
function unreadBodyError({ method, headers }: Request): ApiError | undefined {
  const length = headers.has("transfer-encoding") ? Number.POSITIVE_INFINITY : headers.get("content-length");
  if (method !== "GET" || Number(length) <= maxBodyBytes) return undefined;
  const most = `up to ${maxBodyBytes} bytes, with Content-Length`;
  return new ApiError("payload_too_large", `The body of a GET is not read; send none, or ${most}.`);
}

function headersError(headers: Headers): ApiError | undefined {
  let fields = 0; // those of one name are one here
  let bytes = 0;
  for (const [name, value] of headers) {
    fields++;
    bytes += name.length + value.length + ": \r\n".length;
  }
  if (fields > maxHeaderFields) return tooManyHeaders();
  if (bytes > maxHeaderBytes) return headersTooLong();
  if (!/^(?:chunked)?$/i.test(headers.get("transfer-encoding") ?? "")) return unknownCoding();
  if (/^(?:100-continue)?$/i.test(headers.get("expect") ?? "")) return undefined;
  return unknownExpectation();
}
