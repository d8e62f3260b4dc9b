/**
 * What the reader of Markdown makes of a text, as HTML: to compare it with that of others.
 */

import { type MarkdownBlock, readBlocks } from "../../web/shared/markdown/blocks.ts";
import { readInline } from "../../web/shared/markdown/inline.ts";

export function toHtml(text: string, isUnfinished = false): string {
  const blocks = readBlocks(text, isUnfinished);
  return blocks.map(({ block }, at) => blockOf(block, isUnfinished && at === blocks.length - 1)).join("");
}

function blockOf(block: MarkdownBlock, isUnfinished: boolean): string {
  const all = (blocks: readonly MarkdownBlock[]) =>
    blocks.map((each, at) => blockOf(each, isUnfinished && at === blocks.length - 1)).join("");
  switch (block.type) {
    case "paragraph":
      return `<p>${textOf(block.text, isUnfinished)}</p>`;
    case "heading":
      return `<h${block.level}>${textOf(block.text, isUnfinished)}</h${block.level}>`;
    case "code":
      return `<pre><code>${escaped(block.text)}</code></pre>`;
    case "rule":
      return "<hr>";
    case "quote":
      return `<blockquote>${all(block.blocks)}</blockquote>`;
    case "list": {
      const items = block.items.map(([first, ...rest]) => {
        const isBare = block.isTight && first?.type === "paragraph";
        const isLast = isUnfinished && rest.length === 0;
        return `<li>${isBare ? textOf(first.text, isLast) + all(rest) : all(first ? [first, ...rest] : [])}</li>`;
      });
      const tag = block.start === undefined ? "ul" : "ol";
      const start = block.start === undefined || block.start === 1 ? "" : ` start="${block.start}"`;
      return `<${tag}${start}>${items.join("")}</${tag}>`;
    }
    case "table": {
      const row = (cells: readonly string[], tag: string) =>
        `<tr>${cells.map((cell) => `<${tag}>${textOf(cell, isUnfinished)}</${tag}>`).join("")}</tr>`;
      const rows = block.rows.map((cells) => row(cells, "td")).join("");
      return `<table><thead>${row(block.head, "th")}</thead>${rows && `<tbody>${rows}</tbody>`}</table>`;
    }
  }
}

function textOf(text: string, isUnfinished: boolean): string {
  const open: string[] = [];
  return readInline(text, isUnfinished)
    .map((span) => {
      switch (span.type) {
        case "text":
          return escaped(span.text);
        case "code":
          return `<code>${escaped(span.text)}</code>`;
        case "break":
          return "<br>";
        case "link":
          return `<a href="${escaped(span.href)}">${escaped(span.text)}</a>`;
        case "image":
          return `<img src="${escaped(span.href)}" alt="${escaped(span.text)}">`;
        case "open":
          open.push(span.tag);
          return span.href === undefined ? `<${span.tag}>` : `<a href="${escaped(span.href)}">`;
        default:
          return `</${open.pop()}>`;
      }
    })
    .join("");
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
