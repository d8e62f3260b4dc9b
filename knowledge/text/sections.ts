/**
 * Reads a twin's text: its sections, its own phrases, and what is none of the reader's business.
 *
 * The text before the first heading says how the twin behaves. So does the text under a title (a leading heading that
 * is the twin's name, or the only `#` above deeper headings), and sections called Instructions, Persona or Voice. None
 * of it is knowledge, and none of it becomes part of a passage. In further documents of a twin, the text before the first
 * heading is knowledge.
 *
 * @module
 */

import { systemClock } from "../../core/base/clock.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { type Block, type Room, readBlocks, roomOfTwin, toQuoted, withinRoom } from "./blocks.ts";
import { readFrontMatter } from "./front-matter.ts";
import type { KnowledgeWarning } from "./source.ts";
import { finish, inTurns, portion, type Steps, visitAll, visitLines } from "./steps.ts";

/** A heading, and what is under it. */
export interface Section {
  /** The path of the document in the twin's folder that it is of. Null: the twin's own file. */
  readonly document: string | null;
  readonly heading: string;
  /** 1 to 6. 0: that of a document, before its first heading. */
  readonly level: number;
  /** The headings above, outermost first. */
  readonly parents: readonly string[];
  readonly blocks: readonly Block[];
  /** Other ways to ask for the section, from comments such as `<!-- asked as: how hot; boiling water -->`. */
  readonly askedAs: readonly string[];
  readonly children: readonly Section[];
}

/** A longer paragraph of a plain text is cut. */
const longestParagraph = 4 * portion;

/** The occasions for which the Voice section may have phrases, such as `- thanks: My pleasure.` */
export const occasions = [
  "answer",
  "related",
  "nearest",
  "unknown",
  "finished",
  "topics",
  "thanks",
  "goodbye",
  "private",
] as const;

/** One of these occasions. */
export type Occasion = (typeof occasions)[number];

/** Phrases by occasion, in lower case. Includes unknown occasions, so that a misspelt one can be reported. */
export type Voice = ReadonlyMap<string, readonly string[]>;

/** A text of a twin. */
export interface TwinText {
  /** All sections in order, those with children before them. */
  readonly sections: readonly Section[];
  readonly voice: Voice;
  /** The part that says how the twin behaves, in Markdown: what is no section. */
  readonly persona: string;
  readonly warnings: readonly KnowledgeWarning[];
}

/**
 * Reads the instructions of the twin called `name`: what a search finds, and what is wrong with the text.
 *
 * @example
 * ```ts
 * import { readInstructions } from "twin-service/knowledge";
 *
 * const { sections, warnings } = readInstructions("Ada", "# The engine\n\n```\nIt weaves patterns.");
 * for (const { line, message } of warnings) console.log(`line ${line}: ${message}`);
 * ```
 */
export function readInstructions(name: string, markdown: string): TwinText {
  return finish(instructionsInSteps(name, markdown));
}

/** {@link readInstructions}, with turns for everything else: a text of a megabyte takes a second. */
export function readInstructionsInTurns(name: string, markdown: string): Promise<TwinText> {
  return inTurns(instructionsInSteps(name, markdown), markdown.length, systemClock);
}

/** {@link readInstructions} in steps. */
export function* instructionsInSteps(
  name: string,
  markdown: string,
  room: Room = roomOfTwin(),
): Steps<TwinText> {
  const { blocks, warnings } = yield* readBlocks(markdown, room);
  const { sections, voice, persona } = yield* divide(blocks, null, findTitle(blocks, name));
  return {
    sections,
    voice: yield* readVoice(voice),
    persona: persona.join("\n\n").trim(),
    warnings,
  };
}

/**
 * Reads another document of a twin: its sections, and what is wrong with it. Its title, else its first heading, else its
 * file's name is the heading of the text before the first one.
 *
 * @example
 * ```ts
 * import { readDocument } from "twin-service/knowledge";
 *
 * const { sections } = readDocument({ path: "hours.md", text: "---\ntitle: Opening hours\n---\n\nFrom nine." });
 * console.log(sections[0]?.heading); // Opening hours
 * ```
 */
export function readDocument(document: Twin["documents"][number]): Pick<TwinText, "sections" | "warnings"> {
  return finish(documentInSteps(document));
}

/** {@link readDocument} in steps. */
export function* documentInSteps(
  { path, text }: Twin["documents"][number],
  room: Room = roomOfTwin(),
): Steps<Pick<TwinText, "sections" | "warnings">> {
  const fileName = path.replace(/^.*\/|\.[^./]+$/gu, "").replace(/[-_]+/gu, " ");
  if (/\.txt$/iu.test(path)) {
    const { text: plain, warnings } = yield* withinRoom(text, room);
    const blocks = yield* paragraphsOf(plain);
    const { sections } = yield* divide([{ kind: "heading", level: 0, text: fileName }, ...blocks], path);
    return { sections, warnings };
  }
  const { title, askedAs, text: markdown, warnings } = readFrontMatter(text);
  const read = yield* readBlocks(markdown, room, /\.mdx$/iu.test(path));
  const first = findTitle(read.blocks);
  const heading = title ?? first?.text ?? fileName;
  const phrases = title === undefined || first === undefined ? askedAs : [first.text, ...askedAs];
  const opening = [
    { kind: "heading", level: 0, text: heading },
    { kind: "asked", phrases },
  ] as const;
  const { sections } = yield* divide([...opening, ...read.blocks], path, first);
  return { sections, warnings: [...warnings, ...read.warnings] };
}

/** What is between the blank lines of a plain text. */
function* paragraphsOf(text: string): Steps<Block[]> {
  const paragraphs: Block[] = [];
  const add = (paragraph: string) => {
    const words = paragraph.trim();
    if (words !== "") paragraphs.push({ kind: "text", text: words });
  };
  let rest = "";
  yield* visitLines(text, (lines) => {
    const found = (rest + lines).split(/(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)\s*/u);
    rest = found.length > 1 || rest.length + lines.length < longestParagraph ? (found.pop() ?? "") : "";
    found.forEach(add);
  });
  add(rest);
  return paragraphs;
}

interface OpenSection extends Section {
  readonly blocks: Block[];
  readonly askedAs: string[];
  children: OpenSection[];
  /** Whether it is knowledge, not private. */
  readonly isKnown: boolean;
}

/** Divides blocks into sections, and into what is outside of them, or in private ones. */
function* divide(blocks: readonly Block[], document: string | null, title?: Block) {
  const sections: OpenSection[] = [];
  const persona: string[] = [];
  const voice: string[] = [];
  let open: OpenSection[] = [];
  const sizeOf = (block: Block) => ("text" in block ? block.text.length : 0);
  yield* visitAll(blocks, sizeOf, portion, (block) => {
    if (block.kind === "heading") {
      const { level, text: heading } = block;
      open = open.filter((section) => section.level < level);
      if (block === title) return;
      const above = open.at(-1);
      const isKnown = above?.isKnown !== false && !isHidden(heading);
      const parents = above ? [...above.parents, above.heading] : [];
      const empty = { blocks: [], askedAs: [], children: [] };
      const section = { document, level, heading, parents, isKnown, ...empty };
      open.push(section);
      if (isKnown) sections.push(section);
      if (isKnown) above?.children.push(section);
      return;
    }
    const section = open.at(-1);
    if (section?.isKnown) {
      if (block.kind === "asked") for (const phrase of block.phrases) section.askedAs.push(phrase);
      else if (!isContents(block)) section.blocks.push(...toQuoted(block));
    } else if ("text" in block) {
      persona.push(block.text);
      if (section && voiceHeading.test(section.heading)) voice.push(block.text);
    }
  });
  // Those that have something to say, by themselves or in their parts, which come after them.
  const says = (section: OpenSection) => section.blocks.length + section.children.length > 0;
  const telling: OpenSection[] = [];
  const childrenOf = (section: OpenSection) => section.children.length;
  yield* visitAll(sections.reverse(), childrenOf, portion, (section) => {
    section.children = section.children.filter(says);
    if (says(section)) telling.push(section);
  });
  return { sections: telling.reverse(), persona, voice };
}

type Heading = Extract<Block, { kind: "heading" }>;

const privateHeading = /^(?:instructions|persona)$/iu;
const voiceHeading = /^voice$/iu;

function isHidden(heading: string): boolean {
  return privateHeading.test(heading) || voiceHeading.test(heading);
}

/** A heading at the very start that names the document instead of opening a section. */
function findTitle(blocks: readonly Block[], name?: string): Heading | undefined {
  const first = blocks.find((block) => block.kind !== "asked");
  if (first?.kind !== "heading" || isHidden(first.text)) return undefined;
  if (first.text.toLowerCase() === name?.trim().toLowerCase()) return first;
  if (first.level !== 1) return undefined;
  let others = 0;
  for (const block of blocks) {
    if (block.kind !== "heading" || block === first) continue;
    if (block.level === 1) return undefined;
    others++;
  }
  return others > 0 || name === undefined ? first : undefined;
}

const linkToSection = /^\s*(?:[-*+]|\d{1,9}[.)])\s+\[[^\]]*\]\(#[^)]*\)\s*$/u;

/** Whether a block is a table of contents: nothing but links to sections. */
function isContents(block: Block): boolean {
  return "text" in block && block.text.split("\n").every((line) => linkToSection.test(line));
}

function* readVoice(blocks: readonly string[]): Steps<Voice> {
  const voice = new Map<string, string[]>();
  const read = (line: string) => {
    const [, label, phrase] = /^\s*[-*+]\s+([^\s:][^:]*):\s*(\S.*)$/u.exec(line) ?? [];
    const occasion = label?.trim().toLowerCase();
    if (!occasion || !phrase) return;
    const phrases = voice.get(occasion);
    if (phrases) phrases.push(phrase.trim());
    else voice.set(occasion, [phrase.trim()]);
  };
  const sizeOf = (block: string) => block.length;
  yield* visitAll(blocks, sizeOf, portion, (block) => block.split("\n").forEach(read));
  return voice;
}
