/**
 * What the paragraphs of a Word document say: their text with its marks, links, notes, and the words of pictures.
 *
 * @module
 */

import { type Repeats, repeat } from "../../knowledge/text/repeats.ts";
import { mathOf } from "./word-equations.ts";
import type { WordStyle } from "./word-styles.ts";
import { childOf, type Element, elementsIn, isOn, propertyOf, textIn } from "./xml.ts";

/** What a document's paragraphs refer to. */
export interface References {
  readonly styleOf: (id: string | undefined) => WordStyle;
  readonly links: ReadonlyMap<string, Link>;
  /** By what refers to them. */
  readonly notes: ReadonlyMap<string, Element>;
  /** Of cells that are merged, and of addresses. */
  readonly repeats: Repeats;
}

export interface Link {
  readonly kind: string;
  readonly target: string;
}

/** What of a paragraph is written in one way. */
export interface Span {
  readonly text: string;
  readonly bold: boolean;
  readonly struck: boolean;
  readonly raised: boolean;
  readonly href: string | undefined;
}

/** Reads paragraphs, in order: a field may go on in the next one. */
export class SpanReader {
  readonly #references: References;
  /** The notes that were referred to. */
  readonly told = new Set<string>();
  /** For each field that is open, whether it is a table of contents. */
  readonly #fields: boolean[] = [];

  constructor(references: References) {
    this.#references = references;
  }

  /** What a paragraph says. */
  spansOf(paragraph: Element, style: WordStyle = {}, href?: string): Span[] {
    return elementsIn(paragraph).flatMap((element) => {
      if (element.name === "w:r") return this.#run(element, style, href);
      if (element.name === "w:hyperlink") {
        const { target = "" } = this.#references.links.get(element.attributes["r:id"] ?? "") ?? {};
        const leads = /^(?:https?|mailto):/iu.test(target) && repeat(this.#references.repeats, target);
        return this.spansOf(element, style, leads ? target : href);
      }
      if (/^m:oMath(?:Para)?$/u.test(element.name)) return this.#span(mathOf(element), {}, href);
      return element.name === "w:pPr" ? [] : this.spansOf(element, style, href);
    });
  }

  #run(run: Element, style: WordStyle, href: string | undefined): Span[] {
    const properties = childOf(run, "w:rPr");
    const named = this.#references.styleOf(propertyOf(properties, "w:rStyle") ?? "");
    if (isOn(properties, "w:vanish") ?? isOn(properties, "w:webHidden") ?? named.hidden ?? style.hidden)
      return [];
    let text = "";
    for (const element of elementsIn(run)) {
      if (element.name === "w:fldChar") this.#field(element.attributes["w:fldCharType"]);
      else if (element.name === "w:instrText") this.#instruct(textIn(element));
      else text += this.#textOf(element);
    }
    if (this.#fields.includes(true)) return [];
    const bold = isOn(properties, "w:b") ?? named.bold ?? style.bold ?? false;
    const struck = isOn(properties, "w:strike") ?? isOn(properties, "w:dstrike") ?? false;
    const raised = propertyOf(properties, "w:vertAlign") === "superscript" && !text.startsWith("[^");
    return this.#span(text, { bold, struck, raised }, href);
  }

  #span(text: string, marks: Partial<Span>, href: string | undefined): Span[] {
    return text === "" ? [] : [{ bold: false, struck: false, raised: false, ...marks, text, href }];
  }

  #field(type: string | undefined): void {
    if (type === "begin") this.#fields.push(false);
    if (type === "end") this.#fields.pop();
  }

  #instruct(instruction: string): void {
    if (/^\s*(?:TOC|INDEX|TOA)\b/u.test(instruction) && this.#fields.length > 0)
      this.#fields[this.#fields.length - 1] = true;
  }

  #textOf(element: Element): string {
    switch (element.name) {
      case "w:t":
        return textIn(element).replace(/\s+/gu, " ");
      case "w:tab":
        return " ";
      case "w:noBreakHyphen":
        return "-";
      case "w:cr":
      case "w:br":
        return element.attributes["w:type"] === undefined ? "\n" : " ";
      case "w:sym": {
        const code = Number.parseInt(element.attributes["w:char"] ?? "", 16);
        return code > 32 && (code < 0xe000 || code > 0xf8ff) && code < 0x10000
          ? String.fromCharCode(code)
          : "";
      }
      case "w:footnoteReference":
      case "w:endnoteReference": {
        const key = `${element.name} ${element.attributes["w:id"]}`;
        if (!this.#references.notes.has(key)) return "";
        this.told.add(key);
        return `[^${noteName(key)}]`;
      }
      case "w:drawing":
        return pictureWords(element);
      case "w:ruby":
        return textIn(childOf(element, "w:rubyBase"));
      default:
        return "";
    }
  }
}

/** How a note is called. */
export function noteName(key: string): string {
  return key.replace("w:footnoteReference ", "").replace("w:endnoteReference ", "e");
}

/** What a picture shows, where somebody said so. */
function pictureWords(drawing: Element): string {
  const [shape] = elementsIn(drawing);
  const { descr = "" } = childOf(shape, "wp:docPr")?.attributes ?? {};
  return /\.(?:png|jpe?g|gif|emf|wmf|svg)$|automatically generated/iu.test(descr) ? "" : descr;
}

/** Spans as HTML. */
export function inlineHtml(spans: readonly Span[], marksBold: boolean): string {
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    const isAlike =
      last?.bold === span.bold &&
      last.struck === span.struck &&
      last.raised === span.raised &&
      last.href === span.href;
    if (last && isAlike) merged[merged.length - 1] = { ...last, text: last.text + span.text };
    else merged.push(span);
  }
  const html = merged.map(({ text, bold, struck, raised, href }) => {
    let written = escapeHtml(text).replaceAll("\n", "<br>");
    if (raised) written = `<sup>${written}</sup>`;
    if (struck) written = `<s>${written}</s>`;
    if (bold && marksBold && text.trim() !== "") written = `<b>${written}</b>`;
    return href === undefined ? written : `<a href="${escapeHtml(href)}">${written}</a>`;
  });
  return html.join("").replace(/(?:<br>|\s)+$/u, "");
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
