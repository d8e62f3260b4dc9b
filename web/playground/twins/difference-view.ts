/**
 * Two texts beside each other, line by line, in a dialog.
 *
 * @module
 */

import { h } from "../../shared/dom.ts";
import { type ComparedLine, compareLines } from "./difference.ts";

/** How many lines are shown around those that differ. */
const around = 3;

/** What is compared, and what can be done about it. */
export interface Comparison {
  readonly title: string;
  readonly text: string;
  readonly before: string;
  readonly after: string;
  /** The buttons besides that which closes it: what they are called. */
  readonly actions?: readonly string[];
  /** What the button is called that closes it. */
  readonly close: string;
}

/** Shows it. Resolves with the action that was chosen; undefined: it was closed. */
export function showDifference(comparison: Comparison): Promise<string | undefined> {
  const { title, text, before, after, actions = [], close } = comparison;
  let chosen: string | undefined;
  const choose = (action: string | undefined) => {
    chosen = action;
    dialog.close();
  };
  const button = (action: string | undefined, label: string) =>
    h("button", { type: "button", class: "small", onclick: () => choose(action) }, label);
  const closing = button(undefined, close);
  const dialog = h(
    "dialog",
    { class: "dialog wide", "aria-labelledby": "difference-title" },
    h("h2", { id: "difference-title" }, title),
    h("p", {}, text),
    differenceOf(before, after),
    h("div", { class: "dialog-buttons" }, closing, ...actions.map((action) => button(action, action))),
  );
  document.body.append(dialog);
  dialog.showModal();
  closing.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(chosen);
    });
  });
}

function differenceOf(before: string, after: string): HTMLElement {
  const lines = compareLines(before, after);
  if (lines.every(({ kind }) => kind === "same"))
    return h("p", { class: "soft" }, "The text is the same. Documents may have changed.");
  const shown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ kind }) => kind !== "same"),
  );
  const list = h("ol", { class: "difference", tabindex: "0", "aria-label": "Lines that differ" });
  for (let at = 0; at < lines.length; at++) {
    const end = shown.indexOf(true, at);
    const next = end < 0 ? lines.length : end;
    const same = next - at === 1 ? "1 line that is the same" : `${next - at} lines that are the same`;
    if (next > at) list.append(h("li", { class: "left-out" }, same));
    at = next;
    const line = lines[at];
    if (line) list.append(lineOf(line));
  }
  return list;
}

/** The sign tells what the colour tells. */
function lineOf({ kind, text }: ComparedLine): HTMLElement {
  const sign = h("span", { class: "sign" }, { same: " ", gone: "−", new: "+" }[kind]);
  const element = kind === "gone" ? "del" : kind === "new" ? "ins" : "span";
  return h("li", { class: kind }, sign, h(element, {}, text));
}
