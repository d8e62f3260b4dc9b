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
  /** The path of the document that it is of. Null: the twin's own file. */
  readonly document: string | null;
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
/** Up to which short paragraphs are joined where a text has no headings. */
const paragraphLength = 120;
/** No passage is longer. */
const longestPassage = 4_000;
/** The longest text that introduces the sections below it, instead of saying something by itself. */
const introductionLength = 400;

/** Cuts the section at a position into passages. The first one stands for the section as a whole. */
export function toPassages(section: Section, position: number): Passage[] {
  const { document, heading, parents, askedAs, children } = section;
  const shared = { section: position, document, heading, parents, askedAs };
  const units = toUnits(section.blocks);
  const whole = ownText(section);
  const parts = units.flatMap((unit) => unit.parts);
  const titled = parts.length > 1 ? parts.map((part) => ({ ...shared, ...part })) : [];
  if (children.length > 0 && whole.length <= introductionLength) {
    const indexed = [whole, ...children.map((child) => child.heading)].join("\n");
    return [{ ...shared, text: overview(section), indexed }, ...titled];
  }
  // Text without headings has a subject a paragraph.
  const isPlain = section.level === 0 && units.length > 1;
  const texts =
    whole.length <= sectionLength && !isPlain
      ? [whole]
      : chunks(units, isPlain ? paragraphLength : passageLength);
  return [...texts.map((text) => ({ ...shared, text })), ...titled];
}

/** What a passage of an introducing section says: its parts, or their names where they are too long. */
function overview(section: Section): string {
  const full = fullText(section);
  if (full.length <= sectionLength) return full;
  const names = section.children.map((child) => `- **${child.heading}**`);
  return joinBlocks([ownText(section), names.join("\n")]);
}

/** All of a section, with the sections below it. */
function fullText(section: Section): string {
  const below = section.children.flatMap((child) => [`**${child.heading}**`, fullText(child)]);
  return joinBlocks([ownText(section), ...below]);
}

/** All of a section, without those below it. */
export function ownText({ blocks }: Section): string {
  return joinBlocks(blocks.map((block) => ("text" in block ? block.text : "")));
}

function joinBlocks(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** What stays together in a passage. */
interface Unit {
  /** What of it may be an answer by itself. */
  readonly parts: readonly { readonly title: string; readonly text: string }[];
  /** What it is cut into if it is too long for one passage. */
  readonly pieces: readonly string[];
}

/** Joins questions with their answers. A question that nothing follows is ordinary text. */
function toUnits(blocks: readonly Block[]): Unit[] {
  const groups: { question?: string; answer: TextBlock[] }[] = [];
  for (const block of blocks) {
    if (block.kind === "question") groups.push({ question: block.text, answer: [] });
    else if (!("text" in block) || groups.length === 0) groups.push({ answer: [] });
    if ("text" in block && block.kind !== "question") groups.at(-1)?.answer.push(block);
  }
  return groups.flatMap(({ question, answer }) => {
    const units = answer.map(toUnit);
    if (question === undefined) return units;
    const pieces = group([question, ...units.flatMap((unit) => unit.pieces)], "\n\n", sectionLength);
    const [text = question] = pieces;
    return [{ parts: answer.length > 0 ? [{ title: plainText(question), text }] : [], pieces }];
  });
}

type TextBlock = Extract<Block, { text: string }>;

function toUnit(block: TextBlock): Unit {
  const { kind, text } = block;
  if (kind !== "parts") return { parts: [], pieces: kind === "code" ? [text] : sentences(text) };
  const { head, parts } = block;
  const withHead = (part: string) => (head === "" ? part : `${head}\n${part}`);
  const lines = parts.map((part) => part.text);
  return {
    parts: parts.map((part) => ({ ...part, text: withHead(part.text) })),
    pieces: text.length <= passageLength ? [text] : group(lines, "\n").map(withHead),
  };
}

/** The sentences of a paragraph, if it is too long for one passage. */
function sentences(text: string): string[] {
  if (text.length <= sectionLength || text.includes("\n")) return [text];
  return group(text.split(/(?<=[.!?…]["»”’)]?)\s+|(?<=[。！？।؟])/u), " ");
}

/** Joins the pieces of a long section into passages. Text that introduces what follows ("…:") stays with it. */
function chunks(units: readonly Unit[], length: number): string[] {
  const pieces: string[] = [];
  let introduction = "";
  for (const piece of units.flatMap((unit) => unit.pieces)) {
    const introduced = joinBlocks([introduction, piece]);
    introduction = /[:：]$/u.test(piece) ? introduced : "";
    if (introduction === "") pieces.push(introduced);
  }
  return group(introduction === "" ? pieces : [...pieces, introduction], "\n\n", length).flatMap(cut);
}

/** Cuts what no blank line or sentence divides: an answer has an end. */
function cut(text: string): string[] {
  if (text.length <= longestPassage) return [text];
  const end = text.slice(0, longestPassage).search(/\s\S*$/u);
  const at = end > 0 ? end : longestPassage;
  return [text.slice(0, at), ...cut(text.slice(at).trimStart())];
}

/** Joins parts, as many as are short enough for one passage. */
function group(parts: readonly string[], separator: string, length = passageLength): string[] {
  const groups: string[] = [];
  for (const part of parts) {
    const last = groups.pop();
    if (last === undefined) groups.push(part);
    else if (last.length + part.length > length) groups.push(last, part);
    else groups.push(last + separator + part);
  }
  return groups;
}
