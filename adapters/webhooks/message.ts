/**
 * What a delivery says, and what signs it, as Standard Webhooks have it (https://www.standardwebhooks.com).
 *
 * @module
 */

import { createHmac } from "node:crypto";
import type { TakenDelivery, WebhookRecord } from "../../core/store/webhooks.ts";

/** The body of a delivery: what happened, when, and to what. The same in every try. */
export function bodyOf({ event, createdAt, subject }: Omit<TakenDelivery, "id" | "attempts">): string {
  const about = Object.entries(subject).filter(([, value]) => value); // a conversation may have no twin yet
  const timestamp = new Date(createdAt).toISOString();
  return JSON.stringify({ type: event, timestamp, data: Object.fromEntries(about) });
}

/**
 * The header fields that tell the receiver whom a try comes from. For a day after a rotation there are two signatures, with a
 * space between: by the new secret, then by the one before. `now`: milliseconds.
 */
export function signatureHeaders(
  id: string,
  body: string,
  { secret, previousSecret, previousUntil }: WebhookRecord,
  now: number,
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const both = previousSecret !== null && now < (previousUntil ?? 0) ? [secret, previousSecret] : [secret];
  const signatures = both.map((each) => `v1,${signatureOf(`${id}.${timestamp}.${body}`, each)}`);
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

function signatureOf(signed: string, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return createHmac("sha256", key).update(signed).digest("base64");
}
