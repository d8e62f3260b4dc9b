/**
 * The pairs that apps attach to conversations in SQL. They are read with their conversation's row; rows of their own find
 * conversations by them.
 *
 * @module
 */

import { sha256 } from "../../core/base/ids.ts";
import type { ConversationRecord } from "../../core/store/records.ts";
import type { SqlDriver, SqlStatement, SqlValue } from "./driver.ts";

type Metadata = ConversationRecord["metadata"];

/** What a pair is found by. */
function digestOf(pair: readonly [name: string, value: string]): string {
  return sha256(JSON.stringify(pair));
}

/** Adds what a conversation is found by. Nothing, where it has no metadata. */
export function addPairs(owner: string, id: string, metadata: Metadata): SqlStatement[] {
  const params: SqlValue[] = [owner, id];
  const rows = Object.entries(metadata).map(
    (pair) => `SELECT owner, id, CAST($${params.push(digestOf(pair))} AS TEXT), created_at FROM conversations
      WHERE owner = $1 AND id = $2`,
  );
  if (rows.length === 0) return [];
  const sql = `INSERT INTO conversation_pairs (pair_owner, conversation_id, pair, begun_at)
    ${rows.join(" UNION ALL ")}`;
  return [{ sql, params }];
}

/** Sets what a conversation is found by, in place of what it was found by. */
export function setPairs(owner: string, id: string, metadata: Metadata): SqlStatement[] {
  const sql = "DELETE FROM conversation_pairs WHERE pair_owner = $1 AND conversation_id = $2";
  return [{ sql, params: [owner, id] }, ...addPairs(owner, id, metadata)];
}

/** How many conversations a pair may have for a list to be read from it in any case. */
const few = 1000;

/**
 * The digests of pairs, first one that few conversations have, if there is one: the list of those that have all of them is read
 * from the first. One statement where there are several.
 */
export async function digestsOf(driver: SqlDriver, owner: string, wanted: Metadata): Promise<string[]> {
  const digests = Object.entries(wanted).map(digestOf);
  if (digests.length < 2) return digests;
  const beyond = digests.map(
    (_, index) =>
      `(SELECT 1 FROM conversation_pairs WHERE pair_owner = $1 AND pair = $${index + 2}
        LIMIT 1 OFFSET ${few}) AS has_many_${index}`,
  );
  const [row] = await driver.all(`SELECT ${beyond}`, [owner, ...digests]);
  const rare = digests.filter((_, index) => row?.[`has_many_${index}`] === null);
  return [...rare, ...digests.filter((digest) => !rare.includes(digest))];
}
