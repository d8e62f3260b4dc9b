/**
 * Sends what is written here into a conversation that others change: in its place, once, and with the reply that it has.
 *
 * @module
 */

import type { MessageResource } from "../../core/wire/schemas.ts";
import { ConflictError, runningReply, UnprocessableEntityError } from "../http/errors.ts";
import { newIdempotencyKey } from "../http/requests.ts";
import type { MessageBody } from "../messages.ts";
import { follow, isDeletion, isTold, readOwn } from "./following.ts";
import { newestOf, takePage } from "./reading.ts";
import {
  gone,
  isForEnd,
  lastOf,
  type SeenConversation,
  type Sending,
  setDeleted,
  setWaiting,
  stateOf,
  tell,
  until,
} from "./state.ts";

/** How a message is sent. */
export interface SendMessageOptions {
  /**
   * What it goes on from: an ended reply on any branch, or null for the beginning. Default: the end of the path as it is seen;
   * while a person answers, as it is then, as both may write at once.
   */
  readonly after?: string | null | undefined;
  /**
   * What the person decides of the `pendingCalls` of the reply that it goes on from, by their `callId`. Those that are left out do
   * not run. The content may then be empty. While a person answers, nothing can be decided.
   */
  readonly calls?: MessageBody["calls"];
  /** `replace`: a running reply is cancelled, and the message stands directly behind it. Default: it waits for its end. */
  readonly whenBusy?: "replace" | undefined;
  /** Default: a new one, and for a message that may have arrived the one that it was sent with. */
  readonly idempotencyKey?: string | undefined;
}

/** Sends a message, and resolves once its reply has ended; while a person answers, once the message itself is stored. */
export async function send(
  seen: SeenConversation,
  content: string,
  options: SendMessageOptions,
): Promise<MessageResource> {
  if (seen.closing.signal.aborted) throw gone(seen);
  if (stateOf(seen) === "sending")
    throw new ConflictError("A message is being sent.", { code: "conversation_busy" });
  const sending = sendingOf(seen, content, options);
  seen.lastTried = sending;
  seen.unsent = { content, after: sending.after, error: undefined };
  tell(seen);
  try {
    const ended = await endOf(seen, await post(seen, sending));
    if (seen.lastTried === sending) accept(seen); // a person has said something meanwhile: it is seen now
    return ended;
  } catch (error) {
    if (isDeletion(error)) setDeleted(seen);
    else if (seen.unsent) seen.unsent = { ...seen.unsent, error };
    tell(seen);
    throw error;
  }
}

/** The same message in the same place may have arrived: it is sent with the same key. */
function sendingOf(
  seen: SeenConversation,
  content: string,
  { after: wanted, calls, whenBusy, idempotencyKey }: SendMessageOptions,
): Sending {
  const { unsent, lastTried } = seen;
  const isNamed = wanted !== undefined;
  const isAnyEnd = !isNamed && (whenBusy || seen.conversation.answeredBy === "person");
  const staysForEnd = unsent && !isNamed && isForEnd(seen);
  const after = isNamed ? wanted : unsent && !staysForEnd ? unsent.after : lastOf(seen);
  const isSame =
    !idempotencyKey &&
    lastTried?.content === content &&
    (staysForEnd || lastTried.after === after) &&
    JSON.stringify(lastTried.calls) === JSON.stringify(calls);
  const place = staysForEnd || isAnyEnd ? undefined : after;
  if (isSame && lastTried.place === place && lastTried.whenBusy === whenBusy) return lastTried;
  const before = isSame ? lastTried : undefined;
  const key = idempotencyKey ?? before?.idempotencyKey ?? newIdempotencyKey();
  return { content, calls, after, place, whenBusy, idempotencyKey: key, before };
}

/** Sends, again whenever a reply that it had to wait for has ended. Resolves with the id of its own reply. */
async function post(seen: SeenConversation, sending: Sending): Promise<string> {
  for (;;) {
    const answered = () => {
      seen.asking = undefined;
    };
    const asked = ask(seen, sending);
    seen.asking = { content: sending.content, answered: asked.then(answered, answered) };
    try {
      return await asked;
    } catch (error) {
      if (sending.before && error instanceof UnprocessableEntityError) return post(seen, sending.before);
      const running = runningReply(error);
      if (!running || seen.stream !== "live") throw error;
      await until(seen, () => seen.stream !== "live" || seen.known.get(running)?.completedAt);
    }
  }
}

/** Sends once. The reply's own stream ends as soon as the conversation's has its words. */
async function ask(
  seen: SeenConversation,
  { content, calls, after, place, whenBusy, idempotencyKey }: Sending,
): Promise<string> {
  const { client, id, known } = seen;
  const stream = client.messages.stream(
    id,
    { content: content || undefined, calls, after: place, whenBusy },
    { idempotencyKey, onBusy: seen.stream === "live" ? "throw" : "wait" },
  );
  const events = stream[Symbol.asyncIterator]();
  const { value } = await events.next();
  if (value?.type !== "progress") throw gone(seen);
  const { messageId, userMessageId } = value.progress;
  if (stream.waits) return ownQuestion(seen, await stream.final());
  const questionId = String(userMessageId);
  const reply = newReply(id, String(messageId), questionId);
  const isToRead = place === undefined && !isTold(seen);
  const stored = isToRead ? await client.messages.get(id, questionId) : undefined;
  const page = stored && (await readBefore(seen, stored));
  const { newest } = known;
  if (!known.get(reply.id)) {
    known.set(reply); // what its question has decided, or where that stands, is not told yet
    known.set(
      stored ?? {
        ...reply,
        id: questionId,
        after,
        content,
        role: "user",
        status: "completed",
        completedAt: reply.createdAt,
        inReplyTo: null,
      },
    );
    seen.progress = [];
    isBehind(seen, reply.id);
  }
  if (page) takePage(seen, page, newest);
  accept(seen);
  if (seen.stream === "live" || seen.closing.signal.aborted) stream.detach();
  else void readOwn(seen, reply.id, stream, events);
  return reply.id;
}

/**
 * Takes a question from here that waits for a person. Where that person has said something meanwhile, it is told of both in
 * their order; where it cannot be told, they are read.
 */
async function ownQuestion(seen: SeenConversation, question: MessageResource): Promise<string> {
  const { known } = seen;
  const { id } = question;
  if (!isBehindOthers(seen, question) || !isTold(seen)) {
    const page = await readBefore(seen, question);
    const { newest } = known;
    if (!known.get(id)) {
      isBehind(seen, id);
      setWaiting(seen, seen.conversation.waitingSince ?? question.createdAt);
    }
    known.set(question);
    if (page) takePage(seen, page, newest);
    accept(seen);
  }
  void follow(seen, id);
  return id;
}

/** Whether others have said something before a question from here that is not known. */
function isBehindOthers({ known }: SeenConversation, { after }: MessageResource): boolean {
  return after !== null && !known.get(after);
}

/** The newest messages, if a question from here stands behind some that are not known. */
async function readBefore(seen: SeenConversation, question: MessageResource) {
  return isBehindOthers(seen, question) ? newestOf(seen.client, seen.id) : undefined;
}

/** The path ends with a message from here, of which the conversation's stream may have yet to tell. */
function isBehind(seen: SeenConversation, id: string): void {
  if (seen.stream) seen.begun = id;
  else seen.end = id;
}

/** What was sent is stored. */
function accept(seen: SeenConversation): void {
  seen.unsent = undefined;
  seen.lastTried = undefined;
  tell(seen);
}

/** A reply, once it has ended. Rejects if its end is not told. */
async function endOf(seen: SeenConversation, id: string): Promise<MessageResource> {
  await until(seen, () => seen.known.get(id)?.completedAt || (!seen.stream && !seen.own));
  const reply = seen.known.get(id);
  if (!reply?.completedAt) throw seen.problem ?? gone(seen);
  return reply;
}

/** A reply that began a moment ago, until it is told as it is stored. */
function newReply(conversationId: string, id: string, after: string): MessageResource {
  return {
    id,
    conversationId,
    after,
    content: "",
    role: "assistant",
    status: "in_progress",
    completedAt: null,
    author: null,
    inReplyTo: after,
    finishReason: null,
    usage: null,
    error: null,
    sources: null,
    twinRevision: null,
    attempt: 1,
    feedback: null,
    pendingCalls: null,
    createdAt: new Date().toISOString(),
  };
}
