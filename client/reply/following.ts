/**
 * Following a reply to its end, over as many connections as that takes.
 *
 * @module
 */

import { ConflictError, ConnectionError, RateLimitError } from "../http/errors.ts";
import { type LongAnswerOptions, readLongAnswer } from "../http/long-answer.ts";
import { isPassing, messagePath, type Requests, type ServiceRequest } from "../http/requests.ts";
import { retryDelayMs, sleep } from "../http/waiting.ts";
import { readEvents, type StreamEvent } from "./events.ts";
import { Position } from "./position.ts";

/** What happens if the conversation is busy: `throw` a {@link ConflictError}, or `follow` the running reply. */
export type OnBusy = "throw" | "follow";

/** What is followed, and how. */
export interface Following extends LongAnswerOptions {
  readonly requests: Requests;
  readonly conversationId: string;
  /** The request that begins the reply. Undefined: `messageId` names one that was begun before. */
  readonly sending?: ServiceRequest | undefined;
  readonly messageId?: string | undefined;
  /** How much of the reply is there already, in UTF-16 code units. */
  readonly after: number;
  readonly onBusy: OnBusy;
  /** How many connections in a row may fail without bringing anything new. */
  readonly maxRetries: number;
  readonly signal: AbortSignal;
  /** Called if the conversation was busy: then the running reply is followed, and nothing was sent. */
  readonly joined: () => void;
}

/**
 * A reply's events in order, up to the one that ends it. After a break, the next connection goes on where the text ends.
 * Throws the last failure if that does not help.
 */
export async function* follow(following: Following): AsyncGenerator<StreamEvent, void, undefined> {
  const { signal, maxRetries, after, messageId } = following;
  const position = new Position(after, messageId);
  for (let failures = 0; ; ) {
    try {
      for await (const event of eventsFrom(position, following)) {
        const fresh = position.take(event);
        if (!fresh) continue;
        if (position.hasAdvanced()) failures = 0;
        yield fresh;
        if (fresh.type === "complete" || fresh.type === "error") return;
      }
      throw new ConnectionError("The stream ended before the reply did.");
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error, position) || ++failures > maxRetries) throw error;
      await sleep(retryDelayMs(failures, error), signal);
    }
  }
}

/** The events of one connection. */
function eventsFrom(position: Position, following: Following): AsyncIterable<StreamEvent> {
  position.beginConnection();
  return readEvents(readLongAnswer((signal) => open(position, following, signal), following));
}

/** Asks for the reply from the position on; if it has not begun yet, so far as is known, sends the question. */
async function open(position: Position, following: Following, signal: AbortSignal): Promise<Response> {
  const { requests, sending, onBusy, joined } = following;
  if (position.messageId === undefined && sending) {
    try {
      return requireEvents(await requests.open(sending, signal));
    } catch (error) {
      position.messageId = runningReply(error);
      if (onBusy !== "follow" || position.messageId === undefined) throw error;
      joined();
    }
  }
  return requireEvents(await requests.open(resuming(position, following), signal));
}

/** A proxy that cannot reach the service may answer with a page of its own. */
function requireEvents(response: Response): Response {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
  throw new ConnectionError("The answer is no event stream.");
}

/** The id of the reply that a conversation is busy with. */
export function runningReply(error: unknown): string | undefined {
  const messageId = error instanceof ConflictError ? error.details?.messageId : undefined;
  return typeof messageId === "string" ? messageId : undefined;
}

function resuming({ messageId = "", length }: Position, { conversationId }: Following): ServiceRequest {
  const path = `${messagePath(conversationId, messageId)}/stream`;
  return { method: "GET", path, query: { after: length } };
}

/** A reply that runs is worth waiting for, even if the limit of requests is reached meanwhile. */
function mayPass(error: unknown, { messageId }: Position): boolean {
  return isPassing(error) || (messageId !== undefined && error instanceof RateLimitError);
}
