/**
 * Reads what a request brings: its query and its JSON body, checked against their schemas.
 *
 * @module
 */

import type { IncomingRequest, RequestHeaders } from "./answer.ts";
import type { Clock } from "./clock.ts";
import { ApiError, type FieldError, validationError } from "./errors.ts";
import type { Route } from "./route.ts";
import type { Schema } from "./schema.ts";
import { accepted, validate } from "./validate.ts";

/** The longest body, in bytes. */
export const maxBodyBytes = 256 * 1024;

/** The deepest nesting of arrays and objects in a body. */
const maxDepth = 64;

/** How long a body may take to arrive, in milliseconds. Not every runtime has a time limit of its own. */
const bodyTimeoutMs = 30_000;

// ASCII codes.
const quote = 34;
const openingBracket = 91;
const backslash = 92;
const closingBracket = 93;
const openingBrace = 123;
const closingBrace = 125;

const wholeNumber = /^(?:0|[1-9][0-9]{0,8})$/;

/**
 * The parameters that a route's query names, or the header fields that win over them, defaults filled in. Others
 * are ignored.
 */
export function readQuery(
  { query: schema, queryHeaders = {} }: Pick<Route, "query" | "queryHeaders">,
  search: string,
  headers: RequestHeaders,
): Record<string, unknown> {
  const properties = Object.entries(schema?.properties ?? {});
  if (!schema || properties.length === 0) return {};
  const given = parseSearch(search);
  const query: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  for (const [name, property] of properties) {
    const header = queryHeaders[name];
    const field = header ? headers.get(header.toLowerCase()) : null;
    const path = header && field !== null ? header : name;
    const values = field === null ? (given.get(name) ?? []) : [field];
    const [value] = values;
    if (values.length > 1) errors.push({ path, message: "must be given once" });
    else if (value === notUtf8) errors.push({ path, message: "must be UTF-8, percent-encoded" });
    else if (value === undefined) query[name] = property.default;
    else if (property.type !== "integer") query[name] = value;
    else if (wholeNumber.test(value)) query[name] = Number(value);
    else errors.push({ path, message: `must be ${accepted(property)}` });
    if (query[name] === undefined) delete query[name];
  }
  errors.push(...validate(schema, query));
  if (errors.length > 0) throw validationError(errors);
  return query;
}

const notUtf8 = Symbol("not UTF-8");

/** The values of each name. As `URLSearchParams` reads it, which however takes replacement characters for errors. */
function parseSearch(search: string): Map<string, (string | typeof notUtf8)[]> {
  const given = new Map<string, (string | typeof notUtf8)[]>();
  for (const pair of search.split("&")) {
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1));
    if (name === notUtf8) continue;
    const values = given.get(name);
    if (values) values.push(value);
    else given.set(name, [value]);
  }
  return given;
}

function decode(text: string): string | typeof notUtf8 {
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return notUtf8;
  }
}

/** The members of a JSON body that its schema names. Others are ignored. */
export async function readBody(
  schema: Schema,
  request: IncomingRequest,
  clock: Clock,
): Promise<Record<string, unknown>> {
  requireJson(request.headers.get("content-type"), request.headers.get("content-encoding"));
  requireLength(request.headers.get("content-length"));
  const value = parseJson(await readText(request, clock));
  const errors = validate(schema, value);
  if (errors.length > 0) throw validationError(errors);
  return pick(value as Record<string, unknown>, schema);
}

function requireJson(contentType: string | null, contentEncoding: string | null): void {
  const [mediaType = ""] = (contentType ?? "").split(";");
  if (mediaType.trim().toLowerCase() !== "application/json") {
    throw new ApiError("unsupported_media_type", "Send the body with Content-Type: application/json.");
  }
  if (contentEncoding !== null) {
    throw new ApiError("unsupported_media_type", "Send the body as it is, without Content-Encoding.");
  }
}

function requireLength(contentLength: string | null): void {
  if (Number(contentLength) > maxBodyBytes) throw payloadTooLarge();
}

function payloadTooLarge(): ApiError {
  return new ApiError("payload_too_large", `The body is longer than ${maxBodyBytes} bytes.`);
}

// A byte order mark is kept, and refused by the parser as any other stray character.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

async function readText(request: IncomingRequest, clock: Clock): Promise<string> {
  const bytes = await readBytes(request, clock);
  try {
    return decoder.decode(bytes);
  } catch {
    throw new ApiError("invalid_json", "The body is not valid UTF-8.");
  }
}

/** The body's bytes; reading stops at the limit and at the deadline. */
async function readBytes(request: IncomingRequest, clock: Clock): Promise<Uint8Array> {
  const { body } = request;
  if (!body) return new Uint8Array();
  if (!(Symbol.asyncIterator in body)) return concatenateShort(body);
  const chunks = body[Symbol.asyncIterator]();
  const received: Uint8Array[] = [];
  let length = 0;
  let cancelTimer = () => {};
  const late = new Promise<"late">((resolve) => {
    cancelTimer = clock.after(bodyTimeoutMs, () => resolve("late"));
  });
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), late]);
      if (next === "late")
        throw new ApiError("invalid_request", "The body did not arrive within 30 seconds.");
      if (next.done) return concatenate(received, length);
      received.push(next.value);
      length += next.value.byteLength;
      if (length > maxBodyBytes) throw payloadTooLarge();
    }
  } catch (error) {
    // Not awaited: it would wait behind a read that is still pending. What it rejects with is `error` again.
    void chunks.return?.().catch(() => {});
    if (error instanceof ApiError) throw error;
    throw new ApiError("invalid_request", "The body did not arrive whole.", { cause: error });
  } finally {
    cancelTimer();
  }
}

/** A body that has arrived already, if it is not too long. */
function concatenateShort(chunks: readonly Uint8Array[]): Uint8Array {
  const length = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  if (length > maxBodyBytes) throw payloadTooLarge();
  return concatenate(chunks, length);
}

function concatenate(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks;
  if (first && chunks.length === 1) return first;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function parseJson(text: string): unknown {
  if (isTooDeep(text)) {
    throw new ApiError("invalid_json", `The body nests arrays and objects deeper than ${maxDepth} levels.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError("invalid_json", "The body is not valid JSON.");
  }
}

/** Counts brackets outside of strings, before a parser recurses into them. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = endOfString(text, index + 1);
        break;
      case openingBrace:
      case openingBracket:
        if (++depth > maxDepth) return true;
        break;
      case closingBrace:
      case closingBracket:
        depth--;
    }
  }
  return false;
}

/** Where the quotation mark is that ends a string; the text's end, if none does. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** The members that the schema names, defaults filled in. */
function pick(value: Record<string, unknown>, schema: Schema): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (Object.hasOwn(value, name)) picked[name] = value[name];
    else if (property.default !== undefined) picked[name] = property.default;
  }
  return picked;
}
