/**
 * What OpenAI's clients send and get, as far as it means something here: schemas, and an example of each.
 *
 * @module
 */

import { record, type Schema } from "../../../core/wire/schemas.ts";

const text = { type: "string" } as const;
const textOrNull = { type: ["string", "null"] } as const;
const whole = { type: "integer", minimum: 0 } as const;
const seconds = { type: "integer", description: "Seconds since 1970." } as const;
const endUser = { type: "string", description: "Your own id of the person who talks." } as const;
const model = { type: "string", description: "The id of a twin." } as const;

/** A reference to one of {@link schemas}. */
export function refTo(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

function listOf(items: unknown) {
  return { type: "array", items };
}

/** An object of which not all members are described. */
function open(properties: Readonly<Record<string, unknown>>, required: readonly string[]): unknown {
  return { type: "object", properties, required, additionalProperties: true };
}

const messages = listOf(refTo("InputMessage"));

const common = {
  model,
  stream: { type: "boolean" },
  user: endUser,
  safety_identifier: { ...endUser, description: "The same as user, over which it takes precedence." },
};

const usage = (input: string, output: string) =>
  record({ [input]: whole, [output]: whole, total_tokens: whole });

const outputText = open({ type: { const: "output_text" }, text }, ["type", "text"]);

/** Components of the document, by name. */
export const schemas: Readonly<Record<string, unknown>> = {
  Model: record({
    id: text,
    object: { const: "model" },
    created: seconds,
    owned_by: text,
    name: text,
    description: textOrNull,
  }),
  ModelList: record({ object: { const: "list" }, data: listOf(refTo("Model")) }),
  InputMessage: {
    ...(open(
      {
        role: { ...text, description: "user or assistant; messages of other roles are ignored." },
        content: {
          description: "Text, or parts of text.",
          anyOf: [text, listOf(open({ type: text, text }, ["type", "text"]))],
        },
      },
      ["role"],
    ) as Schema),
  },
  ChatCompletionRequest: open(
    {
      ...common,
      messages: { ...messages, description: "The conversation. The last message is the user's question." },
      stream_options: open({ include_usage: { type: "boolean" } }, []),
    },
    ["model", "messages"],
  ),
  ChatCompletion: open(
    {
      id: text,
      object: { const: "chat.completion" },
      created: seconds,
      model,
      choices: listOf(
        open(
          {
            index: whole,
            message: open({ role: text, content: text }, ["role", "content"]),
            finish_reason: text,
          },
          ["index", "message", "finish_reason"],
        ),
      ),
      usage: usage("prompt_tokens", "completion_tokens"),
    },
    ["id", "object", "created", "model", "choices", "usage"],
  ),
  ChatCompletionChunk: {
    description: "The JSON in a `data` line. The last line is `data: [DONE]`.",
    ...(open(
      {
        id: text,
        object: { const: "chat.completion.chunk" },
        created: seconds,
        model,
        choices: listOf(
          open({ index: whole, delta: open({ role: text, content: text }, []), finish_reason: textOrNull }, [
            "index",
            "delta",
            "finish_reason",
          ]),
        ),
      },
      ["id", "object", "created", "model", "choices"],
    ) as Schema),
  },
  ResponseRequest: open(
    {
      ...common,
      input: {
        description: "The question, or messages of which the last is the user's.",
        anyOf: [text, messages],
      },
      conversation: {
        description: "The conversation that the question goes into. Default: a new one.",
        anyOf: [text, open({ id: text }, ["id"]), { type: "null" }],
      },
      previous_response_id: {
        ...textOrNull,
        description: "The newest response of the question's conversation.",
      },
      background: { type: "boolean", description: "Whether to answer before the reply has ended." },
    },
    ["model", "input"],
  ),
  Response: open(
    {
      id: text,
      object: { const: "response" },
      created_at: seconds,
      status: { type: "string", enum: ["in_progress", "completed", "incomplete", "cancelled", "failed"] },
      conversation: record({ id: text }),
      model,
      output: listOf(
        open(
          { id: text, type: { const: "message" }, role: text, status: text, content: listOf(outputText) },
          ["id", "type", "content"],
        ),
      ),
      error: { anyOf: [open({ code: text, message: text }, ["code", "message"]), { type: "null" }] },
      incomplete_details: { anyOf: [record({ reason: text }), { type: "null" }] },
      usage: {
        anyOf: [
          open({ input_tokens: whole, output_tokens: whole, total_tokens: whole }, []),
          { type: "null" },
        ],
      },
    },
    ["id", "object", "created_at", "status", "conversation", "model", "output", "error", "usage"],
  ),
  ResponseEvent: {
    description: "The JSON in a `data` line; the `event` line has its type.",
    ...(open({ type: text, sequence_number: whole, response: refTo("Response"), delta: text }, [
      "type",
      "sequence_number",
    ]) as Schema),
  },
  ErrorResponse: record({ error: record({ message: text, type: text, param: textOrNull, code: text }) }),
};

const created = 1_782_898_200;
const unique = "01jz2k7m4q8r5t9v0w3x6y1z2a";
const question = "What did the first program compute?";
const answer = "It computed Bernoulli numbers.";
const completionHead = { id: `chatcmpl-${unique}`, created, model: "ada" };

const ada = {
  id: "ada",
  object: "model",
  created,
  owned_by: "twin-service",
  name: "Ada",
  description: "Answers questions about the first computers.",
};

const response = {
  id: `resp_${unique}`,
  object: "response",
  created_at: created,
  status: "completed",
  conversation: { id: `conv_${unique}` },
  model: "ada",
  output: [
    {
      id: `msg_${unique}`,
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: answer, annotations: [], logprobs: [] }],
    },
  ],
  error: null,
  incomplete_details: null,
  usage: { input_tokens: 212, output_tokens: 5, total_tokens: 217 },
};

/** A value of each schema that is a body, an answer or an event. */
export const examples: Readonly<Record<string, unknown>> = {
  Model: ada,
  ModelList: { object: "list", data: [ada] },
  ChatCompletionRequest: { model: "ada", messages: [{ role: "user", content: question }] },
  ChatCompletion: {
    ...completionHead,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: answer }, finish_reason: "stop" }],
    usage: { prompt_tokens: 212, completion_tokens: 5, total_tokens: 217 },
  },
  ChatCompletionChunk: {
    ...completionHead,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { content: "It computed " }, finish_reason: null }],
  },
  ResponseRequest: { model: "ada", input: question },
  Response: response,
  ResponseEvent: { type: "response.output_text.delta", sequence_number: 15, delta: "It computed " },
};
