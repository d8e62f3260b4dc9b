/**
 * A conversation on the page: its messages, and the reply that runs.
 *
 * @module
 */

import type { Conversation, Message, ReplyStream, StreamEvent, Twin, TwinClient } from "../../client/mod.ts";
import { h } from "../shared/dom.ts";
import { ReplyElement, userMessage } from "./message.ts";

/** What a conversation tells the page. */
export interface ConversationListener {
  /** It was opened, or a message was sent: its end is to be shown. */
  moved(): void;
  /** Something about the reply that runs has changed. */
  changed(): void;
  /** A reply has ended. */
  ended(): void;
  failed(error: unknown): void;
}

/** A reply that has not ended, and how much of it is here. */
interface RunningReply {
  readonly shown: ReplyElement;
  /** The stream that is followed. Undefined: the connection was cut. */
  stream: ReplyStream | undefined;
  messageId: string | undefined;
}

/** Shows a conversation in an element. */
export class ConversationView {
  readonly conversation: Conversation;
  readonly #client: TwinClient;
  readonly #twin: Twin;
  readonly #list: HTMLElement;
  readonly #listener: ConversationListener;
  #running: RunningReply | undefined;
  #closed = false;

  constructor(
    conversation: Conversation,
    options: { client: TwinClient; twin: Twin; list: HTMLElement; listener: ConversationListener },
  ) {
    this.conversation = conversation;
    this.#client = options.client;
    this.#twin = options.twin;
    this.#list = options.list;
    this.#listener = options.listener;
  }

  /** The state of the reply that runs, for buttons. */
  get state(): "idle" | "sending" | "following" | "cut" {
    if (!this.#running) return "idle";
    if (!this.#running.stream) return "cut";
    return this.#running.messageId === undefined ? "sending" : "following";
  }

  /** The length of the running reply's text that is here. */
  get offset(): number {
    return this.#running?.shown.content.length ?? 0;
  }

  /** Shows the messages so far. A reply that runs is followed from its beginning. */
  async open(): Promise<void> {
    const { greeting, name } = this.#twin;
    const newest = await this.#client.messages.list(this.conversation.id, { order: "desc", limit: 100 });
    if (this.#closed) return;
    this.#list.replaceChildren();
    if (greeting !== null) this.#list.append(this.#reply(name, greeting));
    for (const message of newest.data.reverse()) this.#show(message);
    this.#listener.moved();
  }

  /** Leaves the conversation; a reply that runs goes on. */
  close(): void {
    this.#closed = true;
    this.#running?.stream?.detach();
  }

  /** Sends a message. `twice`: in two requests at once with one Idempotency-Key, which have one reply. */
  send(content: string, { twice = false } = {}): void {
    const idempotencyKey = crypto.getRandomValues(new Uint32Array(4)).join("-");
    this.#list.append(userMessage(content));
    const sendOnce = () =>
      this.#client.messages.stream(this.conversation.id, { content }, { idempotencyKey });
    const stream = sendOnce();
    const running = this.#follow(stream, undefined);
    this.#listener.moved();
    if (twice) void this.#compare(stream, sendOnce(), running.shown);
  }

  /** Cuts the connection. The reply goes on without it. */
  cut(): void {
    if (!this.#running) return;
    this.#running.stream?.detach();
    this.#running.stream = undefined;
    this.#listener.changed();
  }

  /** Follows the reply again, from the offset that is here. */
  resume(): void {
    const running = this.#running;
    if (running?.messageId === undefined) return;
    const after = running.shown.content.length;
    const stream = this.#client.messages.resume(this.conversation.id, running.messageId, { after });
    this.#follow(stream, running);
  }

  /** Stops the reply. A reply whose connection was cut is followed again, to its end. */
  async cancel(): Promise<void> {
    const running = this.#running;
    if (running?.messageId === undefined) return;
    await this.#client.messages.cancel(this.conversation.id, running.messageId);
    if (!running.stream) this.resume();
  }

  #show(message: Message): void {
    if (message.role === "user") {
      this.#list.append(userMessage(message.content));
    } else if (message.status === "in_progress") {
      this.#follow(this.#client.messages.resume(this.conversation.id, message.id), undefined, message.id);
    } else {
      const shown = new ReplyElement(this.#twin.name);
      shown.end(message);
      this.#list.append(shown.element);
    }
  }

  #reply(author: string, content: string): HTMLElement {
    const shown = new ReplyElement(author);
    shown.content = content;
    return shown.element;
  }

  #follow(stream: ReplyStream, again: RunningReply | undefined, messageId?: string): RunningReply {
    const running = again ?? { shown: new ReplyElement(this.#twin.name), stream, messageId };
    running.stream = stream;
    if (!again) this.#list.append(running.shown.element);
    running.shown.isRunning = true;
    this.#running = running;
    this.#listener.changed();
    void this.#read(stream, running);
    return running;
  }

  async #read(stream: ReplyStream, running: RunningReply): Promise<void> {
    try {
      for await (const event of stream) {
        if (running.stream !== stream) return;
        this.#take(event, running);
      }
    } catch (error) {
      if (running.stream !== stream) return;
      running.shown.fail(error instanceof Error ? error.message : String(error));
      this.#running = undefined;
      this.#listener.failed(error);
    }
  }

  #take(event: StreamEvent, running: RunningReply): void {
    const { shown } = running;
    switch (event.type) {
      case "progress":
        if (event.progress.stage === "accepted") running.messageId = String(event.progress.messageId);
        if (event.progress.stage === "tool") {
          const { callId, name, state } = event.progress;
          shown.tool(String(callId), String(name), String(state));
        }
        if (event.progress.stage === "continued") shown.content = shown.content.slice(0, event.id);
        break;
      case "delta":
        shown.content += event.content;
        break;
      case "complete":
        shown.end(event.message);
        break;
      case "error":
        shown.fail(`${event.error.code}: ${event.error.message}`);
        break;
    }
    const hasEnded = event.type === "complete" || event.type === "error";
    if (hasEnded) this.#running = undefined;
    if (hasEnded) this.#listener.ended();
    else this.#listener.changed();
  }

  /** Says what two sends with one Idempotency-Key came to. */
  async #compare(first: ReplyStream, second: ReplyStream, shown: ReplyElement): Promise<void> {
    const [one, other] = await Promise.allSettled([first.final(), second.final()]);
    if (one.status !== "fulfilled" || other.status !== "fulfilled") return;
    if (one.value.id === other.value.id) shown.note(`Sent twice, stored once: ${one.value.id}`);
  }
}

/** What to call a conversation. */
export function titleOf({ title, createdAt }: Conversation): string {
  if (title !== null) return title;
  const time = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  return time.format(new Date(createdAt));
}

/** A button in a list. */
export function choice(label: string, about: string, chosen: boolean, onclick: () => void): HTMLElement {
  const parts = [h("span", { class: "name" }, label), h("span", { class: "about" }, about)];
  return h("li", {}, h("button", { onclick, "aria-current": chosen ? "true" : undefined }, ...parts));
}
