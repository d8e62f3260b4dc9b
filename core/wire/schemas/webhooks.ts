/**
 * Webhooks and their deliveries.
 *
 * @module
 */

import { webhookEvents } from "../../store/webhooks.ts";
import { type FromSchema, type InputSchema, orNull, record } from "./schema.ts";
import { addressPattern, id, stringOrNull, text, time, timeOrNull } from "./values.ts";

const deliveryStatus = { type: "string", enum: ["pending", "delivered", "failed"] } as const;
const webhookEvent = { type: "string", enum: webhookEvents } as const;

export const webhookSchema = record({
  id,
  url: { type: "string" },
  events: { type: "array", items: webhookEvent, description: "What it is told of." },
  description: stringOrNull,
  status: {
    type: "string",
    enum: ["active", "disabled"],
    description: "disabled: its receiver answered 410. It is told nothing until its secret is rotated.",
  },
  createdAt: time,
  lastDelivery: orNull(
    record({ at: time, status: deliveryStatus }),
    "The newest delivery: when it was tried last, or created. Null: there is none.",
  ),
});

export const createdWebhookSchema = record({
  ...webhookSchema.properties,
  secret: {
    type: "string",
    description: "What signs deliveries: whsec_ and 32 bytes in base64. It is shown only once.",
  },
});

export const deliverySchema = record({
  id: { ...id, description: "The webhook-id of all tries." },
  event: webhookEvent,
  createdAt: time,
  status: deliveryStatus,
  attempts: { type: "integer", minimum: 0, description: "How many tries have begun." },
  lastStatus: {
    type: ["integer", "null"],
    description: "The HTTP status of the last answer. Null: none came.",
  },
  nextAttemptAt: { ...timeOrNull, description: "When it is tried again. Null: it is not." },
});

export const createWebhookSchema = {
  type: "object",
  properties: {
    url: {
      type: "string",
      pattern: addressPattern,
      minLength: 1,
      maxLength: 2048,
      description: "The https: address that is told.",
    },
    events: {
      type: "array",
      items: { type: "string", enum: webhookEvents },
      minItems: 1,
      description: "What it is told of. Default: everything.",
    },
    description: {
      ...text,
      type: ["string", "null"],
      maxLength: 200,
      description: "What tells it from your other webhooks.",
    },
  },
  required: ["url"],
} as const satisfies InputSchema;

/** A webhook as its owner sees it later, without its secret. */
export type WebhookResource = FromSchema<typeof webhookSchema>;

/** A webhook in the answer to its creation, or to a rotation: the only ones that have `secret`. */
export type CreatedWebhookResource = FromSchema<typeof createdWebhookSchema>;

/** What a webhook is told once. */
export type DeliveryResource = FromSchema<typeof deliverySchema>;
