/**
 * What a Word document says apart from its text: styles and numbering.
 *
 * @module
 */

import { childOf, type Element, elementsIn, isOn, propertyOf, readXml } from "./xml.ts";

/** What a paragraph's style says. */
export interface WordStyle {
  /** 0: the title; 1 to 9: a heading. Undefined: no heading. */
  readonly level?: number | undefined;
  readonly bold?: boolean | undefined;
  readonly hidden?: boolean | undefined;
  /** In half points. */
  readonly size?: number | undefined;
  /** The properties that say which list it belongs to. */
  readonly numbering?: Element | undefined;
  /** Whether it is of a table of contents. */
  readonly isContents?: boolean;
}

/** Reads styles: what each says, with what it has from those that it is based on. Its key is a style's id; "": none. */
export function readStyles(bytes: Uint8Array | undefined): (id: string | undefined) => WordStyle {
  const elements = new Map<string, Element>();
  let usual: string | undefined;
  if (bytes)
    readXml(bytes, {
      whole: new Set(["w:style"]),
      element(style) {
        const id = style.attributes["w:styleId"] ?? "";
        elements.set(id, style);
        const { "w:type": type, "w:default": isDefault } = style.attributes;
        if (type === "paragraph" && /^(?:1|true|on)$/u.test(isDefault ?? "")) usual = id;
      },
    });
  const styles = new Map<string, WordStyle>();
  const styleOf = (id: string, seen: readonly string[] = []): WordStyle => {
    const element = elements.get(id);
    if (!element || seen.includes(id) || seen.length > 20) return {};
    const known = styles.get(id);
    if (known) return known;
    const base = propertyOf(element, "w:basedOn");
    const style = toStyle(element, base === undefined ? {} : styleOf(base, [...seen, id]));
    styles.set(id, style);
    return style;
  };
  return (id) => styleOf(id ?? usual ?? "");
}

function toStyle(element: Element, base: WordStyle): WordStyle {
  // The names of Word's own styles are English in every language.
  const name = propertyOf(element, "w:name")?.toLowerCase() ?? "";
  const [, numbered] = /^heading ([1-9])$/u.exec(name) ?? [];
  const [paragraph, run] = [childOf(element, "w:pPr"), childOf(element, "w:rPr")];
  const level = name === "title" ? 0 : numbered === undefined ? outlineLevel(paragraph) : Number(numbered);
  return {
    level: level === undefined ? base.level : level > 9 ? undefined : level,
    bold: isOn(run, "w:b") ?? base.bold,
    hidden: isOn(run, "w:vanish") ?? base.hidden,
    size: Number(propertyOf(run, "w:sz") ?? base.size) || undefined,
    numbering: childOf(paragraph, "w:numPr") ?? base.numbering,
    isContents: /^(?:toc|contents|index|table of (?:contents|figures|authorities))\b/u.test(name),
  };
}

/** The level of a heading that a paragraph or a style says itself, from 1; 10: it says that it is none. */
export function outlineLevel(properties: Element | undefined): number | undefined {
  const level = propertyOf(properties, "w:outlineLvl");
  return level === undefined ? undefined : Number(level) + 1;
}

interface ListLevel {
  readonly start: number;
  readonly format: string;
  /** Such as "%1.%2". */
  readonly text: string;
}

/** A label that a paragraph gets from its list, and how deep it is in it. */
export interface ListLabel {
  /** Such as "2.", "§ 3", "a)". Empty: a bullet. */
  readonly text: string;
  readonly level: number;
}

/** Reads numbering. The function that it returns counts: it is called once for each paragraph of a list, in order. */
export function readNumbering(
  bytes: Uint8Array | undefined,
): (properties: Element | undefined) => ListLabel | undefined {
  const abstracts = new Map<string, Map<number, ListLevel>>();
  const lists = new Map<string, { abstract: string; levels: Map<number, ListLevel> }>();
  if (bytes)
    readXml(bytes, {
      whole: new Set(["w:abstractNum", "w:num"]),
      element(element) {
        if (element.name === "w:abstractNum") {
          abstracts.set(element.attributes["w:abstractNumId"] ?? "", levelsIn(element));
          return;
        }
        const abstract = propertyOf(element, "w:abstractNumId") ?? "";
        const levels = new Map(abstracts.get(abstract));
        for (const override of elementsIn(element).filter(({ name }) => name === "w:lvlOverride")) {
          const at = Number(override.attributes["w:ilvl"] ?? 0);
          const own = levelsIn(override).get(at) ?? levels.get(at);
          const start = Number(propertyOf(override, "w:startOverride") ?? own?.start ?? 1);
          if (own) levels.set(at, { ...own, start });
        }
        lists.set(element.attributes["w:numId"] ?? "", { abstract, levels });
      },
    });
  const counters = new Map<string, number[]>();
  return (properties) => {
    const id = propertyOf(properties, "w:numId") ?? "";
    const list = lists.get(id);
    const at = Math.min(8, Math.max(0, Number(propertyOf(properties, "w:ilvl") ?? 0) || 0));
    const level = list?.levels.get(at);
    if (!list || !level) return undefined;
    // Lists of one kind go on counting, unless one begins anew.
    const isNew = [...list.levels].some(
      ([depth, one]) => abstracts.get(list.abstract)?.get(depth)?.start !== one.start,
    );
    const key = isNew ? `own ${id}` : list.abstract;
    const counts = counters.get(key) ?? [];
    counters.set(key, counts);
    counts.length = Math.min(counts.length, at + 1);
    for (let depth = 0; depth <= at; depth++)
      counts[depth] ??= (list.levels.get(depth)?.start ?? 1) - (depth === at ? 1 : 0);
    counts[at] = (counts[at] ?? 0) + 1;
    if (level.format === "bullet" || level.format === "none") return { text: "", level: at };
    const text = level.text.replace(/%([1-9])/gu, (_, digit: string) => {
      const depth = Number(digit) - 1;
      return formatNumber(counts[depth] ?? 1, list.levels.get(depth)?.format ?? "decimal");
    });
    return { text: text.trim(), level: at };
  };
}

/** Word takes no longer one for the labels of a level. */
const longestLabel = 255;

function levelsIn(element: Element): Map<number, ListLevel> {
  const levels = elementsIn(element).filter(({ name }) => name === "w:lvl");
  return new Map(
    levels.map((level) => {
      const at = Number(level.attributes["w:ilvl"] ?? 0);
      const start = Number(propertyOf(level, "w:start") ?? 1);
      const text = propertyOf(level, "w:lvlText") ?? `%${at + 1}.`;
      const format = propertyOf(level, "w:numFmt") ?? "decimal";
      return [at, { start, format, text: text.slice(0, longestLabel) }];
    }),
  );
}

const romans = [
  ["m", 1000],
  ["cm", 900],
  ["d", 500],
  ["cd", 400],
  ["c", 100],
  ["xc", 90],
  ["l", 50],
  ["xl", 40],
  ["x", 10],
  ["ix", 9],
  ["v", 5],
  ["iv", 4],
  ["i", 1],
] as const;
const hanDigits = "零一二三四五六七八九";

function formatNumber(number: number, format: string): string {
  if (number < 1 || number > 9_999) return String(number);
  if (/^lowerLetter$/u.test(format)) return letters(number);
  if (/^upperLetter$/u.test(format)) return letters(number).toUpperCase();
  if (/Roman$/u.test(format)) {
    let [left, text] = [number, ""];
    for (const [roman, value] of romans) for (; left >= value; left -= value) text += roman;
    return format.startsWith("upper") ? text.toUpperCase() : text;
  }
  if (format === "decimalZero") return String(number).padStart(2, "0");
  if (/^(?:chinese|japanese|taiwanese|ideograph)/u.test(format) && number < 100) {
    const [tens, ones] = [Math.floor(number / 10), number % 10];
    const ten = tens === 0 ? "" : `${tens > 1 ? hanDigits[tens] : ""}十`;
    return `${ten}${ones > 0 ? hanDigits[ones] : ""}`;
  }
  return String(number);
}

/** a to z, then aa to zz. */
function letters(number: number): string {
  const letter = String.fromCharCode(97 + ((number - 1) % 26));
  return letter.repeat(Math.min(10, Math.ceil(number / 26)));
}
