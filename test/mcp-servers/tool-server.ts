/**
 * A small MCP server for tests, of the revision 2025-11-25 without a session: a real HTTP server on 127.0.0.1.
 *
 * @module
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A message of a client. */
export interface RpcRequest {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: object;
    readonly cursor?: string;
    readonly _meta?: object;
  };
}

/** What the server does when its tool is called. May hang. */
export type Answer = (call: NonNullable<RpcRequest["params"]>) => object | Promise<object>;

/** Answers a message in another way than usual. Returns false if it does not. */
export type Intercept = (
  message: RpcRequest,
  response: ServerResponse,
  request: IncomingMessage,
) => boolean | undefined | Promise<boolean | undefined>;

/** A server with one tool, `find`. */
export interface ToolServer {
  readonly url: string;
  readonly port: number;
  /** The calls so far. */
  readonly calls: readonly NonNullable<RpcRequest["params"]>[];
  /** The header fields of all requests so far. */
  readonly headers: readonly IncomingMessage["headers"][];
  close(): Promise<void>;
}

/** The tool, as it is listed. */
export const find = {
  name: "find",
  description: "Finds an order.",
  inputSchema: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
};

/** Starts one. `answer`: the result of a call. Default: that it is sent. */
export async function startToolServer(
  answer: Answer = () => ({ content: [{ type: "text", text: "Order 7 is sent." }] }),
  port = 0,
  intercept: Intercept = () => false,
): Promise<ToolServer> {
  const calls: NonNullable<RpcRequest["params"]>[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const server: Server = createServer(async (request, response) => {
    headers.push(request.headers);
    const isResumed = request.headers["last-event-id"] !== undefined;
    if (isResumed && (await intercept({ method: "" }, response, request))) return;
    if (request.method !== "POST") return void response.writeHead(405).end();
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    const message = JSON.parse(body) as RpcRequest;
    if (await intercept(message, response, request)) return;
    const { id, method, params = {} } = message;
    const send = (message: object) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...message }));
    };
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "initialize") {
      return send({
        result: {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "orders", version: "1" },
        },
      });
    }
    if (method === "tools/list") return send({ result: { tools: [find] } });
    if (method !== "tools/call") return send({ error: { code: -32601, message: "Method not found" } });
    calls.push(params);
    send({ result: await answer(params) });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    port: bound,
    calls,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
