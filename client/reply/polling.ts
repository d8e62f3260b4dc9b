/**
 * Following a reply where `fetch` gives no body before its end, as on React Native: what is stored is read again and again.
 *
 * @module
 */

import type { MessageResource } from "../../core/wire/schemas.ts";
import type { PageBody } from "../http/pages.ts";
import { conversationPath, messagePath, type Requests, type ServiceRequest } from "../http/requests.ts";
import { sleep } from "../http/waiting.ts";
import { readEvents, type StreamEvent } from "./events.ts";
import type { Position } from "./position.ts";

/** The pauses, in milliseconds: the text of a running reply is stored once a second, and each look costs a request. */
const firstPauseMs = 1_000;
const longestPauseMs = 5_000;

/** What is read. */
interface PolledReply {
  readonly requests: Requests;
  readonly conversationId: string;
  readonly sending?: ServiceRequest | undefined;
  readonly signal: AbortSignal;
}

/**
 * A reply's events, as far as stored messages tell them. `send` sends the question, and its answer comes with the end of
 * the reply; what breaks it before is no matter once the reply was found.
 */
export async function* poll(
  position: Position,
  reading: PolledReply,
  send: (signal: AbortSignal) => Promise<Response>,
): AsyncGenerator<StreamEvent, void, undefined> {
  const { signal } = reading;
  const connection = new AbortController();
  let answer =
    position.messageId === undefined ? send(connection.signal).then((sent) => sent.text()) : undefined;
  let attempt = 1;
  try {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs + firstPauseMs, longestPauseMs)) {
      const text = await Promise.race([sleep(pauseMs, signal), ...(answer ? [answer] : [])]).catch(
        (error) => {
          if (position.messageId === undefined || signal.aborted) throw error;
          answer = undefined;
        },
      );
      if (typeof text === "string") return yield* readEvents([text]);
      const message = await read(position, reading).catch((error) => {
        if (!answer || signal.aborted) throw error;
      });
      if (!message) continue;
      if (message.attempt > attempt) yield continued(message);
      attempt = message.attempt;
      yield* eventsOf(message, position);
      if (message.status !== "in_progress") return;
    }
  } finally {
    answer?.catch(() => {}); // nothing waits for it any more
    connection.abort();
  }
}

/** The reply, as it is stored. Before its id is known, it is the running one of the question that was sent. */
async function read(
  { messageId }: Position,
  { requests, conversationId, sending, signal }: PolledReply,
): Promise<MessageResource | undefined> {
  const options = { signal, maxRetries: 0 };
  if (messageId !== undefined) {
    return requests.data({ method: "GET", path: messagePath(conversationId, messageId) }, options);
  }
  const path = `${conversationPath(conversationId)}/messages`;
  const query = { order: "desc", limit: 2 };
  const { data } = await requests.json<PageBody<MessageResource>>({ method: "GET", path, query }, options);
  const [reply, question] = data;
  const { content: asked = "" } = (sending?.body ?? {}) as { readonly content?: unknown }; // a yes has no words
  return reply?.status === "in_progress" && question?.content === asked ? reply : undefined;
}

/** Another process writes the reply anew, from where it does not say. */
function continued({ attempt }: MessageResource): StreamEvent {
  return { id: 0, type: "progress", progress: { stage: "continued", from: 0, attempt } };
}

function* eventsOf(message: MessageResource, position: Position): Generator<StreamEvent, void, undefined> {
  const { id: messageId, content, status, inReplyTo, error } = message;
  const id = content.length;
  if (position.messageId === undefined) {
    const progress = { stage: "accepted", messageId, userMessageId: inReplyTo };
    yield { id: 0, type: "progress", progress };
  }
  if (id > position.length) yield { id, type: "delta", content: content.slice(position.length) };
  const facts = { details: { messageId }, requestId: "" }; // a stored message does not know the request that it failed in
  if (status === "failed" && error) yield { id, type: "error", error: { ...error, ...facts } };
  else if (status !== "in_progress") yield { id, type: "complete", message };
}
