/**
 * Markdown in a page, whoever wrote it: elements are made one by one, so that no browser is given HTML to parse, and nothing
 * is loaded.
 *
 * @module
 */

import { h } from "../dom.ts";
import { type MarkdownBlock, readBlocks } from "./blocks.ts";
import { readInline, type Span } from "./inline.ts";

/** How deep emphasis may be in other emphasis. */
const deepest = 16;

/** What a text may show. */
export interface MarkdownOptions {
  /** Whether images are loaded, from any HTTPS address. Default: their texts are shown as links. */
  readonly images?: boolean;
}

/** Shows a text that may still grow. What has not changed stays, with what its reader has selected. */
export class MarkdownView {
  readonly element: HTMLElement;
  readonly #options: MarkdownOptions;
  #shown: readonly string[] = [];
  /** What is to be drawn with the next frame. */
  #growing: string | undefined;

  constructor(element: HTMLElement, options: MarkdownOptions = {}) {
    this.element = element;
    this.#options = options;
  }

  /** Shows a text that is still written: once a frame, however many words that has. */
  grow(text: string): void {
    const isDue = this.#growing !== undefined;
    this.#growing = text;
    if (isDue) return;
    requestAnimationFrame(() => {
      if (this.#growing !== undefined) this.show(this.#growing, true);
    });
  }

  show(text: string, isUnfinished = false): void {
    this.#growing = undefined;
    const blocks = readBlocks(text, isUnfinished);
    const last = blocks.length - 1;
    const sources = blocks.map(({ source }, at) => `${isUnfinished && at === last}${source}`);
    const same = sources.findIndex((source, at) => source !== this.#shown[at]);
    const kept = same < 0 ? sources.length : same;
    while (this.element.childNodes.length > kept) this.element.lastChild?.remove();
    for (const [at, { block }] of blocks.entries()) {
      if (at >= kept) this.element.append(elementOf(block, this.#options, isUnfinished && at === last));
    }
    this.#shown = sources;
  }
}

function elementOf(block: MarkdownBlock, options: MarkdownOptions, isUnfinished: boolean): HTMLElement {
  const nodes = (blocks: readonly MarkdownBlock[]) =>
    blocks.map((each, at) => elementOf(each, options, isUnfinished && at === blocks.length - 1));
  const text = (source: string) => textOf(source, options, isUnfinished);
  switch (block.type) {
    case "paragraph":
      return h("p", { dir: "auto" }, text(block.text));
    case "heading":
      return h("h3", { dir: "auto", "data-level": String(block.level) }, text(block.text));
    case "code":
      return h("pre", { dir: "ltr", tabindex: "0" }, h("code", {}, block.text));
    case "rule":
      return h("hr");
    case "quote":
      return sided(h("blockquote", {}, ...nodes(block.blocks)));
    case "list": {
      const items = block.items.map((item) =>
        h("li", { dir: "auto" }, ...itemOf(item, block.isTight, nodes, text)),
      );
      return block.start === undefined
        ? sided(h("ul", {}, ...items))
        : sided(h("ol", { start: block.start === 1 ? undefined : String(block.start) }, ...items));
    }
    case "table": {
      const row = (cells: readonly string[], name: "th" | "td") =>
        h(
          "tr",
          {},
          ...cells.map((cell, at) => h(name, { align: block.aligns[at], dir: "auto" }, text(cell))),
        );
      const body = h("tbody", {}, ...block.rows.map((cells) => row(cells, "td")));
      return h(
        "div",
        { class: "table", tabindex: "0" },
        sided(h("table", {}, h("thead", {}, row(block.head, "th")), body)),
      );
    }
  }
}

/**
 * Marks, columns and lines are on the side where the words begin, whatever the page's direction is. `dir="auto"` does not look
 * into the elements inside that have it.
 */
function sided<Block extends HTMLElement>(block: Block): Block {
  const isRightToLeft = /^\P{L}*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u.test(block.textContent ?? "");
  block.dir = isRightToLeft ? "rtl" : "ltr";
  return block;
}

function itemOf(
  blocks: readonly MarkdownBlock[],
  isTight: boolean,
  nodes: (blocks: readonly MarkdownBlock[]) => HTMLElement[],
  text: (source: string) => DocumentFragment,
): Node[] {
  const [first, ...rest] = blocks;
  if (!isTight || first?.type !== "paragraph") return nodes(blocks);
  const task = /^\[([ xX])\] /.exec(first.text);
  const words = task ? `${task[1] === " " ? "☐" : "☑"} ${first.text.slice(4)}` : first.text;
  return [text(words), ...nodes(rest)];
}

function textOf(
  source: string,
  { images = false }: MarkdownOptions,
  isUnfinished: boolean,
): DocumentFragment {
  const fragment = document.createDocumentFragment();
  const open: Node[] = [fragment];
  for (const span of readInline(source, isUnfinished)) {
    const parent = open[Math.min(open.length - 1, deepest)] ?? fragment;
    if (span.type === "close") {
      if (open.length > 1) open.pop();
    } else if (span.type === "open") {
      const element = span.tag === "a" ? link(span.href) : h(span.tag);
      if (open.length <= deepest) parent.appendChild(element);
      open.push(element);
    } else parent.appendChild(nodeOf(span, images));
  }
  return fragment;
}

function nodeOf(span: Exclude<Span, { type: "open" | "close" }>, images: boolean): Node {
  switch (span.type) {
    case "text":
      return document.createTextNode(span.text);
    case "code":
      return h("code", { dir: "ltr" }, span.text);
    case "break":
      return h("br");
    case "link":
      return link(span.href, span.text);
    case "image":
      return images && /^https:/i.test(span.href)
        ? h("img", { src: span.href, alt: span.text, loading: "lazy", referrerpolicy: "no-referrer" })
        : link(span.href, span.text || span.href);
    default:
      return document.createTextNode("");
  }
}

/** A link that opens in a tab of its own, and tells its page nothing. Without an address that is safe, its text. */
function link(href = "", text = ""): HTMLElement {
  if (!/^(https?:\/\/|mailto:|tel:)/i.test(href)) return h("span", {}, text);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, text);
}
