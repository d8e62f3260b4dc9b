/**
 * Requests to a model over `node:http` and `node:https`: they take half the memory of Node's `fetch`, and connections
 * are kept for the next reply.
 *
 * @module
 */

import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { ModelListener, ModelTransport } from "./transport.ts";

/**
 * How long unused connections are kept, in milliseconds: shorter than firewalls remember them. Does not affect
 * connections in use.
 */
const keptMs = 30_000;

/**
 * Creates a {@link ModelTransport} for Node. Its unused connections do not keep the process alive.
 *
 * @example
 * ```ts
 * import { createOpenAIEngine } from "twin-service/openai";
 * import { createNodeTransport } from "twin-service/openai-node";
 *
 * const openai = createOpenAIEngine({
 *   baseUrl: "https://api.openai.com/v1",
 *   apiKey,
 *   model: "gpt-4.1-mini",
 *   transport: createNodeTransport(),
 * });
 * ```
 */
export function createNodeTransport(): ModelTransport {
  const http = new HttpAgent({ keepAlive: true, timeout: keptMs });
  const https = new HttpsAgent({ keepAlive: true, timeout: keptMs });

  return (url, { method, headers, body }, listener) => {
    const request = url.startsWith("https:")
      ? requestHttps(url, { method, headers, agent: https })
      : requestHttp(url, { method, headers, agent: http });
    request.once("response", (response) => receive(response, listener));
    // Stays after the response headers: what breaks then is reported by the body, and again here.
    request.on("error", (error) => listener.fail(error));
    // As bytes: a string would be joined to that of the headers, which would stay in memory in all its parts.
    request.end(Buffer.from(body));
    // Without an error: a socket whose response has arrived, but is unread, would emit it without a listener.
    return () => request.destroy();
  };
}

function receive(response: IncomingMessage, listener: ModelListener): void {
  response.socket.setTimeout(0); // the agent sets it again once the connection is unused
  response.on("data", (bytes: Buffer) => listener.read(bytes));
  response.on("end", () => listener.end());
  response.on("error", (error) => listener.fail(error));
  listener.begin(response.statusCode ?? 0, {
    get: (name) => toText(response.headers[name.toLowerCase()]),
  });
}

function toText(value: string | string[] | undefined): string | null {
  return Array.isArray(value) ? value.join(", ") : (value ?? null);
}
