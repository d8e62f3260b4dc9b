/**
 * The replies that are followed on this process, but produced elsewhere or ended.
 *
 * @module
 */

import { SavedReply, type WatchContext } from "./saved-reply.ts";
import type { MessageRecord } from "./store/store.ts";

/** The followed replies. */
export interface Watching {
  /** A reply to follow. Later followers share the text, and the polling, of earlier ones. */
  feedOf(owner: string, reply: MessageRecord): SavedReply;
  /** Whether a reply is followed now. */
  follows(replyId: string): boolean;
  /** Releases all followers, also those that come later, because this process is shutting down. */
  release(): void;
}

export function createWatching(options: Omit<WatchContext, "followed" | "left">): Watching {
  const followed = new Set<SavedReply>(); // two of one reply, where both came before either was followed
  const shared = new Map<string, SavedReply>();
  let released = false;
  const context: WatchContext = {
    ...options,
    followed(saved) {
      followed.add(saved);
      shared.set(saved.id, saved);
      if (released) saved.release();
    },
    left(saved) {
      followed.delete(saved);
      if (shared.get(saved.id) === saved) shared.delete(saved.id);
    },
  };

  return {
    feedOf: (owner, reply) => shared.get(reply.id) ?? new SavedReply(context, owner, reply),
    follows: (replyId) => shared.has(replyId),
    release() {
      released = true;
      for (const saved of followed) saved.release();
    },
  };
}
