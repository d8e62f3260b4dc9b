/**
 * Serves an MCP server that knows only its standard input over streamable HTTP: passes messages on, both ways.
 * `node bridge.mjs <program> [argument …]`, with the port in `PORT`.
 */

import { createServer } from "node:http";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const inner = new StdioClientTransport({ command: process.execPath, args: process.argv.slice(2) });
const outer = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "one" });
inner.onmessage = (message) => outer.send(message).catch(() => {});
outer.onmessage = (message) => inner.send(message);
await Promise.all([inner.start(), outer.start()]);
createServer((request, response) => outer.handleRequest(request, response)).listen(
  Number(process.env.PORT),
  "127.0.0.1",
);
