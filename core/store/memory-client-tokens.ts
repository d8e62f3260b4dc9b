/**
 * Client tokens in memory.
 *
 * @module
 */

import type { MemoryRecords } from "./memory-records.ts";
import type { ClientTokenRecord } from "./records.ts";
import type { ClientTokenStore } from "./store.ts";

/** The store's methods about client tokens. */
export function clientTokenMethods({ clientTokens }: MemoryRecords): ClientTokenStore {
  function tokensOf(owner: string, endUser: string): ClientTokenRecord[] {
    return [...clientTokens.values()].filter((token) => token.owner === owner && token.endUser === endUser);
  }

  return {
    async createClientToken(token) {
      const { owner, endUser, keyId, requestsPerHour, tokensPerDay, tokensPerMonth } = token;
      const limits = { requestsPerHour, tokensPerDay, tokensPerMonth };
      for (const other of tokensOf(owner, endUser)) {
        if (other.keyId === keyId) clientTokens.set(other.hash, { ...other, ...limits });
      }
      clientTokens.set(token.hash, token);
    },

    async findClientToken(hash) {
      return clientTokens.get(hash);
    },

    async deleteClientTokens(owner, endUser, at) {
      const tokens = tokensOf(owner, endUser);
      for (const { hash } of tokens) clientTokens.delete(hash);
      return tokens.filter(({ expiresAt }) => expiresAt > at).length;
    },
  };
}
