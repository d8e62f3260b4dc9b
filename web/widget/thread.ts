/**
 * A conversation in the widget: the view of an open conversation.
 *
 * @module
 */

import {
  AuthenticationError,
  ConnectionError,
  type Message,
  NotFoundError,
  type OpenConversation,
  PermissionDeniedError,
  RateLimitError,
  type TwinClient,
  TwinServiceError,
} from "../../client/mod.ts";
import { CallCards } from "../shared/approval.ts";
import { h, icon, thumbs } from "../shared/dom.ts";
import { keep, kept } from "../shared/kept.ts";
import { MarkdownView } from "../shared/markdown/view.ts";
import { newKey } from "../shared/new-key.ts";
import { loadAtTop, type ShownMessage, ShownPath } from "../shared/shown.ts";
import { firstWords } from "../shared/words.ts";
import type { TextName } from "./texts.ts";

/** What a thread needs of its frame, and tells it. */
export interface ThreadFrame {
  readonly client: TwinClient;
  readonly twinId: string;
  /** Where the tab keeps which conversation it has. */
  readonly storageKey: string;
  readonly list: HTMLElement;
  readonly images: boolean;
  /** A BCP 47 tag. */
  readonly language: string;
  text(name: TextName): string;
  /** What the twin is called. */
  name(): string;
  /** Something is sent or written, or that has ended. */
  changed(): void;
  /** Shows a line about what went wrong, which screen readers say at once. */
  say(line: string): void;
  /** Has screen readers say something; what is urgent, at once. */
  speak(text: string, isUrgent: boolean): void;
  /** A message was refused: its words are to be written again. */
  giveBack(content: string): void;
  /** The end of the list is to be shown, wherever its reader is. */
  showEnd(): void;
}

/** A conversation, shown in a list. */
export class Thread {
  readonly #frame: ThreadFrame;
  #conversation: OpenConversation | undefined;
  /** Words that are to begin a conversation. */
  #beginning: string | undefined;
  /** How often something was asked. */
  #asks = 0;
  readonly #left = new AbortController();
  readonly #shown = new ShownPath((message) =>
    message.role === "user" ? this.#newQuestion(message) : this.#newReply(message),
  );
  readonly #state = h("p", { part: "state" });
  /** What was written while another message was on its way to a person. It is sent in its turn. */
  readonly #queue: { readonly content: string; readonly element: HTMLElement }[] = [];
  #lastSent: Promise<void> = Promise.resolve();
  #unsent: HTMLElement | undefined;
  /** What was said last of what is unsent. */
  #saidOfUnsent: string | undefined;
  /** Called once what is unsent is to be sent again. */
  #again: (() => void) | undefined;
  /** The question that the next message is written in place of. */
  #edited: Message | undefined;
  /** Whether what is drawn stands behind that. */
  #isReplaced = false;
  #problem: unknown;

  constructor(frame: ThreadFrame) {
    this.#frame = frame;
    loadAtTop(frame.list, () => this.#try(async () => this.#conversation?.earlier()), this.#left.signal);
  }

  /** Whether a message of this page is on its way. To a person, one may be sent after the other. */
  get isBusy(): boolean {
    return this.#isSending && !this.isWithPerson;
  }

  get #isSending(): boolean {
    return (this.#beginning ?? this.#conversation?.unsent) !== undefined;
  }

  /** Whether a person answers. */
  get isWithPerson(): boolean {
    return this.#conversation?.answeredBy === "person";
  }

  /** Whether there is a reply that can be stopped. */
  get isReplying(): boolean {
    return this.#conversation?.running !== undefined;
  }

  /** Shows the tab's conversation, and goes on with a reply that is written. */
  async open(): Promise<void> {
    const { storageKey, showEnd } = this.#frame;
    const id = kept(storageKey);
    if (id !== null) await this.#open(id);
    if (this.#left.signal.aborted) return;
    this.#giveBackUnsent();
    showEnd();
  }

  /** A reply that is written goes on without this page. */
  leave(): void {
    this.#left.abort();
    this.#conversation?.close();
  }

  /** Forgets the conversation: the next message begins another one. */
  forget(): void {
    this.leave();
    keep(this.#frame.storageKey, null);
  }

  /**
   * Sends a message, in the place of a reply that is written. What is refused is given back. What cannot be sent stays on the page, and is sent again when the browser
   * is online, or its person says so: each time the same message, which is stored once.
   */
  send(content: string): Promise<void> {
    const edited = this.#edited;
    this.stopEditing();
    const whenBusy = this.isReplying ? "replace" : undefined;
    const act = (conversation: OpenConversation) =>
      edited ? conversation.edit(edited, content) : conversation.send(content, { whenBusy });
    const refused = () => {
      this.#edited = edited;
      this.#frame.giveBack(content);
    };
    const ask = () => this.#ask(content, act, refused);
    if (!this.#isSending) {
      this.#lastSent = ask();
      return this.#lastSent;
    }
    const element = this.#words({ "aria-busy": "true" }, content);
    this.#queue.push({ content, element });
    this.#keepUnsent();
    this.#draw();
    this.#frame.showEnd();
    this.#lastSent = this.#lastSent.then(() => {
      this.#queue.shift();
      element.remove();
      if (!this.#left.signal.aborted) return ask();
    });
    return this.#lastSent;
  }

  /** Asks for a person, in a conversation that may begin with that. */
  async askForPerson(): Promise<void> {
    await this.#try(async () => {
      if (!this.#conversation) await this.#create(newKey());
      await this.#conversation?.handTo("person");
    });
  }

  /** Stops the reply, which keeps its text so far. */
  async stop(): Promise<void> {
    await this.#try(async () => this.#conversation?.cancel());
  }

  /** Shows again what an edit would replace. Returns whether there was one. */
  stopEditing(): boolean {
    const isEditing = this.#edited !== undefined;
    this.#edited = undefined;
    this.#draw();
    return isEditing;
  }

  /**
   * Has something asked, as often as it takes. `ask` resolves once the reply has ended, which the next one may bring about;
   * `refused` is called if it is refused.
   */
  async #ask(
    content: string,
    ask: (conversation: OpenConversation) => Promise<unknown>,
    refused = () => {},
  ): Promise<void> {
    const { say, showEnd, changed } = this.#frame;
    let [act, key] = [ask, newKey()];
    const number = ++this.#asks;
    const isOver = () => this.#left.signal.aborted || number !== this.#asks;
    this.#keepUnsent(content);
    const network = () => this.#draw();
    addEventListener("offline", network);
    try {
      while (!isOver()) {
        try {
          if (!this.#conversation) {
            this.#beginning = content;
            this.#draw();
            showEnd();
            await this.#create(key, firstWords(content));
            this.#beginning = undefined;
          }
          const asked = this.#conversation && act(this.#conversation);
          showEnd();
          await asked;
          return;
        } catch (error) {
          if (isOver()) return;
          if (content === "") throw error; // a yes is not for later
          if (error instanceof NotFoundError && error.code === "conversation_not_found")
            [act, key] = [(conversation) => conversation.send(content), newKey()]; // the old one names what is gone
          else if (!(error instanceof ConnectionError)) throw error;
          else if (await this.#untilAgain()) return;
        }
      }
    } catch (error) {
      this.#conversation?.discard();
      refused();
      say(reasonOf(error, this.#frame));
    } finally {
      removeEventListener("offline", network);
      if (!isOver()) {
        this.#beginning = undefined;
        this.#keepUnsent();
        this.#draw();
        changed();
      }
    }
  }

  /** Waits until a person asks to try again, or the browser is online. Returns whether the message had arrived all the same. */
  async #untilAgain(): Promise<boolean> {
    await new Promise<void>((resolve) => {
      this.#again = resolve;
      addEventListener("online", () => resolve(), { once: true });
      this.#draw();
    });
    this.#again = undefined;
    this.#draw();
    return this.#beginning === undefined && this.#conversation?.unsent === undefined;
  }

  async #create(idempotencyKey: string, title: string | null = null): Promise<void> {
    const { client, twinId, storageKey } = this.#frame;
    const made = await client.conversations.create({ twinId, title }, { idempotencyKey });
    keep(storageKey, made.id);
    await this.#open(made);
  }

  async #open(which: Parameters<TwinClient["conversations"]["open"]>[0]): Promise<void> {
    const { client, storageKey } = this.#frame;
    const changed = (conversation: OpenConversation) => {
      if (this.#left.signal.aborted) return;
      this.#conversation = conversation;
      this.#draw();
      this.#frame.changed();
    };
    try {
      changed(await client.conversations.open(which, { changed, heard: (message) => this.#hear(message) }));
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      keep(storageKey, null); // deleted, or of another person who used this tab
    }
    if (this.#left.signal.aborted) this.#conversation?.close();
  }

  /** Shows what there is to see: the path, and behind it what is unsent. */
  #draw(): void {
    const { list, say, storageKey } = this.#frame;
    const conversation = this.#conversation;
    const starters = list.querySelector("[part=starters]");
    this.#isReplaced = false;
    if (starters) this.#shown.show(conversation?.path ?? [], starters);
    this.#drawUnsent(conversation?.unsent?.content ?? this.#beginning ?? "");
    list.append(...this.#queue.map(({ element }) => element));
    if (conversation && conversation.problem !== this.#problem) {
      this.#problem = conversation.problem;
      if (this.#problem !== undefined) say(reasonOf(this.#problem, this.#frame));
    }
    if (conversation?.state !== "deleted") return;
    keep(storageKey, null);
    this.#conversation = undefined; // the next message begins another one
    this.#edited = undefined;
  }

  /** Has a message that is whole spoken, if it is on the path. */
  #hear({ id, status }: Message): void {
    this.#frame.speak(this.#shown.elementOf(id)?.innerText ?? "", status === "failed");
  }

  #drawUnsent(content: string): void {
    const { list, text, speak } = this.#frame;
    if (content === "") {
      if (this.#unsent) this.#keepUnsent();
      this.#unsent?.remove();
      this.#unsent = undefined;
      this.#again?.();
      return;
    }
    if (!this.#unsent) {
      this.#unsent = h(
        "div",
        { part: "message user", dir: "auto", "aria-busy": "true" },
        content,
        this.#state,
      );
      list.append(this.#unsent);
    }
    const again = this.#again;
    const name = navigator.onLine ? "failed" : "offline";
    const said = again || !navigator.onLine ? [text(name)] : [];
    if (said[0] !== this.#saidOfUnsent) speak(said[0] ?? "", true);
    this.#saidOfUnsent = said[0];
    if (again) said.push(" ");
    const button = again && h("button", { type: "button", part: "again", onclick: again }, text("again"));
    this.#state.replaceChildren(...said, ...(button ? [button] : []));
  }

  /** What a person has written. */
  #words(attributes: { "aria-busy"?: string }, ...children: (Node | string)[]): HTMLElement {
    const you = { part: "message user", role: "article", "aria-label": this.#frame.text("you") };
    return h("div", { ...you, dir: "auto", ...attributes }, ...children);
  }

  /** A question. Below it: writing it anew, and looking at its other versions. */
  #newQuestion(question: Message): ShownMessage {
    const { text, giveBack } = this.#frame;
    if (question.content === "") return { elements: [], update() {} }; // it only decides
    const edit = async () => {
      this.#edited = question;
      this.#draw();
      giveBack(question.content);
    };
    const pencil = this.#tool(text("edit"), icon("M4 20l1-5L16 4l4 4L9 19z"), edit);
    const tools = h("p", { part: "tools mine" }, pencil);
    const elements = [this.#words({}, question.content), tools];
    let drawn = "";
    const update = () => {
      const versions = this.#conversation?.branchesOf(question) ?? [];
      const at = versions.findIndex(({ id }) => id === question.id);
      const place = `${at + 1} / ${versions.length}`;
      pencil.hidden = this.isWithPerson; // who has read it
      const turn = (mark: string, to: number) => {
        const version = versions[to];
        const choose = async () => version && this.#conversation?.choose(version);
        return this.#tool(`${to + 1} / ${versions.length}`, mark, choose, !version);
      };
      if (versions.length > 1 && place !== drawn)
        tools.replaceChildren(pencil, turn("‹", at - 1), place, turn("›", at + 1));
      drawn = place;
      this.#settle(question, elements);
    };
    return { elements, update };
  }

  /** A reply. Below it, once it has ended: asking for another one, and saying what one thinks of it. Of a person, its words alone. */
  #newReply(first: Message): ShownMessage {
    const { text, images, name, list } = this.#frame;
    const reply = new Reply({ images, name: first.author ?? name(), failed: text("failed") });
    if (first.author !== null) reply.element.prepend(h("p", { part: "author" }, first.author));
    if (first.status !== "in_progress" && first.inReplyTo === null) {
      const elements = [reply.element];
      const update = (message: Message) => {
        reply.show(message);
        this.#settle(message, elements);
      };
      return { elements, update };
    }
    let now = first;
    const asked = () => this.#conversation?.path.find(({ id }) => id === now.after)?.content;
    const again = () => this.#ask(asked() ?? "", (conversation) => conversation.again(now));
    const cards = new CallCards({ approve: text("allow"), deny: text("deny") }, (calls) => {
      list.focus(); // the buttons go
      void this.#ask("", (conversation) => conversation.send("", { calls }));
    });
    reply.element.append(cards.element);
    const rate = (label: string, rating: "up" | "down") =>
      this.#tool(label, icon(thumbs[rating]), async () =>
        this.#conversation?.rate(now, now.feedback?.rating === rating ? null : rating),
      );
    // Labels that are read aloud in each language. They are drawn, as not every device has a font for them.
    const up = rate("👍", "up");
    const down = rate("👎", "down");
    const another = this.#tool(text("again"), icon("M20 4v5h-5M20 9a8 8 0 1 0 0 6"), again);
    const tools = h("p", { part: "tools" }, another, up, down);
    const elements = [reply.element, tools];
    const update = (message: Message) => {
      reply.show(message);
      now = message;
      tools.hidden = message.status === "in_progress";
      another.hidden = this.isWithPerson || asked() === "";
      const isLast = this.#conversation?.path.at(-1) === message && !this.isWithPerson;
      cards.show(isLast ? message.pendingCalls : null, !this.#isSending);
      up.ariaPressed = String(message.feedback?.rating === "up");
      down.ariaPressed = String(message.feedback?.rating === "down");
      this.#settle(message, elements);
    };
    return { elements, update };
  }

  /** What an edit replaces cannot be used. */
  #settle({ id }: Message, elements: readonly HTMLElement[]): void {
    this.#isReplaced ||= id === this.#edited?.id;
    for (const element of elements) element.inert = this.#isReplaced;
  }

  /** A button that does something with the conversation. `isEnd`: there is nothing to do. */
  #tool(label: string, mark: Node | string, act: () => Promise<unknown>, isEnd = false): HTMLButtonElement {
    const onclick = () => void this.#try(act);
    const part = isEnd ? "tool end" : "tool";
    return h("button", { part, type: "button", "aria-label": label, title: label, onclick }, mark);
  }

  async #try(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#frame.say(reasonOf(error, this.#frame));
    }
  }

  /** Has the tab keep what a reload would lose, and what was said last before it. */
  #keepUnsent(sending = this.#conversation?.unsent?.content ?? this.#beginning ?? ""): void {
    const words = [sending, ...this.#queue.map(({ content }) => content)].filter((each) => each !== "");
    const last = this.#conversation?.path.at(-1)?.id;
    keep(this.#unsentKey, words.length === 0 ? null : JSON.stringify({ last, words }));
  }

  /** Gives back what had not been stored when the page was left. */
  #giveBackUnsent(): void {
    const unsent = kept(this.#unsentKey);
    if (unsent === null) return;
    const { last, words }: { last?: string; words: string[] } = JSON.parse(unsent);
    const path = this.#conversation?.path ?? [];
    const since = path.slice(path.findIndex(({ id }) => id === last) + 1);
    const arrived = since.filter(({ role }) => role === "user").map(({ content }) => content);
    const lost = words.filter((each) => !arrived.includes(each) || !arrived.splice(arrived.indexOf(each), 1));
    if (lost.length > 0) this.#frame.giveBack(lost.join("\n"));
    keep(this.#unsentKey, null);
  }

  get #unsentKey(): string {
    return `${this.#frame.storageKey} unsent messages`;
  }
}

/** Why something failed, and what can be done, in the frame's language. */
export function reasonOf(error: unknown, frame: Pick<ThreadFrame, "text" | "language">): string {
  if (error instanceof RateLimitError) {
    const said = error.code === "budget_exceeded" ? `${frame.text("spent")} ` : "";
    return `${said}${frame.text("again")} ${timeAhead(error.retryAfterSeconds, frame.language)}.`;
  }
  if (error instanceof AuthenticationError || error instanceof PermissionDeniedError)
    return frame.text("reload");
  const isRefused = error instanceof TwinServiceError && (error.status ?? 500) < 500;
  return isRefused ? error.message : frame.text("failed");
}

/** A time from now in words: "in 18 seconds". */
function timeAhead(seconds: number, language: string): string {
  const words = new Intl.RelativeTimeFormat(language);
  if (seconds < 90) return words.format(seconds, "second");
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? words.format(minutes, "minute") : words.format(Math.ceil(minutes / 60), "hour");
}

/** A reply in the list. */
class Reply {
  readonly #failed: string;
  readonly #text = h("div", { part: "text" });
  readonly #notes = h("p", { part: "state" });
  readonly element = h("div", { part: "message reply", role: "article" }, this.#text, this.#notes);
  readonly #view: MarkdownView;
  #message: Message | undefined;

  /** `name`: who says it. `failed`: what is said of one that failed. */
  constructor({ images, name, failed }: { images: boolean; name: string; failed: string }) {
    this.element.ariaLabel = name;
    this.#view = new MarkdownView(this.#text, { images });
    this.#failed = failed;
  }

  /** Shows it as it is now. Screen readers wait for its end, in place of reading word for word. */
  show(message: Message): void {
    if (message === this.#message) return;
    this.#message = message;
    const { status, content, sources } = message;
    if (status === "in_progress") {
      this.element.setAttribute("aria-busy", "true");
      this.#view.grow(content);
      return;
    }
    this.element.removeAttribute("aria-busy");
    this.#view.show(content);
    const made = (sources ?? []).map(({ heading }) => h("span", { part: "source" }, `§ ${heading}`));
    this.#notes.replaceChildren(...(status === "failed" ? [this.#failed] : made));
  }
}
