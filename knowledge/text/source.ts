/**
 * Prepares Markdown for the lexer: takes out what is not shown, and what would make the lexer hide text or take long.
 *
 * @module
 */

import { toPlainMarkdown } from "./dialects.ts";

/** A fault in a text that its author should know of. */
export interface KnowledgeWarning {
  /** The line in the text, from 1. */
  readonly line: number;
  /** One sentence. */
  readonly message: string;
}

/** A text without comments. */
export interface Source {
  /** Markdown. Comments that say how a section is asked for are left, each on a line of its own. */
  readonly text: string;
  readonly warnings: readonly KnowledgeWarning[];
}

// No backtick may follow: ```npm start``` is a line with code in it.
const fenceLine = /^\s*(`{3,}(?=[^`]*$)|~{3,})(.*)$/u;
const askedAs = /^\s*asked as:([\s\S]*)$/iu;
const contents = /^\s*\[(?:\[_?toc_?\]|toc)\]\s*$/iu;
// Quotes and lists deeper than in any real text, for which the lexer needs a call or a copy of the text each.
const deepQuote = /^((?: {0,3}>){12})[ >]+/u;
const deepItem = /^[ \t]{60,}(?=[-*+] |\d{1,9}[.)] )/u;

interface CommentMarks {
  readonly begin: string;
  readonly end: string;
}

// HTML's, and Obsidian's.
const commentMarks: readonly CommentMarks[] = [
  { begin: "<!--", end: "-->" },
  { begin: "%%", end: "%%" },
];

/** Takes the comments out of Markdown, and drops the beginning of a code block or comment that never ends. */
export function readSource(markdown: string, isMdx = false): Source {
  // U+2028 and U+2029 do not end a line in Markdown, but do in the lexer's patterns: a private heading would become text.
  const lines = markdown
    .replace(/^\ufeff/u, "")
    .replace(/[\u2028\u2029]/gu, " ")
    .split(/\r\n?|\n/u);
  return new SourceReader(toPlainMarkdown(lines, isMdx)).read();
}

interface FoundComment {
  /** Where in its first line it begins. */
  readonly from: number;
  /** The line that it ends on. */
  readonly line: number;
  /** What follows it there. */
  readonly rest: string;
  /** Other ways to ask for the section, which it lists. */
  readonly asked: string | undefined;
}

class SourceReader {
  readonly #lines: readonly string[];
  readonly #kept: string[] = [];
  readonly #warnings: KnowledgeWarning[] = [];

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  read(): Source {
    for (let at = 0; at < this.#lines.length; ) {
      const fence = fenceLine.exec(this.#line(at))?.[1];
      at = fence === undefined ? this.#readLine(at) : this.#readCode(at, fence);
    }
    return { text: this.#kept.join("\n"), warnings: this.#warnings };
  }

  #line(at: number): string {
    return this.#lines[at] ?? "";
  }

  /** Copies a code block. Without an end, its first line is left out, so that the rest is read as what it looks like. */
  #readCode(begin: number, fence: string): number {
    for (let at = begin + 1; at < this.#lines.length; at++) {
      const [, marks, info] = fenceLine.exec(this.#line(at)) ?? [];
      if (!marks?.startsWith(fence) || info?.trim()) continue;
      for (const line of this.#lines.slice(begin, at + 1)) this.#kept.push(line);
      return at + 1;
    }
    this.#warn(begin, `The code block that begins with ${fence} is not closed.`);
    return begin + 1;
  }

  /** Copies a line, and those that a comment in it continues on, without comments. */
  #readLine(begin: number): number {
    let at = begin;
    let rest = this.#line(at);
    let kept = "";
    const asked: string[] = [];
    for (let found = this.#findComment(rest, at); found; found = this.#findComment(rest, at)) {
      kept += rest.slice(0, found.from);
      if (/^\s|^$/u.test(found.rest)) kept = kept.trimEnd(); // one space is enough
      if (found.asked !== undefined) asked.push(`<!-- asked as: ${found.asked} -->`);
      at = found.line;
      rest = found.rest;
    }
    const line = kept + rest;
    const onlyComment = line.trim() === "" && (at > begin || this.#line(begin).trim() !== "");
    if (!onlyComment && !contents.test(line)) this.#kept.push(limitDepth(line));
    this.#kept.push(...asked);
    return at + 1;
  }

  /** The first comment of a line that is not in code. */
  #findComment(line: string, at: number): FoundComment | undefined {
    let codeUntil = 0;
    const unpaired = new Set<string>(); // runs of backticks that no other one of the same length follows
    for (const { 0: mark, index } of line.matchAll(/`+|<!--|%%/gu)) {
      if (index < codeUntil || unpaired.has(mark)) continue;
      const marks = commentMarks.find(({ begin }) => begin === mark);
      const found = marks && this.#readComment(line, index, marks, at);
      if (found) return found;
      if (marks) continue;
      const end = endOfCode(line, index + mark.length, mark);
      if (end === -1) unpaired.add(mark);
      else codeUntil = end;
    }
    return undefined;
  }

  #readComment(
    line: string,
    from: number,
    { begin, end }: CommentMarks,
    at: number,
  ): FoundComment | undefined {
    const isHtml = begin === "<!--";
    const parts: string[] = [];
    let rest = line.slice(from + begin.length);
    for (let number = at; number < this.#lines.length; rest = this.#line(++number)) {
      const until = rest.indexOf(end);
      if (until !== -1) {
        const text = [...parts, rest.slice(0, until)].join("\n");
        const asked = isHtml ? askedAs.exec(text)?.[1]?.replaceAll("\n", ";") : undefined;
        return { from, line: number, rest: rest.slice(until + end.length), asked };
      }
      // Percent signs within a line are no comment unless another two follow there.
      if (!isHtml && line.slice(0, from).trim() !== "") return undefined;
      parts.push(rest);
    }
    this.#warn(at, `The comment that begins with ${begin} is not closed.`);
    return isHtml ? { from, line: this.#lines.length, rest: "", asked: undefined } : undefined;
  }

  #warn(at: number, message: string): void {
    this.#warnings.push({ line: at + 1, message });
  }
}

/** Where the code ends that a run of backticks begins: at the next run of the same length. -1: it begins no code. */
function endOfCode(line: string, from: number, mark: string): number {
  for (const { 0: run, index } of line.slice(from).matchAll(/`+/gu)) {
    if (run === mark) return from + index + run.length;
  }
  return -1;
}

function limitDepth(line: string): string {
  return line.replace(deepQuote, "$1 ").replace(deepItem, " ".repeat(60));
}
