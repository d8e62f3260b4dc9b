/**
 * What all parts of the page say: why something failed, what was done, and times.
 *
 * @module
 */

import { RateLimitError, TwinServiceError } from "../../client/mod.ts";
import { byId, h } from "../shared/dom.ts";
import { showIn, speakIn } from "../shared/spoken.ts";

/** Why something failed, in words for the person at the page. */
export function reasonOf(error: unknown): string {
  if (error instanceof RateLimitError) return `${error.message} Try again in ${error.retryAfterSeconds} s.`;
  if (error instanceof TwinServiceError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

/** Has screen readers say something: what was done, what was said. `isUrgent`: at once. */
export function announce(text: string, isUrgent = false): void {
  speakIn(byId(isUrgent ? "said-at-once" : "said", HTMLElement), text);
}

/** Copies a text. Pages over plain HTTP have no clipboard, but may copy what is selected. */
export async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = h("textarea", { class: "unseen" });
  area.value = text;
  const focused = document.activeElement;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied) throw new Error("The browser did not let the page copy.");
}

/** A button that copies a text, and says so. `name`: what it is called among others like it. */
export function copyButton(label: string, text: string, className: string, name = label): HTMLButtonElement {
  const button = h("button", { type: "button", class: className, "aria-label": name }, label);
  const show = (words: string, called: string) => {
    button.textContent = words;
    button.ariaLabel = called;
  };
  const said = (words: string) => {
    show(words, words);
    announce(words);
    setTimeout(() => show(label, name), 2_000);
  };
  button.addEventListener("click", () => {
    copy(text).then(
      () => said("Copied"),
      () => said("Not copied"),
    );
  });
  return button;
}

/** How often times are told anew, in milliseconds. */
const timesMs = 10_000;

const units = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** How long ago, or ahead, a time is, with the exact one as a title. */
export function timeElement(time: string): HTMLTimeElement {
  return h("time", { datetime: time, title: new Date(time).toLocaleString() }, fromNow(time));
}

function fromNow(time: string): string {
  const seconds = (Date.parse(time) - Date.now()) / 1000;
  const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? [];
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  return unit ? words.format(Math.round(seconds / length), unit) : "just now";
}

/** Has all times of the page go on to be told from now. */
export function keepTimes(): void {
  setInterval(() => {
    for (const element of document.querySelectorAll("time")) showIn(element, fromNow(element.dateTime));
  }, timesMs);
}
