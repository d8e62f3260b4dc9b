/**
 * The blocks of a Markdown text, as models write it: CommonMark with tables, without HTML and link definitions. Read in
 * linear time, and to a depth that pages can show, as the text may be anyone's.
 *
 * @module
 */

/** A block. Texts are read by `readInline`. */
export type MarkdownBlock =
  | { readonly type: "paragraph"; readonly text: string }
  | { readonly type: "heading"; readonly level: number; readonly text: string }
  | { readonly type: "code"; readonly language: string; readonly text: string }
  | { readonly type: "rule" }
  | { readonly type: "quote"; readonly blocks: readonly MarkdownBlock[] }
  | {
      readonly type: "list";
      /** The number of the first item. Undefined: bullets. */
      readonly start?: number;
      readonly items: readonly (readonly MarkdownBlock[])[];
      /** Whether its items are single lines, or as close to each other. */
      readonly isTight: boolean;
    }
  | {
      readonly type: "table";
      readonly aligns: readonly ("left" | "center" | "right" | undefined)[];
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    };

/** How deep quotes and lists may be in each other. What is deeper is text. */
const deepest = 16;

const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const heading = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const quote = /^ {0,3}> ?/;
const item = /^( *)([-*+]|(\d{1,9})[.)])( +|\t|$)/;
const underline = /^ {0,3}(=+|-{2,})[ \t]*$/;
const undecided = /^[-+*=#>|~`:_ ]*$|^ *\d{1,9}[.)]?$/;

/** Reads a text. `isUnfinished`: more of it will come; a last line that may still become anything is left out. */
export function readBlocks(text: string, isUnfinished = false): { block: MarkdownBlock; source: string }[] {
  const lines = text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n");
  const isInFence = lines.filter((line) => fence.test(line)).length % 2 === 1;
  if (isUnfinished && (isInFence ? /^ *[`~]+$/ : undecided).test(lines.at(-1) ?? "")) lines.pop();
  const reader = new BlockReader(lines, 0, isUnfinished);
  const blocks: { block: MarkdownBlock; source: string }[] = [];
  for (;;) {
    const from = reader.at;
    const block = reader.next();
    if (!block) return blocks;
    blocks.push({ block, source: lines.slice(from, reader.at).join("\n") });
  }
}

/** Reads lines one block after the other. */
class BlockReader {
  at = 0;
  readonly #lines: readonly string[];
  readonly #depth: number;
  readonly #isUnfinished: boolean;

  constructor(lines: readonly string[], depth: number, isUnfinished: boolean) {
    this.#lines = lines;
    this.#depth = depth;
    this.#isUnfinished = isUnfinished;
  }

  all(): MarkdownBlock[] {
    const blocks: MarkdownBlock[] = [];
    for (let block = this.next(); block; block = this.next()) blocks.push(block);
    return blocks;
  }

  next(): MarkdownBlock | undefined {
    while (this.at < this.#lines.length && this.#line().trim() === "") this.at++;
    if (this.at >= this.#lines.length) return undefined;
    const line = this.#line();
    const isDeep = this.#depth >= deepest;
    if (fence.test(line)) return this.#fenced();
    if (heading.test(line)) return this.#heading();
    if (rule.test(line)) return this.#rule();
    if (quote.test(line) && !isDeep) return this.#quote();
    if (item.test(line) && !isDeep) return this.#list();
    if (/^ {4}/.test(line)) return this.#indented();
    return this.#table() ?? this.#paragraph();
  }

  #line(at = this.at): string {
    return this.#lines[at] ?? "";
  }

  #fenced(): MarkdownBlock {
    const [, marks = "", info = ""] = fence.exec(this.#line()) ?? [];
    const indent = this.#line().search(/[`~]/);
    const end = new RegExp(`^ {0,3}${marks[0]}{${marks.length},} *$`);
    const text: string[] = [];
    for (this.at++; this.at < this.#lines.length && !end.test(this.#line()); this.at++) {
      text.push(outdent(this.#line(), indent));
    }
    this.at++;
    return { type: "code", language: info.trim().split(" ")[0] ?? "", text: text.join("\n") };
  }

  #indented(): MarkdownBlock {
    const text: string[] = [];
    for (; /^ {4}|^ *$/.test(this.#line()) && this.at < this.#lines.length; this.at++) {
      text.push(this.#line().slice(4));
    }
    return { type: "code", language: "", text: text.join("\n").trimEnd() };
  }

  #heading(): MarkdownBlock {
    const line = this.#line().trim();
    const level = line.search(/[^#]|$/);
    this.at++;
    const text = line.slice(level).trim();
    const end = text.replace(/#+$/, "");
    return { type: "heading", level, text: end === "" || end.endsWith(" ") ? end.trimEnd() : text };
  }

  #rule(): MarkdownBlock {
    this.at++;
    return { type: "rule" };
  }

  #quote(): MarkdownBlock {
    const lines: string[] = [];
    for (; this.at < this.#lines.length; this.at++) {
      const line = this.#line();
      if (!quote.test(line) && (lines.length === 0 || !this.#continues(line))) break;
      lines.push(line.replace(quote, ""));
    }
    return { type: "quote", blocks: new BlockReader(lines, this.#depth + 1, this.#isUnfinished).all() };
  }

  #list(): MarkdownBlock {
    const [, , mark = "", number] = item.exec(this.#line()) ?? [];
    const items: MarkdownBlock[][] = [];
    let isTight = true;
    for (;;) {
      const found = item.exec(this.#line());
      const isNext = found?.[2]?.at(-1) === mark.at(-1) && !rule.test(this.#line());
      if (!found || !isNext || (found[3] === undefined) !== (number === undefined)) break;
      const { lines, endsBlank } = this.#item(found);
      items.push(new BlockReader(lines, this.#depth + 1, this.#isUnfinished).all());
      const hasGap = lines.some((line, at) => line.trim() === "" && !/^ |^$/.test(lines[at + 1] ?? ""));
      if (hasGap || (endsBlank && item.test(this.#line()))) isTight = false;
    }
    return { type: "list", ...(number !== undefined && { start: Number(number) }), items, isTight };
  }

  /** The lines of an item, without its mark and its indent. Models often indent what is in it less than CommonMark asks for. */
  #item([all, before = "", mark = "", , gap = ""]: RegExpExecArray) {
    const own = before.length;
    const width = gap.length > 4 ? own + mark.length + 1 : all.length;
    const lines = [this.#line().slice(width)];
    let blank = 0;
    for (this.at++; this.at < this.#lines.length; this.at++) {
      const line = this.#line();
      const indent = line.search(/[^ ]|$/);
      if (line.trim() === "") {
        blank++;
        continue;
      }
      const isInside = indent >= Math.min(width, own + 2);
      if (!isInside && (blank > 0 || item.test(line) || !this.#continues(line))) break;
      while (blank > 0) {
        lines.push("");
        blank--;
      }
      lines.push(outdent(line, isInside ? width : indent));
    }
    return { lines, endsBlank: blank > 0 };
  }

  #table(): MarkdownBlock | undefined {
    const head = cellsOf(this.#line());
    const aligns = cellsOf(this.#line(this.at + 1));
    const isLast = this.#isUnfinished && this.#depth === 0 && this.at >= this.#lines.length - 2;
    const mayBecome = isLast && /^ *\|/.test(this.#line()) && /^[-:| ]*$/.test(this.#line(this.at + 1));
    const isRuled = aligns.length === head.length && aligns.every((cell) => /^:?-+:?$/.test(cell));
    const hasBars = this.#line().includes("|") && this.#line(this.at + 1).includes("|");
    if (!mayBecome && !(isRuled && hasBars)) return undefined;
    const rows: string[][] = [];
    for (this.at += 2; this.#continues(this.#line()); this.at++) {
      rows.push(cellsOf(this.#line()).slice(0, head.length));
    }
    this.at = Math.min(this.at, this.#lines.length);
    return { type: "table", aligns: head.map((_, at) => alignOf(aligns[at] ?? "")), head, rows };
  }

  #paragraph(): MarkdownBlock {
    const lines = [this.#line().trim()];
    for (this.at++; this.#continues(this.#line()); this.at++) {
      if (underline.test(this.#line())) {
        const level = this.#line().trim().startsWith("=") ? 1 : 2;
        this.at++;
        return { type: "heading", level, text: lines.join("\n") };
      }
      lines.push(this.#line().trim());
    }
    return { type: "paragraph", text: lines.join("\n") };
  }

  /** Whether a line goes on with the paragraph before it, in place of beginning a block. */
  #continues(line: string): boolean {
    if (line.trim() === "" || fence.test(line) || heading.test(line)) return false;
    if (underline.test(line)) return true;
    const [all, , , number, gap] = item.exec(line) ?? [];
    const beginsList = all !== undefined && gap !== "" && (number === undefined || number === "1");
    return !rule.test(line) && !quote.test(line) && !beginsList;
  }
}

function outdent(line: string, width: number): string {
  return line.slice(Math.min(width, line.search(/[^ ]|$/)));
}

/** The cells of a table's row. A bar in code, or behind a backslash, is none of its edges. */
function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "");
  const cells = inner.match(/(?:[^|\\]|\\.|\\$)+|\|/g) ?? [];
  const row: string[] = [];
  let cell: string | undefined = "";
  for (const part of cells) {
    if (part !== "|") cell = (cell ?? "") + part;
    else {
      row.push((cell ?? "").trim().replaceAll("\\|", "|"));
      cell = undefined;
    }
  }
  if (cell !== undefined) row.push(cell.trim().replaceAll("\\|", "|"));
  return row;
}

function alignOf(cell: string): "left" | "center" | "right" | undefined {
  if (cell.endsWith(":")) return cell.startsWith(":") ? "center" : "right";
  return cell.startsWith(":") ? "left" : undefined;
}
