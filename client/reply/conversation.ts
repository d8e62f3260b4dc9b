/**
 * Following a conversation, over as many connections as that takes.
 *
 * @module
 */

import type { ConversationEventData } from "../../core/wire/schemas.ts";
import { ConnectionError, RateLimitError, TwinServiceError } from "../http/errors.ts";
import { readLongAnswer } from "../http/long-answer.ts";
import { conversationPath, isPassing, type RequestOptions, type Requests } from "../http/requests.ts";
import { Failures } from "../http/waiting.ts";
import { readData } from "./events.ts";

/** An event of a conversation. `id`: where to go on behind it; undefined while the conversation has no message. */
export type ConversationEvent = ConversationEventData & { readonly id: string | undefined };

/** What following a conversation may set. */
export interface FollowConversationOptions extends RequestOptions {
  /** The id of an event, or of a message, to begin behind; empty: it had no message yet. Default: from now on. */
  readonly after?: string | undefined;
  /** Called when a connection breaks, before the next one is tried. */
  readonly broken?: (() => void) | undefined;
}

/**
 * All that happens in a conversation, in order. After a break, the next connection goes on behind the last event, and begins
 * with the conversation as it is then. Ends after `deleted`, and throws the last failure if no connection helps.
 */
export async function* followConversation(
  requests: Requests,
  conversationId: string,
  { after, signal, broken, ...options }: FollowConversationOptions,
  silenceMs: number,
): AsyncGenerator<ConversationEvent, void, undefined> {
  const path = `${conversationPath(conversationId)}/stream`;
  const timeoutMs = Math.min(requests.timeoutMsOf(options), silenceMs);
  let isEmpty = after === "";
  for (const failures = new Failures(); ; ) {
    try {
      if (!requests.streamsBodies)
        throw new TwinServiceError("This fetch gives no body before its end.", { code: "no_streams" });
      const ask = (limit: AbortSignal) =>
        requests.open({ method: "GET", path, query: { after: after || undefined } }, limit);
      const pieces = readLongAnswer(ask, { timeoutMs, silenceMs, signal });
      for await (const event of readData<ConversationEventData>(pieces)) {
        // What came after the last connection broke, which had no id to go on behind, is all that there is.
        const missed = isEmpty && event.type === "conversation" && event.id;
        isEmpty = !event.id;
        after = missed ? "0.0" : (event.id ?? after);
        if (missed) break;
        failures.count = 0;
        yield event;
        if (event.type === "deleted") return;
      }
      throw new ConnectionError("The stream ended.");
    } catch (error) {
      broken?.();
      const mayPass = isPassing(error) || error instanceof RateLimitError;
      await failures.wait(error, mayPass, requests.maxRetriesOf(options), signal);
    }
  }
}
