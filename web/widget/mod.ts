/**
 * `<twin-chat src twin>`: a conversation with a twin in any page. Importing this module defines the element.
 *
 * @module
 */

import { AuthenticationError, InternalServerError, TwinClient, TwinServiceError } from "../../client/mod.ts";
import { followEnd, h, icon, submitOnEnter } from "../shared/dom.ts";
import { keep, kept } from "../shared/kept.ts";
import { speakIn } from "../shared/spoken.ts";
import { style } from "./style.ts";
import { directionOf, hasTexts, loadTexts, type TextName, textNames, textsOf } from "./texts.ts";
import { reasonOf, Thread } from "./thread.ts";

/** The browser's class; where there is none, as on a server that renders pages, one that does nothing. */
const Base = globalThis.HTMLElement ?? class {};

/** The longest message, in characters. */
const mostCharacters = 32_000;

/** Where the elements of this page keep their conversations: two with one twin have two. */
const places = new Set<string>();

/**
 * A conversation with a twin, in a shadow DOM. It is kept for the tab: a reload shows it again, and a reply that was being
 * written goes on.
 *
 * | attribute | |
 * |---|---|
 * | `src` | the service's address; a path where it is the page's own server. Default: the page's own origin |
 * | `twin` | a twin's id |
 * | `token-url` | an address of the app's own that answers a POST with a client token, `{ "token": … }`, again whenever one has expired; the service's own answer, `{ "data": { "token": … } }`, may be passed on. Without it, cookies say who talks |
 * | `launcher` | shows a button in the corner of the page, which opens the conversation |
 * | `open` | whether that is open. The tab keeps this: what a visitor has opened is open on the next page, too |
 * | `expanded` | whether it fills the window |
 * | `theme` | `light`, `dark`, or `auto` for what the system prefers. Default: the page's `color-scheme` |
 * | `lang` | the language of its texts. Default: the page's |
 * | `text-…` | one of its texts, such as `text-send` |
 * | `starters` | questions to begin with, separated by bars |
 * | `images` | shows the images of replies, which are loaded from anywhere |
 *
 * Each may change at any time. Slots: `header` in place of face and name, `greeting`, `footer`. Parts and custom properties for styling are in the
 * documentation.
 *
 * @example
 * ```html
 * <twin-chat src="https://twins.example.com" twin="ada" token-url="/chat-token"></twin-chat>
 * ```
 */
export class TwinChatElement extends Base {
  static readonly observedAttributes: readonly string[] = [
    ...["open", "expanded", "launcher", "name", "starters", "src", "twin", "token-url", "lang", "images"],
    ...textNames.map((name) => `text-${name}`),
  ];

  #list = h("div", { part: "messages", role: "log", "aria-live": "off", tabindex: "0" });
  #face = h("span", { part: "avatar", "aria-hidden": "true" });
  #name = h("h2", { part: "name" });
  #greeting = h("div", { part: "message reply greeting", role: "article", dir: "auto" });
  #starters = h("div", { part: "starters" });
  /** Who answers: a button that asks for a person, or that one will. */
  #person = h("p", { part: "person" });
  #status = h("p", { part: "status" });
  #spoken = h("div", { role: "status", "aria-atomic": "false" });
  #urgent = h("div", { role: "alert", "aria-atomic": "false" });
  #input = h("textarea", { part: "input", rows: "1", dir: "auto" });
  #send = h("button", { part: "button send", type: "submit" });
  #stop = h("button", { part: "button stop", type: "button", hidden: true });
  #launch = h("button", { part: "launcher", type: "button", hidden: true }, icon("M4 5h16v11H9l-5 4z"));
  #panel = h("div", { part: "panel", hidden: true });
  #root = h("section");
  #showEnd = () => {};
  #thread: Thread | undefined;
  /** Resolves once what was said before is shown. */
  #connected: Promise<Thread> | undefined;
  /** Where the tab keeps which conversation it has. */
  #place = "";
  #twinName = "";
  #handsOver = false;
  #isTooLong = false;

  connectedCallback(): void {
    if (!this.shadowRoot) this.#build();
    this.#takePlace();
    if (this.hasAttribute("launcher") && kept(this.#openKey)) this.setAttribute("open", "");
    this.#arrange();
    this.#beginSoon();
  }

  /** A reply that is written goes on without the element. */
  disconnectedCallback(): void {
    this.#leave();
    places.delete(this.#place);
  }

  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    if (!this.shadowRoot || !this.isConnected || before === value) return;
    if (name === "open") keep(this.#openKey, value === null ? null : "open");
    if (/^(src|twin|token-url|lang|images|text-.*)$/.test(name)) {
      this.#leave();
      this.#list.replaceChildren();
      this.#say("");
      this.#takePlace();
    }
    this.#arrange();
    if (name === "starters" && this.#thread) this.#offerStarters();
    this.#beginSoon();
  }

  /** Takes a place that no other element of the page has. Those with an id find theirs again in whatever order they come. */
  #takePlace(): void {
    places.delete(this.#place);
    const name = ["twin-chat", this.getAttribute("src") ?? "", this.getAttribute("twin"), this.id]
      .join(" ")
      .trimEnd();
    this.#place = name;
    for (let number = 2; places.has(this.#place); number++) this.#place = `${name} ${number}`;
    places.add(this.#place);
  }

  get #openKey(): string {
    return `open ${this.#place}`;
  }

  /** Begins if it is shown, once all attributes are there: frameworks set one after the other. */
  #beginSoon(): void {
    queueMicrotask(() => {
      if (this.isConnected && (!this.hasAttribute("launcher") || this.hasAttribute("open"))) this.#begin();
    });
  }

  #leave(): void {
    this.#thread?.leave();
    this.#person.replaceChildren();
    delete this.#person.dataset.shown;
    this.#thread = undefined;
    this.#connected = undefined;
  }

  #build(): void {
    const root = this.attachShadow({ mode: "open", delegatesFocus: true });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    root.adoptedStyleSheets = [sheet];
    const form = h("form", { part: "composer", onsubmit: (event) => this.#submit(event) });
    form.append(this.#input, this.#send, this.#stop);
    const button = (name: TextName, path: string, onclick: () => void) =>
      h("button", { part: `tool ${name}`, name, type: "button", onclick }, icon(path));
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
      this.#person,
      this.#status,
      form,
      h("slot", { name: "footer" }),
      this.#spoken,
      this.#urgent,
    );
    this.#root.append(this.#panel, this.#launch);
    root.append(this.#root);
    this.#launch.addEventListener("click", () => (this.hasAttribute("open") ? this.#close() : this.#open()));
    this.#stop.addEventListener("click", () => void this.#thread?.stop());
    this.#input.addEventListener("input", () => this.#written());
    submitOnEnter(this.#input, form);
    for (const type of ["keydown", "keypress", "keyup"] as const) {
      this.#root.addEventListener(type, (event) => {
        // What is written here is none of the page's shortcuts. Its dialogs have Tab, and Escape where nothing ends by that here.
        const isUsed = type === "keydown" && event.key === "Escape" && !event.isComposing && this.#escape();
        if (isUsed) event.preventDefault();
        if (isUsed || !/^(Tab|Escape)$/.test(event.key)) event.stopPropagation();
      });
    }
    this.#showEnd = followEnd(this.#list);
  }

  /** Ends an edit, the enlargement, or the launcher's conversation. Returns whether there was one of them. */
  #escape(): boolean {
    if (this.#thread?.stopEditing()) this.#write("");
    else if (this.hasAttribute("expanded")) this.removeAttribute("expanded");
    else if (this.hasAttribute("launcher") && this.hasAttribute("open")) this.#close();
    else return false;
    return true;
  }

  /** Has the frame be as the attributes say. */
  #arrange(): void {
    const [isLaunched, isOpen] = [this.hasAttribute("launcher"), this.hasAttribute("open")];
    const { language } = this;
    if (!hasTexts(language)) {
      void loadTexts(language).then(() => this.#arrange()); // nothing is shown before
      return;
    }
    this.#root.lang = language;
    this.#root.dir = directionOf(language);
    const name = this.getAttribute("name") ?? this.#twinName;
    this.#name.textContent = this.#list.ariaLabel = this.#greeting.ariaLabel = name;
    this.#root.ariaLabel = this.#launch.title = name || "Chat";
    this.#input.placeholder = this.text("write");
    this.#input.ariaLabel = this.text("write");
    this.#send.textContent = this.text("send");
    this.#stop.textContent = this.text("stop");
    this.#launch.ariaExpanded = String(isOpen);
    this.#launch.hidden = !isLaunched;
    this.#panel.hidden = isLaunched && !isOpen;
    for (const button of this.#panel.querySelectorAll<HTMLButtonElement>("header button")) {
      button.title = this.text(button.name as TextName);
      if (button.name === "expand") button.ariaPressed = String(this.hasAttribute("expanded"));
    }
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
    this.#connect().catch((error) => this.#fail(error));
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
    await loadTexts(this.language);
    const client = new TwinClient({
      baseUrl: source.replace(/\/+$/, ""),
      getToken: () => this.#getToken(),
    });
    const thread = new Thread({
      client,
      twinId,
      storageKey: this.#place,
      list: this.#list,
      images: this.hasAttribute("images"),
      language: this.language,
      text: (name) => this.text(name),
      name: () => this.#name.textContent,
      changed: () => this.#changed(thread),
      say: (line) => this.#say(line),
      speak: (text, isUrgent) => speakIn(isUrgent ? this.#urgent : this.#spoken, text),
      giveBack: (content) => {
        this.#giveBack(content);
        this.#input.focus();
      },
      showEnd: () => this.#showEnd(),
    });
    this.#thread?.leave();
    this.#thread = thread;
    const { name, avatarUrl, greeting, handover } = await client.twins.get(twinId);
    if (this.#thread !== thread) return thread; // it has left this place in the page meanwhile
    this.#handsOver = handover;
    this.#twinName = name;
    this.#arrange();
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
    const thread = this.#thread;
    image.addEventListener("load", () => {
      if (this.#thread === thread) this.#face.replaceChildren(image);
    });
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
    this.#leave();
    this.#say("");
    this.#begin();
    this.#input.focus();
  }

  #submit(event: Event): void {
    event.preventDefault();
    const content = this.#input.value;
    if (content.trim() === "" || this.#thread?.isBusy || this.#isTooLong) return;
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
      this.#fail(error);
    }
  }

  #changed(thread: Thread): void {
    if (thread !== this.#thread) return;
    this.#allow();
    this.#showPerson(thread);
    const focused = this.shadowRoot?.activeElement;
    for (const tool of this.#list.querySelectorAll<HTMLButtonElement>("[part=tool]")) {
      tool.disabled = thread.isBusy || thread.isReplying;
      if (tool.disabled && tool === focused) this.#list.focus();
    }
  }

  /** Says that a person answers, or offers to ask for one, where the twin hands over. */
  #showPerson(thread: Thread): void {
    const shown = thread.isWithPerson ? "waiting" : this.#handsOver ? "person" : "";
    const before = this.#person.dataset.shown;
    if (before === shown) return;
    this.#person.dataset.shown = shown;
    if (before !== undefined && shown === "waiting") speakIn(this.#spoken, this.text(shown));
    const ask = () => {
      this.#input.focus();
      void thread.askForPerson();
    };
    const button = () => h("button", { part: "ask", type: "button", onclick: ask }, this.text("person"));
    this.#person.replaceChildren(
      ...(shown === "" ? [] : [shown === "person" ? button() : this.text("waiting")]),
    );
  }

  /** Has the buttons be as what can be done: words may be sent in the place of a reply that is written. */
  #allow(): void {
    const { isBusy = false, isReplying = false } = this.#thread ?? {};
    this.#stop.hidden = !isReplying;
    this.#send.hidden = isReplying && this.#input.value === "";
    this.#send.disabled = this.#isTooLong || isBusy;
  }

  #giveBack(content: string): void {
    const { value } = this.#input;
    this.#write(value.trim() === "" ? content : `${content}\n${value}`);
  }

  #write(content: string): void {
    this.#input.value = content;
    this.#written();
  }

  /** Something else is in the text field: it may be too long, and is not cut. */
  #written(): void {
    this.#grow();
    const count = [...this.#input.value].length;
    const wasTooLong = this.#isTooLong;
    this.#isTooLong = count > mostCharacters;
    this.#input.ariaInvalid = String(this.#isTooLong);
    const [is, most] = [count, mostCharacters].map((number) => number.toLocaleString(this.language));
    if (this.#isTooLong) this.#say(`${this.text("long")} ${is} / ${most}`, !wasTooLong);
    else if (wasTooLong) this.#say("");
    this.#allow();
  }

  /** Says what can be done about what failed. What is no answer of the service is for the page's developer to see. */
  #fail(error: unknown): void {
    if (!(error instanceof TwinServiceError)) console.error(error);
    this.#say(reasonOf(error, this));
  }

  #say(line: string, isSpoken = true): void {
    if (this.#status.textContent === line) return;
    this.#status.textContent = line;
    if (isSpoken) speakIn(this.#urgent, line);
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
    const response = await fetch(url, { method: "POST" });
    const { status } = response;
    if (response.ok) {
      const { token, data } = await response.json();
      if (typeof (token ?? data?.token) === "string") return token ?? data.token;
      throw new Error(`${url} must answer with { "token": … }.`);
    }
    const isSignedOut = status === 401 || status === 403;
    const Class = isSignedOut ? AuthenticationError : InternalServerError;
    throw new Class(`There is no token (${status}).`, { code: "invalid_token", status });
  }

  /** The language of its texts: a BCP 47 tag. */
  get language(): string {
    const { lang } = this.closest<HTMLElement>("[lang]") ?? document.documentElement;
    try {
      return new Intl.Locale((lang || navigator.language).replace("_", "-")).toString();
    } catch {
      return "en";
    }
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

/** An attribute that is there. What is off is left out: some frameworks write `false` as a text, which is on. */
type On = true | "";

/**
 * What JSX may write at the element. A page says so to its framework: to `react` (18 and 19) as below, to `preact` and
 * `solid-js` in the same way, by their names.
 *
 * @example
 * ```ts
 * import type { TwinChatAttributes } from "twin-service/widget";
 *
 * declare module "react" {
 *   namespace JSX {
 *     interface IntrinsicElements {
 *       "twin-chat": TwinChatAttributes;
 *     }
 *   }
 * }
 * ```
 */
export interface TwinChatAttributes {
  readonly src?: string | undefined;
  readonly twin: string;
  readonly "token-url"?: string | undefined;
  readonly launcher?: On | undefined;
  readonly open?: On | undefined;
  readonly expanded?: On | undefined;
  readonly images?: On | undefined;
  readonly theme?: "light" | "dark" | "auto" | undefined;
  readonly name?: string | undefined;
  readonly starters?: string | undefined;
  /** The language of its texts, and what else every element may have. */
  readonly lang?: string | undefined;
  readonly id?: string | undefined;
  readonly class?: string | undefined;
  readonly className?: string | undefined;
  readonly slot?: string | undefined;
  readonly style?: string | object | undefined;
  readonly hidden?: On | undefined;
  /** The framework's own: its key, its reference to the element, and what fills the slots. */
  readonly key?: string | number | bigint | null | undefined;
  readonly ref?: unknown;
  readonly children?: unknown;
  /** One of its texts, such as `text-send`. */
  readonly [text: `text-${string}`]: string | undefined;
}

if (globalThis.customElements?.get("twin-chat") === undefined) {
  globalThis.customElements?.define("twin-chat", TwinChatElement);
}
