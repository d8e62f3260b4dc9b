// Hono on @hono/node-server, as their documentation shows it: streamSSE, with one writeSSE per token.

import process from "node:process";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { deltaOf, tokens, twinsPage } from "../../requests/reply.ts";

const app = new Hono();
const page = twinsPage(20);

app.post("/stream", async (context) => {
  await context.req.json();
  return streamSSE(context, async (stream) => {
    for (const token of tokens) await stream.writeSSE({ data: JSON.stringify(deltaOf(token)) });
  });
});
app.get("/twins", (context) => context.json(page));

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: "127.0.0.1" });
