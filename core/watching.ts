/**
 * The replies that are followed here and produced elsewhere, or have ended.
 *
 * @module
 */

import { SavedReply, type WatchContext } from "./saved-reply.ts";
import type { MessageRecord } from "./store.ts";

/** Those that are followed now. */
export interface Watching {
  /** A reply to follow. Whoever comes later shares the text, and the looks at it, of who came before. */
  feedOf(owner: string, reply: MessageRecord): SavedReply;
  /** Whether a reply is followed now. */
  follows(replyId: string): boolean;
  /** Lets everybody go, whoever comes later too: this process stops. */
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
