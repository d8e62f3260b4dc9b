/**
 * Cuts sections into passages, each short enough for one answer.
 *
 * @module
 */

import { type Block, plainText } from "./blocks.ts";
import type { Section } from "./sections.ts";
import { portion, type Steps, visitAll } from "./steps.ts";

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
export function* toPassages(section: Section, position: number): Steps<Passage[]> {
  const { document, heading, parents, askedAs, children } = section;
  const shared = { section: position, document, heading, parents, askedAs };
  const units = yield* toUnits(section.blocks);
  const whole = ownText(section);
  const parts = units.flatMap((unit) => unit.parts);
  const titled: Passage[] = [];
  if (parts.length > 1) {
    yield* visitAll(parts, lengthOf, portion, (part) => titled.push({ ...shared, ...part }));
  }
  if (children.length > 0 && whole.length <= introductionLength) {
    const indexed = [whole, ...namesBelow(section)].join("\n");
    return [{ ...shared, text: overview(section), indexed }, ...titled];
  }
  // Text without headings has a subject a paragraph.
  const isPlain = section.level === 0 && units.length > 1;
  const texts =
    whole.length <= sectionLength && !isPlain
      ? [whole]
      : yield* chunks(units, isPlain ? paragraphLength : passageLength);
  return [...texts.map((text) => ({ ...shared, text })), ...titled];
}

function lengthOf({ text }: { readonly text: string }): number {
  return text.length;
}

/** What a passage of an introducing section says: its parts, or their names where they are too long. */
function overview(section: Section): string {
  const full = fullText(section, sectionLength);
  if (full !== undefined) return full;
  const names = namesBelow(section).map((name) => `- **${name}**`);
  return joinBlocks([ownText(section), names.join("\n")]);
}

/** What the sections below one are called, as many as a passage may have. */
function namesBelow({ children }: Section): string[] {
  const names: string[] = [];
  let left = longestPassage;
  for (const { heading } of children) {
    left -= heading.length + 1;
    if (left < 0) break;
    names.push(heading);
  }
  return names;
}

/** All of a section, with the sections below it. Undefined: it has more than so many characters. */
function fullText(section: Section, most: number): string | undefined {
  let full = ownText(section);
  for (const child of section.children) {
    const below = full.length > most ? undefined : fullText(child, most);
    if (below === undefined) return undefined;
    full = joinBlocks([full, `**${child.heading}**`, below]);
  }
  return full.length > most ? undefined : full;
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
function* toUnits(blocks: readonly Block[]): Steps<Unit[]> {
  const all: Unit[] = [];
  let asked: { readonly question: string; readonly answer: Unit[] } | undefined;
  const close = () => {
    if (!asked) return;
    const { question, answer } = asked;
    const pieces = group([question, ...answer.flatMap((unit) => unit.pieces)], "\n\n", sectionLength);
    const [text = question] = pieces;
    all.push({ parts: answer.length > 0 ? [{ title: plainText(question), text }] : [], pieces });
    asked = undefined;
  };
  const sizeOf = (block: Block) => ("text" in block ? block.text.length : 0);
  yield* visitAll(blocks, sizeOf, portion, (block) => {
    if (block.kind === "question" || !("text" in block)) close();
    if (block.kind === "question") asked = { question: block.text, answer: [] };
    else if ("text" in block) (asked?.answer ?? all).push(toUnit(block));
  });
  close();
  return all;
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
function* chunks(units: readonly Unit[], length: number): Steps<string[]> {
  const pieces: string[] = [];
  let introduction = "";
  const sizeOf = (piece: string) => piece.length;
  yield* visitAll(
    units.flatMap((unit) => unit.pieces),
    sizeOf,
    portion,
    (piece) => {
      const introduced = joinBlocks([introduction, piece]);
      introduction = /[:：]$/u.test(piece) ? introduced : "";
      if (introduction === "") pieces.push(introduced);
    },
  );
  const joined = group(introduction === "" ? pieces : [...pieces, introduction], "\n\n", length);
  return joined.flatMap(cut);
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
