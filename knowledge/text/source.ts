/**
 * Makes plain Markdown of a text: without comments, without what site generators add (MDX, Liquid and shortcodes, attribute
 * lists, admonitions), and without what would make the lexer hide text or take long.
 *
 * @module
 */

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

// Code in a line. Longer runs of backticks are none: to look for the end of each would take long.
const code = /(?<!`)(?<ticks>`{1,9})(?!`).*?(?<!`)\k<ticks>(?!`)/u.source;
const beginnings = new RegExp(
  [
    // A code block. No backtick may follow: ```npm start``` is a line with code in it.
    /^[ \t]*(?<fence>`{3,}(?=[^`\n]*$)|~{3,}).*/u.source,
    // A box whose text is indented: `!!! note "Title"` of MkDocs; `??? question "Title"` is folded.
    /^(?<box>!!!|\?\?\?\+?)(?:[ \t]+[\w-]+)+[ \t]*(?:"(?<title>.*)")?[ \t]*$/u.source,
    // A comment: HTML's, MDX's, Obsidian's.
    /(?<comment><!--|\{\/\*|^ {0,3}%%|%%(?=.*?%%))/u.source,
    code,
  ].join("|"),
  "gmu",
);
const commentEnds: Readonly<Record<string, string>> = { "<!--": "-->", "{/*": "*/}", "%%": "%%" };
const boxBody = /(?:\n(?:(?: {4}|\t).*|[ \t]*$))*/muy;
const askedAs = /^\s*asked as:([\s\S]*)$/iu;

/** Takes the comments out of Markdown, and drops the beginning of a code block or comment that never ends. */
export function readSource(markdown: string, isMdx = false): Source {
  // U+2028 and U+2029 do not end a line in Markdown, but do in the lexer's patterns: a private heading would become text.
  const text = markdown
    .replace(/^\ufeff/u, "")
    .replace(/\r\n?/gu, "\n")
    .replace(/[\u2028\u2029]/gu, " ");
  const warnings: KnowledgeWarning[] = [];
  return { text: new SourceReader(text, isMdx, 1, warnings).read(), warnings };
}

class SourceReader {
  readonly #text: string;
  readonly #isMdx: boolean;
  readonly #warnings: KnowledgeWarning[];
  readonly #kept: string[] = [];
  /** The text is kept, or left out, up to here. */
  #at = 0;
  #line: number;
  /** Up to where lines are counted. */
  #counted = 0;
  /** Marks that nothing ends in the rest of the text. */
  readonly #unclosed = new Set<string>();

  constructor(text: string, isMdx: boolean, firstLine: number, warnings: KnowledgeWarning[]) {
    this.#text = text;
    this.#isMdx = isMdx;
    this.#line = firstLine;
    this.#warnings = warnings;
  }

  read(): string {
    const marks = new RegExp(beginnings);
    for (let found = marks.exec(this.#text); found; found = marks.exec(this.#text)) {
      const { fence, box, title, comment } = found.groups ?? {};
      const [from, to] = [found.index, marks.lastIndex];
      if (fence !== undefined) marks.lastIndex = this.#readCode(fence, from, to);
      else if (box !== undefined) marks.lastIndex = this.#readBox(title, from, to);
      else if (comment !== undefined) marks.lastIndex = this.#readComment(comment.trim(), from, to);
    }
    this.#keep(this.#text.slice(this.#at), this.#text.length);
    return this.#kept.join("");
  }

  /** Keeps a code block. Without an end, its first line is left out, so that the rest is read as what it looks like. */
  #readCode(fence: string, from: number, to: number): number {
    const end = new RegExp(`^[ \\t]*${fence}[\`~]*[ \\t]*$`, "gmu");
    end.lastIndex = to;
    const isClosed = !this.#unclosed.has(fence) && end.test(this.#text);
    if (!isClosed) this.#warn(fence, from, "code block");
    this.#keep(this.#text.slice(this.#at, from), isClosed ? end.lastIndex : to);
    if (isClosed) this.#kept.push(this.#text.slice(from, end.lastIndex));
    return this.#at;
  }

  #readBox(title: string | undefined, from: number, to: number): number {
    boxBody.lastIndex = to;
    const [body = ""] = boxBody.exec(this.#text) ?? [];
    this.#keep(this.#text.slice(this.#at, from), to + body.length);
    const reader = new SourceReader(
      body.replace(/^(?: {4}|\t)/gmu, ""),
      this.#isMdx,
      this.#lineAt(to),
      this.#warnings,
    );
    this.#kept.push(title ? `**${title}**` : "", reader.read());
    return this.#at;
  }

  /** Leaves a comment out, with the line or the space before it that would be left. */
  #readComment(mark: string, from: number, to: number): number {
    const end = commentEnds[mark] ?? mark;
    const until = this.#unclosed.has(mark) ? -1 : this.#text.indexOf(end, to);
    if (until === -1) this.#warn(mark, from, "comment");
    if (until === -1 && mark !== "<!--") return to;
    const next = until === -1 ? this.#text.length : until + end.length;
    const before = this.#text.slice(this.#at, from);
    const spaces = before.slice(before.trimEnd().length);
    const after = this.#text.charAt(next);
    const kept = spaces.replace(/[^\n]/gu, "").slice(after === "\n" ? 1 : 0);
    const asked = askedAs.exec(this.#text.slice(to, next - end.length))?.[1];
    this.#keep(after.trim() === "" ? before.trimEnd() + kept : before, next);
    if (asked !== undefined) this.#kept.push(`\n<!-- asked as: ${asked.replaceAll("\n", ";")} -->\n`);
    return next;
  }

  #keep(markdown: string, until: number): void {
    this.#kept.push(toPlainMarkdown(markdown, this.#isMdx));
    this.#at = until;
  }

  #warn(mark: string, at: number, what: string): void {
    if (this.#unclosed.has(mark)) return;
    this.#unclosed.add(mark);
    const message = `The ${what} that begins with ${mark} is not closed.`;
    this.#warnings.push({ line: this.#lineAt(at), message });
  }

  #lineAt(at: number): number {
    this.#line += this.#text.slice(this.#counted, at).split("\n").length - 1;
    this.#counted = at;
    return this.#line;
  }
}

const template = /\{%[^{}\n]*%\}|\{\{[^{}\n]*\}\}|\{:[^{}\n]*\}/u.source;
const wikiLink = /\[\[(?:[^\][|\n]*\|)?(?<label>[^\][|\n]+)\]\]/u.source;
const inLines = new RegExp(`${code}|${template}|${wikiLink}`, "gu");
const contents = /^[ \t]*\[(?:\[_?toc_?\]|toc)\][ \t]*$/gimu;
const attributes = /\{[ \t]*[.#][^{}\n]*\}[ \t]*$/gmu;
// `:::tip Title` and `:::tip[Title]` of Docusaurus and VitePress, which end with `:::`.
const fencedBox = /^[ \t]*:{3,}[ \t]*(?:\{?[\w-]+\}?[ \t]*(?:\[(.*)\]|(.*)))?$/gmu;
const alert = /^([ \t]*>)[ \t]*\[!\w+\][ \t]*$/gmu;
const mdx =
  /^(?:import\s.*\bfrom\s+["'].*["'];?|import\s+["'].*["'];?|export\s+(?:const|default|function|let)\s.*)$/gmu;
// Quotes and lists deeper than in any real text, for which the lexer needs a call or a copy of the text each.
const deepQuote = /^((?: {0,3}>){12})[ >]+/gmu;
const deepItem = /^[ \t]{60,}(?=[-*+] |\d{1,9}[.)] )/gmu;

/** What is between code and comments, without what site generators add. */
function toPlainMarkdown(markdown: string, isMdx: boolean): string {
  const plain = isMdx ? markdown.replace(mdx, "") : markdown;
  return plain
    .replace(contents, "")
    .replace(inLines, (whole, ticks?: string, label = "") => (ticks === undefined ? label : whole))
    .replace(attributes, "")
    .replace(fencedBox, (_, one?: string, other?: string) => {
      const title = (one ?? other ?? "").trim();
      return title && `**${title}**`;
    })
    .replace(alert, "$1")
    .replace(deepQuote, "$1 ")
    .replace(deepItem, " ".repeat(60));
}
