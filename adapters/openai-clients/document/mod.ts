/**
 * The OpenAPI document of the endpoints for OpenAI's clients.
 *
 * @module
 */

import { errorMessage } from "../../../core/api/document/examples.ts";
import { type ApiDescription, createOpenApi, documentItself } from "../../../core/api/document/mod.ts";
import type { ApiExtension, Route } from "../../../core/http/route.ts";
import { ApiError } from "../../../core/wire/errors.ts";
import { examples, refTo, schemas } from "./schemas.ts";

/** The schemas of an operation's body, of its answer, and of its stream's events. */
interface Shapes {
  readonly body?: string;
  readonly answer: string;
  readonly event?: string;
}

const shapes: Readonly<Record<string, Shapes>> = {
  listModels: { answer: "ModelList" },
  getModel: { answer: "Model" },
  createChatCompletion: {
    body: "ChatCompletionRequest",
    answer: "ChatCompletion",
    event: "ChatCompletionChunk",
  },
  createResponse: { body: "ResponseRequest", answer: "Response", event: "ResponseEvent" },
  getResponse: { answer: "Response", event: "ResponseEvent" },
  cancelResponse: { answer: "Response" },
};

const tags: Readonly<Record<string, string>> = {
  models: "Twins, as models.",
  chat: "Replies of which nothing is stored, unless the client names a conversation.",
  responses: "Replies that are stored, and can be followed from any event.",
  service: "The service itself.",
};

/** The route of the document that describes the others, and itself. `errorBody`: an error as they answer it. */
export function documentRoute(routes: readonly Route[], errorBody: ApiExtension["errorBody"]): Route {
  const own: Route = {
    operationId: "getOpenAIDocument",
    method: "GET",
    path: "/v1/openapi.json",
    summary: "Read the OpenAPI 3.1 document of these endpoints",
    credential: "none",
    success: { status: 200, description: "The document." },
    async handle(_, { root }) {
      const basePath = root.slice(0, -"/api/v1".length);
      return { document: JSON.stringify(createOpenApi([...routes, own], basePath, describe(errorBody))) };
    },
  };
  return own;
}

function describe(errorBody: ApiExtension["errorBody"]): ApiDescription {
  return {
    title: "Conversational AI twins, for OpenAI's clients",
    description: "Models are twins. Errors, chat completions and responses have OpenAI's form.",
    tags,
    schemas,
    tagOf: ({ path, credential }) => (credential !== "none" && path.split("/")[2]) || "service",
    body: ({ operationId }) => mediaOf(shapes[operationId]?.body),
    answer: ({ operationId }) => {
      const { answer, event } = shapes[operationId] ?? {};
      if (answer === undefined) return documentItself;
      return { ...mediaOf(answer), ...(event !== undefined && mediaOf(event, "text/event-stream")) };
    },
    error(code) {
      const body: { error: { code: string } } = JSON.parse(
        errorBody(new ApiError(code, errorMessage(code)), ""),
      );
      return { name: body.error.code, body };
    },
  };
}

function mediaOf(name: string | undefined, type = "application/json") {
  return name === undefined ? undefined : { [type]: { schema: refTo(name), example: examples[name] } };
}
