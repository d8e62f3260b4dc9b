/**
 * The state of an open conversation on one device: which messages of its tree are shown (`pathOf`), the words of a running reply,
 * and what is not accepted yet.
 *
 * @module
 */

import type {
  ConversationEventData,
  ConversationResource,
  MessageResource,
} from "../../core/wire/schemas.ts";
import { NotFoundError, TwinServiceError } from "../http/errors.ts";
import type { MessageBody, Messages } from "../messages.ts";
import type { ConversationEvent, FollowConversationOptions } from "../reply/conversation.ts";
import type { StreamEvent } from "../reply/events.ts";
import type { ReplyStream } from "../reply/reply-stream.ts";
import type { Feedback } from "../review.ts";
import type { Branches } from "./branches.ts";

/** What an open conversation uses of a client. */
export interface ConversationClient {
  readonly conversations: {
    get(id: string): Promise<ConversationResource>;
    update(
      id: string,
      body: {
        readonly lastMessageId?: string;
        readonly answeredBy?: ConversationResource["answeredBy"];
      },
    ): Promise<ConversationResource>;
    follow(id: string, options: FollowConversationOptions): AsyncIterable<ConversationEvent>;
  };
  readonly messages: Messages;
  readonly feedback: Feedback;
}

/** A message that was written here, and that the service has not accepted. */
export interface UnsentMessage {
  /** Empty: it only decides of calls. */
  readonly content: string;
  /** The id of the message that it goes on from; null: it begins the conversation. */
  readonly after: string | null;
  /** Why it was not accepted. Undefined: it is on its way. */
  readonly error: unknown;
}

/** A message that is being sent. */
export interface Sending {
  readonly content: string;
  readonly calls: MessageBody["calls"];
  /** What it stands behind, as it is seen here. */
  readonly after: string | null;
  /** What it is said to go on from. Undefined: nothing, it goes to the end. */
  readonly place: string | null | undefined;
  readonly whenBusy: "replace" | undefined;
  readonly idempotencyKey: string;
  /** How it was sent before, as it may have arrived: in another place, or another way. */
  readonly before?: Sending | undefined;
}

/** What can be done: all (`idle`), waiting for a message to be accepted, or for a reply to be written; nothing any more. */
export type ConversationState = "idle" | "sending" | "replying" | "deleted";

/** A conversation as it is known here. Optional: what is undefined at first. */
export interface SeenConversation {
  readonly client: ConversationClient;
  readonly id: string;
  readonly changed: () => void;
  readonly heard: (message: MessageResource) => void;
  /** Aborted once the conversation is left, or deleted. */
  readonly closing: AbortController;
  readonly known: Branches;
  conversation: ConversationResource;
  /** The end of the path, as the service has told it. */
  end: string | null;
  /** The reply to a message from here, of which the conversation's stream has yet to tell. */
  begun?: string | undefined;
  /** The path, until something changes. */
  path?: readonly MessageResource[] | undefined;
  progress: readonly Readonly<Record<string, unknown>>[];
  /** What is new and whole, until that is told. */
  readonly news: MessageResource[];
  isDeleted?: boolean;

  /** What is sent, and is not accepted. */
  unsent?: UnsentMessage | undefined;
  lastTried?: Sending | undefined;
  /** Words that are in a request, and what resolves once it is known what became of them. */
  asking?: { readonly content: string; readonly answered: Promise<void> } | undefined;

  /** The conversation's stream: absent, begun, told of the conversation, or broken since. */
  stream?: "opening" | "live" | "broken" | undefined;
  /** Behind what the conversation's stream goes on: the event that it told last, or the message that was read last; empty: none. */
  told?: string | undefined;
  /** The stream of a reply of which the conversation's stream does not tell. */
  own?: ReplyStream | undefined;
  /** Why it is not seen any more what others do. */
  problem?: unknown;

  /** What is called, once, when what is waited for may hold. */
  readonly waiting: (() => void)[];
}

/** The messages on the path, oldest first, as far as it is seen. */
export function pathOf(seen: SeenConversation): readonly MessageResource[] {
  seen.path ??= seen.known.pathTo(seen.unsent && !isForEnd(seen) ? seen.unsent.after : lastOf(seen));
  return seen.path;
}

/** Whether what is unsent goes to the end, whatever is said meanwhile: to a person, or in a reply's place. */
export function isForEnd({ conversation, lastTried }: SeenConversation): boolean {
  return conversation.answeredBy === "person" || (lastTried !== undefined && lastTried.place === undefined);
}

/** The id of the newest message on the path. */
export function lastOf({ begun, end }: SeenConversation): string | null {
  return begun ?? end;
}

export function runningOf(seen: SeenConversation): MessageResource | undefined {
  const last = seen.known.get(lastOf(seen));
  return last?.status === "in_progress" ? last : undefined;
}

export function stateOf(seen: SeenConversation): ConversationState {
  if (seen.isDeleted) return "deleted";
  if (seen.unsent && seen.unsent.error === undefined) return "sending";
  return runningOf(seen) ? "replying" : "idle";
}

/** Takes a message as it is stored. Of a running reply more may be known. `isNew`: one that is not known was said meanwhile. */
export function put({ known, news }: SeenConversation, message: MessageResource, isNew = false): void {
  const before = known.get(message.id);
  const isRunning = message.status === "in_progress";
  if (isRunning && before && message.attempt <= before.attempt) return;
  known.set(message);
  if (!isRunning && (before ? before.status === "in_progress" : isNew)) news.push(message);
}

/** Another message is stored, at the end of the path. */
export function add(seen: SeenConversation, message: MessageResource): void {
  const isSeen = seen.known.pathTo(seen.end).some(({ id }) => id === message.id); // sent here, and told late
  const isKnown = seen.known.get(message.id);
  put(seen, message, true);
  if (!isSeen) seen.end = message.id;
  if (message.id === seen.begun) seen.begun = undefined;
  if (message.role === "user") seen.progress = [];
  else if (String(seen.conversation.waitingSince) < message.createdAt) setWaiting(seen, null); // null comes behind all times
  const { content, after, error } = seen.unsent ?? {};
  const isItsPlace = isForEnd(seen) || message.after === after;
  if (isKnown || !error || message.role !== "user" || message.content !== content || !isItsPlace) return;
  seen.unsent = undefined; // it had arrived
  seen.lastTried = undefined;
}

/** Since when a question waits for a person, as far as it is known before the stream tells: what a person says ends it. */
export function setWaiting(seen: SeenConversation, waitingSince: string | null): void {
  seen.conversation = { ...seen.conversation, waitingSince };
}

/** A running reply goes on, up to an offset. */
export function write(
  seen: SeenConversation,
  messageId: string,
  event: Extract<StreamEvent | ConversationEventData, { type: "delta" | "progress" }>,
  offset: number,
): void {
  const reply = seen.known.get(messageId);
  if (reply?.status !== "in_progress") return;
  if (event.type === "progress") {
    const { from, attempt, stage } = event.progress;
    if (stage === "accepted") return;
    if (stage !== "continued") seen.progress = [...seen.progress, event.progress];
    else
      seen.known.set({ ...reply, content: reply.content.slice(0, Number(from)), attempt: Number(attempt) });
  } else if (offset > reply.content.length) {
    const before = reply.content.slice(0, offset - event.content.length);
    seen.known.set({ ...reply, content: before + event.content });
  }
}

/** Something has changed. */
export function tell(seen: SeenConversation): void {
  seen.path = undefined;
  wake(seen);
  if (!seen.isDeleted && seen.closing.signal.aborted) return;
  seen.changed();
  for (const message of seen.news.splice(0)) seen.heard(message);
}

/** Resolves once something holds. Rejects if the conversation is left before. */
export async function until(seen: SeenConversation, holds: () => unknown): Promise<void> {
  while (!holds()) {
    if (seen.closing.signal.aborted) throw gone(seen);
    await new Promise<void>((resolve) => seen.waiting.push(resolve));
  }
}

/** Has who waits look again. */
export function wake({ waiting }: SeenConversation): void {
  for (const look of waiting.splice(0)) look();
}

/** Leaves the conversation. */
export function close(seen: SeenConversation): void {
  seen.closing.abort();
  seen.own?.detach();
  wake(seen);
}

/** Leaves a conversation that was deleted. */
export function setDeleted(seen: SeenConversation): void {
  seen.isDeleted = true;
  seen.unsent = undefined;
  seen.end = null;
  seen.begun = undefined;
  close(seen);
  tell(seen);
}

/** Why nothing can be sent or awaited any more. */
export function gone({ isDeleted }: SeenConversation): TwinServiceError {
  return isDeleted
    ? new NotFoundError("The conversation was deleted.", { code: "conversation_not_found", status: 404 })
    : new TwinServiceError("The conversation was left before the reply ended.", { code: "detached" });
}
