/**
 * Requests as bytes, and what they consist of.
 */

import type { Scope } from "../../core/mod.ts";
import type { Fixture } from "../support/harness.ts";
import { head, parseAnswers } from "../support/raw-socket.ts";

export const body = '{"twinId":"echo"}';
export const health = "GET /healthz HTTP/1.1";
export const create = "POST /api/v1/conversations HTTP/1.1";
export const jsonType = "Content-Type: application/json";
export const chunked = "Transfer-Encoding: chunked";
export const expectation = "Expect: 100-continue";

/** A request that leaves the connection open. */
export function keptOpen(requestLine: string, ...fieldLines: readonly string[]): string {
  return head(requestLine, ...fieldLines).replace("Connection: close\r\n", "");
}

export function chunkOf(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** So many header fields. */
export function fields(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `X-Field-${index}: 1`);
}

/** The statuses of the answers in what came over a connection. */
export function statusesOf(text: string): number[] {
  return parseAnswers(text).map(({ status }) => status);
}

let owners = 0;

/** The secret of a new key, of a new owner: an owner may create only a few an hour. */
export function createKey(fixture: Fixture, scope: Scope = "full_access"): Promise<string> {
  return fixture.key(scope, `owner-${++owners}`);
}

/** A new key as a header field. */
export async function credential(fixture: Fixture): Promise<string> {
  return `X-API-Key: ${await createKey(fixture)}`;
}
