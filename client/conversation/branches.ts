/**
 * The messages of a conversation that are known here: a tree, of which one branch is the current path. `pathOf` in `state.ts` says
 * which of them a page shows: one path, while a message is unsent up to what that stands behind. It changes as a message is
 * stored at its end, and as the service tells, on any device, that another path is the current one (`takeConversation`). Choosing
 * an older version of a message leads to the end of the newest path that it is on (`endOf`).
 *
 * @module
 */

import type { MessageResource } from "../../core/wire/schemas.ts";

/** Messages on all branches. What stands behind a message has its id as `after`. */
export class Branches {
  readonly #messages = new Map<string, MessageResource>();
  /** The ids of the messages behind each one, and of those at the beginning, oldest first. */
  readonly #behind = new Map<string | null, string[]>();
  /** The id of the newest one. Empty: there is none. */
  newest = "";

  get(id: string | null | undefined): MessageResource | undefined {
    return this.#messages.get(id ?? "");
  }

  /** A reply comes behind its question, which has decided of the calls of the reply before it, whatever it said of them. */
  set(message: MessageResource): void {
    const { id, after } = message;
    if (!this.#messages.has(id)) this.#behind.set(after, [...(this.#behind.get(after) ?? []), id].sort());
    this.#messages.set(id, message);
    if (id > this.newest) this.newest = id;
    const decided = this.get(this.get(message.inReplyTo)?.after);
    if (decided?.pendingCalls) this.set({ ...decided, pendingCalls: null });
  }

  /** The messages on the path to its last one, as far back as they are known, oldest first. */
  pathTo(lastMessageId: string | null | undefined): MessageResource[] {
    const path: MessageResource[] = [];
    for (let at = this.get(lastMessageId); at; at = this.get(at.after)) path.push(at);
    return path.reverse();
  }

  /** What was said in a message's place, itself included, oldest first. */
  branchesOf({ after }: MessageResource): MessageResource[] {
    return (this.#behind.get(after) ?? []).map((id) => this.get(id) as MessageResource);
  }

  /** The end of the newest path that a message is on. */
  endOf({ id }: MessageResource): string {
    let end = id;
    for (let next: string | undefined = id; next; next = this.#behind.get(end)?.at(-1)) end = next;
    return end;
  }
}
