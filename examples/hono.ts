/**
 * In a Hono app whose users log in: with their session, they create their API keys. The host's own rate limiter wraps
 * the usual one.
 */

import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { getCookie } from "hono/cookie";
import { createMemoryLimiter, type RateLimiter } from "twin-service";
import { basePath, createTwins } from "./twins.ts";

/** Counts the requests it admits, as a host might for billing. */
function createCountingLimiter(counts: Map<string, number>): RateLimiter {
  const limiter = createMemoryLimiter();
  return {
    ...limiter,
    async take(id, policy) {
      const decision = await limiter.take(id, policy);
      if (decision.allowed) counts.set(id, (counts.get(id) ?? 0) + 1);
      return decision;
    },
  };
}

const counts = new Map<string, number>();
const twins = createTwins({ limiter: createCountingLimiter(counts) });

const app = new Hono();
app.get("/", (context) => context.text("The host's own page."));
app.all(`${basePath}/api/v1/auth/*`, (context) => {
  // The service reads no cookies. The host does, and passes on what its `verifyToken` identifies a user by.
  const headers = new Headers(context.req.raw.headers);
  const session = getCookie(context, "session");
  if (session !== undefined) headers.set("Authorization", `Bearer ${session}`);
  return twins.fetch(new Request(context.req.raw, { headers }));
});
app.all(`${basePath}/*`, (context) => twins.fetch(context.req.raw));

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: "127.0.0.1" }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}`);
});
