/**
 * A conversation in the widget: what was said, what is being sent, and the reply that is written.
 *
 * @module
 */

import {
  AuthenticationError,
  ConnectionError,
  type Message,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  type ReplyStream,
  type StreamEvent,
  type TwinClient,
  TwinServiceError,
} from "../../client/mod.ts";
import { endOf, versionsOf } from "../shared/branches.ts";
import { h, icon } from "../shared/dom.ts";
import { MarkdownView } from "../shared/markdown/view.ts";
import { type PathView, SharedPath } from "../shared/path.ts";
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
  /** Something is sent or written, or that has ended. */
  changed(): void;
  /** Shows a line about what happens. */
  say(line: string): void;
  /** A message was refused: its words are to be written again. */
  giveBack(content: string): void;
  /** The end of the list is to be shown, wherever its reader is. */
  showEnd(): void;
}

/** A conversation, shown in a list. */
export class Thread implements PathView {
  readonly #frame: ThreadFrame;
  #conversationId: string | undefined;
  #reply: ReplyStream | undefined;
  #isBusy = false;
  #hasLeft = false;
  readonly #path: SharedPath;
  /** Ends the following of the conversation. Undefined: it is not followed. */
  #following: AbortController | undefined;
  /** What is shown of the path, in order. */
  #shown: HTMLElement[] = [];
  /** What the next message follows, if it is not the path's end: it is written in place of another. */
  #after: string | null | undefined;

  constructor(frame: ThreadFrame) {
    this.#frame = frame;
    this.#path = new SharedPath(frame.client, this);
  }

  /** Whether a message of this page is sent, or its reply written. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Whether there is a reply that can be stopped. */
  get isReplying(): boolean {
    return this.#reply?.messageId !== undefined;
  }

  /** Shows the tab's conversation, and goes on with a reply that is written. */
  async open(): Promise<void> {
    const asked = await this.draw();
    if (this.#hasLeft) return;
    this.#followOthers();
    const unsent = sessionStorage.getItem(this.#unsentKey);
    if (unsent !== null && unsent !== asked) this.#frame.giveBack(unsent); // the page was left before it was accepted
    sessionStorage.removeItem(this.#unsentKey);
    this.#frame.showEnd();
  }

  /** A reply that is written goes on without this page. */
  leave(): void {
    this.#hasLeft = true;
    this.#following?.abort();
    this.#reply?.detach();
  }

  get signal(): AbortSignal | undefined {
    return this.#following?.signal;
  }

  deleted(): void {
    this.#endConversation();
    for (const element of this.#shown.splice(0)) element.remove();
  }

  /** The next message begins another one. */
  #endConversation(): void {
    this.#following?.abort();
    this.#following = undefined;
    this.#conversationId = undefined;
    this.#after = undefined;
    sessionStorage.removeItem(this.#frame.storageKey);
  }

  /** Shows what others do in the conversation. If that cannot be followed, the next message tries again. */
  #followOthers(): void {
    if (this.#conversationId === undefined || this.#following) return;
    const following = new AbortController();
    this.#following = following;
    this.#path.follow(this.#conversationId).catch(() => {
      if (this.#following === following) this.#following = undefined;
    });
  }

  /** Forgets the conversation: the next message begins another one. */
  forget(): void {
    this.leave();
    sessionStorage.removeItem(this.#frame.storageKey);
  }

  /**
   * Sends a message. What is refused is given back. What cannot be sent stays on the page, and is sent again when the browser
   * is online, or its person says so: each time the same message, which is stored once.
   */
  async send(content: string): Promise<void> {
    const { text, showEnd, changed } = this.#frame;
    const after = this.#after;
    for (const element of this.#shown.filter((each) => each.inert)) element.remove();
    this.stopEditing();
    const state = h("p", { part: "state" });
    const element = this.#append(
      h("div", { part: "message user", dir: "auto", "aria-busy": "true" }, content, state),
    );
    this.#isBusy = true;
    changed();
    showEnd();
    sessionStorage.setItem(this.#unsentKey, content);
    const idempotencyKey = crypto.getRandomValues(new Uint32Array(4)).join("-");
    const answered = this.#path.sending();
    const accepted = (questionId: string, replyId: string) => {
      this.#path.pass(questionId, replyId);
      answered();
      state.remove();
      element.removeAttribute("aria-busy");
      this.#append(this.#questionTools(element, questionId));
      sessionStorage.removeItem(this.#unsentKey);
    };
    const offline = () => {
      if (!navigator.onLine) state.textContent = text("offline");
    };
    offline();
    addEventListener("offline", offline);
    try {
      while (!this.#hasLeft) {
        try {
          await this.#ask({ content, ...(after !== undefined && { after }) }, idempotencyKey, accepted);
          if (after !== undefined) await this.draw();
          this.#followOthers();
          return;
        } catch (error) {
          if (!(error instanceof ConnectionError)) throw error;
          await this.#untilAgain(state, navigator.onLine ? "failed" : "offline");
          state.textContent = "";
        }
      }
    } catch (error) {
      element.remove();
      sessionStorage.removeItem(this.#unsentKey);
      this.#frame.giveBack(content);
      this.#frame.say(this.#reasonOf(error));
      if (after !== undefined) await this.draw().catch(() => {}); // the reason was said
    } finally {
      answered();
      removeEventListener("offline", offline);
      this.#isBusy = false;
      changed();
    }
  }

  /** Stops the reply, which keeps its text so far. */
  async stop(): Promise<void> {
    await this.#reply?.cancel().catch((error) => this.#frame.say(this.#reasonOf(error)));
  }

  /** Shows again what an edit would replace. Returns whether there was one. */
  stopEditing(): boolean {
    const isEditing = this.#after !== undefined;
    this.#after = undefined;
    for (const element of this.#shown) element.inert = false;
    return isEditing;
  }

  /** What is shown from a place on is written anew. */
  #markReplaced(from: number): void {
    for (const element of this.#shown.slice(from)) element.inert = true;
  }

  async #ask(
    body: { content: string; after?: string | null },
    idempotencyKey: string,
    accepted: (questionId: string, replyId: string) => void,
  ): Promise<void> {
    const { client, twinId, storageKey } = this.#frame;
    const known = this.#conversationId;
    try {
      this.#conversationId ??= (await client.conversations.create({ twinId }, { idempotencyKey })).id;
      sessionStorage.setItem(storageKey, this.#conversationId);
      const options = { idempotencyKey, onBusy: "wait" } as const;
      await this.#follow(client.messages.stream(this.#conversationId, body, options), accepted);
    } catch (error) {
      if (!(error instanceof NotFoundError) || known === undefined) throw error;
      this.#endConversation(); // it was deleted meanwhile
      await this.#ask({ content: body.content }, `${idempotencyKey}-new`, accepted);
    }
  }

  /** Shows a reply as it is written. Rejects if there is none. */
  async #follow(reply: ReplyStream, accepted: (questionId: string, replyId: string) => void): Promise<void> {
    const shown = this.#newReply();
    let stream = reply;
    while (!this.#hasLeft) {
      this.#reply = stream;
      try {
        for await (const event of stream) {
          if (!shown.hasBegun && event.type === "progress")
            accepted(String(event.progress.userMessageId), String(event.progress.messageId));
          shown.begin();
          shown.take(event);
          this.#frame.changed();
        }
        break;
      } catch (error) {
        if (!shown.hasBegun || stream.messageId === undefined) throw error;
        await this.#untilAgain(shown.notes, navigator.onLine ? "failed" : "offline");
        const after = shown.content.length;
        const [id, messageId] = [this.#conversationId ?? "", stream.messageId];
        stream = this.#frame.client.messages.resume(id, messageId, { after });
      }
    }
    if (this.#reply === stream) this.#reply = undefined;
  }

  /** Says what is the matter, and waits until a person asks to try again, or the browser is online. */
  async #untilAgain(place: HTMLElement, name: TextName): Promise<void> {
    const { text } = this.#frame;
    await new Promise<unknown>((resolve) => {
      const again = h("button", { type: "button", part: "again", onclick: resolve }, text("again"));
      place.replaceChildren(text(name), " ", again);
      addEventListener("online", resolve, { once: true });
    });
    place.replaceChildren();
  }

  /** Shows the conversation's current path, in place of what is shown of it. Returns its last question. */
  async draw(): Promise<string | undefined> {
    const { storageKey } = this.#frame;
    const id = sessionStorage.getItem(storageKey);
    if (id === null) return undefined;
    try {
      const { path, all } = await this.#path.read(id);
      if (this.#hasLeft) return undefined;
      this.#conversationId = id;
      this.#reply?.detach();
      for (const element of this.#shown.splice(0)) element.remove();
      let replaced = Infinity;
      for (const message of path) {
        if (message.after === this.#after) replaced = this.#shown.length;
        this.show(message, all);
      }
      this.#markReplaced(replaced);
      return path.findLast(({ role }) => role === "user")?.content;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      sessionStorage.removeItem(storageKey); // deleted, or of another person who used this tab
      return undefined;
    }
  }

  /** Shows a message at the end. A reply that is written is followed. */
  show(message: Message, all: readonly Message[] = []): void {
    const { client, changed } = this.#frame;
    this.#path.pass(message.id);
    if (message.role === "user") {
      const element = this.#append(h("div", { part: "message user", dir: "auto" }, message.content));
      this.#append(this.#questionTools(element, message.id, versionsOf(all, message), all));
    } else if (message.status !== "in_progress") {
      this.#newReply().end(message);
    } else {
      const stream = client.messages.resume(message.conversationId, message.id);
      void this.#follow(stream, () => {})
        .catch((error) => this.#frame.say(this.#reasonOf(error)))
        .finally(changed);
    }
  }

  #append(element: HTMLElement): HTMLElement {
    this.#shown.push(element);
    this.#frame.list.append(element);
    return element;
  }

  #newReply(): Reply {
    const add = (element: HTMLElement) => void this.#append(element);
    return new Reply(this.#frame, add, (message) => this.#replyTools(message));
  }

  /** Buttons below a question: to write it anew, and to look at its other versions. */
  #questionTools(
    element: HTMLElement,
    id: string,
    versions: readonly Message[] = [],
    all: readonly Message[] = [],
  ): HTMLElement {
    const edit = async (client: TwinClient, conversationId: string) => {
      const { content, after } = await client.messages.get(conversationId, id);
      this.stopEditing();
      this.#after = after;
      this.#markReplaced(this.#shown.indexOf(element));
      this.#frame.giveBack(content);
    };
    const at = versions.findIndex((each) => each.id === id);
    const turn = (mark: string, to: number) => {
      const version = versions[to];
      const select = async (_: TwinClient, conversationId: string) => {
        if (version) await this.#path.choose(conversationId, endOf(all, version));
        await this.draw();
      };
      return this.#tool(`${to + 1} / ${versions.length}`, mark, select, !version);
    };
    const others =
      versions.length > 1 ? [turn("‹", at - 1), `${at + 1} / ${versions.length}`, turn("›", at + 1)] : [];
    const pencil = icon("M4 20l1-5L16 4l4 4L9 19z");
    return h("p", { part: "tools mine" }, this.#tool(this.#frame.text("edit"), pencil, edit), ...others);
  }

  /** Buttons below a reply: to ask for another one, and to say what one thinks of it. */
  #replyTools({ id, inReplyTo, feedback }: Message): HTMLElement {
    const again = async (client: TwinClient, conversationId: string) => {
      const { content, after } = await client.messages.get(conversationId, inReplyTo ?? "");
      const end = this.#shown.indexOf(tools);
      const from = this.#shown.findLastIndex((each, at) => at < end && each.part.contains("user"));
      this.#markReplaced(from);
      this.#after = after;
      await this.send(content);
    };
    const rate = (label: string, rating: "up" | "down", path: string) => {
      const button = this.#tool(label, icon(path), async (client, conversationId) => {
        await client.feedback.give(conversationId, id, { rating });
        for (const each of [up, down]) each.ariaPressed = String(each === button);
      });
      button.ariaPressed = String(feedback?.rating === rating);
      return button;
    };
    // Labels that are read aloud in each language. They are drawn, as not every device has a font for them.
    const up = rate("👍", "up", "M7 11v9H4v-9zl4-8q3 0 3 3v3h5l-2 9q0 2-2 2H7");
    const down = rate("👎", "down", "M7 13V4H4v9zl4 8q3 0 3-3v-3h5l-2-9q0-2-2-2H7");
    const arrow = icon("M20 4v5h-5M20 9a8 8 0 1 0 0 6");
    const tools = h("p", { part: "tools" }, this.#tool(this.#frame.text("again"), arrow, again), up, down);
    return tools;
  }

  /** A button that does something with the conversation, unless a message is sent or written. */
  #tool(
    label: string,
    mark: Node | string,
    act: (client: TwinClient, conversationId: string) => Promise<unknown>,
    disabled = false,
  ): HTMLButtonElement {
    const onclick = () => {
      if (this.#isBusy || this.isReplying || this.#conversationId === undefined) return;
      act(this.#frame.client, this.#conversationId).catch((error) => this.#frame.say(this.#reasonOf(error)));
    };
    return h(
      "button",
      { part: "tool", type: "button", "aria-label": label, title: label, disabled, onclick },
      mark,
    );
  }

  /** Why a message was refused, and what can be done. */
  #reasonOf(error: unknown): string {
    return reasonOf(error, this.#frame);
  }

  get #unsentKey(): string {
    return `${this.#frame.storageKey} unsent`;
  }
}

/** Why something failed, and what can be done, in the frame's language. */
export function reasonOf(error: unknown, frame: Pick<ThreadFrame, "text" | "language">): string {
  if (error instanceof RateLimitError)
    return `${frame.text("again")} ${timeAhead(error.retryAfterSeconds, frame.language)}.`;
  if (error instanceof AuthenticationError || error instanceof PermissionDeniedError)
    return frame.text("reload");
  const isRefused = error instanceof TwinServiceError && (error.status ?? 500) < 500;
  return isRefused ? error.message : frame.text("failed");
}

/** A time from now in words: "in 18 seconds". */
function timeAhead(seconds: number, language: string): string {
  const words = new Intl.RelativeTimeFormat(language);
  return seconds < 90 ? words.format(seconds, "second") : words.format(Math.ceil(seconds / 60), "minute");
}

/** A reply in the list. */
class Reply {
  readonly notes = h("p", { part: "state" });
  readonly #frame: ThreadFrame;
  readonly #text = h("div", { part: "text" });
  readonly #element = h("div", { part: "message reply" }, this.#text, this.notes);
  readonly #view: MarkdownView;
  readonly #add: (element: HTMLElement) => void;
  readonly #toolsOf: (message: Message) => HTMLElement;
  #content = "";
  #isDrawn = true;

  constructor(
    frame: ThreadFrame,
    add: (element: HTMLElement) => void,
    toolsOf: (message: Message) => HTMLElement,
  ) {
    this.#frame = frame;
    this.#add = add;
    this.#toolsOf = toolsOf;
    this.#view = new MarkdownView(this.#text, { images: frame.images });
  }

  get content(): string {
    return this.#content;
  }

  get hasBegun(): boolean {
    return this.#element.isConnected;
  }

  /** Shows it, unless that has been done. Screen readers wait for its end, in place of reading word for word. */
  begin(): void {
    if (this.hasBegun) return;
    this.#element.setAttribute("aria-busy", "true");
    this.#add(this.#element);
  }

  take(event: StreamEvent): void {
    if (event.type === "delta") this.#write(this.#content + event.content);
    else if (event.type === "complete") this.end(event.message);
    else if (event.type === "error") this.#fail();
    else if (event.progress.stage === "continued") this.#write(this.#content.slice(0, event.id));
  }

  /** Shows how it ended. */
  end(message: Message): void {
    const { content, status, sources } = message;
    if (!this.hasBegun) this.#add(this.#element);
    this.#add(this.#toolsOf(message));
    this.#content = content;
    if (status === "failed") this.#fail();
    else this.#finish();
    this.notes.replaceChildren(
      ...(sources ?? []).map(({ heading }) => h("span", { part: "source" }, `§ ${heading}`)),
    );
  }

  #fail(): void {
    this.#finish();
    this.notes.textContent = this.#frame.text("failed");
  }

  #finish(): void {
    this.#element.removeAttribute("aria-busy");
    this.#view.show(this.#content);
  }

  /** Drawn once a frame, however many words that has. */
  #write(content: string): void {
    this.#content = content;
    if (!this.#isDrawn) return;
    this.#isDrawn = false;
    requestAnimationFrame(() => {
      this.#isDrawn = true;
      if (this.#element.hasAttribute("aria-busy")) this.#view.show(this.#content, true);
    });
  }
}
