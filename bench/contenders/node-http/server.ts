/** Bare `node:http`: reads the body, then writes each token. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";
import { deltaEvent, tokens } from "../../burst/reply.ts";

async function stream(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const text of request.setEncoding("utf8")) body += text;
  JSON.parse(body);
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  for (const token of tokens) response.write(deltaEvent(token));
  response.end();
}

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  if (request.method === "GET") response.end();
  else stream(request, response).catch(() => response.destroy());
});
server.listen(Number(process.env.PORT), "127.0.0.1", 4096);
