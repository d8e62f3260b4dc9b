/**
 * Stands in for a host that calls functions with web requests, such as a worker or a route handler:
 * `node --import tsx test/servers/web-host.ts <module>`, whose default export has a `fetch`, or which exports a
 * function for each method.
 */

import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import { listen } from "../support/ports.ts";

type Handle = (request: Request) => Promise<Response>;

const hosted = await import(pathToFileURL(process.argv[2] ?? "").href);

const server = createServer(async (message, response) => {
  const { method = "GET", url, headers } = message;
  const body = method === "GET" || method === "HEAD" ? {} : { body: Readable.toWeb(message), duplex: "half" };
  const request = new Request(`http://host.test${url}`, {
    method,
    headers: headers as Record<string, string>,
    ...body,
  } as RequestInit);
  const handle: Handle = hosted.default?.fetch ?? hosted[method];
  const answer = await handle(request);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) return response.end();
  await pipeline(answer.body, response).catch((error) => console.error(`The reader left: ${error.code}`));
});
console.log(`listening on http://127.0.0.1:${await listen(server)}`);
