/**
 * The script of a page that shows replies.
 */

import { MarkdownView } from "../../../web/shared/markdown/view.ts";

declare global {
  /** Shows a text, word by word and then whole, and resolves with what was made of it. */
  function showReply(text: string, images: boolean): { readonly elements: string[]; readonly text: string };
}

globalThis.showReply = (text, images) => {
  const element = document.createElement("main");
  document.body.replaceChildren(element);
  const view = new MarkdownView(element, { images });
  for (let length = 0; length < text.length && length < 400; length += 7)
    view.show(text.slice(0, length), true);
  view.show(text);
  const elements = [...element.querySelectorAll("*")].map((each) => {
    const attributes = [...each.attributes].map(({ name, value }) => `${name}=${value}`);
    return [each.localName, ...attributes].join(" ");
  });
  return { elements, text: element.textContent ?? "" };
};
