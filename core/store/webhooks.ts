/**
 * Webhooks: whom the service tells of what happens, and what is still to be told. What is told stands in the transaction of
 * what it tells, so that none is lost, and none comes before its fact.
 *
 * @module
 */

/** What webhooks are told of. `reply.failed` includes replies that were interrupted. */
export const webhookEvents = [
  "reply.completed",
  "reply.failed",
  "reply.cancelled",
  "conversation.waiting",
  "message.said",
  "feedback.given",
  "person.erased",
  "budget.reached",
] as const;

/** What webhooks are told of. */
export type WebhookEvent = (typeof webhookEvents)[number];

/** What signs deliveries. */
export interface WebhookSecrets {
  /** 32 bytes in base64, after `whsec_`. */
  readonly secret: string;
  /** The one before the last rotation, which signs as well. Null: it was never rotated. */
  readonly previousSecret: string | null;
  /** Until when that one signs. Null if there is none. */
  readonly previousUntil: number | null;
}

/** An address that is told of what happens. */
export interface WebhookRecord extends WebhookSecrets {
  readonly id: string;
  readonly owner: string;
  readonly url: string;
  /** What it is told of. Null: everything. */
  readonly events: readonly WebhookEvent[] | null;
  readonly description: string | null;
  /** `disabled`: its receiver said that it is gone. Nothing is told until the secret is rotated. */
  readonly status: "active" | "disabled";
  readonly createdAt: number;
}

/** `pending`: it is tried, or will be. The others are final, unless it is tried again by hand. */
export type DeliveryStatus = "pending" | "delivered" | "failed";

/** What an event is about. Null: nothing of that kind. */
export interface EventSubject {
  readonly conversationId: string | null;
  readonly messageId: string | null;
  readonly twinId: string | null;
  readonly endUser: string | null;
}

/** What one webhook is told once. */
export interface DeliveryRecord {
  readonly id: string;
  readonly event: WebhookEvent;
  /** When it happened. */
  readonly createdAt: number;
  readonly status: DeliveryStatus;
  /** How many tries have begun. */
  readonly attempts: number;
  /** The HTTP status of the last answer. Null: there was none. */
  readonly lastStatus: number | null;
  /** When it is tried again. Null: it is not. */
  readonly nextAttemptAt: number | null;
}

/** A webhook in a list. */
export interface ListedWebhook extends WebhookRecord {
  /** The newest delivery: when it was tried last, or created. Null: there is none. */
  readonly lastDelivery: { readonly at: number; readonly status: DeliveryStatus } | null;
}

/** A delivery that this process is to try. */
export interface TakenDelivery extends Pick<DeliveryRecord, "id" | "event" | "createdAt" | "attempts"> {
  readonly subject: EventSubject;
}

/** Deliveries that this process is to try, and where to. */
export interface TakenDeliveries {
  readonly webhook: WebhookRecord;
  readonly deliveries: readonly TakenDelivery[];
}

/** How a try ended. */
export interface TriedDelivery
  extends Pick<DeliveryRecord, "id" | "status" | "lastStatus" | "nextAttemptAt"> {
  readonly webhookId: string;
  /** Whose lease it was tried under. */
  readonly holder: string;
  /** Whether the receiver said that it is gone. */
  readonly disables: boolean;
}

/**
 * Lets a write tell webhooks of itself, in its own transaction: a row for each of the owner's webhooks that are active and
 * want the event. Where it is left out, nothing is told, and no statement runs for it.
 */
export interface Telling {
  /** A new id. Those of an event's deliveries begin with it. */
  newId(): string;
  /** Called once the write is stored, with the webhooks that have something to be told of it. */
  told(webhookIds: readonly string[]): void;
}

/** A write that may tell webhooks of itself. */
export interface TellingWrite {
  /** Absent: it tells nothing. */
  readonly tells?: Telling | undefined;
}

/** What the ids of webhooks begin with. */
export const webhookIdPrefix = "hook_";

/** The id of an event's delivery to a webhook: there is one of each. */
export function deliveryId(eventId: string, webhookId: string): string {
  return eventId + webhookId.slice(webhookIdPrefix.length);
}
