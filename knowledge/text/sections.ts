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

import type { Twin } from "../../core/twins/twins.ts";
import { type Block, readBlocks } from "./blocks.ts";
import { readFrontMatter } from "./front-matter.ts";
import type { KnowledgeWarning } from "./source.ts";

/** A heading, and what is under it. */
export interface Section {
  readonly heading: string;
  /** The headings above, outermost first. */
  readonly parents: readonly string[];
  readonly blocks: readonly Block[];
  /** Other ways to ask for the section, from comments such as `<!-- asked as: how hot; boiling water -->`. */
  readonly askedAs: readonly string[];
  readonly children: readonly Section[];
}

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
  readonly warnings: readonly KnowledgeWarning[];
}

const privateHeading = /^(?:instructions|persona)$/iu;
const voiceHeading = /^voice$/iu;

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
  const { blocks, warnings } = readBlocks(markdown);
  const reader = new SectionReader();
  const title = findTitle(blocks, name);
  for (const block of blocks) reader.read(block, block === title);
  return { sections: reader.end(), voice: readVoice(reader.voice), warnings };
}

/** The part of a twin's instructions that says how it behaves, in Markdown: what is no section. */
export function readPersona(name: string, markdown: string): string {
  const { blocks } = readBlocks(markdown);
  const reader = new SectionReader();
  const title = findTitle(blocks, name);
  for (const block of blocks) reader.read(block, block === title);
  return reader.persona.join("\n\n");
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
export function readDocument({
  path,
  text,
}: Twin["documents"][number]): Pick<TwinText, "sections" | "warnings"> {
  const fileName = path
    .replace(/^.*\//u, "")
    .replace(/\.[^.]+$/u, "")
    .replace(/[-_]+/gu, " ");
  const reader = new SectionReader();
  if (/\.txt$/iu.test(path)) {
    reader.read({ kind: "heading", level: 0, text: fileName }, false);
    for (const block of plainBlocks(text)) reader.read(block, false);
    return { sections: reader.end(), warnings: [] };
  }
  const { title, askedAs, text: markdown, warnings } = readFrontMatter(text);
  const read = readBlocks(markdown, /\.mdx$/iu.test(path));
  const first = findTitle(read.blocks);
  const heading = first?.kind === "heading" ? first.text : fileName;
  const others = title === undefined || first === undefined ? [] : [heading];
  reader.read({ kind: "heading", level: 0, text: title ?? heading }, false);
  reader.read({ kind: "asked", phrases: [...others, ...askedAs] }, false);
  for (const block of read.blocks) if (block !== first) reader.read(block, false);
  return { sections: reader.end(), warnings: [...warnings, ...read.warnings] };
}

function plainBlocks(text: string): Block[] {
  const paragraphs = text.replace(/^\ufeff/u, "").split(/(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)\s*/u);
  return paragraphs.flatMap((paragraph): Block[] =>
    paragraph.trim() === "" ? [] : [{ kind: "text", text: paragraph.trim() }],
  );
}

interface OpenSection extends Section {
  readonly level: number;
  readonly blocks: Block[];
  readonly askedAs: string[];
  readonly children: Section[];
  /** Whether it is knowledge: neither a title nor private. */
  readonly known: boolean;
}

class SectionReader {
  readonly voice: string[] = [];
  /** What is outside of sections, or in private ones. */
  readonly persona: string[] = [];
  readonly #sections: OpenSection[] = [];
  #open: OpenSection[] = [];

  read(block: Block, isTitle: boolean): void {
    if (block.kind === "heading") this.#openSection(block.level, block.text, isTitle);
    else this.#addTo(this.#open.at(-1), block);
  }

  /** The sections that have something to say, by themselves or in their parts. */
  end(): readonly Section[] {
    const said = new Set<Section>();
    for (const section of this.#sections.toReversed()) {
      const children = section.children.filter((child) => said.has(child));
      section.children.splice(0, section.children.length, ...children);
      if (section.blocks.length > 0 || children.length > 0) said.add(section);
    }
    return this.#sections.filter((section) => said.has(section));
  }

  #openSection(level: number, heading: string, isTitle: boolean): void {
    this.#open = this.#open.filter((open) => open.level < level);
    const above = this.#open.at(-1);
    const isPrivate = isHidden(heading) || this.#open.some((open) => isHidden(open.heading));
    const parents = this.#open.filter(({ known }) => known).map((open) => open.heading);
    const known = !isTitle && !isPrivate;
    const section = { level, heading, parents, known, blocks: [], askedAs: [], children: [] };
    if (!isTitle) this.#open.push(section);
    if (!known) return;
    this.#sections.push(section);
    if (above?.known) above.children.push(section);
  }

  #addTo(section: OpenSection | undefined, block: Block): void {
    if (section?.known) {
      if (block.kind === "asked") for (const phrase of block.phrases) section.askedAs.push(phrase);
      else if (!isContents(block)) section.blocks.push(block);
    } else if ("text" in block) {
      this.persona.push(block.text);
      if (section && voiceHeading.test(section.heading)) this.voice.push(block.text);
    }
  }
}

function isHidden(heading: string): boolean {
  return privateHeading.test(heading) || voiceHeading.test(heading);
}

/** A heading at the very start that names the document instead of opening a section. */
function findTitle(blocks: readonly Block[], name?: string): Block | undefined {
  const first = blocks.find((block) => block.kind !== "asked");
  if (first?.kind !== "heading" || isHidden(first.text)) return undefined;
  if (first.text.toLowerCase() === name?.trim().toLowerCase()) return first;
  const others = blocks.filter((block) => block.kind === "heading" && block !== first);
  const alone = others.every((heading) => heading.kind === "heading" && heading.level > first.level);
  return first.level === 1 && alone && (others.length > 0 || name === undefined) ? first : undefined;
}

const linkToSection = /^\s*(?:[-*+]|\d{1,9}[.)])\s+\[[^\]]*\]\(#[^)]*\)\s*$/u;

/** Whether a block is a table of contents: nothing but links to sections. */
function isContents(block: Block): boolean {
  return (
    "text" in block &&
    block.text.includes("](#") &&
    block.text.split("\n").every((line) => linkToSection.test(line))
  );
}

function readVoice(blocks: readonly string[]): Voice {
  const voice = new Map<string, string[]>();
  for (const line of blocks.flatMap((block) => block.split("\n"))) {
    const [, label, phrase] = /^\s*[-*+]\s+([^\s:][^:]*):\s*(\S.*)$/u.exec(line) ?? [];
    const occasion = label?.trim().toLowerCase();
    if (!occasion || !phrase) continue;
    const phrases = voice.get(occasion);
    if (phrases) phrases.push(phrase.trim());
    else voice.set(occasion, [phrase.trim()]);
  }
  return voice;
}
