/**
 * Where a message is stored in its conversation, and what becomes of the reply that runs there: `RunningReplies.replace` stops it,
 * on whatever process, where the message comes in its place.
 *
 * @module
 */

import type { IdempotencyClaim, MadeClaim, MessageRecord } from "../store/records.ts";
import type { BeginReply, ConversationEnd, NotStored, Reach } from "../store/store.ts";
import {
  ApiError,
  answeredByPerson,
  conversationBusy,
  conversationNotFound,
  messageNotFound,
  requirePlace,
  tooManyBranches,
  validationError,
} from "../wire/errors.ts";
import type { ReplyContext } from "./context.ts";
import { requireRoom } from "./limits.ts";
import type { RunningReplies } from "./running.ts";
import type { Replaced } from "./saver.ts";

/** Where a message goes, and what it may take the place of. */
export interface Placed extends Reach {
  readonly conversationId: string;
  /**
   * The message that it goes on from, on any branch: an ended reply, what a person has said, or a question that has no
   * twin's reply. Null: from the beginning. Undefined: from the end of the path.
   */
  readonly after?: string | null | undefined;
  /** Whether it takes the place of a running reply, which is cancelled. Default: it is refused then. */
  readonly replaces?: boolean | undefined;
  readonly claim: IdempotencyClaim | undefined;
}

/** A place, as it is asked of the store. */
export interface Place
  extends Pick<BeginReply, "forkAt" | "replaces">,
    Pick<MessageRecord, "seq" | "after"> {}

/** Stores a message in a place, if it still is one. */
export type Attempt<Stored extends object> = (
  place: Place,
) => Promise<{ readonly stored: Stored } | NotStored>;

/**
 * Stores a message where its conversation goes on, however often that changes meanwhile.
 *
 * @throws {ApiError} `conversation_busy`, `conversation_not_found`, `message_not_found`, `too_many_branches`,
 * `validation_error`, `budget_exceeded`, `answered_by_person`
 */
export async function storeInPlace<Stored extends object>(
  context: ReplyContext,
  running: RunningReplies,
  message: Placed,
  attempt: Attempt<Stored>,
): Promise<Stored | { readonly claim: MadeClaim }> {
  const { conversations, changes } = context;
  const { conversationId } = message;
  let end = conversations.endOf(conversationId);
  let replaced: Replaced | undefined;
  try {
    for (;;) {
      const place = await findPlace(context, message, end, replaced);
      const result = await attempt(place);
      if ("stored" in result) {
        replaced?.settle(true);
        changes.tell(conversationId);
        return result.stored;
      }
      switch (result.result) {
        case "claimed":
          return { claim: result.claim };
        case "answered_by":
          throw answeredByPerson();
        case "busy":
          if (!message.replaces) throw conversationBusy(result.replyId);
          replaced?.settle(false);
          replaced = await running.replace(message.owner, conversationId, result.replyId);
          break;
        case "undecided":
          break; // the next attempt decides
        case "too_many_branches":
          throw tooManyBranches();
        case "over_budget":
          requireRoom(result.spent, context.clock.now());
          break;
        case "other_twin":
          throw validationError([{ path: "conversation", message: "must be one with this model" }]);
        case "not_found":
          conversations.forget(conversationId);
          return conversationNotFound();
        case "moved":
          end = result.end;
          conversations.moved(conversationId, end);
      }
    }
  } catch (error) {
    // An equal request may have done what refuses this one: come in the reply's place, decided of the calls, or filled the limit.
    const { claim } = message;
    const mayBeMade = error instanceof ApiError && claim && !claim.replaces;
    const made = mayBeMade ? await context.store.findClaim(claim) : undefined;
    if (made) return { claim: made };
    throw error;
  } finally {
    replaced?.settle(false);
  }
}

async function findPlace(
  context: ReplyContext,
  message: Placed,
  { logLength, lastMessageId }: ConversationEnd,
  replaced: Replaced | undefined,
): Promise<Place> {
  const place = { seq: logLength, forkAt: undefined, replaces: replaced?.end };
  const { after } = message;
  if (after === undefined || after === replaced?.end.id) return { ...place, after: lastMessageId };
  if (message.replaces) return { ...place, after: await requireRunning(context, message, after) };
  const forkAt = after === lastMessageId ? undefined : await findFork(context, message, after);
  return { ...place, after, forkAt };
}

/** The running reply, which alone may be named by what takes its place. */
async function requireRunning(context: ReplyContext, message: Placed, id: string | null): Promise<string> {
  const found = id === null ? undefined : await findMessage(context, message, id);
  if (found?.status === "in_progress") return found.id;
  await requireConversation(context, message);
  const expected = "must be left out, or be the id of the running reply, where that is to be replaced";
  throw validationError([{ path: "after", message: expected }]);
}

/** The number of the message after which another one is to go on; -1: from the beginning. */
async function findFork(context: ReplyContext, message: Placed, after: string | null): Promise<number> {
  if (after === null) return -1;
  const found = await findMessage(context, message, after);
  if (found) return requirePlace(found, "after").seq;
  await requireConversation(context, message);
  return messageNotFound();
}

function findMessage(
  { store }: ReplyContext,
  { owner, endUser, conversationId }: Placed,
  id: string,
): Promise<MessageRecord | undefined> {
  return store.getMessage({ owner, endUser }, id, { conversationId, characters: 0 });
}

/** Where a message is not found, the conversation may have been deleted since it was cached: that is told first. */
async function requireConversation(
  { store, conversations }: ReplyContext,
  { owner, endUser, conversationId }: Placed,
): Promise<void> {
  if (await store.getConversation({ owner, endUser }, conversationId)) return;
  conversations.forget(conversationId);
  conversationNotFound();
}
