/**
 * The head of an HTTP/1.1 request (RFC 9112), read strictly: what a proxy in front could understand differently is
 * refused, because it would pass on two requests where this server sees one.
 *
 * @module
 */

import { ApiError } from "../../../core/wire/errors.ts";
import { trimBlanks } from "../../../core/wire/request.ts";
import {
  headError,
  headersTooLong,
  maxHeaderBytes,
  readField,
  twoLengths,
  unknownCoding,
} from "../../http/header-section.ts";

/** What a head says. */
export interface RequestHead {
  readonly method: string;
  /** The target, as it was sent. */
  readonly url: string;
  /** The header fields as they were sent, names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** What follows the head: a body of this many bytes, or in chunks. */
  readonly body: number | "chunked";
  /** Whether the client takes a body in chunks: not before HTTP/1.1. */
  readonly takesChunks: boolean;
  /** Whether the client holds its body back until it hears `100 Continue`. */
  readonly awaitsContinue: boolean;
  /** Whether the client wants to send further requests on its connection. */
  readonly keepsConnection: boolean;
}

const headEnd = "\r\n\r\n";

const requestLine = /([\w!#$%&'*+.^`|~-]+) ([\x21-\x7e]+) HTTP\/(\d\.\d)\r\n/y;
const headerField = /([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e\x80-\xff]*)\r\n/y;

/** A method of up to 31 characters, which no known one has, or its beginning. */
const beginsWithMethod = /^[\w!#$%&'*+.^`|~-]{1,31}(?: |$)/;

/** How much of a request is looked at to tell whether it begins with a method, in bytes. */
const methodBytes = 32;

/** A path, `*`, or an absolute URL (RFC 9112, section 3.2). Only CONNECT has something else. */
const usualTarget = /^(?:\/|\*$|[A-Za-z][A-Za-z\d+.-]*:\/\/)/;

/** Control characters other than tabs, and line ends that are not CR LF. The last character may be half of one. */
const neverInHead = /[^\t\r\n\x20-\x7e\x80-\xff]|\r[^\n]|[^\r]\n/;

/**
 * The length of the head at the beginning of some bytes, of which `seen` were there at the last call. Undefined: not all
 * of it is there.
 *
 * @throws {ApiError} if it is too long, or what is there is not the beginning of a request.
 */
export function headLength(bytes: Buffer, seen: number): number | undefined {
  const end = bytes.indexOf(headEnd, Math.max(0, seen - headEnd.length));
  const length = end + headEnd.length;
  if (end >= 0 && length <= maxHeaderBytes) return length;
  const isRequest =
    beginsWithMethod.test(bytes.toString("latin1", 0, methodBytes)) &&
    !neverInHead.test(bytes.toString("latin1", Math.max(0, seen - 1), maxHeaderBytes));
  if (!isRequest) throw invalid("This is not an HTTP request.");
  if (end < 0 && bytes.length < maxHeaderBytes) return undefined;
  throw bytes.subarray(0, maxHeaderBytes).includes("\r\n")
    ? headersTooLong()
    : new ApiError("uri_too_long", "The path and query are too long.");
}

/**
 * Reads a head, of which `text` is all, in Latin-1.
 *
 * @throws {ApiError} for an invalid one.
 */
export function readHead(text: string): RequestHead {
  requestLine.lastIndex = 0;
  const [line, method, url, httpVersion] = requestLine.exec(text) ?? [];
  if (!line || !method || !url || !httpVersion) {
    throw invalid("The request line is not a method, a target and HTTP/1.1, separated by single spaces.");
  }
  if (method !== "CONNECT" && !usualTarget.test(url)) {
    throw invalid("The request's target is neither a path nor an absolute URL.");
  }
  const rawHeaders = readFields(text, line.length);
  const error = headError({ httpVersion, rawHeaders });
  if (error) throw error;
  const body = readBodyLength(rawHeaders, httpVersion);
  return {
    method,
    url,
    rawHeaders,
    body,
    takesChunks: httpVersion === "1.1",
    awaitsContinue: body !== 0 && httpVersion === "1.1" && readField(rawHeaders, "expect") !== null,
    keepsConnection: keepsConnection(rawHeaders, httpVersion),
  };
}

/** The method of a request whose head is invalid: the answer to HEAD has no body. */
export function methodOf(bytes: Buffer): string {
  return /^[A-Z]+(?= )/.exec(bytes.toString("latin1", 0, methodBytes))?.[0] ?? "";
}

function readFields(text: string, start: number): string[] {
  const rawHeaders: string[] = [];
  const end = text.length - "\r\n".length;
  headerField.lastIndex = start;
  while (headerField.lastIndex < end) {
    const [, name, value] = headerField.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw invalid("A header field is not a name, a colon and a value on one line.");
    }
    rawHeaders.push(name, trimBlanks(value));
  }
  return rawHeaders;
}

/** RFC 9112, section 6.3. */
function readBodyLength(rawHeaders: readonly string[], httpVersion: string): RequestHead["body"] {
  const length = readField(rawHeaders, "content-length");
  const coding = readField(rawHeaders, "transfer-encoding");
  if (coding !== null) {
    if (length !== null) throw invalid("Content-Length and Transfer-Encoding exclude each other.");
    if (httpVersion === "1.0") throw invalid("There is no Transfer-Encoding in HTTP/1.0.");
    if (coding.toLowerCase() !== "chunked") throw unknownCoding();
    return "chunked";
  }
  if (length === null) return 0;
  if (length.includes(",")) throw twoLengths();
  if (!/^\d{1,15}$/.test(length)) throw invalid("The Content-Length is not a whole number of bytes.");
  return Number(length);
}

/** RFC 9112, section 9.3. */
function keepsConnection(rawHeaders: readonly string[], httpVersion: string): boolean {
  const connection = readField(rawHeaders, "connection");
  if (connection === null) return httpVersion === "1.1";
  const options = connection.toLowerCase().split(/[\t ,]+/);
  return !options.includes("close") && (httpVersion === "1.1" || options.includes("keep-alive"));
}

function invalid(message: string): ApiError {
  return new ApiError("invalid_request", message);
}
