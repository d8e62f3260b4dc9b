/**
 * Follows what others do in a conversation: its stream, and in its absence the stream of a reply.
 *
 * @module
 */

import type { ConversationEventData } from "../../core/wire/schemas.ts";
import { TwinServiceError } from "../http/errors.ts";
import type { ConversationEvent } from "../reply/conversation.ts";
import type { ReplyStream } from "../reply/reply-stream.ts";
import { oneOfFew } from "./one-of-few.ts";
import { takeConversation } from "./reading.ts";
import {
  add,
  lastOf,
  put,
  runningOf,
  type SeenConversation,
  setDeleted,
  tell,
  wake,
  write,
} from "./state.ts";

/** Whether the conversation's stream tells all that happens, perhaps only once it is open again. */
export function isTold({ stream }: SeenConversation): boolean {
  return stream === "live" || stream === "broken";
}

/**
 * Follows what happens, whoever does it; unless that is done, or the conversation is left. It goes on behind what is known: what
 * was read or told last, or `first`, the message that the conversation began with here.
 */
export async function follow(seen: SeenConversation, first = ""): Promise<void> {
  const { client, id, closing } = seen;
  const { signal } = closing;
  if (seen.stream || signal.aborted) return;
  seen.stream = "opening";
  seen.problem = undefined;
  const close = await oneOfFew(signal, () => readRunning(seen));
  try {
    const events = client.conversations.follow(id, {
      after: seen.told ?? first,
      signal,
      maxRetries: Infinity,
      broken: () => {
        seen.stream = isTold(seen) ? "broken" : "opening";
      },
    });
    for await (const event of events) {
      if (mayBeAsked(seen, event)) await seen.asking?.answered;
      if (signal.aborted) return;
      seen.stream = "live";
      seen.own?.detach();
      seen.own = undefined;
      await take(seen, event);
      seen.told = event.id ?? seen.told;
      tell(seen);
    }
  } catch (error) {
    seen.stream = undefined;
    if (hasCode(error, "validation_error")) seen.told = undefined; // what it names is lost
    if (isDeletion(error)) setDeleted(seen);
    else if (!signal.aborted) fail(seen, error);
  } finally {
    seen.stream = undefined;
    seen.end = lastOf(seen); // nothing else tells where the path ends
    seen.begun = undefined;
    close();
    wake(seen);
  }
}

/** Whether an event may tell of the message that is being sent: it is known a moment later which one that is. */
function mayBeAsked({ asking, known }: SeenConversation, event: ConversationEvent): boolean {
  if (event.type === "conversation") {
    const { lastMessageId } = event.conversation;
    return lastMessageId !== null && !known.get(lastMessageId); // what is before it is read
  }
  if (event.type !== "message" || known.get(event.message.id)) return false;
  return event.message.role === "user" && event.message.content === asking?.content;
}

async function take(seen: SeenConversation, event: ConversationEventData): Promise<void> {
  switch (event.type) {
    case "conversation":
      return takeConversation(seen, event.conversation);
    case "message":
      return add(seen, event.message);
    case "complete":
    case "error":
      return put(seen, event.message);
    case "deleted":
      return setDeleted(seen);
    default:
      write(seen, event.messageId, event, Number((event as ConversationEvent).id?.split(".")[1]));
  }
}

/** Takes the words of a reply from its own stream, until the conversation's stream has them. One may follow in its place. */
export async function readOwn(
  seen: SeenConversation,
  messageId: string,
  stream: ReplyStream,
  events = stream[Symbol.asyncIterator](),
): Promise<void> {
  seen.own = stream;
  try {
    for await (const event of events) {
      if (seen.stream === "live") return;
      if (event.type === "complete") put(seen, event.message);
      else if (event.type === "error") put(seen, await seen.client.messages.get(seen.id, messageId));
      else write(seen, messageId, event, event.id);
      tell(seen);
    }
  } catch (error) {
    if (seen.own === stream) fail(seen, error);
  } finally {
    if (seen.own === stream) seen.own = undefined;
    stream.detach();
  }
  void follow(seen, messageId);
}

/** Takes the words of a reply that runs from its own stream, where the conversation's cannot be had. */
function readRunning(seen: SeenConversation): void {
  const running = runningOf(seen);
  if (!running || seen.own) return;
  const from = { after: running.content.length };
  void readOwn(seen, running.id, seen.client.messages.resume(seen.id, running.id, from));
}

function fail(seen: SeenConversation, error: unknown): void {
  if (hasCode(error, "no_streams")) readRunning(seen);
  else seen.problem = error;
  tell(seen);
}

/** Whether the service says that there is no such conversation any more. */
export function isDeletion(error: unknown): boolean {
  return hasCode(error, "conversation_not_found");
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof TwinServiceError && error.code === code;
}
