/**
 * Reads a twin's Markdown: its knowledge, as passages, and its own phrases.
 *
 * The text before the first heading says how the twin behaves. So does the text under a title (a leading heading that
 * is the twin's name, or the only `#` above deeper headings), and sections called Instructions, Persona or Voice. None
 * of it is knowledge, and none of it becomes part of a passage.
 *
 * @module
 */

/** A piece of a section, short enough for one answer. Code blocks, lists and tables are never cut. */
export interface Passage {
  /** Position of its section in the text. Passages of one section share it. */
  readonly section: number;
  readonly heading: string;
  /** The headings above the section's own, outermost first. */
  readonly parents: readonly string[];
  /** Markdown. */
  readonly text: string;
  /** Other ways to ask for the section, from comments such as `<!-- asked as: how hot; boiling water -->`. */
  readonly askedAs: readonly string[];
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

/** The part of a twin's text that it can use. */
export interface Knowledge {
  readonly passages: readonly Passage[];
  readonly voice: Voice;
}

type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "comment"; readonly text: string };

interface Section {
  readonly heading: string;
  readonly parents: readonly string[];
  readonly blocks: string[];
  readonly askedAs: string[];
}

const privateHeading = /^(?:instructions|persona)$/iu;
const voiceHeading = /^voice$/iu;

// An answer should fit on about one screen of a phone.
const passageLength = 700;
const sectionLength = 1100;

/** Reads the Markdown of the twin called `name`. */
export function readKnowledge(name: string, markdown: string): Knowledge {
  const { sections, voice } = readSections(name, readBlocks(markdown));
  return {
    voice: readVoice(voice),
    passages: sections.flatMap(({ heading, parents, askedAs, blocks }, section) =>
      toPassages(blocks).map((text) => ({ section, heading, parents, text, askedAs })),
    ),
  };
}

function readSections(name: string, blocks: readonly Block[]): { sections: Section[]; voice: string[] } {
  const sections: Section[] = [];
  const voice: string[] = [];
  const open: { level: number; text: string }[] = [];
  const title = findTitle(name, blocks);
  let target: Section | undefined;

  for (const block of blocks) {
    if (block.kind === "heading") {
      while ((open.at(-1)?.level ?? 0) >= block.level) open.pop();
      const parents = open.map((heading) => heading.text);
      if (block !== title) open.push(block);
      target = undefined;
      if (block === title || open.some((heading) => isHidden(heading.text))) continue;
      target = { heading: block.text, parents, blocks: [], askedAs: [] };
      sections.push(target);
    } else if (target && block.kind === "text") {
      target.blocks.push(block.text);
    } else if (target) {
      for (const phrase of readAskedAs(block.text)) target.askedAs.push(phrase);
    } else if (block.kind === "text" && voiceHeading.test(open.at(-1)?.text ?? "")) {
      voice.push(block.text);
    }
  }
  return { sections: sections.filter((section) => section.blocks.length > 0), voice };
}

function isHidden(heading: string): boolean {
  return privateHeading.test(heading) || voiceHeading.test(heading);
}

/** A heading at the very start that names the document instead of opening a section. */
function findTitle(name: string, blocks: readonly Block[]): Block | undefined {
  const first = blocks.find((block) => block.kind !== "comment");
  if (first?.kind !== "heading" || isHidden(first.text)) return undefined;
  if (first.text.toLowerCase() === name.trim().toLowerCase()) return first;
  const headings = blocks.filter((block) => block.kind === "heading");
  const others = headings.filter((heading) => heading !== first);
  const alone = others.length > 0 && others.every((heading) => heading.level > first.level);
  return first.level === 1 && alone ? first : undefined;
}

function readAskedAs(comment: string): string[] {
  const list = /^\s*asked as:([\s\S]*)$/iu.exec(comment)?.[1] ?? "";
  return list.split(/[;\n]/u).flatMap((phrase) => phrase.trim() || []);
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

/** Joins blocks into passages. Text that introduces a list, a table or code ("…:") stays with it. */
function toPassages(blocks: readonly string[]): string[] {
  const whole = blocks.join("\n\n");
  if (whole.length <= sectionLength) return [whole];
  const passages: string[] = [];
  let passage = "";
  for (const block of blocks) {
    const full = passage.length + block.length > passageLength && !passage.endsWith(":");
    if (passage && full) {
      passages.push(passage);
      passage = "";
    }
    passage += passage ? `\n\n${block}` : block;
  }
  return [...passages, passage];
}

// With `s`, because U+2028 and U+2029 do not end a line in Markdown: a private heading with one of them would become
// text of the section before. No backtick may follow: ```npm start``` is a line with code in it.
const fenceLine = /^\s*(`{3,}(?=[^`]*$)|~{3,})(.*)$/su;
const headingLine = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/su;
const underline = /^ {0,3}(?:=+|-+)\s*$/u;
const rule = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/u;
const listItem = /^\s*(?:[-*+]|\d{1,9}[.)])\s/u;
const notParagraph = /^(?:\s|[>|]|$)/u;

type Line = { readonly kind: "text" | "code" | "comment"; readonly text: string };

/** Splits Markdown at headings and blank lines; the parts of a list stay together. */
function readBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  let lines: Line[] = [];
  let listed = false; // whether the last text began as a list: testing the text itself would copy all of it each time

  function endBlock(): void {
    const text = joinLines(lines).trimEnd();
    lines = [];
    if (!text) return;
    const before = blocks.at(-1);
    const goesOn = before?.kind === "text" && listed && /^\s|^[-*+]\s|^\d+[.)]\s/u.test(text);
    if (goesOn) {
      blocks[blocks.length - 1] = { kind: "text", text: `${before.text}\n\n${text}` };
    } else {
      blocks.push({ kind: "text", text });
      listed = listItem.test(text);
    }
  }

  function addHeading(level: number, text: string): void {
    endBlock();
    blocks.push({ kind: "heading", level, text: text.replace(/(?:^|[ \t])#+[ \t]*$/u, "").trim() });
  }

  for (const line of readLines(markdown)) {
    const { kind, text } = line;
    const [, hashes, heading] = (kind === "text" && headingLine.exec(text)) || [];
    const [above] = lines;
    if (kind === "comment") {
      blocks.push({ kind, text });
    } else if (kind === "code") {
      lines.push(line);
    } else if (hashes) {
      addHeading(hashes.length, heading ?? "");
    } else if (above && lines.length === 1 && isParagraph(above) && underline.test(text)) {
      lines = [];
      addHeading(text.includes("=") ? 1 : 2, above.text);
    } else if (!text.trim() || rule.test(text)) {
      endBlock();
    } else {
      lines.push(line);
    }
  }
  endBlock();
  return blocks;
}

function isParagraph({ kind, text }: Line): boolean {
  return kind === "text" && !notParagraph.test(text) && !listItem.test(text);
}

/**
 * Joins a block's lines. Line breaks within a paragraph are removed, which mean nothing in Markdown, because many
 * clients show an answer as plain text. Where they matter (code, tables, quotes), they stay.
 */
function joinLines(lines: readonly Line[]): string {
  const fixed = /^(?: {4}|\t)/u.test(lines[0]?.text ?? "") || lines.some(isFixed);
  const parts: string[] = []; // joined at the end: a growing text would be copied for each line
  for (const { text } of lines) {
    const above = parts.at(-1);
    if (above === undefined) {
      parts.push(text);
    } else if (fixed || listItem.test(text) || / {2}$|\\$/u.test(above)) {
      parts.push(`\n${text}`);
    } else {
      parts[parts.length - 1] = above.trimEnd();
      parts.push(` ${text.trim()}`);
    }
  }
  return parts.join("");
}

function isFixed({ kind, text }: Line): boolean {
  return kind === "code" || /^\s*[|>]/u.test(text) || (text.includes("|") && /^[\s:|-]+$/u.test(text));
}

/** Distinguishes code, where markup has no meaning, from other lines, and extracts the comments of those. */
function readLines(markdown: string): Line[] {
  const lines: Line[] = [];
  let fence: string | undefined;
  let comment: string | undefined;

  for (const line of markdown.split(/\r\n?|\n/u)) {
    if (fence !== undefined) {
      lines.push({ kind: "code", text: line });
      const [, marks, info] = fenceLine.exec(line) ?? [];
      if (marks?.startsWith(fence) && !info?.trim()) fence = undefined;
      continue;
    }
    const { kept, comments, open } = takeComments(line, comment);
    comment = open;
    for (const text of comments) lines.push({ kind: "comment", text });
    fence = fenceLine.exec(kept)?.[1];
    const onlyComment = kept.trim() === "" && line.trim() !== "";
    if (!onlyComment) lines.push({ kind: fence === undefined ? "text" : "code", text: kept });
  }
  return lines;
}

/** Extracts the comments of a line. `open` is the text so far of a comment that continues on the next line. */
function takeComments(
  line: string,
  begun: string | undefined,
): { kept: string; comments: string[]; open: string | undefined } {
  const comments: string[] = [];
  let open = begun;
  let kept = "";
  let rest = line;
  for (;;) {
    const mark: string = open === undefined ? "<!--" : "-->";
    const at = rest.indexOf(mark);
    const piece = at === -1 ? rest : rest.slice(0, at);
    if (open === undefined) kept += piece;
    else open += piece;
    if (at === -1) return { kept, comments, open: open === undefined ? undefined : `${open}\n` };
    rest = rest.slice(at + mark.length);
    if (open !== undefined) comments.push(open);
    open = open === undefined ? "" : undefined;
  }
}
