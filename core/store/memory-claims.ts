/**
 * Idempotency claims in memory.
 *
 * @module
 */

import type { MemoryRecords } from "./memory-records.ts";
import { forgetUsage } from "./memory-usage.ts";
import type { ConversationRecord } from "./records.ts";
import { type IdempotencyClaim, type MadeClaim, messagesPath, type Store } from "./store.ts";

/** The store's methods about idempotency claims. */
export function claimMethods(
  records: MemoryRecords,
): Pick<Store, "findClaim" | "forgetEndUser" | "sweepClaims"> {
  return {
    async findClaim(claim) {
      return madeBefore(records, claim);
    },

    async forgetEndUser(owner, endUser) {
      forgetUsage(records, owner, endUser);
      for (const [id, claim] of records.claims) {
        if (claim.owner === owner && claim.endUser === endUser) records.claims.delete(id);
      }
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
  claims.set(claimId(claim), { ...claim, resourceId });
}

/** Deletes the claims on a conversation's messages, which are of no use without it. */
export function dropClaimsOn({ claims }: MemoryRecords, conversation: ConversationRecord): void {
  const { owner, id } = conversation;
  for (const [name, claim] of claims) {
    if (claim.owner === owner && claim.path === messagesPath(id)) claims.delete(name);
  }
}

function claimId({ owner, endUser, path, key }: IdempotencyClaim): string {
  return JSON.stringify([owner, endUser, path, key]);
}
