/**
 * Messages as elements.
 *
 * @module
 */

import type { Message } from "../../client/mod.ts";
import { h, icon, thumbs } from "../shared/dom.ts";
import { MarkdownView } from "../shared/markdown/view.ts";

/** A message of the user, as it was written. `writer`: what that user is called. */
export function userMessage(content: string, writer: string): HTMLElement {
  return h("article", { class: "message user", "aria-label": writer }, content);
}

/** A button at a message. */
export function messageTool(
  label: string | Node,
  onclick: () => void,
  name = String(label),
  disabled = false,
): HTMLButtonElement {
  return h("button", { type: "button", class: "tool", "aria-label": name, onclick, disabled }, label);
}

/** Thumbs at a reply, and what shows which of them is pressed. */
export function ratingTools(rate: (rating: "up" | "down") => void) {
  const thumb = (rating: "up" | "down", name: string) => {
    const button = messageTool(icon(thumbs[rating]), () => rate(rating), name);
    button.title = name;
    return button;
  };
  const up = thumb("up", "Good reply");
  const down = thumb("down", "Bad reply");
  const press = ({ feedback }: Message) => {
    up.ariaPressed = String(feedback?.rating === "up");
    down.ariaPressed = String(feedback?.rating === "down");
  };
  return { elements: [up, down], press };
}

/** A reply, whose text may grow. */
export class ReplyElement {
  readonly element: HTMLElement;
  readonly #text = h("div", { class: "text" });
  readonly #notes = h("footer", { class: "notes" });
  readonly #markdown = new MarkdownView(this.#text);
  /** The tools that were called, by the calls' ids. */
  readonly #calls = new Map<string, HTMLElement>();

  /** `twin`: what that is called. `author`: who says it in the twin's place. */
  constructor(twin: string, author: string | null = null) {
    this.element = h(
      "article",
      { class: "message twin", "aria-label": author ?? twin, tabindex: "-1" },
      author !== null && h("p", { class: "author" }, author),
      this.#text,
      this.#notes,
    );
  }

  /** Shows words that nobody had to write. */
  say(content: string): HTMLElement {
    this.#markdown.show(content);
    return this.element;
  }

  /** Shows it as it is written. Screen readers wait for its end. */
  write({ content }: Message, progress: readonly Readonly<Record<string, unknown>>[]): void {
    this.element.setAttribute("aria-busy", "true");
    this.#markdown.grow(content);
    for (const { stage, callId, name, state } of progress)
      if (stage === "tool") this.#tool(String(callId), String(name), String(state));
  }

  /** Shows that a tool is called, and how that has ended. */
  #tool(callId: string, name: string, state: string): void {
    const note = this.#calls.get(callId) ?? h("span");
    this.#calls.set(callId, note);
    note.className = state === "failed" ? "warn" : "source";
    note.textContent = state === "called" ? `${name} …` : state === "failed" ? `${name} failed` : name;
    this.#notes.append(note);
  }

  /** Shows how it ended, and what it was made of. */
  end({ id, content, status, error, sources }: Message): void {
    this.element.dataset.message = id;
    this.element.setAttribute("aria-busy", "false");
    this.#markdown.show(content);
    const notes = [...this.#calls.values()];
    for (const { heading, document: path } of sources ?? [])
      notes.push(h("span", { class: "source" }, path ? `${heading} · ${path}` : heading));
    if (status === "cancelled") notes.unshift(h("span", { class: "warn" }, "Cancelled"));
    if (error) notes.unshift(h("span", { class: "warn" }, `${error.code}: ${error.message}`));
    this.#notes.replaceChildren(...notes);
  }

  /** Adds what stands below the text. */
  add(element: HTMLElement): void {
    this.#notes.before(element);
  }

  /** Adds buttons. */
  offer(...tools: HTMLElement[]): void {
    this.#notes.append(...tools);
  }
}
