/** In a `node:http` server that also has its own pages. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "twin-service/node";
import { basePath, createTwins } from "./twins.ts";

const twins = toNodeHandler(createTwins());

const server = createServer((request, response) => {
  if (request.url?.startsWith(`${basePath}/`)) twins(request, response);
  else response.end("The host's own page.");
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
