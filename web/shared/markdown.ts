/**
 * Markdown as elements that are safe to show, whoever wrote it.
 *
 * @module
 */

import DOMPurify from "dompurify";
import { marked } from "marked";

const allowed = {
  ALLOWED_TAGS: [
    ...[
      "p",
      "br",
      "hr",
      "h1",
      "h2",
      "h3",
      "h4",
      "h5",
      "h6",
      "blockquote",
      "pre",
      "code",
      "em",
      "strong",
      "del",
    ],
    ...["ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"],
  ],
  ALLOWED_ATTR: ["href", "start", "align"],
  RETURN_DOM_FRAGMENT: true,
} as const;

DOMPurify.addHook("afterSanitizeAttributes", (element) => {
  if (element.tagName !== "A") return;
  element.setAttribute("target", "_blank");
  element.setAttribute("rel", "noopener noreferrer");
});

// HTML in a message is shown as it was written: no browser is ever given it to parse.
marked.use({ renderer: { html: ({ text }) => escapeHtml(text) } });

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** Renders Markdown. Images are left out; links open in a tab of their own. */
export function renderMarkdown(text: string): DocumentFragment {
  const html = marked.parse(text, { async: false, gfm: true, breaks: true });
  return DOMPurify.sanitize(html, {
    ...allowed,
    ALLOWED_TAGS: [...allowed.ALLOWED_TAGS],
    ALLOWED_ATTR: [...allowed.ALLOWED_ATTR],
  });
}
