/**
 * What replies took, in SQL.
 *
 * @module
 */

import { setImmediate } from "node:timers/promises";
import {
  type ConversationRecord,
  type CountedReply,
  dayOf,
  type EndReply,
  type Usage,
} from "../../core/store/records.ts";
import type { UsageGroup, UsageStore, UsageSum } from "../../core/store/store.ts";
import type { SqlDriver, SqlRow, SqlStatement, SqlValue } from "./driver.ts";
import { personOf, takeTurns } from "./people.ts";
import { reachedIn, settleTokens } from "./token-budgets.ts";
import { tellOf } from "./webhooks.ts";

/** Each reply counts in three sums: the owner's, those with its twin, and those of its end user, each by day. */
const kinds: readonly UsageGroup[] = ["day", "endUser", "twin"];

const addToSums = `ON CONFLICT (owner, kind, name, day) DO UPDATE SET
    replies = usage_sums.replies + excluded.replies,
    input_tokens = usage_sums.input_tokens + excluded.input_tokens,
    output_tokens = usage_sums.output_tokens + excluded.output_tokens,
    cached_input_tokens = usage_sums.cached_input_tokens + excluded.cached_input_tokens`;

const columns = "owner, kind, name, day, replies, input_tokens, output_tokens, cached_input_tokens";

function counts(usage: Usage | null): number[] {
  return [usage?.inputTokens ?? 0, usage?.outputTokens ?? 0, usage?.cachedInputTokens ?? 0];
}

/** Adds a stored reply that ends. */
export function addUsage({ owner, conversationId, completedAt, usage }: EndReply): SqlStatement {
  const nameOf = { day: "''", endUser: "COALESCE(end_user, '')", twin: "twin_id" };
  const sums = kinds.map(
    (kind) => `SELECT owner, '${kind}', ${nameOf[kind]}, CAST($3 AS TEXT),
        1, CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT)
      FROM conversations WHERE owner = $1 AND id = $2`,
  );
  return {
    sql: `INSERT INTO usage_sums (${columns}) ${sums.join(" UNION ALL ")} ${addToSums}`,
    params: [owner, conversationId, dayOf(completedAt), ...counts(usage)],
  };
}

/** Adds the reply in progress of a conversation that is deleted: nothing is stored behind it. */
export function addRunning({ owner, id, endUser, twinId }: ConversationRecord, at: number): SqlStatement {
  return addEach(
    { owner, endUser, twinId, completedAt: at, usage: null },
    `WHERE (SELECT status FROM messages WHERE owner = $1 AND conversation_id = $8
        ORDER BY seq DESC LIMIT 1) = 'in_progress'`,
    [id],
  );
}

/** Adds a reply whose conversation need not be looked up. */
function addEach(
  { owner, endUser, twinId, completedAt, usage }: CountedReply,
  where: string,
  params: readonly SqlValue[],
): SqlStatement {
  const nameOf = { day: "''", endUser: "CAST($3 AS TEXT)", twin: "CAST($4 AS TEXT)" };
  const sums = kinds.map(
    (kind) => `SELECT CAST($1 AS TEXT), '${kind}', ${nameOf[kind]}, CAST($2 AS TEXT),
        1, CAST($5 AS BIGINT), CAST($6 AS BIGINT), CAST($7 AS BIGINT) ${where}`,
  );
  return {
    sql: `INSERT INTO usage_sums (${columns}) ${sums.join(" UNION ALL ")} ${addToSums}`,
    params: [owner, dayOf(completedAt), endUser ?? "", twinId, ...counts(usage), ...params],
  };
}

/** Lets an end user's sums count under no end user, in an order in which two that do so at once do not deadlock. */
export function forgetUsage(owner: string, endUser: string): SqlStatement[] {
  const params = [owner, endUser];
  return [
    {
      sql: `INSERT INTO usage_sums (${columns})
        SELECT owner, kind, '', day, replies, input_tokens, output_tokens, cached_input_tokens
        FROM usage_sums AS known WHERE owner = $1 AND kind = 'endUser' AND name = $2 ORDER BY day ${addToSums}`,
      params,
    },
    { sql: "DELETE FROM usage_sums WHERE owner = $1 AND kind = 'endUser' AND name = $2", params },
  ];
}

/** How much the clocks of processes may differ, in milliseconds. */
const marginMs = 1000;

/** How many sums are read at once, if a group has no more by itself: SQLite holds up everything else meanwhile. */
const sumsAtOnce = 10_000;

/** The store's methods about usage. */
export function usageMethods(driver: SqlDriver, exclusive: boolean): UsageStore {
  return {
    async countReply({ beganAt, reserved, tells, ...reply }) {
      const { owner, endUser, completedAt: at, usage } = reply;
      const settled = reserved
        ? settleTokens(reserved.id, {
            ...{ tokens: usage?.totalTokens, text: reserved.text },
            ...{ tells, owner, at, endUser },
          })
        : [];
      const count = async (statements: readonly SqlStatement[]) => {
        const counted = await driver.batch([...statements, ...settled]);
        if (counted.committed) tellOf(tells, counted.rows);
        return counted.committed ? reachedIn(counted.rows) : undefined;
      };
      const nobodys = addEach({ ...reply, endUser: null }, "WHERE true", []);
      if (endUser === null) return (await count([nobodys])) ?? [];
      const person = personOf(owner, endUser);
      const isNamed = "WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE person = $8 AND at > $9)";
      const counted = await count([
        ...takeTurns(person, exclusive),
        { ...addEach(reply, isNamed, [person, beganAt - marginMs]), expect: kinds.length },
      ]);
      return counted ?? (await count([nobodys])) ?? [];
    },

    async listUsage(owner, { from, to, groupBy, offset, limit }) {
      const group = groupBy === "day" ? "day" : "name";
      const items: UsageSum[] = [];
      let total = 0;
      // Windows of the index, each with all sums of its groups: others have their turn between them.
      for (let after: string | undefined; ; await setImmediate()) {
        const sums = `FROM usage_sums WHERE owner = $1 AND kind = $2 AND ${group} ${after === undefined ? ">=" : ">"} $3`;
        const begin = [owner, groupBy, after ?? ""];
        const [next] = await driver.all(
          `SELECT ${group} AS last ${sums} ORDER BY ${group} LIMIT 1 OFFSET $4`,
          [...begin, sumsAtOnce],
        );
        const last = next && String(next.last);
        const isWithin = `${sums} AND day >= $4 AND day <= $5 ${last === undefined ? "" : `AND ${group} <= $6`}`;
        const params = [...begin, from, to, ...(last === undefined ? [] : [last])];
        const [counted] = await driver.all(`SELECT count(DISTINCT ${group}) AS groups ${isWithin}`, params);
        const groups = Number(counted?.groups);
        const skipped = Math.max(0, offset - total);
        if (skipped < groups && items.length < limit) {
          const slice = `LIMIT $${params.length + 1} OFFSET $${params.length + 2}`;
          const rows = await driver.all(
            `SELECT ${group} AS group_name, sum(replies) AS replies, sum(input_tokens) AS input_tokens,
              sum(output_tokens) AS output_tokens, sum(cached_input_tokens) AS cached_input_tokens ${isWithin}
              GROUP BY ${group} ORDER BY ${group} ${slice}`,
            [...params, limit - items.length, skipped],
          );
          items.push(...rows.map(usageSum));
        }
        total += groups;
        if (last === undefined) return { items, total };
        after = last;
      }
    },
  };
}

function usageSum(row: SqlRow): UsageSum {
  return {
    group: String(row.group_name) || null,
    replies: Number(row.replies),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    cachedInputTokens: Number(row.cached_input_tokens),
  };
}
