/**
 * Webhooks, and what they are told, in memory.
 *
 * @module
 */

import type { ConversationEntry, MemoryRecords } from "./memory-records.ts";
import type { Lease, Listing, WebhookStore } from "./store.ts";
import type { ReachedBudget } from "./token-budgets.ts";
import {
  type DeliveryRecord,
  deliveryId,
  type EventSubject,
  type ListedWebhook,
  type Telling,
  type WebhookEvent,
  type WebhookRecord,
} from "./webhooks.ts";

/** What happened, and to what. */
export interface Happening {
  readonly owner: string;
  readonly event: WebhookEvent;
  readonly at: number;
  readonly subject: EventSubject;
}

/** Adds what the owner's webhooks are told of an event. */
export function tell(
  records: MemoryRecords,
  tells: Telling | undefined,
  { owner, event, at, subject }: Happening,
): void {
  if (!tells) return;
  const wanting = [...records.webhooks.values()].filter(
    (webhook) =>
      webhook.owner === owner && webhook.status === "active" && (webhook.events?.includes(event) ?? true),
  );
  if (wanting.length === 0) return;
  const eventId = tells.newId();
  for (const webhook of wanting) {
    const id = deliveryId(eventId, webhook.id);
    records.deliveries.set(id, {
      record: {
        id,
        event,
        createdAt: at,
        status: "pending",
        attempts: 0,
        lastStatus: null,
        nextAttemptAt: at,
      },
      webhook: webhook.id,
      owner,
      subject,
      holder: undefined,
      dueAt: at,
      triedAt: null,
    });
  }
  tells.told(wanting.map(({ id }) => id));
}

/** Tells that parts of budgets of tokens were used up by an owner's reply. */
export function tellReached(
  records: MemoryRecords,
  tells: Telling | undefined,
  {
    owner,
    at,
    endUser,
    reached,
  }: Pick<Happening, "owner" | "at"> & {
    readonly endUser: string | null;
    readonly reached: readonly ReachedBudget[];
  },
): void {
  for (const { scope, of } of reached) {
    const about = { twinId: scope === "twin" ? of : null, endUser: scope === "endUser" ? endUser : null };
    const subject = { conversationId: null, messageId: null, ...about };
    tell(records, tells, { owner, event: "budget.reached", at, subject });
  }
}

/** What an event in a conversation is about. */
export function subjectIn({ record }: ConversationEntry, messageId: string): EventSubject {
  const { id: conversationId, twinId, endUser } = record;
  return { conversationId, messageId, twinId, endUser };
}

/** Deletes what webhooks are told of a person. */
export function forgetDeliveries({ deliveries }: MemoryRecords, owner: string, endUser: string): void {
  for (const [id, entry] of deliveries) {
    if (entry.owner === owner && entry.subject.endUser === endUser) deliveries.delete(id);
  }
}

/** The store's methods about webhooks, and what they are told. */
export function webhookMethods(records: MemoryRecords): WebhookStore {
  const { webhooks, deliveries } = records;
  const find = (owner: string, id: string) => {
    const webhook = webhooks.get(id);
    return webhook?.owner === owner ? webhook : undefined;
  };
  const deliveriesTo = (webhookId: string) =>
    [...deliveries.values()].filter(({ webhook }) => webhook === webhookId);
  const listed = (webhook: WebhookRecord): ListedWebhook => {
    const newest = newestFirst(deliveriesTo(webhook.id)).at(0);
    if (!newest) return { ...webhook, lastDelivery: null };
    const { record, triedAt } = newest;
    return { ...webhook, lastDelivery: { at: triedAt ?? record.createdAt, status: record.status } };
  };

  return {
    async createWebhook(webhook, most) {
      const count = [...webhooks.values()].filter(({ owner }) => owner === webhook.owner).length;
      if (count >= most) return "limit_reached";
      webhooks.set(webhook.id, webhook);
      return "created";
    },

    async listWebhooks(owner, { offset, limit }) {
      const owned = [...webhooks.values()].filter((webhook) => webhook.owner === owner);
      const page = newestFirst(owned.map((record) => ({ record }))).slice(offset, offset + limit);
      return { items: page.map(({ record }) => listed(record)), total: owned.length };
    },

    async getWebhook(owner, id) {
      const webhook = find(owner, id);
      return webhook && listed(webhook);
    },

    async rotateWebhook(owner, id, { secret, previousUntil }) {
      const webhook = find(owner, id);
      if (!webhook) return undefined;
      const { secret: previousSecret } = webhook;
      const rotated = { ...webhook, secret, previousSecret, previousUntil, status: "active" as const };
      webhooks.set(id, rotated);
      return listed(rotated);
    },

    async deleteWebhook(owner, id) {
      if (!find(owner, id)) return;
      webhooks.delete(id);
      for (const { record } of deliveriesTo(id)) deliveries.delete(record.id);
    },

    async listDeliveries(owner, webhookId, { offset, limit }): Promise<Listing<DeliveryRecord>> {
      const all = find(owner, webhookId) ? newestFirst(deliveriesTo(webhookId)) : [];
      return { items: all.slice(offset, offset + limit).map(({ record }) => record), total: all.length };
    },

    async retryDelivery(owner, webhookId, id, at) {
      const entry = deliveries.get(id);
      if (entry?.webhook !== webhookId || find(owner, webhookId)?.status !== "active") return undefined;
      if (entry.holder === undefined) {
        entry.record = { ...entry.record, status: "pending", nextAttemptAt: at };
        entry.dueAt = at;
      }
      return entry.record;
    },

    async findWaitingWebhooks() {
      const waiting = new Map<string, number>();
      for (const { record, webhook, dueAt } of deliveries.values()) {
        if (record.status !== "pending" || webhooks.get(webhook)?.status !== "active") continue;
        waiting.set(webhook, Math.min(waiting.get(webhook) ?? dueAt, dueAt));
      }
      return Array.from(waiting, ([id, dueAt]) => ({ id, dueAt }));
    },

    async takeDeliveries(webhookId, lease: Lease, at, limit) {
      const webhook = webhooks.get(webhookId);
      if (webhook?.status !== "active") return undefined;
      const due = deliveriesTo(webhookId)
        .filter(({ record, dueAt }) => record.status === "pending" && dueAt <= at)
        .sort((one, other) => one.dueAt - other.dueAt || (one.record.id < other.record.id ? -1 : 1))
        .slice(0, limit);
      const taken = due.map((entry) => {
        entry.holder = lease.holder;
        entry.dueAt = lease.until;
        entry.triedAt = at;
        entry.record = { ...entry.record, attempts: entry.record.attempts + 1 };
        const { id, event, createdAt, attempts } = entry.record;
        return { id, event, createdAt, attempts, subject: entry.subject };
      });
      return { webhook, deliveries: taken };
    },

    async settleDelivery({ id, webhookId, holder, status, lastStatus, nextAttemptAt, disables }) {
      const webhook = webhooks.get(webhookId);
      if (webhook && disables === webhook.secret) webhooks.set(webhookId, { ...webhook, status: "disabled" });
      const entry = deliveries.get(id);
      if (entry?.holder !== holder) return;
      entry.holder = undefined;
      entry.dueAt = nextAttemptAt ?? entry.dueAt;
      entry.record = { ...entry.record, status, lastStatus, nextAttemptAt };
    },

    async releaseDeliveries(holder, at) {
      for (const entry of deliveries.values()) {
        if (entry.holder === undefined || (holder !== undefined && entry.holder !== holder)) continue;
        entry.holder = undefined;
        entry.dueAt = at;
      }
    },

    async sweepDeliveries(before) {
      for (const { record } of deliveries.values()) {
        if (record.createdAt < before) deliveries.delete(record.id);
      }
    },

    async countPendingDeliveries() {
      return [...deliveries.values()].filter(({ record }) => record.status === "pending").length;
    },
  };
}

function newestFirst<Entry extends { readonly record: { readonly id: string; readonly createdAt: number } }>(
  entries: readonly Entry[],
): Entry[] {
  return [...entries].sort(
    ({ record: one }, { record: other }) => other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1),
  );
}
