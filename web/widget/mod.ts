/**
 * `<twin-chat src twin token-url>`: a conversation with a twin in any page. Importing this module defines the element.
 *
 * @module
 */

import {
  type Message,
  NotFoundError,
  type ReplyStream,
  type StreamEvent,
  TwinClient,
} from "../../client/mod.ts";
import { followEnd, h } from "../shared/dom.ts";
import { style } from "./style.ts";

/** The browser's class; where there is none, as on a server that renders pages, one that does nothing. */
const Base = globalThis.HTMLElement ?? class {};

/**
 * A conversation with a twin, in a shadow DOM.
 *
 * Attributes: `src`, the service's address; `twin`, a twin's id; `token-url`, an address of the app's own that answers a
 * POST with a client token (`{ "token": … }`), again whenever one has expired. The conversation is kept for the tab: a
 * reload shows it again, and a reply that was being written goes on.
 *
 * Parts for styling: `messages`, `message`, `user`, `reply`, `status`, `composer`, `input`, `button`. Custom properties:
 * `--accent`, `--accent-ink`, `--surface`, `--ink`, `--soft`, `--line`. Replies are shown as text; set
 * {@link TwinChatElement.renderReply} to show their Markdown.
 *
 * @example
 * ```html
 * <twin-chat src="https://twins.example.com" twin="ada" token-url="/chat-token"></twin-chat>
 * ```
 */
export class TwinChatElement extends Base {
  /** Makes what is shown of a reply's text: a sanitizer's output, for example. Default: the text as it is. */
  renderReply: (text: string) => Node | string = (text) => text;

  readonly #messages = h("div", { part: "messages", role: "log", "aria-label": "Messages", tabindex: "0" });
  readonly #status = h("p", { part: "status", role: "status" });
  readonly #input = h("textarea", {
    part: "input",
    rows: "1",
    maxlength: "32000",
    "aria-label": "Message",
    placeholder: "Write a message",
  });
  readonly #button = h("button", { part: "button", type: "submit" }, "Send");
  #showEnd = () => {};
  /** The client of this stay in the page. */
  #client: TwinClient | undefined;
  /** Resolves once what was said before is shown. */
  #connected: Promise<TwinClient> | undefined;
  #conversationId: string | undefined;
  #reply: ReplyStream | undefined;

  connectedCallback(): void {
    if (!this.shadowRoot) this.#build();
    void this.#attempt(async () => void (await this.#connect()));
  }

  /** A reply that runs goes on without the element. */
  disconnectedCallback(): void {
    this.#client = undefined;
    this.#connected = undefined;
    this.#reply?.detach();
    this.#reply = undefined;
  }

  #build(): void {
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    root.adoptedStyleSheets = [sheet];
    const form = h(
      "form",
      { part: "composer", onsubmit: (event) => this.#submit(event) },
      this.#input,
      this.#button,
    );
    this.#input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
    root.append(this.#messages, this.#status, form);
    this.#showEnd = followEnd(this.#messages);
  }

  /** The client, once the element shows what was said before. If that fails, the next call tries again. */
  async #connect(): Promise<TwinClient> {
    this.#connected ??= this.#begin();
    const connected = this.#connected;
    try {
      return await connected;
    } catch (error) {
      if (this.#connected === connected) this.#connected = undefined;
      throw error;
    }
  }

  /** Shows the tab's conversation with this twin, or the twin's greeting. */
  async #begin(): Promise<TwinClient> {
    const client = new TwinClient({
      baseUrl: this.#required("src").replace(/\/+$/, ""),
      getToken: () => this.#getToken(),
      onBusy: "follow",
    });
    this.#client = client;
    const twin = await client.twins.get(this.#required("twin"));
    const history = await this.#readHistory(client);
    if (this.#client !== client) return client; // it has left this place in the page meanwhile
    this.#messages.replaceChildren();
    if (twin.greeting !== null) this.#add("reply", twin.greeting);
    this.#conversationId = sessionStorage.getItem(this.#storageKey) ?? undefined;
    for (const message of history) this.#show(client, message);
    return client;
  }

  async #readHistory(client: TwinClient): Promise<readonly Message[]> {
    const conversationId = sessionStorage.getItem(this.#storageKey);
    if (conversationId === null) return [];
    try {
      const { data } = await client.messages.list(conversationId, { order: "desc", limit: 100 });
      return data.reverse();
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      sessionStorage.removeItem(this.#storageKey); // deleted, or of another person who used this tab
      return [];
    }
  }

  #show(client: TwinClient, { id, conversationId, role, status, content }: Message): void {
    if (role === "user") this.#add("user", content);
    else if (status !== "in_progress") this.#add("reply", content);
    else this.#follow(client.messages.resume(conversationId, id));
  }

  #submit(event: Event): void {
    event.preventDefault();
    if (this.#reply) void this.#attempt(async () => void (await this.#reply?.cancel()));
    else if (this.#input.value.trim() !== "") void this.#attempt(() => this.#send(this.#input.value));
  }

  async #send(content: string): Promise<void> {
    this.#input.value = ""; // at once, so that nothing is sent twice
    try {
      const client = await this.#connect();
      const conversationId = await this.#conversation(client);
      this.#add("user", content);
      this.#showEnd();
      this.#follow(client.messages.stream(conversationId, { content }));
    } catch (error) {
      this.#input.value ||= content;
      throw error;
    }
  }

  async #conversation(client: TwinClient): Promise<string> {
    if (this.#conversationId === undefined) {
      const { id } = await client.conversations.create({ twinId: this.#required("twin") });
      this.#conversationId = id;
      sessionStorage.setItem(this.#storageKey, id);
    }
    return this.#conversationId;
  }

  #follow(reply: ReplyStream): void {
    this.#reply = reply;
    this.#button.textContent = "Stop";
    this.#status.textContent = "Replying …";
    const element = this.#add("reply", "");
    element.setAttribute("aria-busy", "true"); // it is read out at its end, not word for word
    void this.#attempt(async () => {
      try {
        await this.#write(reply, element);
      } finally {
        element.setAttribute("aria-busy", "false");
        if (this.#reply === reply) this.#reply = undefined;
        this.#button.textContent = "Send";
      }
      this.#status.textContent = "";
    });
  }

  async #write(reply: ReplyStream, element: HTMLElement): Promise<void> {
    let text = "";
    for await (const event of reply) {
      text = textAfter(text, event);
      element.replaceChildren(this.renderReply(text));
    }
    if (this.#reply === reply) await reply.final();
  }

  #add(part: "user" | "reply", text: string): HTMLElement {
    const content = part === "reply" ? this.renderReply(text) : text;
    const element = h("div", { part: `message ${part}` }, content);
    this.#messages.append(element);
    return element;
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  async #getToken(): Promise<string> {
    const response = await fetch(this.#required("token-url"), { method: "POST" });
    if (!response.ok) throw new Error(`You cannot chat right now (${response.status}).`);
    const { token } = await response.json();
    return token;
  }

  get #storageKey(): string {
    return `twin-chat ${this.#required("src")} ${this.#required("twin")}`;
  }

  #required(attribute: string): string {
    const value = this.getAttribute(attribute);
    if (value === null) throw new Error(`<twin-chat> needs the attribute ${attribute}.`);
    return value;
  }
}

/** A reply's text after an event. */
function textAfter(text: string, event: StreamEvent): string {
  if (event.type === "delta") return text + event.content;
  if (event.type === "complete") return event.message.content;
  const isContinued = event.type === "progress" && event.progress.stage === "continued";
  return isContinued ? text.slice(0, event.id) : text;
}

if (globalThis.customElements?.get("twin-chat") === undefined) {
  globalThis.customElements?.define("twin-chat", TwinChatElement);
}
