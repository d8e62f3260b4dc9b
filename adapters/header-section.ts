/**
 * Limits of a request's header section on every runtime. The service does not see all of it, so each server checks it
 * in its own way.
 *
 * @module
 */

import { ApiError } from "../core/errors.ts";

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

/** 400: there are two `Content-Length` fields, even if they are equal. */
export function twoLengths(): ApiError {
  return new ApiError("invalid_request", "There must be at most one Content-Length header.");
}

/** Whether an `Expect`, joined if there are several, is supported. An empty one expects nothing. */
export function isKnownExpectation(value: string | null): boolean {
  return /^(?:100-continue)?$/i.test(value ?? "");
}

/** 400: `Expect` is something other than `100-continue`. */
export function unknownExpectation(): ApiError {
  return new ApiError("invalid_request", "The only Expect that is supported is 100-continue.");
}

/** 400: the body has a transfer coding other than `chunked`, or two. */
export function unknownCoding(): ApiError {
  return new ApiError("invalid_request", "The only Transfer-Encoding that is supported is chunked.");
}
