/**
 * Cuts Markdown into blocks: headings, paragraphs, lists, tables, code.
 *
 * @module
 */

import { Lexer, type Token, type Tokens, type TokensList } from "marked";
import { toMarkdown } from "./html.ts";
import { type KnowledgeWarning, readSource } from "./source.ts";

/** A piece of Markdown. */
export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "text" | "code"; readonly text: string }
  /** A line that asks what the blocks after it answer. */
  | { readonly kind: "question"; readonly text: string }
  /** A list or a table. `head` belongs to each of its parts. */
  | {
      readonly kind: "parts";
      readonly text: string;
      readonly head: string;
      readonly parts: readonly string[];
    }
  /** The end of what a question is about. */
  | { readonly kind: "rule" }
  /** Other ways to ask for the section. */
  | { readonly kind: "asked"; readonly phrases: readonly string[] };

/** Markdown as blocks. */
export interface Blocks {
  readonly blocks: readonly Block[];
  readonly warnings: readonly KnowledgeWarning[];
}

/** Cuts Markdown into blocks. Never throws: all text is Markdown. `isMdx`: MDX is. */
export function readBlocks(markdown: string, isMdx = false): Blocks {
  const { text, warnings } = readSource(markdown, isMdx);
  const { tokens, links, notes } = lex(text);
  const resolve = (block: string) => resolveNotes(resolveLinks(block, links), notes);
  return { blocks: joinHtml(tokens).flatMap((token) => toBlocks(token, resolve)), warnings };
}

type Links = TokensList["links"];

const noteLine = /^\[\^([^\]\s]+)\]:\s+([\s\S]*)$/u;

function lex(text: string): { tokens: Token[]; links: Links; notes: ReadonlyMap<string, string> } {
  const lexer = new Lexer({ gfm: true });
  const notes = new Map<string, string>();
  const tokens = lexer.blockTokens(text, []).filter((token) => {
    const [, name, note] = (token.type === "paragraph" && noteLine.exec(token.raw)) || [];
    if (name === undefined || note === undefined) return token.type !== "def";
    notes.set(name, note.trim());
    return false;
  });
  return { tokens, links: lexer.tokens.links, notes };
}

/** Joins neighbouring blocks of HTML: a blank line within a table begins another one. */
function joinHtml(tokens: readonly Token[]): Token[] {
  const joined: Token[] = [];
  for (const token of tokens) {
    const last = joined.at(-1);
    const before = last?.type === "space" ? joined.at(-2) : last;
    if (token.type === "html" && before?.type === "html" && !isAsked(token.raw) && !isAsked(before.raw)) {
      if (last?.type === "space") joined.pop();
      joined[joined.length - 1] = { ...before, raw: `${before.raw}\n${token.raw}` };
    } else {
      joined.push(token);
    }
  }
  return joined;
}

function isAsked(html: string): boolean {
  return html.startsWith("<!--");
}

function toBlocks(token: Token, resolve: (text: string) => string): Block[] {
  switch (token.type) {
    case "heading":
      return [{ kind: "heading", level: token.depth, text: plainText(token.text) }];
    case "hr":
      return [{ kind: "rule" }];
    case "html":
      return htmlBlocks(token.raw, resolve);
    case "list":
      return [listBlock(token as Tokens.List, resolve)];
    case "table":
      return [tableBlock(token as Tokens.Table, resolve)];
    case "code":
      return [{ kind: "code", text: token.raw.replace(/^\n+|\s+$/gu, "") }];
    case "blockquote":
      return [{ kind: "text", text: resolve(token.raw.trim()) }];
    case "paragraph":
    case "text":
      return paragraphBlocks(resolve(token.raw.trim()));
    default:
      return [];
  }
}

function htmlBlocks(html: string, resolve: (text: string) => string): Block[] {
  if (isAsked(html)) {
    const list = /^<!-- asked as:([\s\S]*?)(?:-->|$)/u.exec(html)?.[1] ?? "";
    return [{ kind: "asked", phrases: list.split(";").flatMap((phrase) => phrase.trim() || []) }];
  }
  const inner = lex(toMarkdownIfFlat(html)).tokens.filter(({ type }) => type !== "html");
  const end: Block[] = /^\s*<\/details>/iu.test(html) ? [{ kind: "rule" }] : []; // of a block that began before
  return [...end, ...inner.flatMap((token) => toBlocks(token, resolve))];
}

/** HTML that is nested too deep is left out. */
function toMarkdownIfFlat(html: string): string {
  try {
    return toMarkdown(html);
  } catch (error) {
    if (error instanceof RangeError) return "";
    throw error;
  }
}

function listBlock(list: Tokens.List, resolve: (text: string) => string): Block {
  const text = resolve(joinLines(list.raw.trimEnd()));
  const asks = list.items.every(({ text: item }) =>
    /^(?:\*\*|__)|^[^\n]*[?？؟]\s*$/mu.test(item.split("\n", 1)[0] ?? ""),
  );
  // Steps are of no use one by one, but numbered questions are.
  if (list.items.length < 2 || (list.ordered && !asks)) return { kind: "text", text };
  const parts = list.items.map((item) => resolve(joinLines(item.raw.trimEnd())));
  return { kind: "parts", text, head: "", parts };
}

function tableBlock({ raw }: Tokens.Table, resolve: (text: string) => string): Block {
  const [names = "", line = "", ...rows] = resolve(raw.trim()).split("\n");
  return { kind: "parts", text: [names, line, ...rows].join("\n"), head: `${names}\n${line}`, parts: rows };
}

const questionLabel =
  /^(?:\*\*|__)?(?:q|question|f|frage|p|pregunta|pergunta|d|domanda|v|вопрос|в|питання|問|问|問題|质问|質問|س|سؤال|प्र|प्रश्न|ถ|ถาม|คำถาม|질문|문)\s?\d*\s?[:：.](?:\*\*|__)?\s*/iu;
const bold = /^(?:\*\*|__)(?=\S)(?:(?!\*\*|__).)+(?:\*\*|__)\s*[:：]?$/u;
const questionMark = /[?？؟](?:\*\*|__)?$/u;
const longestQuestionLine = 240;

/** A paragraph, cut where one of its lines asks something that the next ones answer. */
function paragraphBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  const endText = () => {
    if (lines.length > 0) blocks.push({ kind: "text", text: joinLines(lines.join("\n")) });
    lines = [];
  };
  let asked = false;
  for (const line of text.split("\n")) {
    const isQuestion = (blocks.length + lines.length === 0 || asked) && isQuestionLine(line);
    if (isQuestion) {
      endText();
      blocks.push({ kind: "question", text: line.trim() });
      asked = true;
    } else {
      lines.push(line);
    }
  }
  endText();
  return blocks;
}

function isQuestionLine(line: string): boolean {
  const text = line.trim();
  if (text.length > longestQuestionLine) return false;
  return bold.test(text) || questionLabel.test(text) || questionMark.test(text);
}

const hardBreak = / {2}$|\\$/u;
const listItem = /^\s*(?:[-*+]|\d{1,9}[.)])\s/u;

/**
 * Joins lines, because many clients show an answer as plain text, where a line break within a paragraph would be seen.
 * Where breaks mean something (items, code, tables, quotes, line ends with two spaces), they stay.
 */
function joinLines(text: string): string {
  const lines = text.split("\n");
  if (lines.some((line) => /^\s*(?:[|>]|`{3}|~{3})/u.test(line))) return text;
  const parts: string[] = []; // joined at the end: a growing text would be copied for each line
  let above = "";
  for (const line of lines) {
    const own =
      parts.length === 0 ||
      listItem.test(line) ||
      line.trim() === "" ||
      above === "" ||
      hardBreak.test(above);
    if (own) {
      parts.push(parts.length === 0 ? line : `\n${line}`);
    } else {
      parts[parts.length - 1] = (parts.at(-1) ?? "").trimEnd();
      parts.push(` ${line.trim()}`);
    }
    above = line.trim() === "" ? "" : line;
  }
  return parts.join("");
}

/** Puts the addresses of reference links into the text: their definitions may be in another section. */
function resolveLinks(text: string, links: Links): string {
  if (!text.includes("[")) return text;
  return text
    .replace(/\[\[(?:[^\][|]*\|)?([^\][|]+)\]\]/gu, "$1") // a wiki's link
    .replace(/\[([^\][]+)\]\[([^\][]*)\]/gu, (whole, label: string, name: string) => {
      const link = links[(name || label).toLowerCase()];
      return link ? `[${label}](${link.href})` : whole;
    });
}

/** Adds the footnotes that a text refers to. */
function resolveNotes(text: string, notes: ReadonlyMap<string, string>): string {
  if (notes.size === 0) return text;
  const names = [...text.matchAll(/\[\^([^\]\s]+)\]/gu)].flatMap(([, name = ""]) =>
    notes.has(name) ? name : [],
  );
  const added = [...new Set(names)].map((name) => `[^${name}]: ${notes.get(name)}`);
  return [text, ...added].join("\n\n");
}

/** Longer lines are no headings, and searching them for pairs of marks would take long. */
const longestLine = 500;

/** The words of a line of Markdown, without its markup. */
export function plainText(line: string): string {
  return line
    .slice(0, longestLine)
    .replace(/\s*\{[#.:][^}]*\}\s*$/u, "") // an anchor: {#id}
    .replace(/\[\[(?:[^\][|]*\|)?([^\][|]+)\]\]/gu, "$1")
    .replace(/!?\[([^\][]*)\]\([^()]*(?:\([^()]*\)[^()]*)*\)/gu, "$1")
    .replace(/!?\[([^\][]*)\]\[[^\][]*\]/gu, "$1")
    .replace(/\[\^[^\]\s]+\]/gu, "")
    .replace(/<\/?[a-z][^<>]*>/giu, "")
    .replace(/(`+)(.+?)\1/gu, "$2")
    .replace(/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/gu, "$2")
    .replace(/(?<![\p{L}\p{N}\\])([*_])(?=\S)(.+?)(?<=\S)\1(?![\p{L}\p{N}])/gu, "$2")
    .replace(/~~(.+?)~~/gu, "$1")
    .replace(/\\([!-/:-@[-`{-~])/gu, "$1")
    .trim();
}
