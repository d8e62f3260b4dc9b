/**
 * Idempotency claims in memory.
 *
 * @module
 */

import type { MemoryRecords } from "./memory-records.ts";
import type { IdempotencyClaim, MadeClaim, Store } from "./store.ts";

/** The store's methods about idempotency claims. */
export function claimMethods(records: MemoryRecords): Pick<Store, "findClaim" | "sweepClaims"> {
  return {
    async findClaim(claim) {
      return madeBefore(records, claim);
    },

    async sweepClaims(at) {
      const { claims } = records;
      for (const [id, entry] of claims) if (entry.expiresAt <= at) claims.delete(id);
    },
  };
}

/** The equal claim that was made before this one and has not expired. */
export function madeBefore(
  { claims }: MemoryRecords,
  claim: IdempotencyClaim | undefined,
): MadeClaim | undefined {
  const entry = claim && claims.get(claimId(claim));
  if (!entry || entry.expiresAt <= claim.createdAt) return undefined;
  return { fingerprint: entry.fingerprint, resourceId: entry.resourceId };
}

/** Makes a claim, if there is one to make. */
export function keepClaim(
  { claims }: MemoryRecords,
  claim: IdempotencyClaim | undefined,
  resourceId: string,
): void {
  if (!claim) return;
  const { fingerprint, expiresAt } = claim;
  claims.set(claimId(claim), { fingerprint, resourceId, expiresAt });
}

function claimId({ owner, endUser, path, key }: IdempotencyClaim): string {
  return JSON.stringify([owner, endUser, path, key]);
}
