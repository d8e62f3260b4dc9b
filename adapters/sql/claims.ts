/**
 * Idempotency claims in SQL.
 *
 * @module
 */

import {
  type ConversationRecord,
  dayMs,
  type IdempotencyClaim,
  type MadeClaim,
  messagesPath,
} from "../../core/store/records.ts";
import type { Store } from "../../core/store/store.ts";
import { sweepDeleted } from "./deletion.ts";
import type { SqlDriver, SqlStatement, SqlValue } from "./driver.ts";
import { sweepContents } from "./own-twins.ts";
import { forgetMemories, noteErasure } from "./people.ts";
import { claimFromRow } from "./rows.ts";
import { forgetTokenSums, TokenSweep } from "./token-budgets.ts";
import { forgetUsage } from "./usage.ts";
import { forgetDeliveries, insertDeliveries, tellOf } from "./webhooks.ts";

/** The store's methods about idempotency claims. */
export function claimMethods(
  driver: SqlDriver,
  exclusive: boolean,
): Pick<Store, "findClaim" | "takeLease" | "forgetEndUser" | "sweep"> {
  // The claims that expired first. If several processes sweep, each takes different ones. Expiry is checked twice, because a
  // claim may be renewed while the statement waits for its row. The plus avoids a second scan of the index.
  const sql = `DELETE FROM claims WHERE +expires_at <= $1 AND (owner, end_user, path, claim_key) IN (
      SELECT owner, end_user, path, claim_key FROM claims WHERE expires_at <= $1
        ORDER BY expires_at LIMIT ${claimsInAPortion} ${exclusive ? "" : "FOR UPDATE SKIP LOCKED"})
    RETURNING 1 AS forgotten`;

  const tokens = new TokenSweep(driver);
  return {
    findClaim: (claim) => findClaim(driver, claim),

    async takeLease(work, { holder, until }, at) {
      const result = await driver.batch([
        { sql: takeLease, params: [leaseOwner, work, holder, until, at], expect: 1 },
      ]);
      return result.committed;
    },

    async forgetEndUser(owner, endUser, at, tells) {
      const sql = "DELETE FROM claims WHERE owner = $1 AND end_user = $2";
      const nothingElse = `SELECT NULL AS conversation_id, NULL AS message_id, NULL AS twin_id,
        CAST($7 AS TEXT) AS end_user, '' AS part`;
      const result = await driver.batch([
        ...noteErasure({ owner, endUser, at }, exclusive),
        { sql, params: [owner, endUser] },
        forgetMemories(owner, endUser),
        ...forgetUsage(owner, endUser),
        forgetTokenSums(owner, endUser),
        forgetDeliveries(owner, endUser),
        ...insertDeliveries(
          { tells, owner, event: "person.erased", at },
          { sql: nothingElse, params: [endUser] },
        ),
      ]);
      if (result.committed) tellOf(tells, result.rows);
    },

    async sweep(at) {
      for (let portion = 0; portion < portionsInASweep; portion++) {
        const result = await driver.batch([{ sql, params: [at] }]);
        if (!result.committed || (result.rows[0]?.length ?? 0) < claimsInAPortion) break;
      }
      await driver.batch([{ sql: "DELETE FROM client_tokens WHERE expires_at <= $1", params: [at] }]);
      await driver.batch([{ sql: "DELETE FROM erasures WHERE at <= $1", params: [at - dayMs] }]);
      await sweepDeleted(driver);
      await tokens.sweep(at);
      await sweepContents(driver, at);
    },
  };
}

/** A lease on work is kept as a claim of nobody's, which is swept once it is over. */
const leaseOwner = "leases";
const takeLease = `INSERT INTO claims (owner, end_user, path, claim_key, fingerprint, resource_id, expires_at)
  VALUES ($1, '', $2, '', $3, '', $4)
  ON CONFLICT (owner, end_user, path, claim_key) DO UPDATE
    SET fingerprint = excluded.fingerprint, expires_at = excluded.expires_at
    WHERE claims.expires_at <= $5 OR claims.fingerprint = excluded.fingerprint`;

/** How many claims one statement deletes: in SQLite, everything else waits for it, about 15 ms. */
const claimsInAPortion = 1000;

/** How many portions a sweep deletes, leaving the rest to the next one, because a shutdown waits for a running sweep. */
const portionsInASweep = 20;

/** Runs statements unless the claim was made before; then returns that claim. The first may require a client token. */
export async function claimAndRun(
  driver: SqlDriver,
  claim: IdempotencyClaim,
  resourceId: string,
  statements: readonly SqlStatement[],
): Promise<MadeClaim | "token_ended" | undefined> {
  for (;;) {
    const result = await driver.batch([makeClaim(claim, resourceId), ...statements]);
    if (result.committed) return undefined;
    if (result.failed > 0) return "token_ended";
    const made = await findClaim(driver, claim);
    if (made) return made;
    // The claim that was in the way has been swept in the meantime: try again.
  }
}

/** Makes a claim. Changes no row if there is one that has not expired, and is not to be replaced. */
export function makeClaim(claim: IdempotencyClaim, resourceId: string): SqlStatement {
  const { fingerprint, createdAt, expiresAt, replaces } = claim;
  const expiredAt = replaces ? Number.MAX_SAFE_INTEGER : createdAt;
  return {
    sql: `INSERT INTO claims (owner, end_user, path, claim_key, fingerprint, resource_id, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (owner, end_user, path, claim_key) DO UPDATE SET fingerprint = excluded.fingerprint,
        resource_id = excluded.resource_id, expires_at = excluded.expires_at
      WHERE claims.expires_at <= $8`,
    params: [...keyOf(claim), fingerprint, resourceId, expiresAt, expiredAt],
    expect: 1,
  };
}

/** The equal claim that was made before this one and has not expired when this one was created. */
export async function findClaim(driver: SqlDriver, claim: IdempotencyClaim): Promise<MadeClaim | undefined> {
  const [row] = await driver.all(
    `SELECT fingerprint, resource_id FROM claims
      WHERE owner = $1 AND end_user = $2 AND path = $3 AND claim_key = $4 AND expires_at > $5`,
    [...keyOf(claim), claim.createdAt],
  );
  return row && claimFromRow(row);
}

/** Deletes the claims on a conversation's messages, of its end user or of none, which are of no use without it. */
export function dropClaimsOn({ owner, endUser, id }: ConversationRecord): SqlStatement {
  return {
    sql: "DELETE FROM claims WHERE owner = $1 AND end_user IN ('', $2) AND path = $3",
    params: [owner, endUser ?? "", messagesPath(id)],
  };
}

function keyOf({ owner, endUser, path, key }: IdempotencyClaim): SqlValue[] {
  return [owner, endUser ?? "", path, key];
}
