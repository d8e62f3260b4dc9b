/**
 * A conversation on the page: its messages, and the reply that runs.
 *
 * @module
 */

import type { Conversation, Message, ReplyStream, StreamEvent, Twin, TwinClient } from "../../client/mod.ts";
import { endOf, versionsOf } from "../shared/branches.ts";
import { h } from "../shared/dom.ts";
import { type PathView, SharedPath } from "../shared/path.ts";
import { messageTool, ReplyElement, thumbs, userMessage } from "./message.ts";

/** What a conversation tells the page. */
export interface ConversationListener {
  /** It was opened, or a message was sent: its end is to be shown. */
  moved(): void;
  /** Something about the reply that runs has changed. */
  changed(): void;
  /** A message is to be written anew: these are its words. */
  editing(content: string): void;
  /** A reply has ended. */
  ended(): void;
  /** It may have another title now. */
  renamed(conversation: Conversation): void;
  deleted(): void;
  /** A message was not accepted. It is not shown any more. */
  unsent(content: string, error: unknown): void;
  failed(error: unknown): void;
}

/** A message that is sent from here. */
interface SentMessage {
  readonly content: string;
  /** What it follows, if it is not the path's end. */
  readonly after: string | null | undefined;
  readonly idempotencyKey: string;
}

/** A reply that has not ended, and how much of it is here. */
interface RunningReply {
  readonly shown: ReplyElement;
  /** The stream that is followed. Undefined: the connection was cut. */
  stream: ReplyStream | undefined;
  messageId: string | undefined;
  /** The question that was sent for it from here. */
  question?: HTMLElement;
  sent?: SentMessage;
  /** Whether that begins another branch: the path is shown anew at the end. */
  isBranch?: boolean;
  /** Called once it is known what became of that question. */
  answered?: () => void;
}

/** Shows a conversation in an element. */
export class ConversationView implements PathView {
  readonly conversation: Conversation;
  readonly #client: TwinClient;
  readonly #twin: Twin;
  readonly #list: HTMLElement;
  readonly #listener: ConversationListener;
  #running: RunningReply | undefined;
  readonly #closing = new AbortController();
  readonly #path: SharedPath;
  /** What the next message follows, if it is not the path's end: it is written in place of another. */
  #after: string | null | undefined;
  /** What was sent last and not accepted. Sent again, it has the same key: it may have arrived all the same. */
  #unsent: SentMessage | undefined;
  readonly #mayWrite: boolean;

  constructor(
    conversation: Conversation,
    options: {
      client: TwinClient;
      twin: Twin;
      list: HTMLElement;
      listener: ConversationListener;
      mayWrite: boolean;
    },
  ) {
    this.conversation = conversation;
    this.#client = options.client;
    this.#twin = options.twin;
    this.#list = options.list;
    this.#listener = options.listener;
    this.#mayWrite = options.mayWrite;
    this.#path = new SharedPath(options.client, this);
  }

  /** The state of the reply that runs, for buttons. */
  get state(): "idle" | "sending" | "following" | "cut" {
    if (!this.#running) return "idle";
    if (!this.#running.stream) return "cut";
    return this.#running.messageId === undefined ? "sending" : "following";
  }

  get isReplying(): boolean {
    return this.#running !== undefined;
  }

  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  deleted(): void {
    this.#listener.deleted();
  }

  renamed(conversation: Conversation): void {
    this.#listener.renamed(conversation);
  }

  /** The length of the running reply's text that is here. */
  get offset(): number {
    return this.#running?.shown.content.length ?? 0;
  }

  /** Shows the messages so far, and what happens from then on. */
  async open(): Promise<void> {
    await this.draw();
    if (!this.signal.aborted) this.follow();
  }

  /** Shows what happens from now on, whoever does it. */
  follow(): void {
    this.#path.follow(this.conversation.id).catch((error) => this.#listener.failed(error));
  }

  /** Shows the current path. A reply that runs is followed from its beginning. */
  async draw(): Promise<void> {
    const { greeting, name } = this.#twin;
    const { path, all } = await this.#path.read(this.conversation.id);
    if (this.signal.aborted) return;
    this.#leave();
    this.#list.replaceChildren();
    if (greeting !== null) this.#list.append(this.#reply(name, greeting));
    for (const message of path) this.show(message, all);
    this.#listener.moved();
  }

  /** Ends an edit without a message. Returns whether there was one. */
  stopEditing(): boolean {
    const isEditing = this.#after !== undefined;
    this.#after = undefined;
    return isEditing;
  }

  /** Leaves the conversation; a reply that runs goes on. */
  close(): void {
    this.#closing.abort();
    this.#leave();
  }

  /** Stops following the reply that runs. */
  #leave(): void {
    this.#running?.stream?.detach();
    if (this.#running) this.#running.stream = undefined;
    this.#running = undefined;
  }

  /** Sends a message. `twice`: in two requests at once with one Idempotency-Key, which have one reply. */
  send(content: string, { twice = false } = {}): void {
    const after = this.#after;
    const isAgain = this.#unsent?.content === content && this.#unsent.after === after;
    const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
    const sent = (isAgain && this.#unsent) || { content, after, idempotencyKey: newKey() };
    const { idempotencyKey } = sent;
    const question = userMessage(content);
    this.#after = undefined;
    this.#unsent = undefined;
    const body = { content, ...(after !== undefined && { after }) };
    this.#list.append(question);
    const sendOnce = () => this.#client.messages.stream(this.conversation.id, body, { idempotencyKey });
    const stream = sendOnce();
    const running = this.#follow(stream, undefined);
    running.question = question;
    running.sent = sent;
    running.isBranch = after !== undefined;
    running.answered = this.#path.sending();
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

  /** Shows a message at the end. A reply that runs is followed. */
  show(message: Message, all: readonly Message[] = []): void {
    this.#path.pass(message.id);
    if (message.role === "user") {
      const element = userMessage(message.content);
      element.dataset.message = message.id;
      this.#list.append(element);
      this.#offerVersions(element, message.id, versionsOf(all, message), all);
    } else if (message.status === "in_progress") {
      this.#follow(this.#client.messages.resume(this.conversation.id, message.id), undefined, message.id);
    } else {
      const shown = new ReplyElement(this.#twin.name);
      shown.end(message);
      this.#offerTools(shown, message);
      this.#list.append(shown.element);
    }
  }

  /** A question from here is stored. */
  #accept(question: HTMLElement, id: string): void {
    this.#path.pass(id);
    this.#offerVersions(question, id);
  }

  /** Buttons at a question: to write it anew, and to look at its other versions. */
  #offerVersions(
    element: HTMLElement,
    id: string,
    versions: readonly Message[] = [],
    all: readonly Message[] = [],
  ): void {
    const edit = async () => {
      const { content, after } = await this.#client.messages.get(this.conversation.id, id);
      this.#after = after;
      this.#listener.editing(content);
    };
    const at = versions.findIndex((version) => version.id === id);
    const turn = (label: string, to: number) => {
      const version = versions[to];
      const select = async () => {
        if (!version) return;
        await this.#path.choose(this.conversation.id, endOf(all, version));
        await this.draw();
      };
      return messageTool(label, () => void this.#try(select), `${to + 1} / ${versions.length}`, !version);
    };
    if (!this.#mayWrite) return;
    const others =
      versions.length > 1 ? [turn("‹", at - 1), ` ${at + 1} / ${versions.length} `, turn("›", at + 1)] : [];
    element.append(
      h(
        "footer",
        { class: "tools" },
        messageTool("Edit", () => void this.#try(edit)),
        ...others,
      ),
    );
  }

  /** Buttons at a reply: to ask for another one, and to say what one thinks of it. */
  #offerTools(shown: ReplyElement, message: Message): void {
    if (!this.#mayWrite) return;
    const again = async () => {
      const { content, after } = await this.#client.messages.get(
        this.conversation.id,
        message.inReplyTo ?? "",
      );
      this.#after = after;
      this.send(content);
    };
    shown.offer(messageTool("Try again", () => void this.#try(again)));
    const { feedback } = this.#client;
    const [conversationId, { id }] = [this.conversation.id, message];
    const rate: Parameters<typeof thumbs>[1] = (rating, press) => {
      const told =
        rating === null
          ? feedback.withdraw(conversationId, id)
          : feedback.give(conversationId, id, { rating });
      told.then(
        () => press(rating),
        (error) => this.#listener.failed(error),
      );
    };
    for (const thumb of thumbs(message, rate)) shown.offer(thumb);
  }

  /** Does what a button is for, unless a reply runs. */
  async #try(act: () => Promise<void>): Promise<void> {
    if (this.#running) return;
    try {
      await act();
    } catch (error) {
      this.#listener.failed(error);
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
        running.answered?.();
      }
    } catch (error) {
      if (running.stream !== stream) return;
      this.#running = undefined;
      const { question, sent, messageId, shown } = running;
      if (question && sent && messageId === undefined) {
        question.remove();
        shown.element.remove();
        this.#after = sent.after;
        this.#unsent = sent;
        this.#listener.unsent(sent.content, error);
      } else {
        shown.fail(error instanceof Error ? error.message : String(error));
        this.#listener.failed(error);
      }
    } finally {
      running.answered?.();
    }
  }

  #take(event: StreamEvent, running: RunningReply): void {
    const { shown } = running;
    switch (event.type) {
      case "progress":
        if (event.progress.stage === "accepted") {
          running.messageId = String(event.progress.messageId);
          const userMessageId = String(event.progress.userMessageId);
          const first = this.#list.querySelector(`[data-message="${userMessageId}"]`);
          if (first) running.isBranch = true; // a first try had arrived: both are shown
          if (running.question) this.#accept(running.question, userMessageId);
          this.#path.pass(running.messageId);
        }
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
        this.#offerTools(shown, event.message);
        break;
      case "error":
        shown.fail(`${event.error.code}: ${event.error.message}`);
        break;
    }
    const hasEnded = event.type === "complete" || event.type === "error";
    if (hasEnded && this.#running === running) this.#running = undefined;
    if (hasEnded && running.isBranch) void this.#try(() => this.draw());
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
