/**
 * The elements of the messages that are shown: made once, brought up to date, in the path's order.
 *
 * @module
 */

import type { Message } from "../../client/mod.ts";

/** A message on the page: its elements, in order. */
export interface ShownMessage {
  readonly elements: readonly HTMLElement[];
  /** Shows it as it is now. */
  update(message: Message): void;
}

/** What is on the page of a path. */
export class ShownPath {
  readonly #make: (message: Message) => ShownMessage;
  readonly #shown = new Map<string, ShownMessage>();

  constructor(make: (message: Message) => ShownMessage) {
    this.#make = make;
  }

  /** The first element of a message. */
  elementOf(id: string): HTMLElement | undefined {
    return this.#shown.get(id)?.elements[0];
  }

  /** Shows a path behind an element. What is there already is not touched, nor is the focus in it. */
  show(path: readonly Message[], before: Element): void {
    const ids = new Set(path.map(({ id }) => id));
    for (const [id, { elements }] of this.#shown) {
      if (ids.has(id)) continue;
      for (const element of elements) element.remove();
      this.#shown.delete(id);
    }
    let last = before;
    for (const message of path) {
      const shown = this.#shown.get(message.id) ?? this.#make(message);
      this.#shown.set(message.id, shown);
      shown.update(message);
      for (const element of shown.elements) {
        if (last.nextElementSibling !== element) last.after(element);
        last = element;
      }
    }
  }
}

/** How near to its top a list is read up to it, in pixels. */
const nearTop = 200;

/** Loads more when a list is read up to its top, where its reader stays. */
export function loadAtTop(list: HTMLElement, load: () => Promise<unknown>, signal: AbortSignal): void {
  let isLoading = false;
  const scrolled = async () => {
    if (isLoading || list.scrollTop > nearTop || list.scrollHeight === list.clientHeight) return;
    isLoading = true;
    const left = list.scrollHeight - list.scrollTop;
    await load();
    list.scrollTop = list.scrollHeight - left;
    isLoading = false;
  };
  list.addEventListener("scroll", () => void scrolled(), { signal });
}
