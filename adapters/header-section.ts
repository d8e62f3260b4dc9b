/**
 * What a request's header section may hold on every runtime. The service does not see it whole, so each server
 * looks at it in its own way.
 *
 * @module
 */

import { ApiError } from "../core/errors.ts";

/** What a request's header fields may come to, in bytes. */
export const maxHeaderBytes = 32 * 1024;

/** How many header fields a request may have. */
export const maxHeaderFields = 100;

/** 431: there are more than {@link maxHeaderFields}. */
export function tooManyHeaders(): ApiError {
  return new ApiError("headers_too_large", `There are more than ${maxHeaderFields} header fields.`);
}

/** 431: they come to more than {@link maxHeaderBytes}. */
export function headersTooLong(): ApiError {
  return new ApiError("headers_too_large", `The header section is longer than ${maxHeaderBytes} bytes.`);
}

/** 400: `Expect` asks for something else than `100-continue`. */
export function unknownExpectation(): ApiError {
  return new ApiError("invalid_request", "The only Expect that is supported is 100-continue.");
}

/** 400: the body comes in another coding than `chunked`, or in two. */
export function unknownCoding(): ApiError {
  return new ApiError("invalid_request", "The only Transfer-Encoding that is supported is chunked.");
}
