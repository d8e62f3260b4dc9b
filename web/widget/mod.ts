/**
 * `<twin-chat src twin>`: a conversation with a twin in any page. Importing this module defines the element.
 *
 * @module
 */

import { AuthenticationError, ConnectionError, InternalServerError, TwinClient } from "../../client/mod.ts";
import { followEnd, h, icon } from "../shared/dom.ts";
import { style } from "./style.ts";
import { directionOf, type TextName, textsOf } from "./texts.ts";
import { reasonOf, Thread } from "./thread.ts";

/** The browser's class; where there is none, as on a server that renders pages, one that does nothing. */
const Base = globalThis.HTMLElement ?? class {};

/**
 * A conversation with a twin, in a shadow DOM. It is kept for the tab: a reload shows it again, and a reply that was being
 * written goes on.
 *
 * | attribute | |
 * |---|---|
 * | `src` | the service's address; a path where it is the page's own server. Default: the page's own origin |
 * | `twin` | a twin's id |
 * | `token-url` | an address of the app's own that answers a POST with a client token, `{ "token": … }`, again whenever one has expired. Without it, cookies say who talks |
 * | `launcher` | shows a button in the corner of the page, which opens the conversation |
 * | `open` | whether that is open |
 * | `expanded` | whether it fills the window |
 * | `theme` | `light`, `dark`, or `auto` for what the system prefers. Default: the page's `color-scheme` |
 * | `lang` | the language of its texts. Default: the page's |
 * | `text-…` | one of its texts, such as `text-send` |
 * | `starters` | questions to begin with, separated by bars |
 * | `images` | shows the images of replies, which are loaded from anywhere |
 *
 * Slots: `header` in place of face and name, `greeting`, `footer`. Parts and custom properties for styling are in the
 * documentation.
 *
 * @example
 * ```html
 * <twin-chat src="https://twins.example.com" twin="ada" token-url="/chat-token"></twin-chat>
 * ```
 */
export class TwinChatElement extends Base {
  static readonly observedAttributes = ["open", "expanded"];

  #list = h("div", { part: "messages", role: "log", tabindex: "0" });
  #face = h("span", { part: "avatar", "aria-hidden": "true" });
  #name = h("h2", { part: "name" });
  #greeting = h("div", { part: "message reply greeting", dir: "auto" });
  #starters = h("div", { part: "starters" });
  #status = h("p", { part: "status", role: "status" });
  #input = h("textarea", { part: "input", rows: "1", maxlength: "32000", dir: "auto" });
  #send = h("button", { part: "button send", type: "submit" });
  #stop = h("button", { part: "button stop", type: "button", hidden: true });
  #launch = h("button", { part: "launcher", type: "button" }, icon("M4 5h16v11H9l-5 4z"));
  #panel = h("div", { part: "panel" });
  #root = h("section");
  #showEnd = () => {};
  #thread: Thread | undefined;
  /** Resolves once what was said before is shown. */
  #connected: Promise<Thread> | undefined;

  connectedCallback(): void {
    if (!this.shadowRoot) this.#build();
    this.#arrange();
    if (!this.hasAttribute("launcher") || this.hasAttribute("open")) this.#begin();
  }

  /** A reply that is written goes on without the element. */
  disconnectedCallback(): void {
    this.#thread?.leave();
    this.#thread = undefined;
    this.#connected = undefined;
  }

  attributeChangedCallback(): void {
    if (!this.shadowRoot || !this.isConnected) return;
    this.#arrange();
    if (this.hasAttribute("open")) this.#begin();
  }

  #build(): void {
    const root = this.attachShadow({ mode: "open", delegatesFocus: true });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    root.adoptedStyleSheets = [sheet];
    const form = h("form", { part: "composer", onsubmit: (event) => this.#submit(event) });
    form.append(this.#input, this.#send, this.#stop);
    const button = (name: TextName, path: string, onclick: () => void) =>
      h("button", { part: `tool ${name}`, type: "button", title: this.text(name), onclick }, icon(path));
    this.#panel.append(
      h(
        "header",
        { part: "header" },
        h("slot", { name: "header" }, this.#face, this.#name),
        button("fresh", "M12 5v14M5 12h14", () => this.#startAnew()),
        button("expand", "M14 4h6v6M20 4l-7 7M10 20H4v-6M4 20l7-7", () => this.toggleAttribute("expanded")),
        button("close", "M6 6l12 12M18 6L6 18", () => this.#close()),
      ),
      this.#list,
      this.#status,
      form,
      h("slot", { name: "footer" }),
    );
    this.#root.append(this.#panel, this.#launch);
    root.append(this.#root);
    this.#launch.addEventListener("click", () => (this.hasAttribute("open") ? this.#close() : this.#open()));
    this.#stop.addEventListener("click", () => void this.#thread?.stop());
    this.#input.addEventListener("input", () => this.#grow());
    this.#input.addEventListener("keydown", (event) => {
      const isConverting = event.isComposing || event.keyCode === 229; // Safari tells the end of it by this code alone
      if (event.key !== "Enter" || event.shiftKey || isConverting) return;
      event.preventDefault();
      form.requestSubmit();
    });
    this.#root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      if (this.#thread?.stopEditing()) this.#write("");
      else if (this.hasAttribute("expanded")) this.removeAttribute("expanded");
      else if (this.hasAttribute("open")) this.#close();
    });
    this.#showEnd = followEnd(this.#list);
  }

  /** Has the frame be as the attributes say. */
  #arrange(): void {
    const [isLaunched, isOpen] = [this.hasAttribute("launcher"), this.hasAttribute("open")];
    const language = this.language;
    this.#root.lang = language;
    this.#root.dir = directionOf(language);
    this.#root.ariaLabel = this.#launch.title =
      this.getAttribute("name") ?? (this.#name.textContent || "Chat");
    this.#input.placeholder = this.text("write");
    this.#input.ariaLabel = this.text("write");
    this.#send.textContent = this.text("send");
    this.#stop.textContent = this.text("stop");
    this.#launch.ariaExpanded = String(isOpen);
    this.#launch.hidden = !isLaunched;
    this.#panel.hidden = isLaunched && !isOpen;
    const expand = this.#panel.querySelector("[part~=expand]");
    if (expand) expand.ariaPressed = String(this.hasAttribute("expanded"));
  }

  #open(): void {
    this.setAttribute("open", "");
    this.#input.focus();
  }

  #close(): void {
    this.removeAttribute("open");
    this.removeAttribute("expanded");
    this.#launch.focus();
  }

  #begin(): void {
    this.#connect().catch((error) => this.#say(reasonOf(error, this)));
  }

  /** The thread, once it is shown. If that fails, the next call tries again. */
  async #connect(): Promise<Thread> {
    this.#connected ??= this.#show();
    const connected = this.#connected;
    try {
      return await connected;
    } catch (error) {
      if (this.#connected === connected) this.#connected = undefined;
      throw error;
    }
  }

  /** Shows the twin, and the tab's conversation with it. */
  async #show(): Promise<Thread> {
    const [source, twinId] = [this.getAttribute("src") ?? "", this.#required("twin")];
    const client = new TwinClient({
      baseUrl: source.replace(/\/+$/, ""),
      getToken: () => this.#getToken(),
    });
    const thread = new Thread({
      client,
      twinId,
      storageKey: `twin-chat ${source} ${twinId}`,
      list: this.#list,
      images: this.hasAttribute("images"),
      language: this.language,
      text: (name) => this.text(name),
      changed: () => this.#changed(thread),
      say: (line) => this.#say(line),
      giveBack: (content) => {
        this.#giveBack(content);
        this.#input.focus();
      },
      showEnd: () => this.#showEnd(),
    });
    this.#thread?.leave();
    this.#thread = thread;
    const { name, avatarUrl, greeting } = await client.twins.get(twinId);
    if (this.#thread !== thread) return thread; // it has left this place in the page meanwhile
    this.#name.textContent = this.#list.ariaLabel = this.getAttribute("name") ?? name;
    this.#face.textContent = [...name][0] ?? "";
    if (avatarUrl !== null) this.#showFace(avatarUrl);
    this.#list.replaceChildren(
      h("slot", { name: "greeting" }, ...(greeting === null ? [] : [this.#greeting])),
    );
    this.#greeting.textContent = greeting;
    this.#list.append(this.#starters);
    await thread.open();
    this.#offerStarters();
    this.#changed(thread);
    return thread;
  }

  #showFace(url: string): void {
    const image = h("img", { alt: "", src: url, referrerpolicy: "no-referrer" });
    image.addEventListener("load", () => this.#face.replaceChildren(image));
  }

  #offerStarters(): void {
    const hasBegun = this.#list.querySelector("[part~=user]") !== null;
    const questions = hasBegun ? [] : (this.getAttribute("starters") ?? "").split("|");
    this.#starters.replaceChildren(
      ...questions
        .map((question) => question.trim())
        .filter((question) => question !== "")
        .map((question) =>
          h("button", { part: "starter", type: "button", onclick: () => void this.#ask(question) }, question),
        ),
    );
  }

  #startAnew(): void {
    this.#thread?.forget();
    this.#connected = undefined;
    this.#say("");
    this.#begin();
    this.#input.focus();
  }

  #submit(event: Event): void {
    event.preventDefault();
    const content = this.#input.value;
    if (content.trim() === "" || this.#thread?.isBusy) return;
    this.#write(""); // at once, so that nothing is sent twice
    void this.#ask(content);
  }

  async #ask(content: string): Promise<void> {
    this.#say("");
    this.#starters.replaceChildren();
    try {
      const thread = await this.#connect();
      await thread.send(content);
    } catch (error) {
      this.#giveBack(content);
      this.#say(reasonOf(error, this));
    }
  }

  #changed(thread: Thread): void {
    if (thread !== this.#thread) return;
    this.#stop.hidden = !thread.isReplying;
    this.#send.hidden = thread.isReplying;
    this.#send.disabled = thread.isBusy;
  }

  #giveBack(content: string): void {
    const { value } = this.#input;
    this.#write(value.trim() === "" ? content : `${content}\n${value}`);
  }

  #write(content: string): void {
    this.#input.value = content;
    this.#grow();
  }

  #say(line: string): void {
    if (this.#status.textContent !== line) this.#status.textContent = line;
  }

  /** Has the text field grow with its text. */
  #grow(): void {
    const { style, value } = this.#input;
    style.height = "";
    if (value !== "") style.height = `${this.#input.scrollHeight + 2}px`; // a placeholder may be longer
  }

  async #getToken(): Promise<string | null> {
    const url = this.getAttribute("token-url");
    if (url === null) return null;
    const response = await fetch(url, { method: "POST" }).catch((cause: unknown) => {
      throw new ConnectionError("The token cannot be asked for.", { cause });
    });
    const { status } = response;
    if (response.ok) return (await response.json()).token;
    const isSignedOut = status === 401 || status === 403;
    const Class = isSignedOut ? AuthenticationError : InternalServerError;
    throw new Class(`There is no token (${status}).`, { code: "invalid_token", status });
  }

  /** The language of its texts: a BCP 47 tag. */
  get language(): string {
    return this.closest<HTMLElement>("[lang]")?.lang || navigator.language;
  }

  /** A text in the element's language, or as its page has it. */
  text(name: TextName): string {
    return this.getAttribute(`text-${name}`) ?? textsOf(this.language)[name];
  }

  #required(attribute: string): string {
    const value = this.getAttribute(attribute);
    if (value === null) throw new Error(`<twin-chat> needs the attribute ${attribute}.`);
    return value;
  }
}

if (globalThis.customElements?.get("twin-chat") === undefined) {
  globalThis.customElements?.define("twin-chat", TwinChatElement);
}
