/**
 * Makes plain Markdown of a text: without comments, without what site generators add (MDX, Liquid and shortcodes, attribute
 * lists, admonitions), and without what would make the lexer hide text or take long.
 *
 * @module
 */

import { changeLines, type Found, LineSearch, type Steps } from "./steps.ts";

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
    // A code block; longer fences are none: their ends would be a pattern that is too large. No backtick may follow: ```npm start``` is a line with code in it.
    /^[ \t]*(?<fence>`{3,99}(?=[^`\n]*$)|~{3,99}).*/u.source,
    // A box whose text is indented: `!!! note "Title"` of MkDocs; `??? question "Title"` is folded.
    /^(?<box>!!!|\?\?\?\+?)(?:[ \t]+[\w-]+)+[ \t]*(?:"(?<title>.*)")?[ \t]*$/u.source,
    // A comment: HTML's, MDX's, Obsidian's.
    /(?<comment><!--|\{\/\*|^ {0,3}%%|%%(?=.*?%%))/u.source,
    code,
  ].join("|"),
  "gmu",
);
const commentEnds: Readonly<Record<string, string>> = { "<!--": "-->", "{/*": "\\*/\\}", "%%": "%%" };
const behindBox = /^(?! {4}|\t|[ \t]*$)/gmu;
const longList = /[^;]*(?:;[^;]*){0,999}/gu;
const askedAs = /^\s*asked as:([\s\S]*?)(?:-->|\*\/\}|%%)?$/iu;

/** Takes the comments out of Markdown, and drops the beginning of a code block or comment that never ends. */
export function* readSource(markdown: string, isMdx = false): Steps<Source> {
  // U+2028 and U+2029 do not end a line in Markdown, but do in the lexer's patterns: a private heading would become text.
  const text = yield* changeLines(markdown.replace(/^\ufeff/u, ""), (lines) =>
    lines.replace(/\r\n?/gu, "\n").replace(/[\u2028\u2029]/gu, " "),
  );
  const warnings: KnowledgeWarning[] = [];
  return { text: yield* toPlain(text, isMdx, 1, warnings), warnings };
}

/** `line`: the one that the text begins at. */
function* toPlain(text: string, isMdx: boolean, line: number, warnings: KnowledgeWarning[]): Steps<string> {
  const kept: string[] = [];
  const search = new LineSearch(text);
  let [keptUntil, lineNow, countedUntil] = [0, line, 0];
  const keep = function* (until: number, next: number): Steps<void> {
    kept.push(yield* changeLines(text.slice(keptUntil, until), (lines) => withoutAdditions(lines, isMdx)));
    keptUntil = next;
  };
  const lineAt = (at: number) => {
    for (; countedUntil < at; countedUntil++) if (text.charAt(countedUntil) === "\n") lineNow++;
    return lineNow;
  };
  const unclosed = new Set<string>();
  const endOf = function* (what: string, mark: string, { index, end }: Found): Steps<number | undefined> {
    if (unclosed.has(mark)) return undefined;
    const ending = new RegExp(commentEnds[mark] ?? `^[ \\t]*${mark}[\`~]*[ \\t]*$`, "gmu");
    const found = yield* search.find(ending, end);
    if (found) return found.end;
    unclosed.add(mark);
    const message = `The ${what} that begins with ${mark} is not closed.`;
    warnings.push({ line: lineAt(index), message });
    return undefined;
  };
  let next = 0;
  for (;;) {
    const found = yield* search.find(beginnings, next);
    if (!found) break;
    const { fence, box, title, comment } = found.groups;
    const { index: from, end: to } = found;
    next = to;
    if (fence !== undefined) {
      // Without an end, the first line is left out, so that the rest is read as what it looks like.
      const end = yield* endOf("code block", fence, found);
      yield* keep(from, end ?? to);
      if (end !== undefined) kept.push(text.slice(from, end));
    } else if (box !== undefined) {
      const behind = yield* search.find(behindBox, to + 1);
      const end = behind ? behind.index - 1 : text.length;
      yield* keep(from, end);
      const inner = yield* changeLines(text.slice(to, end), (lines) => lines.replace(/^(?: {4}|\t)/gmu, ""));
      kept.push(title ? `**${title}**` : "", yield* toPlain(inner, isMdx, lineAt(to), warnings));
    } else if (comment !== undefined) {
      const mark = comment.trim();
      const end = (yield* endOf("comment", mark, found)) ?? (mark === "<!--" ? text.length : to);
      if (end === to) continue;
      const [, asked] = askedAs.exec(text.slice(to, end)) ?? [];
      // Of the same space or line break before and after it, one is left.
      const isBetween = /\s/u.test(text.charAt(end)) && text.charAt(end) === text.charAt(from - 1);
      yield* keep(from, isBetween ? end + 1 : end);
      // In comments that are no longer than what is read at once.
      for (const phrases of asked?.replaceAll("\n", ";").match(longList) ?? [])
        kept.push(`\n<!-- asked as: ${phrases} -->\n`);
    } else continue; // code in a line
    next = keptUntil;
  }
  yield* keep(text.length, text.length);
  return kept.join("");
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
function withoutAdditions(markdown: string, isMdx: boolean): string {
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
