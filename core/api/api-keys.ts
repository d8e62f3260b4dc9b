/**
 * The endpoints of API keys, called with a JWT.
 *
 * @module
 */

import { createApiKey } from "../auth/secrets.ts";
import { counted } from "../base/counted.ts";
import { route } from "../http/route.ts";
import { type ApiKeyRecord, dayMs } from "../store/records.ts";
import { ApiError, challenge, validationError } from "../wire/errors.ts";
import { apiKeyResource } from "../wire/resources.ts";
import {
  apiKeySchema,
  createApiKeySchema,
  createdApiKeySchema,
  pageQuerySchema,
  rotateApiKeySchema,
} from "../wire/schemas.ts";
import { pageOf, sliceOf } from "./pagination.ts";

/** Keys of one owner that are neither revoked nor expired. */
const maxLiveKeys = 50;

export const apiKeyRoutes = [
  route({
    operationId: "createApiKey",
    method: "POST",
    path: "/api/v1/auth/api-keys",
    summary: "Create an API key; its secret is shown only once",
    credential: "token",
    audit: { action: "create_key", object: "id" },
    ownerPolicy: { bucket: "owner", capacity: 30 },
    body: createApiKeySchema,
    knownMembersOnly: true, // a misspelt expiresInDays would make a key that never ends
    idempotency: "refused",
    success: {
      status: 201,
      description: "The key with its secret.",
      schema: createdApiKeySchema,
      location: true,
    },
    errors: ["insufficient_scope", "key_limit_reached"],
    async handle({ caller, body }, context) {
      const { store, clock, newId, api, newKeys } = context;
      const { owner } = caller;
      const requestsPerHour = body.requestsPerHour ?? null;
      const granted = Math.max(newKeys.requestsPerHour[body.scope], caller.grantsPerHour ?? 0);
      requireLimit(requestsPerHour, newKeys.maxRequestsPerHour, granted);
      const days = body.expiresInDays ?? newKeys.maxDays;
      if (days && newKeys.maxDays && days > newKeys.maxDays) {
        const message = `must be a whole number from 1 to ${newKeys.maxDays}, or absent`;
        throw validationError([{ path: "expiresInDays", message }]);
      }
      const { key, prefix, hash } = createApiKey(newKeys.random);
      const now = clock.now();
      const record: ApiKeyRecord = {
        id: newId("key"),
        owner,
        name: body.name,
        scope: body.scope,
        prefix,
        hash,
        requestsPerHour,
        tokensPerDay: body.tokensPerDay ?? null,
        tokensPerMonth: body.tokensPerMonth ?? null,
        ownerTokensPerDay: caller.ownerTokensPerDay ?? null,
        createdAt: now,
        expiresAt: days ? now + days * dayMs : null,
        lastUsedAt: null,
        revokedAt: null,
        previousHash: null,
        previousUntil: null,
      };
      if ((await store.createKey(record, maxLiveKeys)) === "limit_reached") {
        throw new ApiError(
          "key_limit_reached",
          `You already have ${maxLiveKeys} live API keys; revoke one first.`,
        );
      }
      return {
        data: { ...apiKeyResource(record, now), key },
        headers: { Location: `${api.root}/auth/api-keys/${record.id}` },
      };
    },
  }),

  route({
    operationId: "listApiKeys",
    method: "GET",
    path: "/api/v1/auth/api-keys",
    summary: "List your API keys, newest first, without their secrets",
    credential: "token",
    query: pageQuerySchema,
    success: { status: 200, description: "A page of keys.", schema: apiKeySchema, list: true },
    async handle({ caller: { owner }, query }, { store, clock }) {
      const now = clock.now();
      return pageOf(query, await store.listKeys(owner, sliceOf(query)), (key) => apiKeyResource(key, now));
    },
  }),

  route({
    operationId: "rotateApiKey",
    method: "POST",
    path: "/api/v1/auth/api-keys/{id}/rotate",
    summary: "Give an API key another secret, which is shown only once; the one before works for a while",
    credential: "token",
    audit: { action: "rotate_key", object: "id" },
    ownerPolicy: { bucket: "owner", capacity: 30 },
    body: rotateApiKeySchema,
    isBodyOptional: true,
    knownMembersOnly: true, // a misspelt overlapSeconds would leave a secret that leaked in use for a day
    idempotency: "refused",
    success: { status: 200, description: "The key with its new secret.", schema: createdApiKeySchema },
    errors: ["api_key_not_found"],
    async handle({ caller: { owner }, params, body }, { store, keys, clock, newKeys }) {
      const { key, prefix, hash } = createApiKey(newKeys.random);
      const now = clock.now();
      const rotation = { prefix, hash, previousUntil: now + body.overlapSeconds * 1000 };
      const rotated = await store.rotateKey(owner, params.id, rotation, now);
      if (!rotated) throw new ApiError("api_key_not_found", "There is no live API key with this id.");
      keys.forget(rotated.id);
      store.signals?.notify("revoked", rotated.id);
      return { data: { ...apiKeyResource(rotated, now), key } };
    },
  }),

  route({
    operationId: "revokeApiKey",
    method: "DELETE",
    path: "/api/v1/auth/api-keys/{id}",
    summary: "Revoke an API key, immediately and permanently",
    credential: "token",
    audit: { action: "revoke_key", object: "id" },
    success: { status: 204, description: "The key is revoked." },
    errors: ["api_key_not_found"],
    async handle({ caller: { owner }, params }, { store, keys, clock }) {
      const key = await store.updateKey(owner, params.id, { revokedAt: clock.now() });
      if (!key) throw new ApiError("api_key_not_found", "There is no API key with this id.");
      keys.forget(key.id);
      store.signals?.notify("revoked", key.id);
      return {};
    },
  }),
];

/** Refuses a limit of a key's own that is greater than the server allows, or its scope's without a JWT that allows it. */
function requireLimit(limit: number | null, most: number, granted: number): void {
  if (limit === null) return;
  if (limit > most) {
    const message = `must be a whole number from 1 to ${most}, or absent`;
    throw validationError([{ path: "requestsPerHour", message }]);
  }
  if (limit <= granted) return;
  throw new ApiError(
    "insufficient_scope",
    `A key with ${counted(limit, "request")} an hour needs a JWT whose claim requests_per_hour is at least ${limit}.`,
    { headers: { "WWW-Authenticate": `${challenge}, error="insufficient_scope"` } },
  );
}
