/**
 * A reply that is followed: its events, its text, its end.
 *
 * @module
 */

import type { MessageResource } from "../../core/wire/schemas.ts";
import { replyError, TwinServiceError } from "../http/errors.ts";
import { messagePath } from "../http/requests.ts";
import { EventLog } from "./event-log.ts";
import type { SentMessage, StreamEvent } from "./events.ts";
import { type Following, follow } from "./following.ts";

/** What a stream follows. */
export type Followed = Pick<Following, "conversationId" | "sending" | "messageId" | "after" | "onBusy">;

/**
 * A reply that is followed to its end, over as many connections as that takes. It may be read in several ways at once,
 * each from the beginning. Leaving a loop over it detaches: the reply goes on without this client.
 *
 * @example
 * ```ts
 * for await (const event of client.messages.stream(conversation.id, { content: "Hello!" })) {
 *   if (event.type === "delta") show(event.content);
 *   if (event.type === "complete") console.log(event.message.finishReason);
 * }
 * ```
 */
export class ReplyStream implements AsyncIterable<StreamEvent> {
  readonly #log = new EventLog<StreamEvent>();
  readonly #following: Omit<Following, "signal" | "joined">;
  readonly #connection = new AbortController();
  #messageId: string | undefined;
  #detached = false;
  #joined = false;
  #waits = false;

  /** For the client's own use: see `messages.stream` and `messages.resume`. */
  constructor(following: Omit<Following, "signal" | "joined">, signal: AbortSignal | undefined) {
    this.#following = following;
    this.#messageId = following.messageId;
    const abort = () => this.#connection.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort);
    void this.#run().finally(() => signal?.removeEventListener("abort", abort)); // the signal may live much longer
  }

  /** The reply's id. Undefined before the service has accepted the message. */
  get messageId(): string | undefined {
    return this.#messageId;
  }

  /** Whether the conversation was busy, and this follows the reply that was running: then nothing was sent. */
  get joined(): boolean {
    return this.#joined;
  }

  /** Whether there is no reply, as a person answers in the conversation: the message waits for that person. */
  get waits(): boolean {
    return this.#waits;
  }

  /**
   * The reply's text in pieces, as it arrives. Throws a {@link ReplyError} if the reply fails.
   *
   * What has been given cannot be taken back: if another process takes the reply over and writes its last part anew
   * (`progress` with the stage `continued`), the pieces go on behind what was given, and joined may differ there from
   * the stored text. Events, and the message of {@link ReplyStream.final}, are exact.
   */
  get text(): AsyncIterable<string> {
    return { [Symbol.asyncIterator]: () => this.#pieces() };
  }

  /**
   * The reply, once it has ended; of a message that waits for a person, the question. Rejects with a {@link ReplyError} if the
   * reply failed. A cancelled reply is a message.
   */
  async final(): Promise<SentMessage> {
    for await (const event of this.#log.read()) {
      if (event.type === "complete") return event.message as SentMessage;
      if (event.type === "error") throw replyError(event.error);
    }
    throw new TwinServiceError("The stream was left before the reply ended.", { code: "detached" });
  }

  /** Stops the reply, which keeps its text so far, and resolves with it. What has ended or waits stays as it is. */
  async cancel(): Promise<MessageResource> {
    const { requests, conversationId } = this.#following;
    const id = await this.#accepted();
    if (id === undefined) return this.final();
    const path = `${messagePath(conversationId, id)}/cancel`;
    return requests.data({ method: "POST", path });
  }

  /** Leaves: loops end, and the reply goes on. A message that is on its way is still sent. */
  detach(): void {
    this.#detached = true;
    if (this.#messageId !== undefined) this.#connection.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void, undefined> {
    try {
      yield* this.#log.read();
    } finally {
      this.detach();
    }
  }

  async #run(): Promise<void> {
    const joined = () => {
      this.#joined = true;
    };
    try {
      for await (const event of follow({ ...this.#following, signal: this.#connection.signal, joined })) {
        if (event.type === "progress" && event.progress.stage === "accepted") {
          this.#messageId = String(event.progress.messageId);
        }
        if (event.type === "progress" && event.progress.stage === "waiting") this.#waits = true;
        this.#log.add(event);
        if (this.#detached) break;
      }
      this.#log.end();
    } catch (error) {
      if (this.#detached) this.#log.end();
      else this.#log.fail(error);
    }
  }

  /** The reply's id, as soon as it is known. Undefined: there is none. */
  async #accepted(): Promise<string | undefined> {
    if (this.#messageId !== undefined) return this.#messageId;
    for await (const _ of this.#log.read())
      if (this.#messageId !== undefined || this.#waits) return this.#messageId;
    throw new TwinServiceError("The stream ended before the message was accepted.", { code: "detached" });
  }

  async *#pieces(): AsyncGenerator<string, void, undefined> {
    let given = this.#following.after;
    for await (const event of this) {
      if (event.type === "error") throw replyError(event.error);
      if (event.type !== "delta" || event.id <= given) continue;
      const from = event.id - event.content.length;
      yield event.content.slice(Math.max(0, given - from));
      given = event.id;
    }
  }
}
