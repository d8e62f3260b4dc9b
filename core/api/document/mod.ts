/**
 * The OpenAPI 3.1 document, computed from the routes and schemas.
 *
 * @module
 */

import { keyPattern } from "../../http/idempotency.ts";
import { wholeNumber } from "../../http/input.ts";
import type { Route, Success } from "../../http/route.ts";
import { tokenBudgetScopes } from "../../store/token-budgets.ts";
import { type ErrorCode, errorCodes, errorStatus } from "../../wire/errors.ts";
import { headerNames } from "../../wire/request.ts";
import {
  addressPattern,
  apiKeySchema,
  clientTokenSchema,
  conversationSchema,
  createApiKeySchema,
  createClientTokenSchema,
  createConversationSchema,
  createdApiKeySchema,
  createdWebhookSchema,
  createWebhookSchema,
  deliverySchema,
  endUserPattern,
  erasedSchema,
  exportLineSchema,
  failedTestSchema,
  failureSchema,
  feedbackSchema,
  memorySchema,
  messageSchema,
  paginationSchema,
  ratedReplySchema,
  rateMessageSchema,
  record,
  rotateApiKeySchema,
  type Schema,
  sendMessageSchema,
  teachTwinSchema,
  textOrNonePattern,
  textPattern,
  twinCheckSchema,
  twinDocumentSchema,
  twinSchema,
  twinVersionSchema,
  unansweredQuestionSchema,
  updateConversationSchema,
  usageSchema,
  usageSumSchema,
  versionOfTwinSchema,
  webhookSchema,
  writeMemorySchema,
} from "../../wire/schemas.ts";
import {
  bytesExamples,
  conversationEventExamples,
  errorExample,
  eventExamples,
  examples,
} from "./examples.ts";
import { errorHeaders, responseHeaders, successHeaders } from "./headers.ts";

const components: Readonly<Record<string, Schema>> = {
  Twin: twinSchema,
  Conversation: conversationSchema,
  Message: messageSchema,
  ApiKey: apiKeySchema,
  ClientToken: clientTokenSchema,
  CreatedApiKey: createdApiKeySchema,
  Webhook: webhookSchema,
  CreatedWebhook: createdWebhookSchema,
  Delivery: deliverySchema,
  Feedback: feedbackSchema,
  RatedReply: ratedReplySchema,
  UnansweredQuestion: unansweredQuestionSchema,
  Memory: memorySchema,
  Erasure: erasedSchema,
  Usage: usageSchema,
  UsageSum: usageSumSchema,
  Pagination: paginationSchema,
  TwinVersion: versionOfTwinSchema,
  ListedTwinVersion: twinVersionSchema,
  TwinDocument: twinDocumentSchema,
  TwinCheck: twinCheckSchema,
  TeachTwin: teachTwinSchema,
  CreateConversation: createConversationSchema,
  UpdateConversation: updateConversationSchema,
  SendMessage: sendMessageSchema,
  RateMessage: rateMessageSchema,
  WriteMemory: writeMemorySchema,
  CreateApiKey: createApiKeySchema,
  RotateApiKey: rotateApiKeySchema,
  CreateWebhook: createWebhookSchema,
  CreateClientToken: createClientTokenSchema,
};

const nameOfSchema = new Map(Object.entries(components).map(([name, schema]) => [schema, name]));
const exampleNames = new Map([...nameOfSchema, [exportLineSchema, "ExportLine"]]);

function exampleOf(schema: Schema): unknown {
  return examples[exampleNames.get(schema) ?? ""];
}

const errorDetails = {
  type: "object",
  description: "Facts for programs; the code says which.",
  properties: {
    fields: {
      type: "array",
      items: {
        ...record({ path: { type: "string" }, message: { type: "string" } }),
        properties: {
          path: { type: "string" },
          line: { type: "integer", minimum: 1, description: "The line of a twin's file." },
          message: { type: "string" },
        },
      },
    },
    messageId: { type: "string" },
    passed: { type: "integer", minimum: 0 },
    failed: { type: "array", items: failedTestSchema },
    retryAfterSeconds: { type: "integer", minimum: 1 },
    limit: { type: "integer" },
    scope: { type: "string", enum: tokenBudgetScopes },
    resetAt: { type: "string", format: "date-time" },
  },
};

const errorSchema = record({ error: errorObject({ type: "string", enum: errorCodes }) });

function errorObject(code: Schema): unknown {
  const text = { type: "string" };
  return {
    type: "object",
    properties: { code, message: text, details: errorDetails, requestId: text },
    required: ["code", "message", "requestId"],
  };
}

const progressSchema = {
  type: "object",
  description:
    "`accepted` comes first and has the ids; `waiting` comes in its place where the message waits for a person. `continued` has `from`, the length to which the text is cut back, because " +
    "another process goes on from there or has cancelled the reply, and its `attempt`. Other stages are the engine's.",
  properties: {
    stage: { type: "string" },
    messageId: { type: "string" },
    userMessageId: { type: ["string", "null"], description: "Null: a person has said it, unasked." },
  },
  required: ["stage"],
  additionalProperties: true,
};
const deltaContent = { type: "string", description: "Text to append." };
const messageReference = { $ref: "#/components/schemas/Message" };
const replyError = errorObject(failureSchema.properties.code);

/** The data of a stream's events, by type. */
const streamEventSchema = {
  description: "The JSON in an event's `data` line; its `id` line has the length of the reply so far.",
  oneOf: [
    event("progress", { progress: progressSchema }),
    event("delta", { content: deltaContent }),
    event("complete", { message: messageReference }),
    event("error", { error: replyError }),
  ],
};

const messageId = { type: "string", description: "The reply's id." };

/** The data of the events of a conversation's stream, by type. */
const conversationEventSchema = {
  description:
    "The JSON in an event's `data` line. Its `id` line has the message's number in the conversation, a point, and how much " +
    "of the message was sent; one more than its length for the end of a reply.",
  oneOf: [
    event("conversation", { conversation: { $ref: "#/components/schemas/Conversation" } }),
    event("message", { message: messageReference }),
    event("progress", { messageId, progress: progressSchema }),
    event("delta", { messageId, content: deltaContent }),
    event("complete", { messageId, message: messageReference }),
    event("error", { messageId, error: replyError, message: messageReference }),
    event("deleted", {}),
  ],
};

function event(type: string, properties: Readonly<Record<string, unknown>>): unknown {
  return record({ type: { const: type }, ...properties });
}

const securitySchemes = {
  apiKey: { type: "http", scheme: "bearer", description: "An API key. Keep it on your servers." },
  apiKeyHeader: { type: "apiKey", in: "header", name: "X-API-Key" },
  token: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "A JWT; its `sub` is the owner.",
  },
};

const needs = {
  api_key: "Needs a key.",
  token: "Needs a JWT.",
  manager: "Needs a JWT.",
  none: "Needs no credential.",
} as const;

const securityOf = {
  api_key: [{ apiKey: [] }, { apiKeyHeader: [] }],
  token: [{ token: [] }],
  manager: [{ token: [] }],
  none: [],
} as const;

/** Values by media type. */
type ContentByMediaType = Readonly<Record<string, unknown>>;

/** What each group of operations is about. */
const tags: Readonly<Record<string, string>> = {
  twins: "List and read twins.",
  conversations: "Conversations, their messages, and replies as they are written.",
  auth: "API keys, for the bearer of a JWT.",
  webhooks: "Addresses that are told of what happens.",
  "client-tokens": "Short-lived credentials of one end user, for pages and apps.",
  "end-users": "All that is stored about a person: to hand over, or to erase.",
  feedback: "What people think of replies.",
  questions: "What people asked, and the twin could not answer.",
  usage: "What is left of a limit, and what replies took.",
  service: "The service itself.",
};

/** Not 3.2, of which generators of clients do not read what a stream repeats (`itemSchema`). */
const openApiVersion = "3.1.0";

/** Describes the routes of the API, under a base path. */
export function createOpenApi(routes: readonly Route[], basePath: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  }
  const schemas = {
    ...Object.fromEntries(Object.entries(components).map(([name, schema]) => [name, forClients(schema)])),
    ErrorResponse: errorSchema,
    StreamEvent: streamEventSchema,
    ConversationEvent: conversationEventSchema,
  };
  return {
    openapi: openApiVersion,
    info: {
      title: "Conversational AI twins",
      version: "1",
      description: "Twins, conversations, streamed replies.",
      license: { name: "MIT", identifier: "MIT" },
      contact: { name: "The operator of this service" },
    },
    servers: [{ url: basePath || "/" }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name, description: tags[name] })),
    paths,
    components: { schemas: referredTo(schemas, paths), headers: responseHeaders, securitySchemes },
  };
}

/** The schemas that paths refer to, and those that these do: not of endpoints that this service does not have. */
function referredTo(schemas: Readonly<Record<string, unknown>>, paths: object): Record<string, unknown> {
  const found = new Set<string>();
  const search = (value: unknown): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      search(schemas[name]);
    }
  };
  search(paths);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => found.has(name)));
}

/** The group of operations that documentation and generated clients show a route in. */
function tagOf({ path, credential }: Route): string {
  return (credential !== "none" && path.split("/")[3]) || "service";
}

/**
 * A schema for generators of typed clients: they take a member with a default for one that is always present.
 */
function forClients(schema: Schema): Schema {
  const members = Object.entries(schema.properties ?? {}).map(([name, { default: value, ...rest }]) => [
    name,
    {
      ...simplePattern(rest),
      ...(value !== undefined && { description: `${rest.description} Default: ${value}.` }),
    },
  ]);
  return { ...schema, properties: Object.fromEntries(members) };
}

/**
 * A schema with a pattern that the languages of all clients know. A text has a character that is not blank, an address
 * no blank one; an end user has no pattern.
 */
function simplePattern(schema: Schema): Schema {
  if (schema.pattern === textPattern) return { ...schema, pattern: "\\S" };
  if (schema.pattern === textOrNonePattern) return { ...schema, pattern: "^$|\\S" };
  if (schema.pattern === addressPattern) return { ...schema, pattern: "^\\S+$" };
  if (schema.pattern !== endUserPattern) return schema;
  const { pattern: _, ...rest } = schema;
  return rest;
}

function operation(route: Route): Record<string, unknown> {
  const { operationId, summary, scope, credential, success } = route;
  const body = bodyOf(route);
  const content = contentOf(success);
  const { description, status } = success;
  return {
    operationId,
    tags: [tagOf(route)],
    summary,
    description: scope ? `Needs a key with the scope ${scope}.` : needs[credential],
    security: securityOf[credential],
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)],
    ...(body && { requestBody: { required: !route.isBodyOptional, content: body } }),
    responses: {
      [status]: { description, headers: successHeaders(route), ...(content && { content }) },
      ...Object.fromEntries(
        Object.entries(success.also ?? {}).map(([other, description]) => [
          other,
          { description, headers: successHeaders(route, Number(other)), ...(content && { content }) },
        ]),
      ),
      ...(success.etag &&
        route.method === "GET" && {
          304: { description: "Nothing has changed.", headers: successHeaders(route) },
        }),
      ...errorResponses(route),
    },
  };
}

function bodyOf({ body, bytes }: Route): ContentByMediaType | undefined {
  if (bytes) {
    const types = bytes.types === "any" ? ["application/octet-stream"] : bytes.types;
    return Object.fromEntries(types.map((type) => [type, bytesMedia(type)]));
  }
  return body && { "application/json": media(body) };
}

function bytesMedia(type: string) {
  return { schema: type.startsWith("text/") ? { type: "string" } : {}, example: bytesExamples[type] };
}

/** What ids in paths name, by the segment before them. */
const named: Readonly<Record<string, string>> = {
  twins: "The twin's id.",
  memory: "The twin's id.",
  conversations: "The conversation's id.",
  messages: "The message's id.",
  "api-keys": "The key's id.",
  webhooks: "The webhook's id.",
  deliveries: "The delivery's id.",
};

function pathParameters(route: Route): unknown[] {
  return [...route.path.matchAll(/([\w-]+)\/\{(\w+)\}/g)].map(([, before = "", name = ""]) => {
    const anId = { type: "string" as const, description: named[before] };
    const { description, ...schema } = route.params?.properties[name] ?? anId;
    return { name, in: "path", required: true, description, schema: simplePattern(schema) };
  });
}

function queryParameters(route: Route): unknown[] {
  return Object.entries(route.query?.properties ?? {}).flatMap(([name, { description, ...schema }]) => {
    // A parameter for each member, `metadata.<name>`, is nothing that OpenAPI can describe: the summary says it.
    if (schema.type === "object") return [];
    return { name, in: "query", description, schema: simplePattern(schema) };
  });
}

function headerParameters(route: Route): unknown[] {
  const headers: unknown[] = [];
  if (route.idempotency === "supported") {
    const description = "Equal requests with the same key have one effect, for 24 hours.";
    headers.push(header("Idempotency-Key", description, { type: "string", pattern: keyPattern.source }));
  }
  if (route.success.async) {
    const description = "respond-async: the reply is not waited for; the answer is 202.";
    headers.push(header("Prefer", description, { type: "string" }));
  }
  for (const name of Object.values(route.headers ?? {}))
    if (conditions[name]) headers.push(header(name, conditions[name], { type: "string" }));
  if (route.success.document)
    headers.push(header("If-None-Match", "The ETag of an earlier answer.", { type: "string" }));
  for (const [parameter, field] of Object.entries(route.queryHeaders ?? {})) {
    const description = `The same as the parameter ${parameter}; the header wins.`;
    // A string, because that is what clients have of an event's id.
    const name = headerNames[field];
    headers.push(header(name, description, { type: "string", pattern: wholeNumber.source }));
  }
  return headers;
}

/** The header fields that a request depends on. */
const conditions: Readonly<Record<string, string>> = {
  "If-Match": "The ETag that the twin has now, or the change is refused.",
  "If-None-Match": "The ETag of an earlier answer; *: only if there is no such twin.",
};

function header(name: string, description: string, schema: unknown): unknown {
  return { name, in: "header", description, schema };
}

function reference(schema: Schema): unknown {
  const name = nameOfSchema.get(schema);
  return name ? { $ref: `#/components/schemas/${name}` } : schema;
}

function contentOf(success: Success): ContentByMediaType | undefined {
  const { schema, list, events, lines, document, bytes } = success;
  if (bytes) return { [bytes]: bytesMedia(bytes) };
  if (events) return { "text/event-stream": eventMedia(events) };
  if (document) {
    const example = {
      openapi: openApiVersion,
      info: { title: "Conversational AI twins", version: "1" },
      paths: {},
    };
    return { "application/json": { schema: { type: "object" }, example } };
  }
  if (!schema) return undefined;
  return lines ? { "application/x-ndjson": media(schema) } : { "application/json": envelope(schema, list) };
}

/** The schema of a single event: OpenAPI 3.1 cannot describe a sequence, and client generators expect this. */
function eventMedia(events: true | "conversation") {
  const isReply = events !== "conversation";
  return {
    schema: { $ref: `#/components/schemas/${isReply ? "StreamEvent" : "ConversationEvent"}` },
    examples: isReply ? eventExamples : conversationEventExamples,
  };
}

function media(schema: Schema) {
  return { schema: reference(schema), example: exampleOf(schema) };
}

function envelope(schema: Schema, list: true | undefined): unknown {
  const data = reference(schema);
  const example = exampleOf(schema);
  if (!list) return { schema: record({ data }), example: { data: example } };
  return {
    schema: record({ data: { type: "array", items: data }, pagination: reference(paginationSchema) }),
    example: { data: [example], pagination: exampleOf(paginationSchema) },
  };
}

/** All the errors that an endpoint can answer with, by status. */
function errorResponses(route: Route): Record<string, unknown> {
  const all = errorsOf(route);
  const schema = { $ref: "#/components/schemas/ErrorResponse" };
  const byStatus: Record<string, unknown> = {};
  for (const status of new Set(all.map(errorStatus))) {
    const codes = all.filter((code) => errorStatus(code) === status);
    const examples = Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }]));
    byStatus[status] = {
      description: codes.join(", "),
      headers: errorHeaders(route, status, codes),
      content: { "application/json": { schema, examples } },
    };
  }
  return byStatus;
}

function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>();
  const add = (...more: readonly ErrorCode[]) => {
    for (const code of more) codes.add(code);
  };
  add("invalid_request", "uri_too_long", "headers_too_large", "internal_error");
  if (route.credential === "api_key") add("missing_credentials", "invalid_api_key", "unavailable");
  if (route.credential === "manager") add("insufficient_scope");
  if (route.credential === "token" || route.credential === "manager")
    add("missing_credentials", "invalid_token", "unavailable");
  if (route.ownerPolicy || (route.credential === "api_key" && !route.free)) add("rate_limited");
  if (route.scope === "full_access" || route.ownersOnly) add("insufficient_scope");
  if (route.query || route.params) add("validation_error");
  if (route.bytes) add("request_timeout", "payload_too_large", "unsupported_media_type", "shutting_down");
  if (route.body) {
    add("validation_error", "invalid_json", "request_timeout", "payload_too_large", "unsupported_media_type");
    add("shutting_down"); // for a body that the closing server cut off
  }
  if (route.idempotency === "supported") add("idempotency_key_reused");
  if (route.idempotency === "refused") add("idempotency_not_supported");
  add(...(route.errors ?? []));
  return errorCodes.filter((code) => codes.has(code));
}
