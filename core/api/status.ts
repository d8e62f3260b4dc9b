/**
 * The endpoints of the service itself: usage, health, readiness and the OpenAPI document.
 *
 * @module
 */

import { unavailable } from "../http/envelope.ts";
import { route } from "../http/route.ts";
import { remainingTokens } from "../limits/token-bucket.ts";
import { shuttingDown } from "../wire/errors.ts";
import { healthSchema, type UsageResource, usageSchema } from "../wire/schemas.ts";

export const statusRoutes = [
  route({
    operationId: "getUsage",
    method: "GET",
    path: "/api/v1/usage",
    summary: "Read your key's or client token's limit and what is left of it; costs nothing",
    credential: "api_key",
    scope: "read_only",
    free: true,
    success: { status: 200, description: "The key's bucket now.", schema: usageSchema },
    async handle({ scope, bucket, rate }, { clock }) {
      if (!scope || !bucket || !rate) throw new Error("Usage is only told to who has a bucket.");
      const { policy } = bucket;
      const usage: UsageResource = {
        scope,
        limit: policy.capacity,
        remaining: remainingTokens(rate.debt, policy),
        resetAt: new Date(clock.now() + Math.ceil(rate.debt / 1000)).toISOString(),
      };
      return { data: usage };
    },
  }),

  route({
    operationId: "getOpenApi",
    method: "GET",
    path: "/api/v1/openapi.json",
    summary: "Read this API's OpenAPI 3.1 document",
    credential: "none",
    success: { status: 200, description: "The document." },
    async handle(_, { openApi }) {
      return { document: openApi() };
    },
  }),

  route({
    operationId: "getHealth",
    method: "GET",
    path: "/healthz",
    summary: "Check that the process is alive",
    credential: "none",
    success: { status: 200, description: "It is alive.", schema: healthSchema },
    async handle() {
      return { data: { status: "ok" } };
    },
  }),

  route({
    operationId: "getReadiness",
    method: "GET",
    path: "/readyz",
    summary: "Check that the service is ready to work",
    credential: "none",
    success: { status: 200, description: "It is ready.", schema: healthSchema },
    errors: ["unavailable", "shutting_down"],
    async handle(_, { replies, store, ready }) {
      if (replies.closing) throw shuttingDown();
      await ready();
      await store.ping().catch((error) => {
        throw unavailable(error); // also where trying again does not help, as with a damaged file
      });
      return { data: { status: "ok" } };
    },
  }),
];
