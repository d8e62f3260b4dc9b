/**
 * One streamed reply, read and checked.
 *
 * @module
 */

import { createParser } from "eventsource-parser";
import { ask, Refused, reasonOf, told } from "./api.ts";
import type { VisitOptions } from "./options.ts";
import type { Seen } from "./report.ts";

/** What a reply's events have told so far. */
interface Reply {
  lastAt: number | undefined;
  text: string;
  stored: string | undefined;
  failed: string | undefined;
}

/**
 * Sends the question and reads its reply to the end.
 *
 * @throws {Error} if the reply is not as it should be.
 */
export async function readReply(
  options: VisitOptions,
  id: string,
  seen: Seen,
  signal: AbortSignal,
): Promise<void> {
  const sentAt = performance.now();
  const body = { content: options.content };
  const path = `/conversations/${id}/messages/stream`;
  const response = await ask(options, { method: "POST", path, body, signal });
  if (!response.ok || !response.body) throw new Refused("A send", response.status, await response.text());
  const reply: Reply = { lastAt: undefined, text: "", stored: undefined, failed: undefined };
  const parser = createParser({ onEvent: ({ data }) => take(data, reply, seen, sentAt) });
  const decoder = new TextDecoder();
  try {
    for await (const piece of response.body) parser.feed(decoder.decode(piece, { stream: true }));
  } catch (error) {
    throw new Error(`A stream broke off after ${seen.replies} complete replies: ${reasonOf(error)}`);
  }
  if (reply.failed !== undefined) throw new Error(`A reply failed: ${reply.failed}`);
  if (reply.text !== reply.stored) throw new Error("A reply's deltas, joined, are not its final message.");
  seen.replies++;
}

function take(data: string, reply: Reply, seen: Seen, sentAt: number): void {
  const event = JSON.parse(data);
  if (event.type === "error") reply.failed = told(data);
  if (event.type === "complete") reply.stored = event.message.content;
  if (event.type !== "delta") return;
  const now = performance.now();
  if (reply.lastAt === undefined) seen.firstTokens.push(now - sentAt);
  else seen.gaps.push(now - reply.lastAt);
  reply.lastAt = now;
  reply.text += event.content;
  seen.characters += event.content.length;
}
