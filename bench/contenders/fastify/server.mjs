// Fastify with its own @fastify/sse, as its documentation shows it: one send per token. A response schema would not
// make the list faster, so it has none.

import process from "node:process";
import sse from "@fastify/sse";
import createFastify from "fastify";
import { deltaOf, tokens, twinsPage } from "../../requests/reply.ts";

const fastify = createFastify({ logger: false });
const page = twinsPage(20);
await fastify.register(sse);

fastify.post("/stream", { sse: { kind: "manual", heartbeat: false } }, async (_, reply) => {
  for (const token of tokens) await reply.sse.send({ data: deltaOf(token) });
});
fastify.get("/twins", (_, reply) => reply.send(page));

await fastify.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
