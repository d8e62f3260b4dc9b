/**
 * Cuts sections into passages, each short enough for one answer.
 *
 * @module
 */

import { type Block, plainText } from "./blocks.ts";
import { type Repeats, repeat } from "./repeats.ts";
import type { Section } from "./sections.ts";
import { portion, type Steps, visitAll } from "./steps.ts";

/** Rows stand below the names of their table, in a twin's passages up to so many characters of names. */
const mostNames = 4 * 1024 * 1024;

/** Room for the names of tables in all passages of a twin. */
export function roomForNames(): Repeats {
  return { left: mostNames };
}

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
export function* toPassages(section: Section, position: number, names: Repeats): Steps<Passage[]> {
  const { document, heading, parents, askedAs, children } = section;
  const shared = { section: position, document, heading, parents, askedAs };
  const { parts, pieces, count } = yield* toUnits(section.blocks, names);
  const whole = ownText(section, sectionLength);
  const passages: Passage[] = [];
  if (children.length > 0 && whole.length <= introductionLength) {
    const indexed = [whole, ...namesBelow(section)].join("\n");
    passages.push({ ...shared, text: overview(section), indexed });
  } else {
    // Text without headings has a subject a paragraph.
    const isPlain = section.level === 0 && count > 1;
    const isShort = whole.length <= sectionLength && !isPlain;
    const texts = isShort ? [whole] : yield* chunks(pieces, isPlain ? paragraphLength : passageLength);
    yield* visitAll(cut(texts), lengthOf, portion, (text) => passages.push({ ...shared, text }));
  }
  const sizeOf = ({ text }: Part) => text.length;
  if (parts.length > 1) {
    yield* visitAll(parts, sizeOf, portion, (part) => passages.push({ ...shared, ...part }));
  }
  return passages;
}

function lengthOf(text: string): number {
  return text.length;
}

/** What a passage of an introducing section says: its parts, or their names where they are too long. */
function overview(section: Section): string {
  const full = fullText(section, sectionLength);
  if (full !== undefined) return full;
  const names = namesBelow(section).map((name) => `- **${name}**`);
  return joinBlocks([ownText(section, introductionLength), names.join("\n")]);
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
  let full = ownText(section, most);
  for (const child of section.children) {
    const below = full.length > most ? undefined : fullText(child, most);
    if (below === undefined) return undefined;
    full = joinBlocks([full, `**${child.heading}**`, below]);
  }
  return full.length > most ? undefined : full;
}

/** All of a section, without those below it, or what is more than so many characters of it. */
export function ownText({ blocks }: Section, most: number): string {
  const texts: string[] = [];
  let length = 0;
  for (const block of blocks) {
    if (length > most) break;
    if (!("text" in block)) continue;
    texts.push(block.text);
    length += block.text.length;
  }
  return joinBlocks(texts);
}

function joinBlocks(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** What may be an answer by itself. */
interface Part {
  readonly title: string;
  readonly text: string;
}

/** What stays together in a passage. */
interface Unit {
  readonly parts: readonly Part[];
  /** What it is cut into if it is too long for one passage. */
  readonly pieces: readonly string[];
}

/** The parts and pieces of all units, and how many units there are. Questions are joined with their answers, if they have one. */
function* toUnits(blocks: readonly Block[], names: Repeats): Steps<Unit & { readonly count: number }> {
  const [allParts, allPieces]: [Part[], string[]] = [[], []];
  let count = 0;
  let asked: { readonly question: string; readonly pieces: string[]; isAnswered: boolean } | undefined;
  const add = ({ parts, pieces }: Unit) => {
    for (const part of parts) allParts.push(part);
    for (const piece of pieces) allPieces.push(piece);
    count++;
  };
  const close = () => {
    if (!asked) return;
    const { question, pieces, isAnswered } = asked;
    const [text = question] = pieces;
    add({ parts: isAnswered ? [{ title: plainText(question), text }] : [], pieces });
    asked = undefined;
  };
  const sizeOf = (block: Block) => ("text" in block ? block.text.length : 0);
  yield* visitAll(blocks, sizeOf, portion, (block) => {
    if (block.kind === "question" || !("text" in block)) close();
    if (block.kind === "question") asked = { question: block.text, pieces: [block.text], isAnswered: false };
    else if ("text" in block && asked) {
      for (const piece of toUnit(block, names).pieces) addTo(asked.pieces, piece, "\n\n", sectionLength);
      asked.isAnswered = true;
    } else if ("text" in block) add(toUnit(block, names));
  });
  close();
  return { parts: allParts, pieces: allPieces, count };
}

type TextBlock = Extract<Block, { text: string }>;

function toUnit(block: TextBlock, names: Repeats): Unit {
  const { kind, text } = block;
  if (kind !== "parts") return { parts: [], pieces: kind === "code" ? [text] : sentences(text) };
  const { head, parts } = block;
  const withHead = (part: string) => (head !== "" && repeat(names, head) ? `${head}\n${part}` : part);
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
function* chunks(pieces: readonly string[], length: number): Steps<string[]> {
  const joined: string[] = [];
  let introduction = "";
  yield* visitAll(pieces, lengthOf, portion, (piece) => {
    const introduced = joinBlocks([introduction, piece]);
    introduction = /[:：]$/u.test(piece) && introduced.length <= sectionLength ? introduced : "";
    if (introduction === "") addTo(joined, introduced, "\n\n", length);
  });
  if (introduction !== "") addTo(joined, introduction, "\n\n", length);
  return joined;
}

/** Cuts what no blank line or sentence divides: an answer has an end. */
function* cut(texts: readonly string[]): Generator<string> {
  for (let text of texts) {
    while (text.length > longestPassage) {
      const end = text.slice(0, longestPassage).search(/\s\S*$/u);
      const at = end > 0 ? end : longestPassage;
      yield text.slice(0, at);
      text = text.slice(at).trimStart();
    }
    yield text;
  }
}

/** Joins parts, as many as are short enough for one passage. */
function group(parts: readonly string[], separator: string): string[] {
  const groups: string[] = [];
  for (const part of parts) addTo(groups, part, separator, passageLength);
  return groups;
}

/** Joins a part with the last of the groups, or, if that would be too long, puts it into a new one. */
function addTo(groups: string[], part: string, separator: string, length: number): void {
  const last = groups.at(-1);
  if (last === undefined || last.length + part.length > length) groups.push(part);
  else groups[groups.length - 1] = last + separator + part;
}
