// Fastify with its own @fastify/sse, as its documentation shows it: one send per token. A response schema would not
// make the list faster, so it has none.

import sse from "@fastify/sse";
import createFastify from "fastify";
import { announce, deltaOf, tokens, twinsPage } from "./reply.ts";

const fastify = createFastify({ logger: false });
const pages = new Map([[20, twinsPage(20)]]);
await fastify.register(sse);

fastify.post("/stream", { sse: { kind: "manual", heartbeat: false } }, async (_, reply) => {
  for (const token of tokens) await reply.sse.send({ data: deltaOf(token) });
});
fastify.get("/twins", (request, reply) => reply.send(pages.get(Number(request.query.limit))));

await fastify.listen({ port: 0, host: "127.0.0.1" });
announce(fastify.server.address().port);
