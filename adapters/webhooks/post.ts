/**
 * Sends one request to an address that was checked, and to no other.
 *
 * @module
 */

import { type ClientRequest, Agent as HttpAgent, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { portOf, type Target } from "./addresses.ts";

/** What is sent. */
export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Breaks it off. */
  readonly signal: AbortSignal;
}

/**
 * A connection for each request, so that a certificate is seen each time, and none to a proxy, which would go where it wants:
 * with `NODE_USE_ENV_PROXY`, Deno would otherwise use one even without an agent.
 */
const direct = { keepAlive: false, proxyEnv: {} };

/** How much of an answer is read, in bytes, with all heads and framing: nothing of it is used but its status. */
const mostOfAnswer = 64 * 1024;

/**
 * Resolves with the status of the answer, once that was read, or as much of it as is. Redirects are answers like others. Rejects
 * if there is none.
 */
export function post({ url, address }: Target, { headers, body, signal }: Post): Promise<number> {
  const isTls = url.protocol === "https:";
  const name = url.hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve, reject) => {
    let status: number | undefined;
    const request = (isTls ? requestHttps : requestHttp)({
      host: address, // not the name, which might be another address by now
      port: portOf(url),
      path: `${url.pathname}${url.search}`,
      method: "POST",
      headers: { ...headers, Host: url.host, "Content-Length": String(Buffer.byteLength(body)) },
      agent: isTls ? new HttpsAgent(direct) : new HttpAgent(direct),
      ...(isTls && { servername: isIP(name) ? "" : name }), // whose certificate it must be
    });
    /** What broke off after the answer's head was answered all the same. */
    const end = (error: unknown) => {
      signal.removeEventListener("abort", breakOff);
      if (status === undefined) reject(error);
      else resolve(status);
    };
    const breakOff = () => {
      request.destroy();
      end(signal.reason);
    };
    signal.addEventListener("abort", breakOff);
    request.on("error", end);
    request.on("close", () => end(new Error("The connection was closed without an answer.")));
    request.on("response", (response) => {
      status = response.statusCode;
      response.on("error", end);
      response.on("end", end);
    });
    leaveOut(request);
    request.end(body);
  });
}

/** Takes an answer off the connection, as much of it as is read. */
function leaveOut(request: ClientRequest): void {
  let length = 0;
  const count = (piece?: Uint8Array) => {
    length += piece?.byteLength ?? 0;
    // The connection's count has what is no body, too: heads before the answer's, and framing. Not every runtime has it.
    if (Math.max(length, request.socket?.bytesRead ?? 0) > mostOfAnswer) request.destroy();
  };
  request.on("information", () => count());
  request.on("response", (response) => response.on("data", count));
}
