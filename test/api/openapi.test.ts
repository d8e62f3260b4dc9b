import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { routes } from "../../core/api/routes.ts";
import { errorCodes } from "../../core/wire/errors.ts";
import { assertExamples, type OpenApiDocument, type Operation } from "../support/conformance.ts";
import { inProcess, openFixture } from "../support/harness.ts";

/** Method, path, credential, success status: everything that the document must list, and nothing else. */
const table = [
  ["get", "/api/v1/twins", "key", 200],
  ["get", "/api/v1/twins/{id}", "key", 200],
  ["post", "/api/v1/twins/check", "token", 200],
  ["put", "/api/v1/twins/{id}/file", "token", 200],
  ["get", "/api/v1/twins/{id}/file", "token", 200],
  ["get", "/api/v1/twins/{id}/versions", "token", 200],
  ["post", "/api/v1/twins/{id}/versions/{version}/restore", "token", 201],
  ["delete", "/api/v1/twins/{id}", "token", 204],
  ["get", "/api/v1/twins/{id}/documents", "token", 200],
  ["put", "/api/v1/twins/{id}/documents/{path}", "token", 200],
  ["get", "/api/v1/twins/{id}/documents/{path}", "token", 200],
  ["delete", "/api/v1/twins/{id}/documents/{path}", "token", 204],
  ["post", "/api/v1/twins/{id}/answers", "token", 201],
  ["post", "/api/v1/conversations", "key", 201],
  ["get", "/api/v1/conversations", "key", 200],
  ["get", "/api/v1/conversations/{id}", "key", 200],
  ["patch", "/api/v1/conversations/{id}", "key", 200],
  ["delete", "/api/v1/conversations/{id}", "key", 204],
  ["get", "/api/v1/conversations/{id}/messages", "key", 200],
  ["post", "/api/v1/conversations/{id}/messages", "key", 200],
  ["post", "/api/v1/conversations/{id}/messages/stream", "key", 200],
  ["get", "/api/v1/conversations/{id}/messages/{messageId}", "key", 200],
  ["get", "/api/v1/conversations/{id}/messages/{messageId}/stream", "key", 200],
  ["post", "/api/v1/conversations/{id}/messages/{messageId}/cancel", "key", 200],
  ["put", "/api/v1/conversations/{id}/messages/{messageId}/feedback", "key", 200],
  ["delete", "/api/v1/conversations/{id}/messages/{messageId}/feedback", "key", 204],
  ["get", "/api/v1/feedback", "key", 200],
  ["get", "/api/v1/questions/unanswered", "key", 200],
  ["post", "/api/v1/auth/api-keys", "token", 201],
  ["get", "/api/v1/auth/api-keys", "token", 200],
  ["post", "/api/v1/auth/api-keys/{id}/rotate", "token", 200],
  ["delete", "/api/v1/auth/api-keys/{id}", "token", 204],
  ["post", "/api/v1/webhooks", "token", 201],
  ["get", "/api/v1/webhooks", "token", 200],
  ["get", "/api/v1/webhooks/{id}", "token", 200],
  ["delete", "/api/v1/webhooks/{id}", "token", 204],
  ["post", "/api/v1/webhooks/{id}/rotate", "token", 200],
  ["get", "/api/v1/webhooks/{id}/deliveries", "token", 200],
  ["post", "/api/v1/webhooks/{id}/deliveries/{deliveryId}/retry", "token", 202],
  ["post", "/api/v1/client-tokens", "key", 201],
  ["delete", "/api/v1/client-tokens", "key", 204],
  ["get", "/api/v1/conversations/{id}/stream", "key", 200],
  ["get", "/api/v1/end-users/{endUser}/export", "key", 200],
  ["delete", "/api/v1/end-users/{endUser}", "key", 200],
  ["get", "/api/v1/end-users/{endUser}/memory/{twinId}", "key", 200],
  ["put", "/api/v1/end-users/{endUser}/memory/{twinId}", "key", 200],
  ["delete", "/api/v1/end-users/{endUser}/memory/{twinId}", "key", 204],
  ["get", "/api/v1/usage", "key", 200],
  ["get", "/api/v1/usage/history", "key", 200],
  ["get", "/api/v1/openapi.json", "none", 200],
] as const;

const securityOf = {
  key: [{ apiKey: [] }, { apiKeyHeader: [] }],
  token: [{ token: [] }],
  none: [],
};

async function read(basePath = ""): Promise<OpenApiDocument> {
  await using fixture = await openFixture(inProcess, { basePath, ownTwins: { reader: createTwinReader() } });
  const response = await fixture.send(`${basePath}/api/v1/openapi.json`);
  assert.equal(response.status, 200);
  return (await response.json()) as OpenApiDocument;
}

interface Described {
  readonly description?: string;
}

const document = await read();
const { paths, components } = document;
const operations = Object.values(paths).flatMap((methods) => Object.values(methods));

/** A validator that knows the document's references. */
function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ allowUnionTypes: true, formats: { "date-time": true } });
  return ajv.addVocabulary(Object.keys(document)).addSchema({ ...document, $id: "api" });
}

describe("the OpenAPI document", () => {
  test("it lists every endpoint with its credential and its success status, and no others", () => {
    const listed = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const [success] = Object.keys(operation.responses);
        return [method, path, JSON.stringify(operation.security), success];
      }),
    );
    const expected = table.map(([method, path, credential, status]) => [
      method,
      path,
      JSON.stringify(securityOf[credential]),
      String(status),
    ]);
    assert.deepEqual(listed.sort(), expected.sort());
  });

  test("it names the path under which the service is mounted", async () => {
    assert.deepEqual(document.servers, [{ url: "/" }]);
    assert.deepEqual((await read("/chat")).servers, [{ url: "/chat" }]);
  });

  test("its references resolve, and its schemas compile", () => {
    assert.match(document.openapi, /^3\.1\.\d$/);
    const references = JSON.stringify(document).match(/"\$ref":"[^"]+"/g) ?? [];
    assert.ok(references.length > 20);
    for (const reference of new Set(references)) {
      const [, kind = "", name = ""] = /"#\/components\/(schemas|headers)\/([\w-]+)"$/.exec(reference) ?? [];
      assert.ok(name in (components[kind as "schemas" | "headers"] ?? {}), reference);
    }
    const ajv = createAjv();
    for (const name of Object.keys(components.schemas)) {
      assert.equal(typeof ajv.compile({ $ref: `api#/components/schemas/${name}` }), "function");
    }
    for (const { schema } of operations.flatMap(({ parameters }) => parameters)) {
      assert.equal(typeof ajv.compile(schema), "function");
    }
  });

  test("each operation has examples of its body and of its answers, which fit their schemas", () => {
    assert.ok(assertExamples(document) > 200);
  });

  test("its bodies refuse blank text, as the service does", () => {
    const { SendMessage, CreateConversation } = components.schemas;
    const ajv = new Ajv2020({ allowUnionTypes: true });
    assert.equal(ajv.validate(SendMessage ?? false, { content: " \n" }), false);
    assert.equal(ajv.validate(SendMessage ?? false, { content: " Hi" }), true);
    assert.equal(ajv.validate(CreateConversation ?? false, { twinId: "echo", title: null }), true);
  });

  test("its query parameters refuse blank text, as the service does", () => {
    const ajv = new Ajv2020();
    for (const [path, name] of [
      ["/api/v1/conversations", "twinId"],
      ["/api/v1/conversations/{id}/messages", "after"],
    ] as const) {
      const { schema } = paths[path]?.get?.parameters.find((each) => each.name === name) ?? {};
      assert.equal(ajv.validate(schema ?? false, " "), false, name);
      assert.equal(ajv.validate(schema ?? false, "a"), true, name);
    }
  });

  test("each parameter, and each member of a body, says what it means", () => {
    const bodies = operations.flatMap(({ requestBody }) => {
      const { $ref } = (requestBody?.content["application/json"]?.schema ?? {}) as { $ref?: string };
      return $ref ? [components.schemas[$ref.slice("#/components/schemas/".length)]] : [];
    });
    const members = (bodies as { properties: Record<string, Described> }[]).flatMap(({ properties }) =>
      Object.values(properties),
    );
    const described: readonly Described[] = [
      ...members,
      ...operations.flatMap(({ parameters }) => parameters),
    ];
    assert.ok(members.length > 15 && described.length > 80);
    for (const each of described)
      assert.match(each.description ?? "", /^(?!Default).+\.$/, JSON.stringify(each));
  });

  test("no schema has the name of a JavaScript global", () => {
    for (const name of Object.keys(components.schemas)) assert.ok(!(name in globalThis), name);
  });

  test("each operation has a unique id, its path's parameters, and the errors it can end with", () => {
    const names = new Set<string>();
    for (const [path, methods] of Object.entries(paths)) {
      for (const operation of Object.values(methods)) {
        names.add(operation.operationId);
        assert.deepEqual(parametersIn(operation, "path"), path.match(/(?<=\{)\w+(?=\})/g) ?? []);
        const statuses = Object.keys(operation.responses);
        const expected = ["400", "414", "431", "500"];
        if (operation.security.length > 0) expected.push("401", "503");
        if (operation.requestBody) expected.push("413", "415");
        for (const status of expected) {
          assert.ok(statuses.includes(status), `${operation.operationId} ${status}`);
        }
      }
    }
    assert.equal(names.size, routes.filter(({ path }) => path.startsWith("/api/v1/")).length);
  });

  test("operations have their query parameters and header fields", () => {
    const messages = paths["/api/v1/conversations/{id}/messages"];
    assert.deepEqual(parametersIn(messages?.get, "query"), ["page", "limit", "order", "after", "path"]);
    assert.deepEqual(parametersIn(messages?.post, "header"), ["Idempotency-Key", "Prefer"]);
    assert.deepEqual(parametersIn(paths["/api/v1/conversations"]?.get, "query"), [
      "page",
      "limit",
      "twinId",
      "endUser",
      "answeredBy",
      "waiting",
    ]);
    const stream = paths["/api/v1/conversations/{id}/messages/{messageId}/stream"]?.get;
    assert.deepEqual(parametersIn(stream, "query"), ["after"]);
    assert.deepEqual(parametersIn(stream, "header"), ["Last-Event-ID"]);
  });

  test("the schema of Idempotency-Key accepts what the service accepts", () => {
    const [parameter] = paths["/api/v1/conversations"]?.post?.parameters ?? [];
    const fits = new Ajv2020().compile(parameter?.schema ?? {});
    for (const key of ["a", "a".repeat(255), "a,b"]) assert.ok(fits(key), key);
    for (const key of ["", "a".repeat(256), "é", "a, a"]) assert.ok(!fits(key), key);
  });

  test("Last-Event-ID is a string, as clients receive event ids", () => {
    const stream = paths["/api/v1/conversations/{id}/messages/{messageId}/stream"]?.get;
    const { schema } = stream?.parameters.find(({ name }) => name === "Last-Event-ID") ?? {};
    const fits = new Ajv2020().compile(schema ?? {});
    for (const id of ["0", "1042"]) assert.ok(fits(id), id);
    for (const id of ["", "-1", "1.5", "007", 1042]) assert.ok(!fits(id), String(id));
  });

  test("an error has the header fields that it can have, and no others", () => {
    const withHeader = (status: string, name: string) =>
      operations
        .filter(({ responses }) => name in (responses[status]?.headers ?? {}))
        .map(({ operationId }) => operationId)
        .sort();
    // Only a normal send answers with the failure of its reply, which an equal request gets again.
    for (const status of ["502", "503", "504"]) {
      assert.deepEqual(withHeader(status, "Idempotency-Replayed"), ["sendMessage"], status);
    }
    // What is wrong with a request that has neither a query nor a body is found before its key is looked up.
    assert.deepEqual(withHeader("400", "RateLimit"), [
      "createClientToken",
      "createConversation",
      "deleteClientTokens",
      "deleteMemory",
      "eraseEndUser",
      "exportEndUser",
      "followConversation",
      "getMemory",
      "listConversations",
      "listFeedback",
      "listMessages",
      "listTwins",
      "listUnansweredQuestions",
      "listUsage",
      "rateMessage",
      "resumeMessageStream",
      "sendMessage",
      "streamMessage",
      "unrateMessage",
      "updateConversation",
      "writeMemory",
    ]);
  });

  test("an operation that costs nothing has no 429", () => {
    assert.ok(!("429" in (paths["/api/v1/usage"]?.get?.responses ?? {})));
    assert.ok("429" in (paths["/api/v1/twins"]?.get?.responses ?? {}));
  });

  test("a typed client may leave out a body member that has a default", () => {
    const { properties } = components.schemas.CreateApiKey as { properties: Record<string, unknown> };
    const scopes = ["read_only", "full_access"];
    const description = "What the key may do. Default: read_only.";
    assert.deepEqual(properties.scope, { type: "string", enum: scopes, description });
  });

  test("the one body that may be left out is not required", () => {
    const optional = operations.filter(({ requestBody }) => requestBody?.required === false);
    assert.deepEqual(
      optional.map(({ operationId }) => operationId),
      ["rotateApiKey"],
    );
  });

  test("a nullable enum or object is an anyOf with null, which client generators understand", () => {
    const { properties } = components.schemas.Message as {
      properties: Record<string, { anyOf?: { type: string }[] }>;
    };
    const types = ["finishReason", "usage", "error"].map((name) =>
      properties[name]?.anyOf?.map(({ type }) => type),
    );
    assert.deepEqual(types, [
      ["string", "null"],
      ["object", "null"],
      ["object", "null"],
    ]);
  });

  test("operations are tagged by what their paths begin with", () => {
    const groups = operations.flatMap(({ tags }) => tags);
    assert.deepEqual([...new Set(groups)].sort(), [
      "auth",
      "client-tokens",
      "conversations",
      "end-users",
      "feedback",
      "questions",
      "service",
      "twins",
      "usage",
      "webhooks",
    ]);
    assert.deepEqual(paths["/api/v1/openapi.json"]?.get?.tags, ["service"]);
  });

  test("a stream has the schema of its events, so that generated clients type what they read", () => {
    const messages = "/api/v1/conversations/{id}/messages";
    for (const operation of [
      paths[`${messages}/stream`]?.post,
      paths[`${messages}/{messageId}/stream`]?.get,
    ]) {
      const { schema } = operation?.responses["200"]?.content?.["text/event-stream"] ?? {};
      assert.deepEqual(schema, { $ref: "#/components/schemas/StreamEvent" });
    }
  });

  test("a progress event's schema names the ids that a client needs to resume", () => {
    const isEvent = createAjv().compile({ $ref: "api#/components/schemas/StreamEvent" });
    const accepted = { stage: "accepted", messageId: "msg_2", userMessageId: "msg_1" };
    assert.ok(isEvent({ type: "progress", progress: accepted }));
    for (const name of ["messageId", "userMessageId"]) {
      assert.ok(!isEvent({ type: "progress", progress: { ...accepted, [name]: 1 } }), name);
    }
  });

  test("no error code is missing", () => {
    const text = JSON.stringify(paths);
    const general = new Set(["not_found", "method_not_allowed", "cross_site_request", "answered_by_person"]); // of no endpoint here
    for (const code of errorCodes) if (!general.has(code)) assert.match(text, new RegExp(`\\b${code}\\b`));
  });
});

function parametersIn(operation: Operation | undefined, place: string): string[] {
  return (operation?.parameters ?? []).filter((each) => each.in === place).map(({ name }) => name);
}
