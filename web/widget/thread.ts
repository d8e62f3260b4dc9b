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
import { h } from "../shared/dom.ts";
import { MarkdownView } from "../shared/markdown/view.ts";
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
export class Thread {
  readonly #frame: ThreadFrame;
  #conversationId: string | undefined;
  #reply: ReplyStream | undefined;
  #isBusy = false;
  #hasLeft = false;

  constructor(frame: ThreadFrame) {
    this.#frame = frame;
  }

  /** Whether a message is sent, or a reply written. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Whether there is a reply that can be stopped. */
  get isReplying(): boolean {
    return this.#reply?.messageId !== undefined;
  }

  /** Shows the tab's conversation, and goes on with a reply that is written. */
  async open(): Promise<void> {
    const history = await this.#readHistory();
    if (this.#hasLeft) return;
    for (const message of history) this.#show(message);
    const unsent = sessionStorage.getItem(this.#unsentKey);
    const asked = history.findLast(({ role }) => role === "user")?.content;
    if (unsent !== null && unsent !== asked) this.#frame.giveBack(unsent); // the page was left before it was accepted
    sessionStorage.removeItem(this.#unsentKey);
    this.#frame.showEnd();
  }

  /** A reply that is written goes on without this page. */
  leave(): void {
    this.#hasLeft = true;
    this.#reply?.detach();
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
    const { list, text, showEnd, changed } = this.#frame;
    const state = h("p", { part: "state" });
    const element = h("div", { part: "message user", dir: "auto", "aria-busy": "true" }, content, state);
    list.append(element);
    this.#isBusy = true;
    changed();
    showEnd();
    sessionStorage.setItem(this.#unsentKey, content);
    const idempotencyKey = crypto.getRandomValues(new Uint32Array(4)).join("-");
    const accepted = () => {
      state.remove();
      element.removeAttribute("aria-busy");
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
          await this.#ask(content, idempotencyKey, accepted);
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
    } finally {
      removeEventListener("offline", offline);
      this.#isBusy = false;
      changed();
    }
  }

  /** Stops the reply, which keeps its text so far. */
  async stop(): Promise<void> {
    await this.#reply?.cancel().catch((error) => this.#frame.say(this.#reasonOf(error)));
  }

  async #ask(content: string, idempotencyKey: string, accepted: () => void): Promise<void> {
    const { client, twinId, storageKey } = this.#frame;
    const known = this.#conversationId;
    try {
      this.#conversationId ??= (await client.conversations.create({ twinId }, { idempotencyKey })).id;
      sessionStorage.setItem(storageKey, this.#conversationId);
      const options = { idempotencyKey, onBusy: "wait" } as const;
      await this.#follow(client.messages.stream(this.#conversationId, { content }, options), accepted);
    } catch (error) {
      if (!(error instanceof NotFoundError) || known === undefined) throw error;
      this.#conversationId = undefined; // it was deleted meanwhile: another one begins
      await this.#ask(content, `${idempotencyKey}-new`, accepted);
    }
  }

  /** Shows a reply as it is written. Rejects if there is none. */
  async #follow(reply: ReplyStream, accepted: () => void): Promise<void> {
    const shown = new Reply(this.#frame);
    let stream = reply;
    while (!this.#hasLeft) {
      this.#reply = stream;
      try {
        for await (const event of stream) {
          if (shown.begin()) accepted();
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
    this.#reply = undefined;
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

  async #readHistory(): Promise<readonly Message[]> {
    const { client, storageKey } = this.#frame;
    const id = sessionStorage.getItem(storageKey);
    if (id === null) return [];
    try {
      const { data } = await client.messages.list(id, { order: "desc", limit: 100 });
      this.#conversationId = id;
      return data.reverse();
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      sessionStorage.removeItem(storageKey); // deleted, or of another person who used this tab
      return [];
    }
  }

  #show(message: Message): void {
    const { client, list, changed } = this.#frame;
    if (message.role === "user") {
      list.append(h("div", { part: "message user", dir: "auto" }, message.content));
    } else if (message.status !== "in_progress") {
      new Reply(this.#frame).end(message);
    } else {
      this.#isBusy = true;
      const stream = client.messages.resume(message.conversationId, message.id);
      void this.#follow(stream, () => {})
        .catch((error) => this.#frame.say(this.#reasonOf(error)))
        .finally(() => {
          this.#isBusy = false;
          changed();
        });
    }
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
  #content = "";
  #isDrawn = true;

  constructor(frame: ThreadFrame) {
    this.#frame = frame;
    this.#view = new MarkdownView(this.#text, { images: frame.images });
  }

  get content(): string {
    return this.#content;
  }

  get hasBegun(): boolean {
    return this.#element.isConnected;
  }

  /** Shows it, unless that has been done. Screen readers wait for its end, in place of reading word for word. */
  begin(): boolean {
    if (this.hasBegun) return false;
    this.#element.setAttribute("aria-busy", "true");
    this.#frame.list.append(this.#element);
    return true;
  }

  take(event: StreamEvent): void {
    if (event.type === "delta") this.#write(this.#content + event.content);
    else if (event.type === "complete") this.end(event.message);
    else if (event.type === "error") this.#fail();
    else if (event.progress.stage === "continued") this.#write(this.#content.slice(0, event.id));
  }

  /** Shows how it ended. */
  end({ content, status, sources }: Message): void {
    if (!this.hasBegun) this.#frame.list.append(this.#element);
    this.#content = content;
    if (status === "failed") this.#fail();
    else this.#finish();
    const names = sources?.map(({ heading }) => h("span", { part: "source" }, heading)) ?? [];
    if (names.length > 0) this.notes.replaceChildren(this.#frame.text("sources"), ": ", ...names);
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
