/**
 * Questions to the person at the page, in a dialog.
 *
 * @module
 */

import { h } from "../shared/dom.ts";

/** What is asked. */
export interface Question {
  readonly title: string;
  readonly text?: string;
  /** The words of the button that says yes. */
  readonly action: string;
  /** What stands in the field, if words are asked for. */
  readonly words?: string;
  /** What the field is called. */
  readonly label?: string;
}

/** Asks. Resolves with the words of the field, which may be none, or with undefined if the answer is no. */
export function ask({ title, text, action, words, label = "" }: Question): Promise<string | undefined> {
  const field = h("input", { id: "dialog-field", maxlength: "200", required: true, autocomplete: "off" });
  field.value = words ?? "";
  const hasField = words !== undefined;
  const no = h("button", { type: "button", class: "small", onclick: () => dialog.close() }, "Cancel");
  const yes = h("button", { type: "submit", class: hasField ? "primary" : "primary danger" }, action);
  let answer: string | undefined;
  const say = (event: Event) => {
    event.preventDefault();
    answer = field.value.trim();
    if (hasField && answer === "") return;
    dialog.close();
  };
  const dialog = h(
    "dialog",
    { class: "dialog", "aria-labelledby": "dialog-title" },
    h(
      "form",
      { onsubmit: say },
      h("h2", { id: "dialog-title" }, title),
      text !== undefined && h("p", {}, text),
      hasField && h("label", { for: "dialog-field" }, label),
      hasField && field,
      h("div", { class: "dialog-buttons" }, no, yes),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  if (hasField) field.select();
  else no.focus(); // what cannot be undone is no key away
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
  });
}
