/**
 * What is stored of end users.
 *
 * @module
 */

import { conversationSchema, messageSchema } from "./conversations.ts";
import { type FromSchema, type InputSchema, record } from "./schema.ts";
import { endUser, id, text, time } from "./values.ts";

export const erasedSchema = record({
  endUser: id,
  conversations: { type: "integer", minimum: 0 },
  messages: { type: "integer", minimum: 0 },
  clientTokens: { type: "integer", minimum: 0, description: "Those that had not expired." },
});

/** What a twin knows of a person. */
export const memorySchema = record({
  endUser: id,
  twinId: id,
  content: { type: "string", description: "Facts about the person." },
  updatedAt: time,
});

/** A line of an export: what a twin knows of the person, a conversation, or a message of the conversation before. */
export const exportLineSchema = {
  anyOf: [
    record({ memory: memorySchema }),
    record({ conversation: conversationSchema }),
    record({ message: messageSchema }),
  ],
} as const;

export const endUserParamsSchema = {
  type: "object",
  properties: { endUser: { ...endUser, description: "The end user, by the app's own id." } },
  required: ["endUser"],
} as const satisfies InputSchema;

export const writeMemorySchema = {
  type: "object",
  properties: {
    content: {
      ...text,
      maxLength: 4_000,
      description: "Facts about the person, no instructions. They replace those before.",
    },
  },
  required: ["content"],
} as const satisfies InputSchema;

/** What was erased of an end user. */
export type ErasedResource = FromSchema<typeof erasedSchema>;

/** What a twin knows of a person. */
export type MemoryResource = FromSchema<typeof memorySchema>;

/** A line of an end user's export: what a twin knows of them, a conversation, or a message of the conversation before. */
export type ExportLine = FromSchema<typeof exportLineSchema>;
