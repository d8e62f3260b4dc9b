/**
 * What screen readers say by themselves. A page has a region for what can wait until they have finished, and one for what
 * cannot: each line that is added to one is spoken once. Nothing else of a conversation is live, as it would be spoken piece by
 * piece.
 *
 * @module
 */

import { h } from "./dom.ts";

/** How long a line stays, in milliseconds: to be spoken, but not to be found again by who reads the page. */
const stayMs = 10_000;

/** Has a screen reader say something, if there is something to say. */
export function speakIn(region: HTMLElement, text: string): void {
  if (text === "") return;
  const line = h("p", {}, text);
  region.append(line);
  setTimeout(() => line.remove(), stayMs);
}

/** Shows a text in a live region. One that is there already is not spoken again. */
export function showIn(region: HTMLElement, text: string): void {
  if (region.textContent !== text) region.textContent = text;
}
