/**
 * Requests to a model over `node:http` and `node:https`: they take half the memory of Node's `fetch`, and connections
 * are kept for the next reply.
 *
 * @module
 */

import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { ModelListener, ModelTransport } from "./openai-transport.ts";

/**
 * Unused connections are closed after this long, before a firewall in between forgets them. It says nothing
 * about connections in use.
 */
const keptMs = 30_000;

/**
 * A {@link ModelTransport} for Node. Its unused connections don't keep the process alive.
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
    // Stays behind the answer's header: what breaks then is told by the body, and again here.
    request.on("error", (error) => listener.fail(error));
    // As bytes: a text would be joined to the header's, and keep that in all the parts that it was made of.
    request.end(Buffer.from(body));
    // Without an error: with one, a socket whose answer has arrived, though unread, would emit it to nobody.
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
