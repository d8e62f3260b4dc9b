// One route on Hono, with the usual middleware for keys, limits and schemas.

import process from "node:process";
import { serve } from "@hono/node-server";
import { zValidator } from "@hono/zod-validator";
import { Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { rateLimiter } from "hono-rate-limiter";
import { z } from "zod";
import { pageOf, peersKey, requestsPerHour } from "../../list/twins.ts";

const query = z.object({
  page: z.coerce.number().int().min(1).max(999_999_999).default(1),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});

const app = new Hono();
app.use(bearerAuth({ token: peersKey }));
app.use(
  rateLimiter({
    limit: requestsPerHour,
    windowMs: 3_600_000,
    keyGenerator: (c) => c.req.header("authorization"),
  }),
);
app.get("/api/v1/twins", zValidator("query", query), (c) => c.json(pageOf(c.req.valid("query"))));

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: "127.0.0.1" });
