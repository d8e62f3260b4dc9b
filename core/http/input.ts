/**
 * Reads a request's query and JSON body, and checks them against their schemas.
 *
 * @module
 */

import { utf8ToBytes } from "@noble/hashes/utils.js";
import { decodeInParts, yieldThread } from "../base/in-parts.ts";
import { isJsonObject, measureJson } from "../base/json.ts";
import type { Held } from "../base/memory-budget.ts";
import { firstCharacters } from "../store/records.ts";
import { validators } from "../wire/built/validators.ts";
import { ApiError, type FieldError, tooMuchAtOnce, validationError } from "../wire/errors.ts";
import { accepted, fieldErrors } from "../wire/field-errors.ts";
import { type HeaderFields, headerNames, type IncomingRequest } from "../wire/request.ts";
import type { InputSchema, ValueSchema } from "../wire/schemas.ts";
import { type BodyOptions, maxBodyBytes, readBytes, requireShort } from "./body.ts";
import { requireIdempotencyKey } from "./idempotency.ts";
import type { Call, Route } from "./route.ts";

/** The deepest nesting of arrays and objects in a body. */
const maxDepth = 64;

/**
 * How many values a body may have, how many names of members, and how many of these may differ in one that is longer than most
 * bodies may be: empty arrays take much memory, and a parser needs microseconds for each object that has other names than those
 * before, in which nothing else has its turn.
 */
const mostValues = 150_000;
const mostNames = 50_000;
const mostDiffering = 2_000;

/**
 * From this length on, in bytes, bodies are read one at a time, and others have their turn before one is measured, and before it is
 * parsed: a hundred of 256 KiB that arrive together would hold the thread for seconds.
 */
const longBody = 64 * 1024;

/** How many unknown members of a body are looked at, and how long their names may be: no longer one is meant for a known one. */
const mostUnknown = 20;
const longestUnknown = 100;

/** A whole number in a query parameter or header field. */
export const wholeNumber = /^(?:0|[1-9][0-9]{0,8})$/;

/** What a request's query and body are read from. */
interface RequestParts {
  readonly request: IncomingRequest;
  /** The query as it was sent. */
  readonly search: string;
}

/**
 * Waits for the turn of a long body, and resolves with what ends it. A parser holds several times what it reads, and many that
 * arrived at once would be parsed together: others have their turn between the steps of each.
 */
type TakeTurn = () => Promise<() => void>;

/** How a request is read. */
interface ReadOptions extends Pick<BodyOptions, "clock"> {
  /** What its body holds. */
  readonly received: Held;
  readonly takeTurn: TakeTurn;
}

/** What a request says: the parameters and the body that its route names, checked. */
export type Input = Pick<Call, "query" | "body">;

/**
 * Reads what a request says. Its header fields come first, and the body last, because they are had without a wait.
 *
 * @throws {ApiError} for the first kind of fault, with all invalid fields where these are the fault.
 */
export async function readInput(
  route: Route,
  { request, fields, params, search }: Pick<Call, "fields" | "params"> & RequestParts,
  { clock, received, takeTurn }: ReadOptions,
): Promise<Input> {
  const most = route.maxBodyBytes ?? maxBodyBytes;
  const isBodyOptional = route.isBodyOptional && fields.contentType === null;
  if (route.bytes) requireBytes(fields, route.bytes.types, most);
  else if (takesBody(route) && !isBodyOptional) requireJsonBody(fields, most);
  if (route.idempotency) requireIdempotencyKey(route.idempotency, fields.idempotencyKey);
  if (route.params) requireValid(route.params, params);
  const query = route.query && readQuery(route.query, search, fields, route.queryHeaders);
  if (!takesBody(route)) return { query, body: undefined };
  const reserve = (bytes: number) => {
    if (!received.reserve(bytes)) throw tooMuchAtOnce();
  };
  const bytes = await readBytes(request, fields, { clock, most, reserve });
  if (route.bytes) return { query, body: bytes };
  if (isBodyOptional && bytes.length > 0) requireJsonBody(fields, most);
  const { body, bytesHeld } = await readJson(route, isBodyOptional ? emptyObject : bytes, takeTurn);
  received.release(); // its bytes, which are gone
  reserve(bytesHeld);
  return { query, body };
}

const emptyObject = utf8ToBytes("{}");

/** A JSON body, checked, and what it holds then, in bytes. */
async function readJson(
  route: Route,
  bytes: Uint8Array,
  takeTurn: TakeTurn,
): Promise<{ readonly body: unknown; readonly bytesHeld: number }> {
  const isLong = bytes.length >= longBody;
  const pause = isLong ? yieldThread : undefined;
  const endTurn = isLong ? await takeTurn() : undefined;
  try {
    const text = await decodeUtf8(bytes);
    await pause?.();
    const values = countValues(text);
    await pause?.();
    const value = parseJson(text);
    await pause?.();
    const body = route.readBody
      ? route.readBody(value)
      : route.body && readBody(route.body, value, route.knownMembersOnly);
    return { body, bytesHeld: 2 * text.length + bytesOfValue * values };
  } finally {
    endTurn?.();
  }
}

/** What a value takes besides its text, once it is parsed, in bytes. */
const bytesOfValue = 32;

/** Whether a route's requests have a body. */
export function takesBody({ body, readBody, bytes }: Route): boolean {
  return (body ?? readBody ?? bytes) !== undefined;
}

/**
 * The parameters that a schema names, or the header fields that win over them, defaults filled in. Others are ignored.
 */
function readQuery(
  schema: InputSchema,
  search: string,
  fields: HeaderFields,
  queryHeaders: Route["queryHeaders"] = {},
): Record<string, unknown> {
  const given = parseSearch(search);
  const query: Record<string, unknown> = {};
  const refused: FieldError[] = [];
  for (const [name, property] of Object.entries(schema.properties)) {
    if (property.type === "object") {
      const pairs = readPairs(name, given, refused);
      if (pairs) query[name] = pairs;
      continue;
    }
    const field = queryHeaders[name];
    const header = field ? fields[field] : null;
    const values = header === null ? given.get(name) : [header];
    const value = values ? readParameter(values, property) : property.default;
    if (value !== undefined) query[name] = value;
    else if (values) {
      const path = field && header !== null ? headerNames[field] : name;
      refused.push({ path, message: explainRefusal(values, property) });
    }
  }
  requireValid(schema, query, { refused });
  return query;
}

/** What is known of a value besides that it may break its schema. */
interface Besides {
  /** What is wrong with it. Default: nothing. */
  readonly refused?: readonly FieldError[];
  /** The names of its members that the schema does not have: one may be meant for another. Default: none. */
  readonly unknown?: readonly string[];
}

/** Refuses a value that breaks its schema. */
export function requireValid(
  schema: InputSchema,
  value: unknown,
  { refused = [], unknown = [] }: Besides = {},
): void {
  const isValid = validators.get(schema);
  if (!isValid) throw new TypeError("There is no validator for a schema; npm run validators makes it.");
  const invalid = isValid(withoutTooMany(schema, value)) ? [] : fieldErrors(schema, isValid.errors);
  const explained = invalid.map(({ path, message }) => {
    const misspelt = unknown.find((name) => isSpelledLike(name, path));
    return { path, message: misspelt === undefined ? message : `${message}; ${misspelt} is unknown` };
  });
  if (refused.length + explained.length > 0) throw validationError([...refused, ...explained]);
}

/** The value, without the pairs of a member that has too many of them: it is wrong, and each of them would be looked at. */
function withoutTooMany({ properties }: InputSchema, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  let kept = value;
  for (const [name, { maxProperties }] of Object.entries(properties)) {
    const pairs = Object.hasOwn(value, name) ? value[name] : undefined;
    if (maxProperties === undefined || !isJsonObject(pairs)) continue;
    if (Object.keys(pairs).length > maxProperties) kept = { ...kept, [name]: tooMany };
  }
  return kept;
}

/** What is no object of pairs. */
const tooMany = true;

/** The parameters `<prefix>.<name>` as an object. Undefined: there are none. */
function readPairs(
  prefix: string,
  given: ReadonlyMap<string, readonly ParameterText[]>,
  refused: FieldError[],
): Record<string, string> | undefined {
  const pairs: [string, string][] = [];
  let isGiven = false;
  for (const [path, values] of given) {
    if (!path.startsWith(`${prefix}.`)) continue;
    isGiven = true;
    const [value] = values;
    if (values.length > 1 || typeof value !== "string") {
      refused.push({ path, message: explainRefusal(values, { type: "string" }) });
    } else pairs.push([path.slice(prefix.length + 1), value]);
  }
  return isGiven ? Object.fromEntries(pairs) : undefined;
}

const notUtf8 = Symbol("not UTF-8");

/** A parameter's value, decoded. */
type ParameterText = string | typeof notUtf8;

/** A parameter's value. Undefined: it is refused. */
function readParameter(values: readonly ParameterText[], property: ValueSchema): string | number | undefined {
  const [value] = values;
  if (values.length > 1 || typeof value !== "string") return undefined;
  if (property.type !== "integer") return value;
  return wholeNumber.test(value) ? Number(value) : undefined;
}

function explainRefusal(values: readonly ParameterText[], property: ValueSchema): string {
  if (values.length > 1) return "must be given once";
  if (values[0] === notUtf8) return "must be percent-encoded UTF-8";
  return `must be ${accepted(property)}`;
}

/**
 * The values of each name. Like `URLSearchParams`, which would replace invalid UTF-8 instead of reporting it: a name that is not
 * UTF-8 stays as it is written, and its value is not taken.
 */
function parseSearch(search: string): Map<string, ParameterText[]> {
  const given = new Map<string, ParameterText[]>();
  for (const pair of search.split("&")) {
    const equals = pair.indexOf("=");
    const written = equals === -1 ? pair : pair.slice(0, equals);
    const decoded = decode(written);
    const name = decoded === notUtf8 ? written : decoded;
    const value = decoded === notUtf8 ? notUtf8 : decode(equals === -1 ? "" : pair.slice(equals + 1));
    const values = given.get(name);
    if (values) values.push(value);
    else given.set(name, [value]);
  }
  return given;
}

function decode(text: string): ParameterText {
  if (!text.includes("%") && !text.includes("+")) return text;
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return notUtf8;
  }
}

/** The one media type, with any parameters. An unquoted comma means that two header fields were joined. */
const jsonType = /^application\/json[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;

/** Refuses a body for its declared media type or size, before anything of it is read. */
function requireJsonBody({ contentType, contentEncoding, contentLength }: HeaderFields, most: number): void {
  if (!jsonType.test(contentType ?? "")) {
    throw new ApiError("unsupported_media_type", "Send the body with Content-Type: application/json.");
  }
  requirePlain({ contentEncoding, contentLength }, most);
}

/** The same for a body of bytes. */
function requireBytes(
  { contentType, ...fields }: HeaderFields,
  types: readonly string[] | "any",
  most: number,
): void {
  const [type = ""] = (contentType ?? "").split(";");
  if (types !== "any" && !types.includes(type.trim().toLowerCase()))
    throw new ApiError("unsupported_media_type", `Send the body with Content-Type: ${types.join(" or ")}.`);
  requirePlain(fields, most);
}

function requirePlain(
  { contentEncoding, contentLength }: Pick<HeaderFields, "contentEncoding" | "contentLength">,
  most: number,
): void {
  if (contentEncoding !== null) {
    throw new ApiError("unsupported_media_type", "Send the body as it is, without Content-Encoding.");
  }
  requireShort(Number(contentLength), most);
}

/** The members of a JSON body that its schema names. Others are ignored. After {@link requireJsonBody}. */
function readBody(schema: InputSchema, value: unknown, knownMembersOnly = false): Record<string, unknown> {
  const names = Object.keys(schema.properties);
  const unknown = (isJsonObject(value) ? Object.keys(value) : [])
    .filter((name) => !names.includes(name))
    .slice(0, mostUnknown)
    .map((name) => firstCharacters(name, longestUnknown));
  const message = `is unknown; a body may have ${names.join(", ")}`;
  requireValid(schema, value, {
    refused: knownMembersOnly ? unknown.map((path) => ({ path, message })) : [],
    unknown,
  });
  const body = value as Record<string, unknown>;
  const picked: Record<string, unknown> = {}; // the members that the schema names, defaults filled in
  for (const [name, property] of Object.entries(schema.properties)) {
    if (Object.hasOwn(body, name)) picked[name] = body[name];
    else if (property.default !== undefined) picked[name] = property.default;
  }
  return picked;
}

/** Whether two names differ in case and separators alone, as `twin_id` and `twinId`. */
function isSpelledLike(one: string, other: string): boolean {
  const [plain, otherPlain] = [one, other].map((name) => name.replaceAll(/[_-]/g, "").toLowerCase());
  return plain === otherPlain;
}

async function decodeUtf8(bytes: Uint8Array): Promise<string> {
  try {
    // A byte order mark is kept, so that the parser refuses it like any other stray character.
    return await decodeInParts(bytes, new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }));
  } catch {
    throw new ApiError("invalid_json", "The body is not valid UTF-8.");
  }
}

function parseJson(text: string): unknown {
  if (text === "") throw new ApiError("invalid_json", "The body is empty; send JSON, such as {}.");
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError("invalid_json", "The body is not valid JSON.");
  }
}

/**
 * How many values a JSON text has, or a few more.
 *
 * @throws {ApiError} `invalid_json` for one that is nested too deeply, `payload_too_large` for too many of them, or of names.
 */
function countValues(text: string): number {
  const differing = new Set<string>();
  let names = 0;
  const { values, depth } = measureJson(text, (name) => {
    if (++names > mostNames)
      throw new ApiError("payload_too_large", `The body's objects have more than ${mostNames} members.`);
    if (text.length > maxBodyBytes && differing.add(name).size > mostDiffering)
      throw new ApiError("payload_too_large", `The body has more than ${mostDiffering} different names.`);
  });
  if (depth > maxDepth) {
    throw new ApiError("invalid_json", `The body nests arrays and objects deeper than ${maxDepth} levels.`);
  }
  if (values > mostValues)
    throw new ApiError("payload_too_large", `The body has more than ${mostValues} values.`);
  return values;
}
