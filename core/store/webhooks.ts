/**
 * Webhooks, and deliveries to them. A delivery is stored in the transaction of the event that it tells of: so none is lost, and
 * none comes before its event.
 *
 * @module
 */

import type { Lease } from "./claims.ts";
import type { Listing, Slice } from "./slices.ts";

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
  /** The secret that it was signed with, if the receiver said that it is gone: unless that was rotated, the webhook is disabled. */
  readonly disables?: string | undefined;
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

/** The store's methods about webhooks, and what they are told. */
export interface WebhookStore {
  /** Stores a webhook unless its owner has `most`. */
  createWebhook(webhook: WebhookRecord, most: number): Promise<"created" | "limit_reached">;
  /** The owner's webhooks, newest first. */
  listWebhooks(owner: string, slice: Slice): Promise<Listing<ListedWebhook>>;
  getWebhook(owner: string, id: string): Promise<ListedWebhook | undefined>;
  /** Gives a webhook another secret, and enables it. Returns it as it is then, or undefined if there is none. */
  rotateWebhook(
    owner: string,
    id: string,
    rotation: { readonly secret: string; readonly previousUntil: number },
  ): Promise<ListedWebhook | undefined>;
  /** Deletes a webhook and its deliveries. If these are many, some go later: when they are due, or with their age. */
  deleteWebhook(owner: string, id: string): Promise<void>;
  /** The deliveries to a webhook, newest first. */
  listDeliveries(owner: string, webhookId: string, slice: Slice): Promise<Listing<DeliveryRecord>>;
  /**
   * Has a delivery tried at `at`, unless it is being tried, and returns it as it is then. Undefined: there is none, or its
   * webhook is disabled.
   */
  retryDelivery(
    owner: string,
    webhookId: string,
    id: string,
    at: number,
  ): Promise<DeliveryRecord | undefined>;

  /** The active webhooks that have something to be told, of any owner, and from when on. A lease that runs lasts until then. */
  findWaitingWebhooks(): Promise<readonly { readonly id: string; readonly dueAt: number }[]>;
  /**
   * Takes the deliveries of a webhook that have been due longest at `at`, at most `limit`, for as long as the lease says.
   * Undefined: the webhook is gone or disabled. Of one that is gone, some of what is left is deleted.
   */
  takeDeliveries(
    webhookId: string,
    lease: Lease,
    at: number,
    limit: number,
  ): Promise<TakenDeliveries | undefined>;
  /** Stores how a try ended, if the delivery is still there, and its lease the holder's. */
  settleDelivery(tried: TriedDelivery): Promise<void>;
  /** Ends the leases of a holder, or of all: their deliveries are due at `at`. */
  releaseDeliveries(holder: string | undefined, at: number): Promise<void>;
  /** Deletes deliveries that were created before `before`. If there are many, it leaves some for the next call. */
  sweepDeliveries(before: number): Promise<void>;
  /** How many deliveries are pending, of any owner. */
  countPendingDeliveries(): Promise<number>;
}
