import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { assertExamples, type OpenApiDocument } from "../support/conformance.ts";
import { inProcess } from "../support/harness.ts";
import { type OpenAIFixture, openOpenAI, readData } from "./fixture.ts";

async function read(api: OpenAIFixture): Promise<OpenApiDocument> {
  const response = await api.send("GET", "/openapi.json", undefined, { authorization: "" });
  assert.equal(response.status, 200);
  return (await response.json()) as OpenApiDocument;
}

test("the document of /v1 lists its endpoints, and nothing else", async () => {
  await using api = await openOpenAI(inProcess, { basePath: "/chat" });
  const document = await read(api);
  assert.deepEqual(document.servers, [{ url: "/chat" }]);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  assert.deepEqual(operations, [
    "get /v1/models",
    "get /v1/models/{id}",
    "post /v1/chat/completions",
    "post /v1/responses",
    "get /v1/responses/{id}",
    "post /v1/responses/{id}/cancel",
    "get /v1/openapi.json",
  ]);
});

test("the document of /v1 has examples of all bodies and answers, which fit their schemas", async () => {
  await using api = await openOpenAI(inProcess);
  assert.ok(assertExamples(await read(api)) > 60);
});

test("the document of /v1 names the headers that say who talks in which conversation", async () => {
  const headers = { conversationHeader: "X-Chat", endUserHeader: "X-User" };
  await using api = await openOpenAI(inProcess, {}, headers);
  const { parameters = [] } = (await read(api)).paths["/v1/chat/completions"]?.post ?? {};
  const names = parameters.filter((parameter) => parameter.in === "header").map(({ name }) => name);
  assert.deepEqual(names, ["X-Chat", "X-Stainless-Retry-Count", "X-User"]);
});

test("what /v1 answers is what its document describes", async () => {
  await using api = await openOpenAI(inProcess);
  const document = await read(api);
  const ajv = new Ajv2020({ allowUnionTypes: true });
  ajv.addVocabulary(Object.keys(document)).addSchema({ ...document, $id: "api" });
  const assertIs = (name: string, value: unknown) => {
    const fits = ajv.validate({ $ref: `api#/components/schemas/${name}` }, value);
    assert.ok(fits, `${name}: ${ajv.errorsText()} in ${JSON.stringify(value)}`);
  };
  const json = async (response: Promise<Response>): Promise<unknown> => (await response).json();
  const events = async (response: Promise<Response>) => readData(await (await response).text());
  const ask = { model: "echo", input: "Hello?", messages: [{ role: "user", content: "Hello?" }] };

  assertIs("ModelList", await json(api.send("GET", "/models")));
  assertIs("Model", await json(api.send("GET", "/models/ada")));
  assertIs("ErrorResponse", await json(api.send("GET", "/models/nobody")));
  assertIs("ChatCompletion", await json(api.send("POST", "/chat/completions", ask)));
  const chunks = await events(api.send("POST", "/chat/completions", { ...ask, stream: true }));
  for (const chunk of chunks.slice(0, -1)) assertIs("ChatCompletionChunk", chunk);
  assertIs("Response", await json(api.send("POST", "/responses", ask)));
  assertIs("Response", await json(api.send("POST", "/responses", { ...ask, background: true })));
  for (const event of await events(api.send("POST", "/responses", { ...ask, stream: true }))) {
    assertIs("ResponseEvent", event);
  }
});
