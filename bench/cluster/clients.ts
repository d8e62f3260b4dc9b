/**
 * Requests of many clients at once.
 *
 * @module
 */

import { Agent, request } from "node:http";
import { median, percentile } from "../report/spread.ts";

/** How many clients there are. */
export const clients = 32;

const agent = new Agent({ keepAlive: true, maxSockets: 500 });

/** Sends a request and reads its answer to the end. */
export function send(url: string, method: string, credential: string, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${credential}`,
      ...(body && { "Content-Type": "application/json" }),
    };
    const sent = request(url, { method, agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => {
        if ((response.statusCode ?? 500) < 300) resolve(text);
        else reject(new Error(`${method} ${url}: ${response.statusCode} ${text}`));
      });
    });
    sent.on("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}

/** A rate, and how long each action took, in milliseconds. */
export interface Measured {
  readonly perSecond: number;
  readonly median: number;
  readonly p99: number;
}

/** Has each client repeat an action for a while. */
export async function measure(seconds: number, act: (client: number) => Promise<unknown>): Promise<Measured> {
  const durations: number[] = [];
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (performance.now() < end) {
        const from = performance.now();
        await act(client);
        durations.push(performance.now() - from);
      }
    }),
  );
  return {
    perSecond: durations.length / ((performance.now() - startedAt) / 1000),
    median: median(durations),
    p99: percentile(durations, 0.99),
  };
}
