/**
 * What comes in other protocols than the service's own: OpenAI's Responses API, and MCP.
 *
 * @module
 */

import { messagesQuerySchema } from "./conversations.ts";
import type { InputSchema } from "./schema.ts";
import { pageQuerySchema, text } from "./values.ts";

/** What is printable in ASCII. */
export const asciiPattern: string = "^[\\x20-\\x7e]*$";
const asciiText = { type: "string", pattern: asciiPattern, minLength: 1, maxLength: 255 } as const;

/** The arguments of the tool with which an MCP client asks a twin; a model reads what describes them. */
export const askTwinSchema = {
  type: "object",
  properties: {
    twin: { ...text, maxLength: 255, description: "The twin's id, from list_twins." },
    question: { ...text, maxLength: 32_000, description: "What to ask." },
    conversation: {
      ...asciiText,
      description: "The conversation to go on with. Without it, a new one begins.",
    },
    requestKey: {
      ...asciiText,
      description:
        "A text of your own for this question. If the call fails or breaks off, the same call with the same key gets the " +
        "same reply, for 24 hours. Without one, a call that breaks off is cancelled.",
    },
  },
  required: ["twin", "question"],
} as const satisfies InputSchema;

export const responseQuerySchema = {
  type: "object",
  properties: {
    stream: { type: "string", enum: ["true", "false"] },
    starting_after: { type: "integer", minimum: 0, maximum: 999_999_999 },
  },
} as const satisfies InputSchema;

export const itemsQuerySchema = {
  type: "object",
  properties: {
    limit: pageQuerySchema.properties.limit,
    order: { ...messagesQuerySchema.properties.order, default: "desc" },
    after: messagesQuerySchema.properties.after,
  },
} as const satisfies InputSchema;
