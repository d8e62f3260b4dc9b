/**
 * The client's methods for messages: sending, following, reading.
 *
 * @module
 */

import type { MessageResource } from "../core/wire/schemas.ts";
import { ReplyError, runningReply } from "./http/errors.ts";
import { type List, listAt, type PageQuery } from "./http/pages.ts";
import {
  type CreateOptions,
  conversationPath,
  messagePath,
  newIdempotencyKey,
  type RequestOptions,
  type Requests,
} from "./http/requests.ts";
import type { SentMessage } from "./reply/events.ts";
import type { OnBusy } from "./reply/following.ts";
import { type Followed, ReplyStream } from "./reply/reply-stream.ts";

/** What a call that sends a message may set. */
export interface SendOptions extends CreateOptions {
  /** Default: the client's. */
  readonly onBusy?: OnBusy | undefined;
}

/** A message to send: with words, or with decisions. */
export interface MessageBody {
  /** What the person says. May be left out with `calls`. */
  readonly content?: string | undefined;
  /**
   * What the person decides of the `pendingCalls` of the reply that the message goes on from, by their `callId`. Those that are
   * left out do not run.
   */
  readonly calls?: Readonly<Record<string, "approve" | "deny">> | undefined;
  /**
   * What it goes on from, on any branch: an ended reply, what a person has said, or a question that waits for one; null: the
   * beginning. Default: the end of the path.
   */
  readonly after?: string | null | undefined;
  /** `replace`: a running reply is cancelled, and the message stands directly behind it. Default: see {@link OnBusy}. */
  readonly whenBusy?: "refuse" | "replace" | undefined;
}

/** A message that is stored without asking a twin. */
export interface SaidMessageBody extends Omit<MessageBody, "content" | "calls"> {
  readonly content: string;
  /** `user`: a question that stays without a reply. Default `assistant`: what a person says in the twin's place. */
  readonly role?: "assistant" | "user" | undefined;
  /** Who says it, in up to 100 characters. Only of the role `assistant`, as is `answeredBy`. */
  readonly author?: string | undefined;
  /** Who answers from now on. Default: as before. */
  readonly answeredBy?: "twin" | "person" | undefined;
}

/** What resuming a reply may set. */
export interface ResumeOptions extends RequestOptions {
  /** How much of the text is there already, in UTF-16 code units: the last event's id. Default 0. */
  readonly after?: number | undefined;
}

/** What all of these methods have in common. */
export interface MessagesOptions {
  readonly onBusy: OnBusy;
  readonly silenceMs: number;
}

/**
 * How long {@link Messages.send} waits for a reply, in milliseconds, unless the client or the call has another time: as
 * long as a reply may take by default, and a little more.
 */
const sendTimeoutMs = 330_000;

/** Messages of conversations. */
export class Messages {
  readonly #requests: Requests;
  readonly #options: MessagesOptions;

  constructor(requests: Requests, options: MessagesOptions) {
    this.#requests = requests;
    this.#options = options;
  }

  /**
   * Those on the current path, oldest first. `after`: behind the message with this id, in the order asked for. `path`: the
   * messages of all branches, in the order they were stored.
   */
  list(
    conversationId: string,
    query: PageQuery & {
      readonly order?: "asc" | "desc";
      readonly after?: string;
      readonly path?: "all";
    } = {},
    options?: RequestOptions,
  ): List<MessageResource> {
    return listAt(this.#requests, `${conversationPath(conversationId)}/messages`, { ...query }, options);
  }

  get(conversationId: string, messageId: string, options?: RequestOptions): Promise<MessageResource> {
    return this.#requests.data({ method: "GET", path: messagePath(conversationId, messageId) }, options);
  }

  /**
   * Sends a message, and resolves with the whole reply; while a person answers in the conversation, with the question, whose
   * `role` is `user`. Rejects with a `ReplyError` if the reply failed.
   */
  async send(conversationId: string, body: MessageBody, options: SendOptions = {}): Promise<SentMessage> {
    const { idempotencyKey = newIdempotencyKey(), onBusy = this.#options.onBusy, ...rest } = options;
    const path = `${conversationPath(conversationId)}/messages`;
    const timeoutMs = this.#requests.timeoutMsOf(rest, sendTimeoutMs);
    try {
      return await this.#requests.data(
        { method: "POST", path, body, idempotencyKey },
        { ...rest, timeoutMs },
      );
    } catch (error) {
      const running = runningReply(error);
      if (onBusy === "throw" || running === undefined) throw error;
      const reply = this.resume(conversationId, running, rest).final();
      if (onBusy === "follow") return reply;
      await reply.catch((ended) => {
        if (!(ended instanceof ReplyError)) throw ended;
      });
      return this.send(conversationId, body, { ...options, idempotencyKey });
    }
  }

  /** Sends a message at once, and follows the reply as it is written. */
  stream(conversationId: string, body: MessageBody, options: SendOptions = {}): ReplyStream {
    const { idempotencyKey = newIdempotencyKey(), onBusy = this.#options.onBusy } = options;
    const path = `${conversationPath(conversationId)}/messages/stream`;
    const sending = { method: "POST", path, body, idempotencyKey } as const;
    return this.#follow({ conversationId, sending, after: 0, onBusy }, options);
  }

  /** Stores a message without asking a twin: what a person says in its place, or a question alone. Needs a key. */
  say(
    conversationId: string,
    { role = "assistant", ...rest }: SaidMessageBody,
    { idempotencyKey = newIdempotencyKey(), ...options }: CreateOptions = {},
  ): Promise<MessageResource> {
    const path = `${conversationPath(conversationId)}/messages`;
    const body = role === "user" ? { ...rest, reply: false } : { ...rest, role };
    return this.#requests.data({ method: "POST", path, body, idempotencyKey }, options);
  }

  /** Follows a reply from any point of its text, while it is written or any time later. */
  resume(
    conversationId: string,
    messageId: string,
    { after = 0, ...options }: ResumeOptions = {},
  ): ReplyStream {
    return this.#follow({ conversationId, messageId, after, onBusy: "throw" }, options);
  }

  /** Stops a reply, which keeps its text so far, and resolves with it. A reply that has ended stays as it is. */
  cancel(conversationId: string, messageId: string, options?: RequestOptions): Promise<MessageResource> {
    const path = `${messagePath(conversationId, messageId)}/cancel`;
    return this.#requests.data({ method: "POST", path }, options);
  }

  #follow(what: Followed, options: RequestOptions): ReplyStream {
    const requests = this.#requests;
    const { silenceMs } = this.#options;
    const timeoutMs = Math.min(requests.timeoutMsOf(options), silenceMs); // the head comes before the model is asked
    const { maxRetries, signal } = options;
    return new ReplyStream({ requests, timeoutMs, maxRetries, silenceMs, ...what }, signal);
  }
}
