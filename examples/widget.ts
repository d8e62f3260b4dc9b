/**
 * An app whose users talk to a twin: its page embeds `<twin-chat>`, and its server hands out client tokens, so that the
 * API key never leaves it. Needs a service with this origin among its `CORS_ORIGINS`, and a key of it. `PORT`, `TWINS_URL` and
 * `TWIN` are its port, the service's address and the twin:
 *
 * ```sh
 * CORS_ORIGINS=http://127.0.0.1:3000 npx twin-service
 * TWINS_KEY=$(npx twin-service key --sub playground --scope full_access --url http://127.0.0.1:8787) node widget.ts
 * ```
 */

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { TwinClient } from "twin-service/client";

const { TWINS_URL: service = "http://127.0.0.1:8787", TWINS_KEY = "", TWIN: twin = "guide" } = process.env;
const client = new TwinClient({ baseUrl: service, apiKey: TWINS_KEY });

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>An app</title>
<link rel="icon" href="data:,">
<script type="module" src="${service}/widget.js"></script>
<main>
  <h1>An app</h1>
  <twin-chat src="${service}" twin="${twin}" token-url="/chat-token"></twin-chat>
</main>
</html>`;

const pageHeaders = {
  "Content-Type": "text/html",
  "Content-Security-Policy": `default-src 'none'; script-src ${service}; connect-src 'self' ${service}; img-src data:`,
};

/** The users by their sessions. An app with accounts has such a table already. */
const users = new Map<string, string>();

function userOf({ headers }: IncomingMessage): string | undefined {
  const [, session = ""] = /(?:^|; )session=([^;]+)/.exec(headers.cookie ?? "") ?? [];
  return users.get(session);
}

/** Makes the visitor a user. The cookie is neither for scripts nor for other sites, which could ask for tokens with it. */
function signIn(): string {
  const session = randomUUID();
  users.set(session, `user-${users.size + 1}`);
  return `session=${session}; HttpOnly; SameSite=Strict; Path=/`;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const endUser = userOf(request);
  if (request.method === "POST" && request.url === "/chat-token") {
    if (endUser === undefined) return void response.writeHead(401).end();
    const { token } = await client.clientTokens.create({ endUser, twinIds: [twin] });
    response.setHeader("Content-Type", "application/json").end(JSON.stringify({ token }));
  } else if (request.method === "GET" && request.url === "/") {
    const session = endUser === undefined ? { "Set-Cookie": signIn() } : {};
    response.writeHead(200, { ...pageHeaders, ...session }).end(page);
  } else {
    response.writeHead(404).end();
  }
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    console.error(error); // the service refuses or cannot be reached
    response.writeHead(502).end();
  });
});

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
