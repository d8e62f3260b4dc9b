/**
 * The common part of the servers for Deno and Bun, which use web `Request` and `Response` objects.
 *
 * @module
 */

import { maxBodyBytes } from "../../core/http/body.ts";
import type { Service } from "../../core/service.ts";
import { ApiError } from "../../core/wire/errors.ts";
import { sharedTimers } from "../../core/wire/event-sender.ts";
import { isEventStream, toResponse } from "../../core/wire/request.ts";
import {
  bodyFieldsError,
  headersTooLong,
  maxHeaderBytes,
  maxHeaderFields,
  tooManyHeaders,
} from "./header-section.ts";

/** Properties of a server that answers depend on. */
export interface RespondOptions {
  /** Whether the server is stopping. */
  readonly isClosing: () => boolean;
  /** Whether the runtime reads a refused body to its end, unless the connection is closed. */
  readonly drainsBodies?: boolean;
  /** Whether the runtime keeps everything in memory that a client sends while its answer is streamed. */
  readonly keepsBodies?: boolean;
  /** Called once, when nothing more of a request's answer is to come. */
  readonly answered?: (request: Request) => void;
}

/** Answers a request, or refuses its header section, which the service itself does not check. */
export async function respond(
  service: Service,
  request: Request,
  { isClosing, drainsBodies = false, keepsBodies = false, answered = () => {} }: RespondOptions,
): Promise<Response> {
  const error = headersError(request.headers) ?? (keepsBodies ? unreadBodyError(request) : undefined);
  const answer = error ? service.refuse(error) : await service.answer(request);
  const leavesBody =
    drainsBodies && request.body && (!request.bodyUsed || answer.status === 413 || answer.status === 408);
  if (leavesBody || isClosing()) answer.headers.Connection = "close";
  // It is answered once nothing more of the body is to come.
  const { body } = answer;
  if (isEventStream(body)) {
    const close = body.close.bind(body);
    body.close = () => {
      body.close = close; // the runtime's connection may serve another request by then
      close();
      answered(request);
    };
  } else answered(request);
  return toResponse(answer, sharedTimers);
}

/** The body of a GET is not read, so it must be short, and say so. */
function unreadBodyError({ method, headers }: Request): ApiError | undefined {
  const length = headers.has("transfer-encoding") ? Number.POSITIVE_INFINITY : headers.get("content-length");
  if (method !== "GET" || Number(length) <= maxBodyBytes) return undefined;
  const most = `up to ${maxBodyBytes} bytes, with Content-Length`;
  return new ApiError("payload_too_large", `The body of a GET is not read; send none, or ${most}.`);
}

function headersError(headers: Headers): ApiError | undefined {
  let fields = 0; // fields of the same name count as one here
  let bytes = 0;
  for (const [name, value] of headers) {
    fields++;
    bytes += name.length + value.length + ": \r\n".length;
  }
  if (fields > maxHeaderFields) return tooManyHeaders();
  if (bytes > maxHeaderBytes) return headersTooLong();
  return bodyFieldsError(headers);
}
