/**
 * The elements of the messages that are seen: made once, brought up to date, in the path's order.
 *
 * @module
 */

import type { Message } from "../../client/mod.ts";

/** A message on the page: its elements, in order. */
export interface SeenMessage {
  readonly elements: readonly HTMLElement[];
  /** Shows it as it is now. */
  update(message: Message): void;
}

/** What is on the page of a path. */
export class SeenPath {
  readonly #make: (message: Message) => SeenMessage;
  readonly #seen = new Map<string, SeenMessage>();

  constructor(make: (message: Message) => SeenMessage) {
    this.#make = make;
  }

  /** The first element of a message. */
  elementOf(id: string): HTMLElement | undefined {
    return this.#seen.get(id)?.elements[0];
  }

  /** Shows a path behind an element. What is there already is not touched, nor is the focus in it. */
  show(path: readonly Message[], before: Element): void {
    const ids = new Set(path.map(({ id }) => id));
    for (const [id, { elements }] of this.#seen) {
      if (ids.has(id)) continue;
      for (const element of elements) element.remove();
      this.#seen.delete(id);
    }
    let last = before;
    for (const message of path) {
      const seen = this.#seen.get(message.id) ?? this.#make(message);
      this.#seen.set(message.id, seen);
      seen.update(message);
      for (const element of seen.elements) {
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
