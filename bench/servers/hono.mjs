// Hono on @hono/node-server, as their documentation shows it: streamSSE, with one writeSSE per token.

import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { announce, deltaOf, tokens, twinsPage } from "./reply.ts";

const app = new Hono();
const pages = new Map([[20, twinsPage(20)]]);

app.post("/stream", (context) =>
  streamSSE(context, async (stream) => {
    for (const token of tokens) await stream.writeSSE({ data: JSON.stringify(deltaOf(token)) });
  }),
);
app.get("/twins", (context) => context.json(pages.get(Number(context.req.query("limit")))));

serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => announce(port));
