/**
 * A twin's file with one more answer, as a person would write it: a section, what it is asked as, and a golden question.
 *
 * @module
 */

import { isMap, isNode, isSeq, parseDocument } from "yaml";
import { yieldThread } from "../../core/base/in-parts.ts";
import type { TaughtAnswer } from "../../core/twins/reader.ts";
import { closingLine, longestFrontMatter } from "./file.ts";
import { mostAsked } from "./questions.ts";

/** What is wrong with an answer. */
export interface TeachingFault {
  readonly path: keyof TaughtAnswer | "body";
  readonly message: string;
}

/** A line of a file, with its end, which the last one may lack. */
interface Line {
  readonly text: string;
  readonly end: string;
}

/** How much of a body is read before others have their turn, in UTF-16 code units: with each line on its own some 20 ms. */
const readAtOnce = 32_768;

/** What is read of an answer to see that it begins with a text, in UTF-16 code units. */
const answerBeginning = 1_000;

/**
 * Adds an answer to a file that can be used, unless its section has it for that question: a request may come again. All other
 * bytes stay as they are.
 */
export async function teach(bytes: Uint8Array, taught: TaughtAnswer): Promise<Uint8Array | TeachingFault> {
  // Loaded here, because a folder is opened without it.
  const { readInstructions } = await import("../../knowledge/mod.ts");
  const question = taught.question.trim();
  const written = taught.heading.trim();
  const fault = notOnALine({ question, heading: written });
  if (fault) return fault;
  // As it is read: `code`, links and the like are their texts.
  const [section] = readInstructions("", `## ${written}\n\ntext\n\n## another\n\ntext`).sections;
  if (!section || section.heading === "another" || section.level !== 2)
    return { path: "heading", message: "must be a heading that opens a section of knowledge" };

  const beginning = taught.answer.trim().slice(0, answerBeginning);
  const [answered] = readInstructions("", `## its heading\n\n${beginning}`).sections;
  if (answered?.heading !== "its heading")
    return { path: "answer", message: "must begin with a text: a heading or a comment says nothing" };

  const file = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const { matter, closing, bodyAt } = frontMatterOf(file);
  const [opening, ...keys] = matter;
  const eol = opening?.end || "\n";
  const answer = [...linesFrom(taught.answer.trim(), 0)].map(({ text }) => text);
  const said = [`<!-- asked as: ${question} -->`, "", ...answer];
  const { since, at, before, after } = await placeIn(file, bodyAt, written);
  const isSaid = `${file.slice(since, at)}${eol}`.includes(said.join(eol) + eol);
  const added = isSaid ? [] : [...before, ...said, ...after];
  const kept = file.slice(bodyAt, at);
  const tested = withTest(keys, eol, { ask: question, source: section.heading });
  const all = [
    ...[opening, ...(hasRoomFor(tested) ? tested : keys)].map(
      (line) => (line?.text ?? "") + (line?.end ?? ""),
    ),
    (closing?.text ?? "---") + (closing?.end || eol),
    kept,
    isSaid || kept === "" || /[\r\n]$/u.test(kept) ? "" : eol,
    ...added.map((text) => text + eol),
    file.slice(at),
  ];
  return new TextEncoder().encode(all.join(""));
}

function notOnALine(texts: Pick<TaughtAnswer, "question" | "heading">): TeachingFault | undefined {
  for (const path of ["question", "heading"] as const) {
    if (texts[path].includes("-->")) return { path, message: 'must not have "-->", which ends a comment' };
    if (/[\p{Cc}\u2028\u2029]/u.test(texts[path]))
      return { path, message: "must be one line, without control characters" };
  }
  return undefined;
}

/** The lines of a text from a place on, with where they begin. */
function* linesFrom(text: string, from: number): Generator<Line & { readonly at: number }> {
  const ends = /\r\n?|\n/gu;
  ends.lastIndex = from;
  for (let at = from; at < text.length; ) {
    const until = ends.exec(text)?.index ?? text.length;
    const next = until === text.length ? until : ends.lastIndex;
    yield { at, text: text.slice(at, until), end: text.slice(until, next) };
    at = next;
  }
}

/** The lines before the one that closes the front matter, that one, and where the body begins. */
function frontMatterOf(file: string): {
  readonly matter: readonly Line[];
  readonly closing: Line | undefined;
  readonly bodyAt: number;
} {
  const matter: Line[] = [];
  for (const line of linesFrom(file, 0)) {
    const { at, text, end } = line;
    if (matter.length > 0 && closingLine.test(text))
      return { matter, closing: line, bodyAt: at + text.length + end.length };
    matter.push(line);
  }
  return { matter, closing: undefined, bodyAt: file.length };
}

/** Whether front matter may be as long. */
function hasRoomFor(lines: readonly Line[]): boolean {
  const text = lines.map(({ text, end }) => text + end).join("");
  return new TextEncoder().encode(text).length <= longestFrontMatter;
}

/** Front matter with a golden question, which it may have, unless it has as many as are asked. */
function withTest(
  lines: readonly Line[],
  eol: string,
  { ask, source }: { readonly ask: string; readonly source: string },
): Line[] {
  const yaml = lines.map(({ text }) => text).join("\n");
  const { contents } = parseDocument(yaml, { stringKeys: true, uniqueKeys: false, logLevel: "silent" });
  const [asked, from] = [JSON.stringify(ask), JSON.stringify(source)];
  const tests = isMap(contents) ? contents.get("tests", true) : undefined;
  if (!isSeq(tests)) {
    const added = ["tests:", `  - ask: ${asked}`, `    source: ${from}`];
    // A map in braces ends with them.
    if (isMap(contents) && contents.flow) {
      const [, until = 0] = contents.range ?? [];
      const item = `tests: [{ ask: ${asked}, source: ${from} }]`;
      const comma = /,\s*$/u.test(yaml.slice(0, until - 1)) || contents.items.length === 0 ? " " : ", ";
      return insert(lines, until - 1, `${comma}${item}`);
    }
    return [...lines, ...added.map((text) => ({ text, end: eol }))];
  }
  const isThere = tests.items.some(
    (item) => isMap(item) && item.get("ask") === ask && item.get("source") === source,
  );
  if (isThere || tests.items.length >= mostAsked) return [...lines];
  const last = tests.items.at(-1);
  const [begin = 0] = tests.range ?? [];
  const [, until = begin + 1] = isNode(last) ? (last.range ?? []) : [];
  if (tests.flow) {
    const item = `{ ask: ${asked}, source: ${from} }`;
    return insert(lines, until, last === undefined ? item : `, ${item}`);
  }
  const indent = " ".repeat(begin - (yaml.lastIndexOf("\n", begin - 1) + 1));
  const next = yaml.charAt(until - 1) === "\n" ? until : yaml.indexOf("\n", until) + 1;
  const at = next === 0 ? lines.length : yaml.slice(0, next).split("\n").length - 1;
  const added = [`${indent}- ask: ${asked}`, `${indent}  source: ${from}`];
  return [...lines.slice(0, at), ...added.map((text) => ({ text, end: eol })), ...lines.slice(at)];
}

/** Lines with a text at an offset, as if all ended with one character. */
function insert(lines: readonly Line[], offset: number, added: string): Line[] {
  let rest = offset;
  let done = false;
  return lines.map((line) => {
    const here = !done && rest <= line.text.length;
    const at = rest;
    rest -= line.text.length + 1;
    if (!here) return line;
    done = true;
    return { ...line, text: line.text.slice(0, at) + added + line.text.slice(at) };
  });
}

/**
 * Where an answer goes in the body of a file: at the end of the section that has the heading already, which begins `since` there,
 * or of the file.
 */
async function placeIn(
  file: string,
  from: number,
  heading: string,
): Promise<{
  readonly since: number;
  readonly at: number;
  readonly before: string[];
  readonly after: string[];
}> {
  const headingIn = createHeadingFinder();
  const levels: number[] = [];
  let since = file.length;
  let isOwn = false;
  let gap = [""]; // also below front matter
  let left = readAtOnce;
  for (const { at, text } of linesFrom(file, from)) {
    const found = headingIn(text);
    if (found && isOwn) return { since, at, before: gap, after: [""] };
    if (found) {
      isOwn = found.text === heading;
      since = at;
      levels.push(found.level);
    }
    gap = text.trim() === "" ? [] : [""];
    left -= text.length + 1;
    if (left > 0) continue;
    left = readAtOnce;
    await yieldThread();
  }
  if (isOwn) return { since, at: file.length, before: gap, after: [] };
  const [first, ...others] = levels;
  const isTitle = first === 1 && others.length > 0 && !others.includes(1);
  const level = (isTitle ? others : levels).reduce((least, each) => Math.min(least, each), 7);
  const signs = "#".repeat(level === 7 ? 2 : level);
  return { since: file.length, at: file.length, before: [...gap, `${signs} ${heading}`, ""], after: [] };
}

/** Finds headings of Markdown in lines that come one after the other: those outside of code and comments. */
function createHeadingFinder(): (
  line: string,
) => { readonly level: number; readonly text: string } | undefined {
  let fence: string | undefined;
  let inComment = false;
  return (line) => {
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/u.exec(line) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
      return undefined;
    }
    if (inComment) {
      inComment = !line.includes("-->");
      return undefined;
    }
    fence = mark;
    inComment = line.lastIndexOf("<!--") > line.lastIndexOf("-->");
    const [opening = "", signs = ""] = /^ {0,3}(#{1,6})[ \t]+/u.exec(line) ?? [];
    if (signs === "") return undefined;
    const rest = withoutEnd(line.slice(opening.length), " \t");
    const open = withoutEnd(rest, "#");
    const isClosed = open.endsWith(" ") || open.endsWith("\t");
    return { level: signs.length, text: isClosed ? withoutEnd(open, " \t") : rest };
  };
}

/** A text without those of some characters that it ends with. A pattern would look at a long run of them again and again. */
function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
