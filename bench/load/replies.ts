/**
 * Replies that are read to their end, one after the other or many at once.
 *
 * @module
 */

import { createTokenReader } from "../model/tokens.ts";
import { HttpConnection } from "./http-connection.ts";

/** What a client saw of one reply. */
export interface SeenReply {
  readonly status: number;
  /** How many different tokens it had. */
  readonly tokens: number;
  /** From the request to the first token, in milliseconds. Absent: there was none. */
  readonly firstMs?: number;
}

/** Sends requests, so many at once, and reads each answer to its end. A connection is used again. */
export async function askAll(
  port: number,
  requests: readonly string[],
  atOnce: number,
): Promise<SeenReply[]> {
  const seen: SeenReply[] = [];
  let next = 0;
  async function work(): Promise<void> {
    const connection = new HttpConnection(port);
    for (let index = next++; index < requests.length; index = next++) {
      seen[index] = await askOne(connection, requests[index] ?? "");
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, requests.length) }, work));
  return seen;
}

function askOne(connection: HttpConnection, request: string): Promise<SeenReply> {
  const sentAt = performance.now();
  let tokens = 0;
  let firstMs: number | undefined;
  const reader = createTokenReader((number) => {
    firstMs ??= performance.now() - sentAt;
    tokens = Math.max(tokens, number + 1);
  });
  return new Promise((resolve, reject) => {
    connection.send(request, {
      piece: (bytes) => reader.read(bytes),
      end: (status) => resolve({ status, tokens, ...(firstMs !== undefined && { firstMs }) }),
      failed: reject,
    });
  });
}
