/**
 * A conversation on the page: the view of an open conversation.
 *
 * @module
 */

import type {
  Conversation,
  Message,
  MessageBody,
  OpenConversation,
  Twin,
  TwinClient,
} from "../../client/mod.ts";
import { CallCards } from "../shared/approval.ts";
import { h } from "../shared/dom.ts";
import { newKey } from "../shared/new-key.ts";
import { loadAtTop, type ShownMessage, ShownPath } from "../shared/shown.ts";
import { messageTool, ReplyElement, ratingTools, userMessage } from "./message.ts";
import { announce } from "./page.ts";

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

/** The page's network, of which it may cut the streams. */
export interface Network {
  readonly isCut: boolean;
  cut(): void;
  join(): void;
}

/** What is told of a twin. */
export type Speaker = Pick<Twin, "name" | "greeting">;

/** Shows a conversation in an element. */
export class ConversationView {
  readonly conversation: Conversation;
  readonly #client: TwinClient;
  readonly #twin: Speaker;
  readonly #writer: string;
  readonly #list: HTMLElement;
  readonly #listener: ConversationListener;
  readonly #network: Network;
  readonly #mayWrite: boolean;
  readonly #head = h("div", { hidden: true });
  readonly #shown = new ShownPath((message) =>
    message.role === "user" ? this.#question(message) : this.#reply(message),
  );
  #opened: OpenConversation | undefined;
  #unsent: HTMLElement | undefined;
  /** The question that the next message is written in place of. */
  #edited: Message | undefined;
  #running: Message | undefined;
  #problem: unknown;
  readonly #left = new AbortController();

  constructor(
    conversation: Conversation,
    options: {
      client: TwinClient;
      twin: Speaker;
      /** What to call who asks, where the app has no id of that person. */
      writer: string;
      list: HTMLElement;
      listener: ConversationListener;
      network: Network;
      mayWrite: boolean;
    },
  ) {
    this.conversation = conversation;
    this.#client = options.client;
    this.#twin = options.twin;
    this.#writer = conversation.endUser ?? options.writer;
    this.#list = options.list;
    this.#listener = options.listener;
    this.#network = options.network;
    this.#mayWrite = options.mayWrite;
    loadAtTop(this.#list, () => this.#try(async () => this.#opened?.earlier()), this.#left.signal);
  }

  /** The state of the reply that runs, for buttons. */
  get state(): "opening" | "idle" | "sending" | "following" | "cut" {
    if (this.#network.isCut) return "cut";
    if (!this.#opened) return "opening";
    const { state } = this.#opened;
    return state === "replying" ? "following" : state === "sending" ? state : "idle";
  }

  /** Whether a person answers. */
  get isWithPerson(): boolean {
    return this.#opened?.answeredBy === "person";
  }

  /** The length of the running reply's text that is here. */
  get offset(): number {
    return this.#opened?.running?.content.length ?? 0;
  }

  /** Shows the messages so far, and what anybody does in it later. `isNew`: there are no messages. */
  async open(isNew = false): Promise<void> {
    const { greeting, name } = this.#twin;
    const { conversation } = this;
    this.#list.replaceChildren(this.#head);
    if (greeting !== null) this.#head.before(new ReplyElement(name).say(greeting));
    const changed = (opened: OpenConversation) => {
      this.#opened = opened;
      if (!this.#left.signal.aborted) this.#draw(opened);
    };
    const which = isNew ? conversation : conversation.id;
    changed(
      await this.#client.conversations.open(which, { changed, heard: (message) => this.#hear(message) }),
    );
    if (this.#left.signal.aborted) this.#opened?.close();
    else this.#listener.moved();
  }

  /** Ends an edit without a message. Returns whether there was one. */
  stopEditing(): boolean {
    const isEditing = this.#edited !== undefined;
    this.#edited = undefined;
    return isEditing;
  }

  /** Leaves the conversation; a reply that runs goes on. */
  close(): void {
    this.#left.abort();
    this.#opened?.close();
    this.#network.join();
  }

  /** Sends a message. `twice`: in two requests at once with one Idempotency-Key, which have one reply. */
  send(content: string, { twice = false } = {}): void {
    const opened = this.#opened;
    if (!opened) return;
    const edited = this.#edited;
    this.#edited = undefined;
    const end = opened.answeredBy === "person" ? undefined : (opened.path.at(-1)?.id ?? null); // both may write at once
    const after = edited ? edited.after : end;
    const key = twice ? { idempotencyKey: newKey() } : {};
    const sent = opened.send(content, { after, ...key });
    this.#listener.moved();
    sent.catch((error) => {
      if (this.#left.signal.aborted || error === opened.problem) return;
      opened.discard();
      this.#edited = edited;
      this.#listener.unsent(content, error);
    });
    if (!twice) return;
    const other = this.#client.messages.send(this.conversation.id, { content, after }, key);
    Promise.all([sent, other]).then(
      ([{ id }, same]) => {
        const notes = this.#shown.elementOf(id)?.querySelector(".notes");
        if (id === same.id) notes?.append(h("span", { class: "source" }, `Sent twice, stored once: ${id}`));
      },
      (error) => this.#listener.failed(error),
    );
  }

  /** Cuts the connection. The reply goes on without it. */
  cut(): void {
    this.#network.cut();
    this.#listener.changed();
  }

  /** Follows the reply again, from the offset that is here. */
  resume(): void {
    this.#network.join();
    this.#listener.changed();
  }

  /** Stops the reply. */
  async cancel(): Promise<void> {
    await this.#opened?.cancel();
    this.resume();
  }

  /** Shows what there is to see: the path, and behind it what is unsent. */
  #draw(opened: OpenConversation): void {
    const { path, unsent, running, state, conversation, problem } = opened;
    this.#shown.show(path, this.#head);
    this.#unsent?.remove();
    this.#unsent = unsent?.content ? userMessage(unsent.content, this.#writer) : undefined;
    if (this.#unsent) this.#list.append(this.#unsent);
    const hasEnded = this.#running && !running;
    this.#running = running;
    this.#listener.renamed(conversation);
    if (hasEnded) this.#listener.ended();
    else this.#listener.changed();
    if (problem !== undefined && problem !== this.#problem) this.#listener.failed(problem);
    this.#problem = problem;
    if (state === "deleted") this.#listener.deleted();
  }

  /** Has a message that is whole spoken, if it is on the path: with the calls that wait, and why it failed. */
  #hear({ id, role, content, status }: Message): void {
    const parts = this.#shown
      .elementOf(id)
      ?.querySelectorAll<HTMLElement>(".author, .text, [part=call], .warn");
    const shown = Array.from(parts ?? [], ({ innerText }) => innerText).join("\n");
    announce(role === "user" ? content : shown, status === "failed");
  }

  /** A question, with buttons: to write it anew, and to look at its other versions. */
  #question(question: Message): ShownMessage {
    if (question.content === "") return { elements: [], update() {} }; // it only decides
    const element = userMessage(question.content, this.#writer);
    element.dataset.message = question.id;
    const edit = async () => {
      this.#edited = question;
      this.#listener.editing(question.content);
    };
    const tools = h("footer", { class: "tools" });
    if (this.#mayWrite) element.append(tools);
    let drawn: string | undefined;
    const update = () => {
      const versions = this.#opened?.branchesOf(question) ?? [];
      const at = versions.findIndex(({ id }) => id === question.id);
      const place = versions.length > 1 ? ` ${at + 1} / ${versions.length} ` : "";
      if (place === drawn) return;
      drawn = place;
      const turn = (label: string, to: number) => {
        const version = versions[to];
        const choose = async () => version && this.#opened?.choose(version);
        return messageTool(label, () => void this.#try(choose), `${to + 1} / ${versions.length}`, !version);
      };
      const others = place === "" ? [] : [turn("‹", at - 1), place, turn("›", at + 1)];
      tools.replaceChildren(
        messageTool("Edit", () => void this.#try(edit)),
        ...others,
      );
    };
    return { elements: [element], update };
  }

  /** A reply; once it has ended with buttons: to ask for another one, and to say what one thinks of it. Or what a person says. */
  #reply(first: Message): ShownMessage {
    const shown = new ReplyElement(this.#twin.name, first.author);
    const mayAct = this.#mayWrite && first.inReplyTo !== null; // what a person has said is not asked for again
    let now: Message | undefined;
    const cards = new CallCards({ approve: "Allow", deny: "Not now" }, (calls) => this.#decideOf(calls));
    shown.add(cards.element);
    const again = messageTool(
      "Try again",
      () => void this.#try(async () => this.#begin((opened) => opened.again(now ?? first))),
    );
    const { elements, press } = ratingTools(
      (rating) => void this.#try(async () => now && this.#rate(now, rating)),
    );
    const update = (message: Message) => {
      const hasEnded = message.status !== "in_progress";
      if (!hasEnded) shown.write(message, this.#opened?.progress ?? []);
      else if (now?.completedAt !== message.completedAt) {
        shown.end(message);
        if (mayAct) shown.offer(...(this.#isAsked(message) ? [again] : []), ...elements);
      }
      press(message);
      const path = this.#opened?.path;
      const mayDecide = this.#mayWrite && !this.isWithPerson && path?.at(-1) === message;
      cards.show(mayDecide ? message.pendingCalls : null, this.state === "idle");
      now = message;
    };
    return { elements: [shown.element], update };
  }

  /** Whether a reply is one to words: what only decides of calls is not said again. */
  #isAsked({ after }: Message): boolean {
    return this.#opened?.path.find(({ id }) => id === after)?.content !== "";
  }

  /** Says what a person has decided of the calls of the last reply. */
  #decideOf(calls: MessageBody["calls"]): void {
    this.#list.focus(); // the buttons go
    this.#begin((opened) => opened.send("", { calls }));
  }

  /** Whoever asks waits for no reply: it is seen. */
  #begin(ask: (opened: OpenConversation) => Promise<Message>): void {
    const opened = this.#opened;
    if (!opened) return;
    ask(opened).catch((error) => {
      opened.discard();
      if (!this.#left.signal.aborted && error !== opened.problem) this.#listener.failed(error);
    });
  }

  /** A thumb that is pressed takes itself back. */
  async #rate(message: Message, rating: "up" | "down"): Promise<void> {
    await this.#opened?.rate(message, message.feedback?.rating === rating ? null : rating);
  }

  /** Does what a button is for, unless a reply runs. */
  async #try(act: () => Promise<unknown>): Promise<void> {
    if (this.state !== "idle") return;
    try {
      await act();
    } catch (error) {
      this.#listener.failed(error);
    }
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
