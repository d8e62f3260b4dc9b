/**
 * Checks every answer that a test gets against what all answers have in common and against the service's own
 * OpenAPI document: no undocumented fields, no undocumented statuses.
 */

import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { createOpenApi } from "../../core/api/document/mod.ts";
import { routes } from "../../core/api/routes.ts";

/** The parts of the OpenAPI document that the tests read. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>;
    readonly headers: Readonly<Record<string, unknown>>;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly DocumentedParameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: DocumentedContent };
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

interface DocumentedParameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: object;
}

interface DocumentedResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: DocumentedContent;
}

type DocumentedContent = Readonly<Record<string, DocumentedMedia>>;

interface DocumentedMedia {
  readonly schema: unknown;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export const requestIdPattern = /^req_[0-9a-z]{26}$/;

const openApi = createOpenApi(routes, "") as unknown as OpenApiDocument;
const ajv = new Ajv2020({ strict: false, formats: { "date-time": isTime } });
ajv.addSchema({ $id: "api", components: { schemas: closed(openApi.components.schemas) } });

const validators = new Map<string, ValidateFunction>();
const requestIds = new Set<string>();

/** Fails unless all bodies and answers have examples that fit their schemas. Returns how many there are. */
export function assertExamples(document: OpenApiDocument): number {
  const ajv = new Ajv2020({ allowUnionTypes: true, formats: { "date-time": isTime } });
  ajv.addVocabulary(Object.keys(document)).addSchema({ ...document, $id: "api" });
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  let seen = 0;
  for (const { operationId, requestBody, responses } of operations) {
    const contents = [requestBody, ...Object.values(responses)].map((one) => one?.content ?? {});
    for (const { schema, example, examples } of contents.flatMap((content) => Object.values(content))) {
      const fits = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')));
      for (const value of examples ? Object.values(examples).map((one) => one.value) : [example]) {
        assert.ok(fits(value), `${operationId}: ${ajv.errorsText(fits.errors)} in ${JSON.stringify(value)}`);
        seen++;
      }
    }
  }
  return seen;
}

/** Fails unless an answer has what all answers have, and is what the document says of this request. */
export async function assertConforms(
  method: string,
  target: string,
  response: Response,
  basePath = "",
): Promise<void> {
  assertCommon(response);
  if (response.url === "") assertEndToEnd(response);
  const { pathname } = new URL(`http://twins.test${target}`);
  const path = pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : "";
  const operation = operationAt(method, path);
  if (operation && method !== "HEAD") assertAnnounced(response, operation);
  const text = isEventStream(response) ? undefined : await response.clone().text();
  if (method === "HEAD" || response.status === 204) {
    assert.equal(text, "", "an answer to HEAD, or a 204, has no body");
    return;
  }
  if (text === undefined) {
    assertStream(response, operation);
    return;
  }
  if (response.headers.get("content-type") === "application/x-ndjson") {
    assertLines(text, operation);
    return;
  }
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  const answered = operation?.responses[String(response.status)];
  if (type !== "application/json" && answered?.content?.[type]) return; // bytes, as they are documented
  if (response.status === 304) return;
  assert.equal(response.headers.get("content-type"), "application/json; charset=utf-8");
  assertBody(JSON.parse(text), response, method, path, operation);
}

/** Fails unless an answer has the header fields that all have, and none of those that none has. */
export function assertCommon({ headers }: Pick<Response, "headers">): void {
  const requestId = headers.get("x-request-id") ?? "";
  assert.match(requestId, requestIdPattern);
  assert.ok(!requestIds.has(requestId), "a request id is unique");
  requestIds.add(requestId);
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  const mayBeKept = headers.has("etag") && headers.get("cache-control") === "no-cache";
  assert.ok(mayBeKept || /^no-store(, no-transform)?$/.test(headers.get("cache-control") ?? ""));
  assert.equal(headers.get("server"), null);
  assert.equal(headers.get("x-powered-by"), null);
}

/** Fails if the service's own answer, which no server has sent, has a field about a connection: adapters decide on those. */
function assertEndToEnd({ headers }: Response): void {
  for (const name of ["connection", "keep-alive", "trailer", "transfer-encoding", "upgrade"]) {
    assert.equal(headers.get(name), null, name);
  }
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

function assertStream({ headers, status }: Response, operation: Operation | undefined): void {
  assert.equal(status, 200);
  assert.equal(headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(headers.get("cache-control"), "no-store, no-transform");
  assert.equal(headers.get("x-accel-buffering"), "no");
  assert.equal(headers.get("incremental"), "?1");
  assert.ok(operation?.responses["200"]?.content?.["text/event-stream"], "a stream is documented as one");
}

function assertLines(text: string, operation: Operation | undefined): void {
  assert.ok(operation?.responses["200"]?.content?.["application/x-ndjson"], "lines are documented as such");
  assert.ok(text === "" || text.endsWith("\n"));
  for (const line of text.split("\n").slice(0, -1)) {
    assert.match(Object.keys(JSON.parse(line)).join(), /^(?:memory|conversation|message)$/);
  }
}

function assertBody(
  body: unknown,
  { status, headers }: Response,
  method: string,
  path: string,
  operation: Operation | undefined,
): void {
  if (status >= 400) assertError(body, headers);
  if (!operation) {
    assert.ok([400, 404, 405, 414].includes(status), `${method} ${path}: ${status}`);
    return;
  }
  const documented = operation.responses[status];
  assert.ok(documented, `${operation.operationId} announces ${status}`);
  assertHeaders(documented, headers, status, operation);
  if (status >= 400) {
    const { code } = (body as { error: { code: string } }).error;
    assert.ok(
      documented.description.split(", ").includes(code),
      `${operation.operationId} announces ${code}`,
    );
  }
  if (operation.operationId.startsWith("getOpenApi") && status === 200) return;
  assertMatches(documented.content?.["application/json"]?.schema, body, `${operation.operationId} ${status}`);
}

/** Header fields of all answers, and those that a server adds by itself. */
const general =
  /^(access-control-.*|cache-control|connection|content-(disposition|encoding|length|type)|date|incremental|keep-alive|transfer-encoding|vary|x-accel-buffering|x-content-type-options)$/;

/** Fails if an answer has a header field that is not documented for its status. */
function assertAnnounced({ headers, status }: Response, { operationId, responses }: Operation): void {
  const announced = Object.keys(responses[status]?.headers ?? {}).map((name) => name.toLowerCase());
  for (const name of headers.keys()) {
    const known = general.test(name) || announced.includes(name);
    assert.ok(known, `${operationId} ${status} announces ${name}`);
  }
}

/** Fails unless the documented header fields are there. Some errors of a status have more than others. */
function assertHeaders(
  { headers: announced = {} }: DocumentedResponse,
  headers: Headers,
  status: number,
  { operationId }: Operation,
): void {
  if ([400, 409, 500, 503].includes(status)) return;
  for (const name of Object.keys(announced)) {
    // Of 202, only what a client prefers that does not wait has the others.
    const optional = name === "Idempotency-Replayed" || (status === 202 && !name.includes("Rate"));
    assert.ok(optional || headers.has(name), `${operationId} ${status}: ${name}`);
  }
}

/** Fails unless a body is an error in the one shape of all errors. */
export function assertError(body: unknown, headers: Headers): void {
  assertMatches({ $ref: "api#/components/schemas/ErrorResponse" }, body, "error");
  const { error } = body as { error: { message: string; requestId: string } };
  assert.equal(error.requestId, headers.get("x-request-id"));
  assert.doesNotMatch(error.message, /\bat \S+:\d+|node:|\/core\/|\/adapters\/|select |insert /i);
}

/** Fails unless an event's data is of a documented kind. */
export function assertEvent(data: unknown): void {
  assertMatches({ $ref: "api#/components/schemas/StreamEvent" }, data, "StreamEvent");
}

/** The same of an event of a conversation's stream. */
export function assertConversationEvent(data: unknown): void {
  assertMatches({ $ref: "api#/components/schemas/ConversationEvent" }, data, "ConversationEvent");
}

function assertMatches(schema: unknown, value: unknown, name: string): void {
  const validator = validators.get(name) ?? ajv.compile(localized(schema) as object);
  validators.set(name, validator);
  assert.ok(validator(value), `${name}: ${ajv.errorsText(validator.errors)} in ${JSON.stringify(value)}`);
}

/** The documented operation for a request's method and path. Literal segments win over parameters. */
function operationAt(method: string, path: string): Operation | undefined {
  const segments = path.split("/");
  const fits = Object.keys(openApi.paths).filter((pattern) => {
    const parts = pattern.split("/");
    return (
      parts.length === segments.length &&
      parts.every(
        (part, index) =>
          part === segments[index] ||
          (part === "{endUser}" || part === "{path}"
            ? isSegment(segments[index])
            : part.startsWith("{") && isId(segments[index])),
      )
    );
  });
  const [best = ""] = fits.sort((one, other) => openSegments(one) - openSegments(other));
  return openApi.paths[best]?.[method === "HEAD" ? "get" : method.toLowerCase()];
}

/** Whether a segment can be an id; others match nothing. */
function isId(segment = ""): boolean {
  return (
    segment.length <= 1024 && isSegment(segment) && !/[\u0000-\u001f\u007f]/.test(decodeURIComponent(segment))
  );
}

/** Whether a segment can be a parameter's value at all. */
function isSegment(segment = ""): boolean {
  if (segment === "" || segment.length > 2048) return false;
  try {
    return decodeURIComponent(segment) !== "";
  } catch {
    return false; // a malformed escape
  }
}

function openSegments(pattern: string): number {
  return pattern.split("{").length;
}

/** The same schema for objects that have no members besides the documented ones. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const isObject = "type" in schema && "properties" in schema;
  return isObject ? { additionalProperties: false, ...copy } : copy;
}

/** The document's references, rewritten to point into it from outside. */
function localized(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(closed(schema)).replaceAll('"$ref":"#/', '"$ref":"api#/'));
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && new Date(text).toISOString() === text;
}
