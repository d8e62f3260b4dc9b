/**
 * An app whose users talk to a twin: its page embeds `<twin-chat>`, and its server hands out client tokens, so that the
 * API key never leaves it. Needs a server with this origin among its `CORS_ORIGINS`, and a key of it:
 *
 * ```sh
 * CORS_ORIGINS=http://127.0.0.1:3000 npm start
 * TWINS_KEY=twin_… node --import tsx examples/widget.ts
 * ```
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { TwinClient } from "../client/mod.ts";

const service = process.env.TWINS_URL ?? "http://127.0.0.1:8787";
const client = new TwinClient({ baseUrl: service, apiKey: process.env.TWINS_KEY ?? "" });

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>An app</title>
<script type="module" src="${service}/widget.js"></script>
<h1>An app</h1>
<twin-chat src="${service}" twin="guide" token-url="/chat-token"></twin-chat>
</html>`;

const server = createServer(async (request, response) => {
  if (request.method === "POST" && request.url === "/chat-token") {
    const endUser = "user-1"; // whoever is signed in here
    const { token } = await client.clientTokens.create({ endUser, twinIds: ["guide"] });
    response.setHeader("Content-Type", "application/json").end(JSON.stringify({ token }));
    return;
  }
  response.setHeader("Content-Type", "text/html").end(page);
});

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
