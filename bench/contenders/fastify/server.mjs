// One route on Fastify, with its own plugins for keys and limits; its schemas are those of the service.

import process from "node:process";
import bearerAuth from "@fastify/bearer-auth";
import rateLimit from "@fastify/rate-limit";
import fastify from "fastify";
import { pageQuerySchema, paginationSchema, record, twinSchema } from "../../../core/wire/schemas.ts";
import { pageOf, peersKey, requestsPerHour } from "../../list/twins.ts";

const page = record({ data: { type: "array", items: twinSchema }, pagination: paginationSchema });
const schema = { querystring: pageQuerySchema, response: { 200: page } };

const app = fastify();
await app.register(bearerAuth, { keys: [peersKey] });
await app.register(rateLimit, {
  max: requestsPerHour,
  timeWindow: "1 hour",
  keyGenerator: ({ headers }) => headers.authorization,
});
app.get("/api/v1/twins", { schema }, async ({ query }) => pageOf(query));
await app.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
