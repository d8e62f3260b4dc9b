/**
 * The endpoints of client tokens, called with a key.
 *
 * @module
 */

import { keyRequired } from "../auth/credentials.ts";
import { clientTokens } from "../auth/secrets.ts";
import { route } from "../http/route.ts";
import type { ClientTokenRecord } from "../store/records.ts";
import { validationError } from "../wire/errors.ts";
import { clientTokenResource } from "../wire/resources.ts";
import { clientTokenSchema, clientTokensQuerySchema, createClientTokenSchema } from "../wire/schemas.ts";
import { requireTwin } from "./lookup.ts";

/** The most twins that a token is limited to. */
const maxTwins = 50;

/**
 * The capacity of a client token's bucket, in requests per hour, if none is asked for, unless its key has less. All tokens of
 * an end user and key share the bucket, and take on the newest one's capacity (the stores' `createClientToken`).
 */
const usualRequestsPerHour = 100;

export const clientTokenRoutes = [
  route({
    operationId: "createClientToken",
    audit: { action: "create_client_token", object: "endUser" },
    method: "POST",
    path: "/api/v1/client-tokens",
    summary: "Create a client token, which one end user's browser sends instead of your key",
    credential: "api_key",
    scope: "full_access",
    ownersOnly: true,
    body: createClientTokenSchema,
    idempotency: "refused",
    success: { status: 201, description: "The token with its secret.", schema: clientTokenSchema },
    errors: ["twin_not_found"],
    async handle({ caller: { owner, key, bucket }, body }, { store, twins, keys, clock, newKeys }) {
      if (!key || !bucket) throw keyRequired("a client token is made with one, and ends with it");
      const { endUser, scope, expiresInSeconds, tokensPerDay = null, tokensPerMonth = null } = body;
      const { capacity } = bucket.policy;
      const { requestsPerHour = Math.min(usualRequestsPerHour, capacity) } = body;
      const twinIds = body.twinIds ? [...new Set(body.twinIds)] : null;
      requireLimits(twinIds, requestsPerHour, capacity);
      for (const id of twinIds ?? []) await requireTwin(twins, { owner }, id);
      const { secret, hash } = clientTokens.create(newKeys.random);
      const now = clock.now();
      const token: ClientTokenRecord = {
        hash,
        owner,
        keyId: key.id,
        keyHash: key.hash,
        endUser,
        twinIds,
        scope,
        requestsPerHour,
        tokensPerDay,
        tokensPerMonth,
        createdAt: now,
        expiresAt: now + expiresInSeconds * 1000,
      };
      await store.createClientToken(token);
      keys.forgetClientTokens(owner, endUser); // the bucket of the others may have another size now
      return { data: clientTokenResource(token, secret) };
    },
  }),

  route({
    operationId: "deleteClientTokens",
    audit: { action: "end_client_tokens", object: "endUser" },
    method: "DELETE",
    path: "/api/v1/client-tokens",
    summary: "End all client tokens of an end user, immediately",
    credential: "api_key",
    scope: "full_access",
    ownersOnly: true,
    query: clientTokensQuerySchema,
    success: { status: 204, description: "The tokens are ended, if there were any." },
    async handle({ caller: { owner }, query }, { store, keys, clock }) {
      await store.deleteClientTokens(owner, query.endUser, clock.now());
      keys.forgetClientTokens(owner, query.endUser);
      return {};
    },
  }),
];

/** Refuses what the schema cannot know. */
function requireLimits(twinIds: readonly string[] | null, requestsPerHour: number, capacity: number): void {
  if (twinIds && twinIds.length > maxTwins) {
    throw validationError([
      { path: "twinIds", message: `must be null or a list of 1 to ${maxTwins} different twins` },
    ]);
  }
  if (requestsPerHour > capacity) {
    const message = `must be a whole number from 1 to ${capacity}, which the key has`;
    throw validationError([{ path: "requestsPerHour", message }]);
  }
}
