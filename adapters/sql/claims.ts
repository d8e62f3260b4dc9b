/**
 * Idempotency claims in SQL.
 *
 * @module
 */

import type { IdempotencyClaim, MadeClaim, Store } from "../../core/store/store.ts";
import type { SqlDriver, SqlStatement } from "./driver.ts";
import { claimFromRow } from "./rows.ts";

/** The store's methods about idempotency claims. */
export function claimMethods(
  driver: SqlDriver,
  exclusive: boolean,
): Pick<Store, "findClaim" | "sweepClaims"> {
  const sql = sweepPortion(exclusive ? "" : "FOR UPDATE SKIP LOCKED");

  return {
    findClaim: (owner, path, key, at) => findClaim(driver, owner, path, key, at),

    async sweepClaims(at) {
      for (let portion = 0; portion < portionsInASweep; portion++) {
        const outcome = await driver.batch([{ sql, params: [at] }]);
        if (!outcome.committed || (outcome.rows[0]?.length ?? 0) < claimsInAPortion) return;
      }
    },
  };
}

/** How many claims one statement deletes: in SQLite, everything else waits for it, about 15 ms. */
const claimsInAPortion = 1000;

/** How many portions a sweep deletes, leaving the rest to the next one, because a shutdown waits for a running sweep. */
const portionsInASweep = 20;

/**
 * Deletes the claims that expired first. If several processes sweep, `lock` makes each take different ones. Expiry is
 * checked twice, because a claim may be renewed while the statement waits for its row. The plus avoids a second scan of
 * the index.
 */
function sweepPortion(lock: string): string {
  return `DELETE FROM claims WHERE +expires_at <= $1 AND (owner, path, claim_key) IN (
      SELECT owner, path, claim_key FROM claims WHERE expires_at <= $1
        ORDER BY expires_at LIMIT ${claimsInAPortion} ${lock})
    RETURNING 1 AS forgotten`;
}

/** Runs statements unless the claim was made before; then returns that claim. */
export async function claimAndRun(
  driver: SqlDriver,
  claim: IdempotencyClaim,
  resourceId: string,
  statements: readonly SqlStatement[],
): Promise<MadeClaim | undefined> {
  for (;;) {
    const outcome = await driver.batch([makeClaim(claim, resourceId), ...statements]);
    if (outcome.committed) return undefined;
    const made = await findClaim(driver, claim.owner, claim.path, claim.key, claim.createdAt);
    if (made) return made;
    // The claim that was in the way has been swept in the meantime: try again.
  }
}

/** Makes a claim. Changes no row if there is one that has not expired. */
export function makeClaim(claim: IdempotencyClaim, resourceId: string): SqlStatement {
  const { owner, path, key, fingerprint, createdAt, expiresAt } = claim;
  return {
    sql: `INSERT INTO claims (owner, path, claim_key, fingerprint, resource_id, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (owner, path, claim_key) DO UPDATE SET fingerprint = excluded.fingerprint,
        resource_id = excluded.resource_id, expires_at = excluded.expires_at
      WHERE claims.expires_at <= $7`,
    params: [owner, path, key, fingerprint, resourceId, expiresAt, createdAt],
    expect: 1,
  };
}

/** A claim that was made and has not expired at `at`. */
export async function findClaim(
  driver: SqlDriver,
  owner: string,
  path: string,
  key: string,
  at: number,
): Promise<MadeClaim | undefined> {
  const [row] = await driver.all(
    `SELECT fingerprint, resource_id FROM claims
      WHERE owner = $1 AND path = $2 AND claim_key = $3 AND expires_at > $4`,
    [owner, path, key, at],
  );
  return row && claimFromRow(row);
}
