/**
 * A receiver of webhooks, on this machine, that answers as a test says.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { after } from "node:test";
import { listen } from "../support/ports.ts";
import { until } from "../support/until.ts";

/** A request that arrived. */
export interface Arrived {
  readonly headers: IncomingMessage["headers"];
  readonly path: string | undefined;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  /** Such as `127.0.0.1:9000`. */
  readonly host: string;
  readonly arrived: readonly Arrived[];
  /** How it answers from now on. Default: with 204. */
  answer(how: (response: ServerResponse, request: Arrived) => void): void;
  /** Waits until so many requests have arrived in all. */
  has(count: number): Promise<void>;
}

/** Starts a receiver, which ends with the tests. */
export async function startReceiver(): Promise<Receiver> {
  const arrived: Arrived[] = [];
  let answer = (response: ServerResponse, _request: Arrived): void => void response.writeHead(204).end();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const { headers, url: path } = request;
    const one = { headers, path, body };
    arrived.push(one);
    answer(response, one);
  });
  const host = `127.0.0.1:${await listen(server)}`;
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://${host}/hooks?from=twins`,
    host,
    arrived,
    answer(how) {
      answer = how;
    },
    async has(count) {
      await until(
        `${count} requests at the receiver, not ${arrived.length}`,
        5_000,
        () => arrived.length >= count,
      );
    },
  };
}

/** Answers with a status. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}) {
  return (response: ServerResponse): void => void response.writeHead(code, headers).end();
}
