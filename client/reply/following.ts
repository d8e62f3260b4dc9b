/**
 * Following a reply to its end, over as many connections as that takes.
 *
 * @module
 */

import { type ConflictError, ConnectionError, RateLimitError, runningReply } from "../http/errors.ts";
import { type LongAnswerOptions, readLongAnswer } from "../http/long-answer.ts";
import { isPassing, messagePath, type Requests, type ServiceRequest } from "../http/requests.ts";
import { Failures } from "../http/waiting.ts";
import { readEvents, type StreamEvent } from "./events.ts";
import { Position } from "./position.ts";

/**
 * What happens if the conversation is busy: `throw` a {@link ConflictError}, `follow` the running reply in place of sending,
 * or `wait` for its end, and send then.
 */
export type OnBusy = "throw" | "follow" | "wait";

/** How many connections may fail in a row while a reply runs: with the pauses in between, for longer than it may run. */
const retriesOfRunning = 60;

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
  /** How many connections in a row may fail without bringing anything new. Undefined: the usual number. */
  readonly maxRetries: number | undefined;
  readonly signal: AbortSignal;
  /** Called if the conversation was busy: then the running reply is followed, and nothing was sent. */
  readonly joined: () => void;
}

/**
 * A reply's events in order, up to the one that ends it. After a break, the next connection goes on where the text ends.
 * Throws the last failure if that does not help.
 */
export async function* follow(following: Following): AsyncGenerator<StreamEvent, void, undefined> {
  const { requests, signal, maxRetries, after, messageId, onBusy } = following;
  const position = new Position(after, messageId);
  for (const failures = new Failures(); ; ) {
    try {
      for await (const event of eventsFrom(position, following)) {
        const fresh = position.take(event);
        if (!fresh) continue;
        if (position.hasAdvanced()) failures.count = 0;
        yield fresh;
        if (fresh.type === "complete" || fresh.type === "error") return;
      }
      throw new ConnectionError("The stream ended.");
    } catch (error) {
      const running = runningReply(error);
      if (running !== undefined && onBusy === "wait") {
        const other = { ...following, messageId: running, sending: undefined, after: 0 };
        for await (const _ of follow(other)); // until it has ended
        continue;
      }
      const usual = position.messageId === undefined ? undefined : retriesOfRunning;
      const most = requests.maxRetriesOf({ maxRetries }, usual);
      // A reply that runs is worth waiting for, even if the limit of requests is reached meanwhile.
      const isLimited = position.messageId !== undefined && error instanceof RateLimitError;
      await failures.wait(error, isPassing(error) || isLimited, most, signal);
    }
  }
}

/** The events of one connection. */
async function* eventsFrom(position: Position, following: Following): AsyncGenerator<StreamEvent> {
  position.beginConnection();
  const ask = (signal: AbortSignal) => open(position, following, signal);
  if (following.requests.streamsBodies) yield* readEvents(readLongAnswer(ask, following));
  else yield* (await import("./polling.ts")).poll(position, following, ask); // few need it
}

/** Asks for the reply from the position on; if it has not begun yet, so far as is known, sends the question. */
async function open(position: Position, following: Following, signal: AbortSignal): Promise<Response> {
  const { requests, sending, onBusy, joined } = following;
  if (position.messageId === undefined && sending) {
    try {
      return requireEvents(await requests.open(sending, signal));
    } catch (error) {
      const running = runningReply(error);
      if (onBusy !== "follow" || running === undefined) throw error;
      position.messageId = running;
      joined();
    }
  }
  const path = `${messagePath(following.conversationId, position.messageId ?? "")}/stream`;
  const resuming: ServiceRequest = { method: "GET", path, query: { after: position.length } };
  return requireEvents(await requests.open(resuming, signal));
}

/** A proxy that cannot reach the service may answer with a page of its own. */
function requireEvents(response: Response): Response {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
  throw new ConnectionError("The answer is no event stream.");
}
