/**
 * Limits of a request's header section on every runtime. The service does not see all of it, so each adapter checks it
 * before.
 *
 * @module
 */

import { ApiError } from "../../core/wire/errors.ts";
import type { RequestHeaders } from "../../core/wire/request.ts";

/** The maximum size of a request's header fields, in bytes. */
export const maxHeaderBytes = 32 * 1024;

/** The maximum number of a request's header fields. */
export const maxHeaderFields = 100;

/** 431: there are more than {@link maxHeaderFields}. */
export function tooManyHeaders(): ApiError {
  return new ApiError("headers_too_large", `There are more than ${maxHeaderFields} header fields.`);
}

/** 431: their size is more than {@link maxHeaderBytes}. */
export function headersTooLong(): ApiError {
  return new ApiError("headers_too_large", `The header section is longer than ${maxHeaderBytes} bytes.`);
}

/** What is wrong with fields that say how a body follows. Those that were sent twice are joined. */
export function bodyFieldsError(headers: RequestHeaders): ApiError | undefined {
  // Joined, two lengths would pass for a short one.
  if (headers.get("content-length")?.includes(",")) {
    return new ApiError("invalid_request", "There must be at most one Content-Length header.");
  }
  if (!/^chunked$/i.test(headers.get("transfer-encoding") ?? "chunked")) {
    return new ApiError("invalid_request", "The only Transfer-Encoding that is supported is chunked.");
  }
  // An empty one expects nothing. Node takes any text that contains `100-continue` as a word for it.
  if (!/^(?:100-continue)?$/i.test(headers.get("expect") ?? "")) {
    return new ApiError("invalid_request", "The only Expect that is supported is 100-continue.");
  }
  return undefined;
}
