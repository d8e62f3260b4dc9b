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
    async findClaim(owner, path, key, at) {
      return findClaim(records, owner, path, key, at);
    },

    async sweepClaims(at) {
      const { claims } = records;
      for (const [id, entry] of claims) if (entry.expiresAt <= at) claims.delete(id);
    },
  };
}

/** The equal claim that was made before this one and has not expired. */
export function madeBefore(
  records: MemoryRecords,
  claim: IdempotencyClaim | undefined,
): MadeClaim | undefined {
  return claim && findClaim(records, claim.owner, claim.path, claim.key, claim.createdAt);
}

/** Makes a claim, if there is one to make. */
export function keepClaim(
  { claims }: MemoryRecords,
  claim: IdempotencyClaim | undefined,
  resourceId: string,
): void {
  if (!claim) return;
  const { owner, path, key, fingerprint, expiresAt } = claim;
  claims.set(claimId(owner, path, key), { fingerprint, resourceId, expiresAt });
}

function findClaim(
  { claims }: MemoryRecords,
  owner: string,
  path: string,
  key: string,
  at: number,
): MadeClaim | undefined {
  const entry = claims.get(claimId(owner, path, key));
  if (!entry || entry.expiresAt <= at) return undefined;
  return { fingerprint: entry.fingerprint, resourceId: entry.resourceId };
}

function claimId(owner: string, path: string, key: string): string {
  return JSON.stringify([owner, path, key]);
}
