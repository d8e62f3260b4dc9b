/**
 * The endpoints of the service itself: usage, health, readiness and the OpenAPI document.
 *
 * @module
 */

import { unavailable } from "../http/envelope.ts";
import { route } from "../http/route.ts";
import { answerStatic } from "../http/static-text.ts";
import { remainingTokens } from "../limits/token-bucket.ts";
import { dayMs, dayOf } from "../store/records.ts";
import { endOfPeriod } from "../store/token-budgets.ts";
import { shuttingDown, validationError } from "../wire/errors.ts";
import {
  healthSchema,
  type UsageResource,
  usageQuerySchema,
  usageSchema,
  usageSumSchema,
} from "../wire/schemas.ts";
import { requireDay, requireOrder } from "./days.ts";
import { pageOf, sliceOf } from "./pagination.ts";

/** The longest period that is summed, in days. */
const mostDays = 400;

export const statusRoutes = [
  route({
    operationId: "getUsage",
    method: "GET",
    path: "/api/v1/usage",
    summary: "Read the limit and the budgets of your key or client token, and what remains; costs nothing",
    credential: "api_key",
    scope: "read_only",
    free: true,
    success: { status: 200, description: "The key's bucket now.", schema: usageSchema },
    async handle({ caller: { scope, bucket, ownBudgets = [] }, rate }, { store, clock }) {
      if (!scope || !bucket || !rate) throw new Error("There is no bucket: the route takes no API key.");
      const { policy } = bucket;
      const now = clock.now();
      const states = ownBudgets.length > 0 ? await store.readTokenBudgets(ownBudgets, now) : [];
      const usage: UsageResource = {
        scope,
        limit: policy.capacity,
        remaining: remainingTokens(rate.debt, policy),
        resetAt: new Date(now + Math.ceil(rate.debt / 1000)).toISOString(),
        budgets: states.map((state) => ({
          ...state,
          resetAt: new Date(endOfPeriod(state.period, now)).toISOString(),
        })),
      };
      return { data: usage };
    },
  }),

  route({
    operationId: "listUsage",
    method: "GET",
    path: "/api/v1/usage/history",
    summary: "Count your replies and their tokens, by day, twin or end user",
    credential: "api_key",
    scope: "read_only",
    ownersOnly: true,
    query: usageQuerySchema,
    success: { status: 200, description: "A page of sums.", schema: usageSumSchema, list: true },
    async handle({ caller: { owner }, query }, { store, clock }) {
      const { to = dayOf(clock.now()) } = query;
      const lastDay = requireDay("to", to);
      const { from = dayOf(lastDay - 29 * dayMs), groupBy } = query;
      const firstDay = requireDay("from", from);
      requireOrder(from, to);
      if (lastDay - firstDay >= mostDays * dayMs) {
        throw validationError([{ path: "from", message: `must be at most ${mostDays - 1} days before to` }]);
      }
      const sums = await store.listUsage(owner, { ...sliceOf(query), from, to, groupBy });
      return pageOf(query, sums, (sum) => sum);
    },
  }),

  route({
    operationId: "getOpenApi",
    method: "GET",
    path: "/api/v1/openapi.json",
    summary: "Read this API's OpenAPI 3.1 document",
    credential: "none",
    success: { status: 200, description: "The document.", etag: true, document: true },
    handle: async ({ request }, { api }) => answerStatic(await api.describe(), request.headers),
  }),

  route({
    operationId: "getHealth",
    method: "GET",
    path: "/healthz",
    summary: "Check that the process is alive",
    credential: "none",
    success: { status: 200, description: "The process is alive.", schema: healthSchema },
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
    success: { status: 200, description: "The service is ready.", schema: healthSchema },
    errors: ["unavailable", "shutting_down"],
    async handle(_, { replies, store, health }) {
      if (replies.closing || health.isDraining()) throw shuttingDown();
      await health.ready();
      await store.ping().catch((error) => {
        throw unavailable(error); // also where trying again does not help, as with a damaged file
      });
      return { data: { status: "ok" } };
    },
  }),
];
