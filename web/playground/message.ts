/**
 * Messages as elements.
 *
 * @module
 */

import type { Message } from "../../client/mod.ts";
import { h } from "../shared/dom.ts";
import { MarkdownView } from "../shared/markdown/view.ts";

/** A message of the user, as it was written. */
export function userMessage(content: string): HTMLElement {
  return h("article", { class: "message user", "aria-label": "You" }, content);
}

/** A button at a message. */
export function messageTool(label: string, onclick: () => void, name = label, disabled = false): HTMLElement {
  return h("button", { type: "button", class: "tool", "aria-label": name, onclick, disabled }, label);
}

/** A reply, whose text may grow. */
export class ReplyElement {
  readonly element: HTMLElement;
  readonly #text = h("div", { class: "text" });
  readonly #notes = h("footer", { class: "notes" });
  readonly #markdown = new MarkdownView(this.#text);
  /** The tools that were called, by the calls' ids. */
  readonly #calls = new Map<string, HTMLElement>();
  #content = "";
  #isRendered = true;

  constructor(author: string) {
    this.element = h("article", { class: "message twin", "aria-label": author }, this.#text, this.#notes);
  }

  get content(): string {
    return this.#content;
  }

  /** Rendered once a frame, however many words that has. */
  set content(content: string) {
    this.#content = content;
    if (!this.#isRendered) return;
    this.#isRendered = false;
    requestAnimationFrame(() => {
      this.#isRendered = true;
      this.#markdown.show(this.#content, this.element.getAttribute("aria-busy") === "true");
    });
  }

  /** Whether it is being written. Screen readers wait for its end, in place of reading word for word. */
  set isRunning(running: boolean) {
    this.element.setAttribute("aria-busy", String(running));
  }

  /** Shows that a tool is called, and how that has ended. */
  tool(callId: string, name: string, state: string): void {
    const note = this.#calls.get(callId) ?? h("span");
    this.#calls.set(callId, note);
    note.className = state === "failed" ? "warn" : "source";
    note.textContent = state === "called" ? `${name} …` : state === "failed" ? `${name} failed` : name;
    this.#notes.append(note);
  }

  /** Shows how it ended, and what it was made of. */
  end({ content, status, error, sources }: Message): void {
    this.isRunning = false;
    this.content = content;
    const notes = [...this.#calls.values()];
    for (const { heading } of sources ?? []) notes.push(h("span", { class: "source" }, heading));
    if (status === "cancelled") notes.unshift(h("span", { class: "warn" }, "Cancelled"));
    if (error) notes.unshift(h("span", { class: "warn" }, `${error.code}: ${error.message}`));
    this.#notes.replaceChildren(...notes);
  }

  /** Adds a button. */
  offer(tool: HTMLElement): void {
    this.#notes.append(tool);
  }

  note(text: string): void {
    this.#notes.append(h("span", { class: "source" }, text));
  }

  /** Shows that it failed. */
  fail(reason: string): void {
    this.isRunning = false;
    this.content = this.#content; // what was not closed yet is shown as it is
    this.#notes.append(h("span", { class: "warn" }, reason));
  }
}
