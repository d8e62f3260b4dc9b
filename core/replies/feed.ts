/**
 * A reply as followers see it, wherever it is produced.
 *
 * @module
 */

import type { MessageRecord } from "../store/records.ts";
import { ApiError, shuttingDown } from "../wire/errors.ts";
import type { ClientSignal } from "../wire/request.ts";

/** A reply as followers see it, wherever it is produced. */
export interface ReplyFeed {
  /** The id of the reply, and of the user's message that it answers. */
  readonly id: string;
  readonly questionId: string;
  /** UTF-16 code units of the reply that can be read. Only grows. */
  readonly length: number;
  /** Text between two offsets. Ends at `length` are never inside a surrogate pair. */
  slice(from: number, to: number): string;
  /** The engine's progress events, each as JSON, in order. Only grows. */
  readonly progress: readonly string[];
  /** Whether the text is complete and only its end is still to be stored. */
  readonly ending: boolean;
  /** The reply as stored at its end. Once this is set, nothing changes. */
  readonly ended: MessageRecord | undefined;
  /** Whether this process stops following: it is shutting down, and another process produces the reply. */
  readonly released?: boolean;
  /** Calls back after each change. Unsubscribing twice is harmless. */
  subscribe(changed: () => void): void;
  unsubscribe(changed: () => void): void;
}

/**
 * Resolves with the reply as stored at its end. Rejects as soon as the signal aborts because the client has left, which
 * then no longer counts as a follower.
 */
export function endOf(feed: ReplyFeed, signal?: ClientSignal): Promise<MessageRecord> {
  return new Promise((resolve, reject) => {
    function leave(): void {
      feed.unsubscribe(changed);
      signal?.removeEventListener("abort", aborted);
    }
    function changed(): void {
      if (!feed.ended && !feed.released) return;
      leave();
      if (feed.ended) resolve(feed.ended);
      else reject(shuttingDown({ messageId: feed.id }));
    }
    function aborted(): void {
      leave();
      reject(new ApiError("invalid_request", "The client left before the reply had ended."));
    }
    feed.subscribe(changed);
    signal?.addEventListener("abort", aborted);
    if (signal?.aborted) aborted();
    else changed();
  });
}
