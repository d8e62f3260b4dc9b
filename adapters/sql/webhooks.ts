/**
 * Webhooks, and what they are told, in SQL.
 *
 * @module
 */

import { type EndReply, eventOfEnd } from "../../core/store/records.ts";
import type { Listing, WebhookStore } from "../../core/store/store.ts";
import {
  type DeliveryRecord,
  type DeliveryStatus,
  type ListedWebhook,
  type TakenDelivery,
  type Telling,
  type WebhookEvent,
  type WebhookRecord,
  webhookIdPrefix,
} from "../../core/store/webhooks.ts";
import type { SqlDriver, SqlRow, SqlStatement, SqlValue } from "./driver.ts";
import { addToTotal, changeOne, type ListStatement, readPage, takeFromTotal } from "./lists.ts";
import { numberOrNull, textOrNull, toJson } from "./rows.ts";

/** What happened. */
export interface Happening {
  readonly tells: Telling | undefined;
  readonly owner: string;
  readonly event: WebhookEvent;
  readonly at: number;
}

/**
 * Adds a delivery of an event to each of the owner's webhooks that is told of it. `about`: selects what it is about, as
 * `conversation_id`, `message_id`, `twin_id`, `end_user`, and `part`, which tells its rows apart; no row: it did not happen. Its
 * parameters begin with `$7`; the owner is `$2`.
 */
export function insertDeliveries(
  { tells, owner, event, at }: Happening,
  about: { readonly sql: string; readonly params: readonly SqlValue[] },
): SqlStatement[] {
  if (!tells) return [];
  return [
    {
      sql: `INSERT INTO deliveries (id, webhook_id, owner, event, created_at, next_attempt_at, due_at, status, attempts,
          conversation_id, message_id, twin_id, end_user)
        SELECT CAST($1 AS TEXT) || substr(webhooks.id, $6) || part, webhooks.id, CAST($2 AS TEXT), CAST($3 AS TEXT),
          CAST($4 AS BIGINT), CAST($4 AS BIGINT), CAST($4 AS BIGINT), 'pending', 0,
          conversation_id, message_id, twin_id, end_user
        FROM webhooks, (${about.sql}) AS about
        WHERE webhooks.owner = $2 AND status = 'active' AND (events IS NULL OR events LIKE $5)
        RETURNING webhook_id AS told`,
      params: [
        ...[tells.newId(), owner, event, at, `%"${event}"%`, webhookIdPrefix.length + 1],
        ...about.params,
      ],
    },
  ];
}

/** Lets those know who deliver, once a batch is stored. */
export function tellOf(tells: Telling | undefined, rows: readonly (readonly SqlRow[])[]): void {
  if (!tells) return;
  const webhookIds = rows.flat().flatMap(({ told }) => (told === undefined ? [] : [String(told)]));
  if (webhookIds.length > 0) tells.told(webhookIds);
}

/** What an event in a conversation is about: `$7`, and its message `$8`. */
export function inConversation(
  conversationId: string,
  messageId: string,
): Parameters<typeof insertDeliveries>[1] {
  const sql = `SELECT id AS conversation_id, CAST($8 AS TEXT) AS message_id, twin_id, end_user, '' AS part FROM conversations
    WHERE owner = $2 AND id = $7`;
  return { sql, params: [conversationId, messageId] };
}

/** Adds the deliveries of a reply's end. */
export function insertDeliveriesOfEnd({
  tells,
  owner,
  conversationId,
  id,
  status,
  completedAt,
  handsOver,
}: EndReply) {
  const told = { tells, owner, at: completedAt };
  // While a twin answers, no question waits: that the reply hands over is always news.
  const question = `SELECT id AS conversation_id, (SELECT after_id FROM messages WHERE id = $8) AS message_id, twin_id,
      end_user, '' AS part FROM conversations WHERE owner = $2 AND id = $7 AND waiting_since IS NOT NULL`;
  return [
    ...insertDeliveries({ ...told, event: eventOfEnd(status) }, inConversation(conversationId, id)),
    ...(handsOver
      ? insertDeliveries(
          { ...told, event: "conversation.waiting" },
          { sql: question, params: [conversationId, id] },
        )
      : []),
  ];
}

/** Deletes what webhooks are told of a person. */
export function forgetDeliveries(owner: string, endUser: string): SqlStatement {
  return { sql: "DELETE FROM deliveries WHERE owner = $1 AND end_user = $2", params: [owner, endUser] };
}

/** How many deliveries one statement deletes: in SQLite, everything else waits for it. */
const deliveriesInAPortion = 1000;

const webhookColumns =
  "id, owner, url, events, description, secret, previous_secret, previous_until, status, created_at";

/** The newest delivery of each webhook that is read. */
const newest = (column: string) => `(SELECT ${column} FROM deliveries WHERE webhook_id = webhooks.id
  ORDER BY created_at DESC, id DESC LIMIT 1)`;
const listedColumns = `${webhookColumns}, ${newest("COALESCE(tried_at, created_at)")} AS last_at,
  ${newest("status")} AS last_delivery_status`;

/** The rest of a list that is short enough to be counted each time. */
const newestFirst = ({ from, where }: Pick<ListStatement, "from" | "where">) => ({
  total: `SELECT count(*) AS total FROM ${from} WHERE ${where}`,
  order: "created_at DESC, id DESC",
});

const deliveryColumns = "id, event, created_at, status, attempts, last_status, next_attempt_at";

/** The store's methods about webhooks, and what they are told. */
export function webhookMethods(driver: SqlDriver, exclusive: boolean): WebhookStore {
  const portionTo = `DELETE FROM deliveries WHERE id IN (
      SELECT id FROM deliveries WHERE webhook_id = $1 ORDER BY created_at, id LIMIT ${deliveriesInAPortion})`;
  const portionBefore = `DELETE FROM deliveries WHERE id IN (
      SELECT id FROM deliveries WHERE created_at < $1 ORDER BY created_at LIMIT ${deliveriesInAPortion})`;
  // If several processes take, each takes different ones. They are found once: PostgreSQL may run a condition more than once,
  // and would lock others each time.
  const take = `WITH due AS MATERIALIZED (
      SELECT id FROM deliveries WHERE webhook_id = $1 AND status = 'pending' AND due_at <= $4
        ORDER BY due_at, id LIMIT $5 ${exclusive ? "" : "FOR UPDATE SKIP LOCKED"})
    UPDATE deliveries SET lease_holder = $2, due_at = $3, tried_at = $4, attempts = attempts + 1
    WHERE id IN (SELECT id FROM due)
    RETURNING id, event, created_at, attempts, conversation_id, message_id, twin_id, end_user`;

  /** Deletes a portion of what is left of a webhook that is gone. */
  async function dropPortion(webhookId: string): Promise<void> {
    await driver.batch([{ sql: portionTo, params: [webhookId] }]);
  }

  const getWebhook: WebhookStore["getWebhook"] = async (owner, id) => {
    const sql = `SELECT ${listedColumns} FROM webhooks WHERE id = $2 AND owner = $1`;
    const [row] = await driver.all(sql, [owner, id]);
    return row && listedFromRow(row);
  };

  return {
    getWebhook,

    async createWebhook(webhook, most) {
      const { id, owner, url, events, description, secret, previousSecret, previousUntil } = webhook;
      const { status, createdAt } = webhook;
      const result = await driver.batch([
        // First, so that a database that runs batches concurrently runs those of one owner in turn.
        addToTotal(owner, "webhooks"),
        {
          sql: "SELECT 1 AS room WHERE (SELECT count(*) FROM webhooks WHERE owner = $1) < $2",
          params: [owner, most],
          expect: 1,
        },
        {
          sql: `INSERT INTO webhooks (${webhookColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
          params: [
            ...[id, owner, url, events && toJson(events), description, secret, previousSecret],
            ...[previousUntil, status, createdAt],
          ],
        },
      ]);
      return result.committed ? "created" : "limit_reached";
    },

    async listWebhooks(owner, slice): Promise<Listing<ListedWebhook>> {
      const of = { columns: listedColumns, from: "webhooks", where: "owner = $1", params: [owner] };
      const { rows, total } = await readPage(driver, { ...of, ...newestFirst(of) }, slice);
      return { items: rows.map(listedFromRow), total };
    },

    async rotateWebhook(owner, id, { secret, previousUntil }) {
      const sql = `UPDATE webhooks SET previous_secret = secret, previous_until = $4, secret = $3, status = 'active'
        WHERE id = $2 AND owner = $1`;
      const result = await driver.batch([{ sql, params: [owner, id, secret, previousUntil], expect: 1 }]);
      return result.committed ? getWebhook(owner, id) : undefined;
    },

    async deleteWebhook(owner, id) {
      const result = await driver.batch([
        { sql: "DELETE FROM webhooks WHERE id = $2 AND owner = $1", params: [owner, id], expect: 1 },
        takeFromTotal(owner, "webhooks"),
      ]);
      if (result.committed) await dropPortion(id);
    },

    async listDeliveries(owner, webhookId, slice): Promise<Listing<DeliveryRecord>> {
      const where = "webhook_id = $2 AND EXISTS (SELECT 1 FROM webhooks WHERE id = $2 AND owner = $1)";
      const of = { columns: deliveryColumns, from: "deliveries", where, params: [owner, webhookId] };
      const { rows, total } = await readPage(driver, { ...of, ...newestFirst(of) }, slice);
      return { items: rows.map(deliveryFromRow), total };
    },

    async retryDelivery(owner, webhookId, id, at) {
      // One that is being tried stays as it is.
      const sql = `UPDATE deliveries SET
          status = 'pending',
          next_attempt_at = CASE WHEN lease_holder IS NULL THEN $4 ELSE next_attempt_at END,
          due_at = CASE WHEN lease_holder IS NULL THEN $4 ELSE due_at END
        WHERE id = $3 AND webhook_id = $2
          AND EXISTS (SELECT 1 FROM webhooks WHERE id = $2 AND owner = $1 AND status = 'active')
        RETURNING ${deliveryColumns}`;
      const row = await changeOne(driver, { sql, params: [owner, webhookId, id, at] });
      return row && deliveryFromRow(row);
    },

    async findWaitingWebhooks() {
      const rows = await driver.all(findWaiting, []);
      return rows.map(({ id, due_at }) => ({ id: String(id), dueAt: Number(due_at) }));
    },

    async takeDeliveries(webhookId, lease, at, limit) {
      const sql = `SELECT ${webhookColumns} FROM webhooks WHERE id = $1`;
      const [row] = await driver.all(sql, [webhookId]);
      if (!row) await dropPortion(webhookId);
      const webhook = row && webhookFromRow(row);
      if (webhook?.status !== "active") return undefined;
      const params = [webhookId, lease.holder, lease.until, at, limit];
      const result = await driver.batch([{ sql: take, params }]);
      const rows = result.committed ? (result.rows[0] ?? []) : [];
      return { webhook, deliveries: rows.map(takenFromRow) };
    },

    async settleDelivery({ id, webhookId, holder, status, lastStatus, nextAttemptAt, disables }) {
      const disable = "UPDATE webhooks SET status = 'disabled' WHERE id = $1 AND secret = $2";
      await driver.batch([
        ...(disables === undefined ? [] : [{ sql: disable, params: [webhookId, disables] }]),
        {
          sql: `UPDATE deliveries SET status = $3, last_status = $4, next_attempt_at = $5,
              due_at = COALESCE($5, due_at), lease_holder = NULL
            WHERE id = $1 AND lease_holder = $2`,
          params: [id, holder, status, lastStatus, nextAttemptAt],
        },
      ]);
    },

    async releaseDeliveries(holder, at) {
      const [whose, params] =
        holder === undefined ? ["lease_holder > $2", [at, ""]] : ["lease_holder = $2", [at, holder]];
      const sql = `UPDATE deliveries SET due_at = $1, lease_holder = NULL WHERE ${whose}`;
      await driver.batch([{ sql, params }]);
    },

    async sweepDeliveries(before) {
      await driver.batch([{ sql: portionBefore, params: [before] }]);
    },

    async countPendingDeliveries() {
      const [row] = await driver.all(
        "SELECT count(*) AS pending FROM deliveries WHERE status = 'pending' AND webhook_id > $1",
        [""],
      );
      return Number(row?.pending);
    },
  };
}

/** Goes from one webhook to the next in the index, however much each of them has to be told. */
const findWaiting = `WITH RECURSIVE waiting (id) AS (
    SELECT (SELECT webhook_id FROM deliveries WHERE status = 'pending' AND webhook_id > '' ORDER BY webhook_id LIMIT 1)
    UNION ALL
    SELECT (SELECT webhook_id FROM deliveries WHERE status = 'pending' AND webhook_id > waiting.id
      ORDER BY webhook_id LIMIT 1)
    FROM waiting WHERE waiting.id IS NOT NULL
  )
  SELECT waiting.id, (SELECT due_at FROM deliveries WHERE status = 'pending' AND webhook_id = waiting.id
      ORDER BY due_at LIMIT 1) AS due_at
    FROM waiting WHERE waiting.id IS NOT NULL
      AND COALESCE((SELECT status FROM webhooks WHERE webhooks.id = waiting.id), 'active') = 'active'`;

function webhookFromRow(row: SqlRow): WebhookRecord {
  return {
    id: String(row.id),
    owner: String(row.owner),
    url: String(row.url),
    events: row.events === null ? null : JSON.parse(String(row.events)),
    description: textOrNull(row.description),
    secret: String(row.secret),
    previousSecret: textOrNull(row.previous_secret),
    previousUntil: numberOrNull(row.previous_until),
    status: String(row.status) as WebhookRecord["status"],
    createdAt: Number(row.created_at),
  };
}

function listedFromRow(row: SqlRow): ListedWebhook {
  const status = textOrNull(row.last_delivery_status) as DeliveryStatus | null;
  const lastDelivery = status && { at: Number(row.last_at), status };
  return { ...webhookFromRow(row), lastDelivery };
}

function deliveryFromRow(row: SqlRow): DeliveryRecord {
  return {
    id: String(row.id),
    event: String(row.event) as WebhookEvent,
    createdAt: Number(row.created_at),
    status: String(row.status) as DeliveryStatus,
    attempts: Number(row.attempts),
    lastStatus: numberOrNull(row.last_status),
    nextAttemptAt: numberOrNull(row.next_attempt_at),
  };
}

function takenFromRow(row: SqlRow): TakenDelivery {
  return {
    id: String(row.id),
    event: String(row.event) as WebhookEvent,
    createdAt: Number(row.created_at),
    attempts: Number(row.attempts),
    subject: {
      conversationId: textOrNull(row.conversation_id),
      messageId: textOrNull(row.message_id),
      twinId: textOrNull(row.twin_id),
      endUser: textOrNull(row.end_user),
    },
  };
}
