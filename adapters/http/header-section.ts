/**
 * Limits of a request's header section on every runtime. The service does not see all of it, so each server checks it
 * in its own way.
 *
 * @module
 */

import { ApiError } from "../../core/wire/errors.ts";

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

/** A field of a header section. If it was sent twice, the values are joined, as in web `Headers`. */
export function readField(rawHeaders: readonly string[], name: string): string | null {
  let value: string | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const field = rawHeaders[index] ?? "";
    if (field.length !== name.length || field.toLowerCase() !== name.toLowerCase()) continue;
    const text = String(rawHeaders[index + 1] ?? ""); // a simulated request may have a number as its length
    value = value === null ? text : `${value}, ${text}`;
  }
  return value;
}

/** The part of a request's head that the service does not see. */
export interface HeadFields {
  readonly httpVersion: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
}

/** What is wrong with the head of a valid HTTP request. */
export function headError({ httpVersion, rawHeaders }: HeadFields): ApiError | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return new ApiError("invalid_request", "The protocol must be HTTP/1.1 or HTTP/1.0.");
  }
  if (rawHeaders.length / 2 > maxHeaderFields) {
    return tooManyHeaders();
  }
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
    if (name.length === 17 && name.toLowerCase() === "transfer-encoding") {
      if (rawHeaders[index + 1]?.toLowerCase() !== "chunked") return unknownCoding();
    }
    // Node takes any text that contains `100-continue` as a word for it.
    if (name.length === 6 && name.toLowerCase() === "expect" && httpVersion === "1.1") {
      if (!isKnownExpectation(readField(rawHeaders, name))) return unknownExpectation();
    }
  }
  if (hosts > 1 || (hosts === 0 && httpVersion === "1.1")) {
    return new ApiError("invalid_request", "There must be exactly one Host header.");
  }
  return undefined;
}
