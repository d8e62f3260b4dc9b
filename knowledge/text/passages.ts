/**
 * Cuts sections into passages, each short enough for one answer.
 *
 * @module
 */

import { type Block, plainText } from "./blocks.ts";
import type { Section } from "./sections.ts";

/** A piece of a section. */
export interface Passage {
  /** Position of its section in the text. Passages of one section share it. */
  readonly section: number;
  readonly heading: string;
  /** The headings above the section's own, outermost first. */
  readonly parents: readonly string[];
  /** Markdown. */
  readonly text: string;
  /** What it is found by, if not by all of its text. */
  readonly indexed?: string;
  /** Other ways to ask for the section. */
  readonly askedAs: readonly string[];
  /** What a part of a section is about: the term of an item, the first cell of a row, the question of an answer. */
  readonly title?: string;
}

// An answer should fit on about one screen of a phone.
const passageLength = 700;
const sectionLength = 1100;
/** The longest text that introduces the sections below it, instead of saying something by itself. */
const introductionLength = 400;

/** Cuts the section at a position into passages. The first one stands for the section as a whole. */
export function toPassages(section: Section, position: number): Passage[] {
  const { heading, parents, askedAs, children } = section;
  const shared = { section: position, heading, parents, askedAs };
  const units = toUnits(section.blocks);
  const whole = joinBlocks(units.map(({ text }) => text));
  const parts = units.flatMap((unit) => unit.parts);
  const titled = parts.length > 1 ? parts.map((part) => ({ ...shared, ...part })) : [];
  if (children.length > 0 && whole.length <= introductionLength) {
    const indexed = [whole, ...children.map((child) => child.heading)].join("\n");
    return [{ ...shared, text: overview(whole, section), indexed }, ...titled];
  }
  const texts = whole.length <= sectionLength ? [whole] : chunks(units);
  return [...texts.map((text) => ({ ...shared, text })), ...titled];
}

/** What a passage of an introducing section says: its parts, or their names where they are too long. */
function overview(introduction: string, section: Section): string {
  const full = fullText(section);
  if (full.length <= sectionLength) return full;
  return joinBlocks([introduction, section.children.map((child) => `- **${child.heading}**`).join("\n")]);
}

/** All of a section, with the sections below it. */
export function fullText({ blocks, children }: Section): string {
  const own = toUnits(blocks).map(({ text }) => text);
  return joinBlocks([...own, ...children.flatMap((child) => [`**${child.heading}**`, fullText(child)])]);
}

function joinBlocks(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** What stays together in a passage, and the parts of it that may be an answer by themselves. */
interface Unit {
  readonly text: string;
  readonly parts: readonly { readonly title: string; readonly text: string }[];
  /** The pieces of a unit that is too long for one passage. */
  readonly pieces: readonly string[];
}

/** Joins questions with their answers. A question that nothing follows is ordinary text. */
function toUnits(blocks: readonly Block[]): Unit[] {
  const groups: { question?: string; answer: Unit[] }[] = [];
  for (const block of blocks) {
    if (block.kind === "question") groups.push({ question: block.text, answer: [] });
    else if (!("text" in block) || groups.length === 0) groups.push({ answer: [] });
    if ("text" in block && block.kind !== "question") groups.at(-1)?.answer.push(toUnit(block));
  }
  return groups.flatMap(({ question, answer }) => {
    if (question === undefined) return answer;
    const text = joinBlocks([question, ...answer.map((unit) => unit.text)]);
    const pieces =
      text.length > sectionLength ? [question, ...answer.flatMap((unit) => unit.pieces)] : [text];
    return [{ text, parts: answer.length > 0 ? [{ title: plainText(question), text }] : [], pieces }];
  });
}

function toUnit(block: Extract<Block, { text: string }>): Unit {
  const { kind, text } = block;
  if (kind !== "parts") return { text, parts: [], pieces: kind === "code" ? [text] : sentences(text) };
  const { head, parts } = block;
  const withHead = (part: string) => (head === "" ? part : `${head}\n${part}`);
  return {
    text,
    parts: parts.map((part) => ({ title: labelOf(part), text: withHead(part) })),
    pieces: text.length <= passageLength ? [text] : group(parts, "\n").map(withHead),
  };
}

/** The sentences of a paragraph, if it is too long for one passage. */
function sentences(text: string): string[] {
  if (text.length <= sectionLength || text.includes("\n")) return [text];
  return group(text.split(/(?<=[.!?…]["»”’)]?)\s+|(?<=[。！？।؟])/u), " ");
}

function group(parts: readonly string[], separator: string): string[] {
  const groups: string[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const part of parts) {
    if (length + part.length > passageLength) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(part);
    length += part.length + separator.length;
  }
  return groups.map((members) => members.join(separator));
}

/** Joins the pieces of a long section into passages. Text that introduces what follows ("…:") stays with it. */
function chunks(units: readonly Unit[]): string[] {
  const passages: string[] = [];
  let introduction = "";
  for (const piece of units.flatMap((unit) => unit.pieces)) {
    const introduced = joinBlocks([introduction, piece]);
    introduction = /[:：]$/u.test(piece) ? introduced : "";
    if (introduction !== "") continue;
    const last = passages.at(-1);
    if (last === undefined || last.length + introduced.length > passageLength) passages.push(introduced);
    else passages[passages.length - 1] = joinBlocks([last, introduced]);
  }
  return introduction === "" ? passages : [...passages, introduction];
}

const longestLabel = 60;

/** What an item or a row is about: its first cell, its bold or code beginning, or what stands before a colon or dash. */
function labelOf(part: string): string {
  const row = /^\s*\|?\s*((?:[^|\\]|\\.)*?)\s*\|/u.exec(part)?.[1];
  if (row !== undefined && part.trimStart().startsWith("|")) return plainText(row);
  const item = part.replace(/^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?/u, "").split("\n", 1)[0] ?? "";
  const [, marked] = /^((?:\*\*|__|`)(?:(?!\*\*|__|`).)+(?:\*\*|__|`))/u.exec(item) ?? [];
  const [, named] = /^(.{1,60}?)(?:\s*[:：]|\s+[–—-]\s)/u.exec(item) ?? [];
  return plainText(marked ?? named ?? "").slice(0, longestLabel);
}
