/**
 * Cuts Markdown into blocks: headings, paragraphs, lists, tables, code.
 *
 * @module
 */

import { Lexer, type Token, Tokenizer, type Tokens } from "marked";
import { mostIndexedLines } from "../../core/twins/twins.ts";
import { MarkdownWriter, roomOfHtml, writtenSigns } from "./html.ts";
import { type Repeats, repeat, roomForRepeats } from "./repeats.ts";
import { type KnowledgeWarning, readSource, type Source } from "./source.ts";
import { changeLines, LineSearch, portion, type Steps, visitAll, visitLines } from "./steps.ts";

/** A piece of Markdown. */
export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  /** A question is a line that asks what the blocks after it answer. */
  | { readonly kind: "text" | "code" | "question"; readonly text: string }
  /** A list or a table. `head` belongs to each of its parts. */
  | {
      readonly kind: "parts";
      readonly text: string;
      readonly head: string;
      /** `title`: what one is about. */
      readonly parts: readonly { readonly title: string; readonly text: string }[];
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

/** What may still be read of a twin's texts. */
export interface Room {
  lines: number;
}

/** Room for all texts of a twin. */
export function roomOfTwin(): Room {
  return { lines: mostIndexedLines };
}

/** As many lines of a text as there is room for, which they take, and a warning where that is not all of it. */
export function* withinRoom(text: string, room: Room): Steps<Source> {
  let [lines, read, end] = [0, 0, 0];
  yield* visitLines(text, (part) => {
    if (room.lines <= 0) return;
    end = read + part.length;
    for (const {
      0: { length },
      1: entry,
      index,
    } of part.matchAll(wholeLines)) {
      room.lines -= entry === undefined ? 1 : linesOfEntry;
      lines++;
      if (room.lines > 0) continue;
      end = read + index + length;
      break;
    }
    read += part.length;
  });
  const message = `The text is not read from here on: a twin's texts have ${mostIndexedLines.toLocaleString("en")} lines together at most, of which headings, items of lists and rows of tables count as ${linesOfEntry} each.`;
  const isCut = end < text.length;
  return { text: text.slice(0, end), warnings: isCut ? [{ line: lines + 1, message }] : [] };
}

/** As how many lines what becomes an entry of the index counts: it takes half a kilobyte, however short it is. */
const linesOfEntry = 4;

/** Lines with their ends, and how those begin that may be an entry. */
const wholeLines = /([ \t]*(?:[-*+#=]|\d{1,9}[.)])|[^\r\n|]{0,100}\|)?[^\r\n]*(?:\r\n?|\n)/guy;

/** Cuts Markdown into blocks, as far as there is room. Never throws: all text is Markdown. `isMdx`: MDX is. */
export function* readBlocks(markdown: string, room: Room, isMdx = false): Steps<Blocks> {
  const source = yield* readSource(markdown, isMdx);
  const lexer = new Lexer({ gfm: true, tokenizer: new BlockTokenizer() });
  const { lines } = room;
  const repeats = roomForRepeats(source.text);
  const read = yield* withinRoom(source.text, room);
  const warnings = [...source.warnings, ...read.warnings];
  let tokens = yield* readTokens(read.text, lexer);
  if (tokens.some(isHtml)) {
    room.lines = lines; // what becomes of the elements takes the place of the text
    const written = yield* withinRoom(yield* withoutHtml(tokens, repeats), room);
    warnings.push(...written.warnings);
    tokens = yield* readTokens(written.text, lexer);
  }
  const notes = new Map<string, string>();
  const shown: Token[] = [];
  yield* visitAll(tokens, lengthOf, portion, (token) => {
    const [, name, note] = (token.type === "paragraph" && noteLine.exec(token.raw)) || [];
    if (name && note) notes.set(name, note.trim());
    if (!name) shown.push(token);
  });
  const resolve = (block: string) => {
    const linked = block.replace(referenceLink, (whole, label: string, name: string) => {
      const link = lexer.tokens.links[(name || label).toLowerCase()];
      return link && repeat(repeats, link.href) ? `[${label}](${link.href})` : whole;
    });
    const names = new Set([...linked.matchAll(noteMark)].map(([, name = ""]) => name));
    const told = [...names].flatMap((name) => {
      const note = notes.get(name);
      return note !== undefined && repeat(repeats, note) ? `[^${name}]: ${note}` : [];
    });
    return [linked, ...told].join("\n\n");
  };
  const blocks: Block[] = [];
  yield* visitAll(shown, lengthOf, portion, (token) => blocks.push(...toBlocks(token, resolve)));
  return { blocks, warnings };
}

/** The longest heading above a line of `=` or `-`, in UTF-16 code units. */
const longestHeading = 256;

/** Lists and quotes that are deeper are text: the lexer reads each once more, and only the outermost are asked for. */
const deepestBlock = 4;
/** A table's first line, and that below it. */
const headOfTable = /^.*\n.*(?:\n|$)/u;
/** All that is asked of a row are its first two cells. */
const narrowHead = "|a|b|\n|-|-|\n";

/** The lexer's rules, within bounds. */
class BlockTokenizer extends Tokenizer {
  #depth = 0;

  /** The lexer looks for the line below a heading to a paragraph's end, for which Bun takes a second for 100 KB. */
  override lheading(text: string): Tokens.Heading | undefined {
    const beginning = text.slice(0, longestHeading);
    const heading = super.lheading(beginning);
    const isWhole = beginning === text || (heading && heading.raw.length < beginning.length);
    return isWhole ? heading : undefined;
  }

  override list(text: string): Tokens.List | undefined {
    return this.#inside(() => super.list(text));
  }

  override blockquote(text: string): Tokens.Blockquote | undefined {
    return this.#inside(() => super.blockquote(text));
  }

  #inside<Read>(read: () => Read | undefined): Read | undefined {
    if (this.#depth === deepestBlock) return undefined;
    this.#depth++;
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }

  /** The lexer makes as many cells of each row as its table has names, whatever the row has. */
  override table(text: string): Tokens.Table | undefined {
    const [head = ""] = headOfTable.exec(text) ?? [];
    const wide = super.table(head);
    const narrow = wide && super.table(narrowHead + text.slice(head.length));
    return narrow && { ...narrow, raw: head + narrow.raw.slice(narrowHead.length) };
  }
}

function lengthOf({ raw }: Token): number {
  return raw.length;
}

/** A code block, the beginning of an element whose text is verbatim, or a heading behind a blank line. */
const marks =
  /^[ \t]*(?<fence>`{3,99}(?=[^`\n]*$)|~{3,99}).*|<(?<element>pre|script|style|textarea)(?=[\s>])|(?<=\n[ \t]*\n)#{1,6}[ \t]/gimu;

/** The tokens of a text. It is read in parts, each of which begins with a heading that is in no block, if it is not too long. */
function* readTokens(text: string, lexer: Lexer): Steps<Token[]> {
  const tokens: Token[] = [];
  function* read(part: string): Steps<void> {
    for (const piece of piecesOf(part)) {
      if (tokens.length > 0) yield;
      for (const token of lexer.blockTokens(piece, [])) tokens.push(token);
      lexer.inlineQueue = []; // what is in lines is read where it is asked for
    }
  }
  const search = new LineSearch(text);
  let [readUntil, next] = [0, 0];
  for (;;) {
    const found = yield* search.find(marks, next);
    if (!found) break;
    const { fence, element } = found.groups;
    next = found.end;
    if (fence ?? element) {
      const end = fence ? `^[ \\t]*${fence}[\`~]*[ \\t]*$` : `</${element}>`;
      const behind = yield* search.find(new RegExp(end, "gimu"), next);
      if (!behind) break;
      next = behind.end;
    } else if (found.index - readUntil > portion) {
      yield* read(text.slice(readUntil, found.index));
      readUntil = found.index;
    }
  }
  yield* read(text.slice(readUntil));
  return tokens;
}

/** As many lines are read at once: short ones take the longest for what they have. */
const mostLines = 1_000;
/** Where there is no block or item, a text is cut at the end of a line or else a word, so many times further on. */
const longestPiece = 2;
const blockOrItem = /\n(?=[ \t]*\n\S|[-*+] |\d{1,9}[.)] )/gu;
const tableHead = /^(?=.*\|).*\n[ \t|]*:?-[ \t|:-]*\n/u;

/** Cuts a text that is long before blocks and items, outside of code. A table that is cut goes on with its head, if that is short. */
function* piecesOf(text: string): Generator<string> {
  let [from, head] = [0, ""];
  for (;;) {
    const length = lengthOfLines(text, from);
    const farthest = longestPiece * length;
    const most = text.slice(from, from + longestPiece * portion);
    blockOrItem.lastIndex = length;
    const next = blockOrItem.exec(most.slice(0, farthest))?.index;
    if (next === undefined && text.length - from <= farthest) break;
    const at =
      next ??
      (most.lastIndexOf("\n", farthest - 1) + 1 || most.lastIndexOf(" ", farthest - 1) + 1 || farthest);
    const end = outsideOfCode(most, at);
    const piece = head + text.slice(from, from + end);
    yield piece;
    const last = piece.slice(piece.lastIndexOf("\n\n") + 1).trimStart();
    const [names = ""] = (next === undefined && tableHead.exec(last)) || [];
    head = names.length < end ? names : "";
    from += end;
  }
  yield head + text.slice(from);
}

/** How long a portion of a text is, which ends sooner where lines are short. */
function lengthOfLines(text: string, from: number): number {
  let end = from;
  for (let lines = 0; lines < mostLines && end - from < portion; lines++) {
    const next = text.indexOf("\n", end) + 1;
    if (next === 0) return portion;
    end = next;
  }
  return Math.min(end - from, portion);
}

/** A place, or, if it is within a code block, that before the block, or behind one that the text begins with. */
function outsideOfCode(text: string, place: number): number {
  let [mark, begin] = ["", 0];
  for (const found of text.matchAll(/^[ \t]*(`{3,}(?=[^`\n]*$)|~{3,})[^\n]*\n?/gmu)) {
    const [line, marks = ""] = found;
    if (mark === "" && found.index >= place) return place;
    if (mark === "") [mark, begin] = [marks, found.index];
    else if (line.trim() === marks && marks.startsWith(mark)) {
      if (found.index >= place) return begin || found.index + line.length;
      mark = "";
    }
  }
  return mark === "" ? place : begin || place;
}

const noteLine = /^\[\^([^\]\s]+)\]:\s+([\s\S]*)$/u;
const noteMark = /\[\^([^\]\s]+)\]/gu;
const referenceLink = /\[([^\][]+)\]\[([^\][]*)\]/gu;

function isHtml({ type, raw }: Token): boolean {
  return type === "html" && !raw.startsWith("<!--");
}

/** Writes Markdown for the HTML between other blocks. What its tags leave open ends at the next heading. */
function* withoutHtml(tokens: readonly Token[], repeats: Repeats): Steps<string> {
  const pieces: string[] = [];
  const room = roomOfHtml(repeats);
  let writer = new MarkdownWriter(room);
  yield* visitAll(cutHtml(tokens), lengthOf, portion, (token) => {
    if (token.type === "heading") {
      pieces.push(writer.end(), "\n");
      writer = new MarkdownWriter(room);
    }
    if (isHtml(token)) writer.writeHtml(token.raw);
    else if (token.type !== "def") writer.write(token.raw); // the lexer knows it already
    pieces.push(writer.take());
  });
  return yield* changeLines([...pieces, writer.end()].join(""), writtenSigns);
}

/** Long HTML in pieces, which a writer joins. */
function* cutHtml(tokens: readonly Token[]): Generator<Token> {
  for (const token of tokens) {
    if (!isHtml(token)) yield token;
    else
      for (let at = 0; at < token.raw.length; at += portion)
        yield { ...token, raw: token.raw.slice(at, at + portion) };
  }
}

function toBlocks(token: Token, resolve: (text: string) => string): Block[] {
  switch (token.type) {
    case "heading":
      return [{ kind: "heading", level: token.depth, text: plainText(token.text) }];
    case "hr":
      return [{ kind: "rule" }];
    case "html":
      return askedBlock(token.raw);
    case "list":
      return [listBlock(token as Tokens.List, resolve)];
    case "table":
      return [tableBlock(token as Tokens.Table, resolve)];
    case "code":
      return [{ kind: "code", text: token.raw.replace(/^\n+/u, "").trimEnd() }];
    case "blockquote":
      return [{ kind: "text", text: resolve(token.raw.trim()) }];
    case "paragraph":
    case "text":
      return paragraphBlocks(resolve(token.raw.trim()));
    default:
      return [];
  }
}

function askedBlock(html: string): Block[] {
  const [, list] = /^<!-- asked as:([\s\S]*?)(?:-->|$)/u.exec(html) ?? [];
  return list === undefined
    ? []
    : [{ kind: "asked", phrases: list.split(";").flatMap((phrase) => phrase.trim() || []) }];
}

function listBlock(list: Tokens.List, resolve: (text: string) => string): Block {
  const text = resolve(joinLines(list.raw.trimEnd()));
  const asks = list.items.every(({ text: item }) => /^(?:\*\*|__|[^\n]*[?？؟]\s*(?:\n|$))/u.test(item));
  // Steps are of no use one by one, but numbered questions are.
  if (list.items.length < 2 || (list.ordered && !asks)) return { kind: "text", text };
  const parts = list.items.map((item) => ({
    title: titleOf(item.text),
    text: resolve(joinLines(item.raw.trimEnd())),
  }));
  return { kind: "parts", text, head: "", parts };
}

const longestTitle = 60;

/** What an item is about: its bold or code beginning, or what stands before a colon or dash. */
function titleOf(item: string): string {
  const [, marked] = /^((?:\*\*|__|`)(?:(?!\*\*|__|`).)+(?:\*\*|__|`))/u.exec(item) ?? [];
  const [, named] = /^(.{1,60}?)(?:\s*[:：]|\s+[–—-]\s)/u.exec(item) ?? [];
  return plainText(marked ?? named ?? "").slice(0, longestTitle);
}

/** A row is about what its first cell says, and the second one where several rows have the same first one. */
function tableBlock({ raw, rows }: Tokens.Table, resolve: (text: string) => string): Block {
  const text = resolve(raw.trim());
  const [names = "", line = "", ...lines] = text.split("\n");
  const rowsOf = new Map<string | undefined, number>();
  for (const [cell] of rows) rowsOf.set(cell?.text, (rowsOf.get(cell?.text) ?? 0) + 1);
  const parts = rows.map((cells, at) => {
    const isShared = (rowsOf.get(cells[0]?.text) ?? 0) > 1;
    const about = cells.slice(0, isShared ? 2 : 1).map((cell) => plainText(cell.text));
    return { title: about.join(" "), text: lines[at] ?? "" };
  });
  return { kind: "parts", text, head: `${names}\n${line}`, parts };
}

// A letter with a full stop numbers something, as in "V. Health".
const questionLabel =
  /^(?:\*\*|__)?(?:(?:q|question|f|frage|p|pregunta|pergunta|d|domanda|v|вопрос|в|питання|問|问|問題|质问|質問|س|سؤال|प्र|प्रश्न|ถ|ถาม|คำถาม|질문|문)\s?\d*\s?[:：]|(?:q|question|frage|pregunta|pergunta|domanda|вопрос|питання)\s?\d+\.)(?:\*\*|__)?\s*/iu;
const bold = /^(?:\*\*|__)(?=\S)(?:(?!\*\*|__).)+(?:\*\*|__)\s*[:：]?$/u;
const questionMark = /[?？؟](?:\*\*|__)?$/u;
const longestQuestionLine = 240;

/** A paragraph. If its first line asks something, it is cut where a line does that the next ones answer. */
function paragraphBlocks(paragraph: string): Block[] {
  const blocks: { kind: "question" | "text"; text: string }[] = [];
  const lines = paragraph.split("\n");
  if (!isQuestionLine(lines[0] ?? "")) return [{ kind: "text", text: joinLines(paragraph) }];
  for (const line of lines) {
    const last = blocks.at(-1);
    if (isQuestionLine(line)) blocks.push({ kind: "question", text: line.trim() });
    else if (last?.kind === "text") last.text += `\n${line}`;
    else blocks.push({ kind: "text", text: line });
  }
  return blocks.map(({ kind, text }) => ({ kind, text: joinLines(text) }));
}

function isQuestionLine(line: string): boolean {
  const text = line.trim();
  if (text.length > longestQuestionLine) return false;
  return bold.test(text) || questionLabel.test(text) || questionMark.test(text);
}

const softBreak = /(?<=[^\s\\]) ?\n[ \t]*(?!\s|[-*+]\s|\d{1,9}[.)]\s)/gu;

/**
 * Joins lines, because many clients show an answer as plain text, where a line break within a paragraph would be seen.
 * Where breaks mean something (items, code, tables, quotes, line ends with two spaces), they stay.
 */
function joinLines(text: string): string {
  return /^\s*(?:[|>]|`{3}|~{3})/mu.test(text) ? text : text.replace(softBreak, " ");
}

const inWords = new RegExp(
  [
    /(?<!`)(?<ticks>`{1,9})(?!`).*?(?<!`)\k<ticks>(?!`)/u.source, // code stays as it is
    /\[!\[(?<badge>[^\][]*)\]\((?<shield>[^()\s]*)[^()]*\)\]\([^()]*\)/u.source,
    /!\[(?<alt>[^\][]*)\]\((?<source>[^()\s]*)[^()]*\)/u.source,
    /\[(?<label>[^\][]+)\]\((?!(?:https?|mailto|tel):)[^()]*\)/u.source,
    /(?<!\\)<\/?(?:a|abbr|center|div|font|img|ins|kbd|mark|p|small|span|sub|u)(?=[\s/>])[^<>]*>|<\/sup>/u
      .source,
    /(?<power>(?<!\\)<sup>)/u.source,
    /(?<lineBreak>(?<!\\)<br\s*\/?>)/u.source,
  ].join("|"),
  "giu",
);
const badgeAddress = /badge|shields\.io|\.svg(?:$|\?)/iu;

/**
 * A block as it is quoted: without anchors and badges, and without links and pictures that lead nowhere outside of its file.
 * Nothing, if it has nothing else.
 */
export function toQuoted(block: Block): Block[] {
  if (!("text" in block) || block.kind === "code") return [block];
  const text = quoted(block.text);
  if (text === "") return [];
  if (block.kind !== "parts") return [{ ...block, text }];
  const parts = block.parts.map((part) => ({ ...part, text: quoted(part.text) }));
  return [{ ...block, text, head: quoted(block.head), parts }];
}

function quoted(markdown: string): string {
  const text = markdown.replace(inWords, (whole, ...found) => {
    const { ticks, badge, shield, alt, source = "", label, lineBreak, power } = found.at(-1);
    if (ticks !== undefined) return whole;
    if (badge !== undefined) return badgeAddress.test(shield) ? "" : badge;
    if (alt !== undefined && badgeAddress.test(source)) return "";
    if (alt !== undefined) return /^https?:/iu.test(source) ? whole : alt;
    if (power !== undefined) return "^";
    return label ?? (lineBreak === undefined ? "" : " ");
  });
  return text.trim();
}

/** Longer lines are no headings, and searching them for pairs of marks would take long. */
const longestLine = 500;
const inlineLexer = new Lexer({ gfm: true });

/** The words of a line of Markdown, without its markup. */
export function plainText(line: string): string {
  const unlinked = line.slice(0, longestLine).replace(/!?\[([^\][]*)\]\[[^\][]*\]|\[\^[^\]\s]+\]/gu, "$1");
  return wordsOf(inlineLexer.inlineTokens(unlinked, [])).trim();
}

function wordsOf(tokens: readonly Token[]): string {
  const words = tokens.map((token) => {
    if (token.type === "html") return "";
    if (token.type === "br") return " ";
    if ("tokens" in token && token.tokens) return wordsOf(token.tokens);
    return "text" in token ? token.text : token.raw;
  });
  return words.join("");
}
