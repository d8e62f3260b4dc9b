/**
 * A twin's file with one more answer, as a person would write it: a section, what it is asked as, and a golden question.
 *
 * @module
 */

import { isMap, isNode, isSeq, parseDocument } from "yaml";
import type { TaughtAnswer } from "../../core/twins/reader.ts";

/** What is wrong with an answer. */
export interface TeachingFault {
  readonly path: keyof TaughtAnswer | "body";
  readonly message: string;
}

/** A line of a file, with its end. */
interface Line {
  readonly text: string;
  readonly end: string;
}

/**
 * Adds an answer to a file that can be used. All other bytes stay as they are.
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

  const file = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const lines = linesOf(file);
  const end = lines.findIndex(({ text }, at) => at > 0 && /^---[ \t]*$/u.test(text));
  const eol = lines.find((line) => line.end !== "")?.end ?? "\n";
  const body = lines.slice(end + 1);
  const matter = withTest(lines.slice(1, end), eol, { ask: question, source: section.heading });
  const answer = linesOf(taught.answer.trim()).map(({ text }) => text);
  const said = [`<!-- asked as: ${question} -->`, "", ...answer];
  const { at, before, after } = placeIn(body, written);
  const added = [...before, ...said, ...after].map((text) => ({ text, end: eol }));
  const last = body[at - 1];
  const kept = last?.end === "" ? [...body.slice(0, at - 1), { ...last, end: eol }] : body.slice(0, at);
  const closing =
    lines[end]?.end === "" ? { text: "---", end: eol } : (lines[end] ?? { text: "---", end: eol });
  const all = [...lines.slice(0, 1), ...matter, closing, ...kept, ...added, ...body.slice(at)];
  return new TextEncoder().encode(all.map((line) => line.text + line.end).join(""));
}

function notOnALine(texts: Pick<TaughtAnswer, "question" | "heading">): TeachingFault | undefined {
  for (const path of ["question", "heading"] as const) {
    if (texts[path].includes("-->")) return { path, message: 'must not have "-->", which ends a comment' };
    if (/[\p{Cc}\u2028\u2029]/u.test(texts[path]))
      return { path, message: "must be one line, without control characters" };
  }
  return undefined;
}

function linesOf(text: string): Line[] {
  const pieces = text.split(/(\r\n?|\n)/u);
  const lines: Line[] = [];
  for (let at = 0; at < pieces.length; at += 2)
    lines.push({ text: pieces[at] ?? "", end: pieces[at + 1] ?? "" });
  if (lines.at(-1)?.text === "") lines.pop();
  return lines;
}

/** Front matter with one more golden question. */
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

/** Where an answer goes in a body: at the end of the section that has the heading already, or of the file. */
function placeIn(
  body: readonly Line[],
  heading: string,
): { readonly at: number; readonly before: string[]; readonly after: string[] } {
  const headings = headingsIn(body);
  const own = headings.findIndex(({ text }) => text === heading);
  const until = own === -1 ? undefined : headings[own + 1]?.at;
  const at = until ?? body.length;
  const last = body[at - 1];
  const gap = last?.text.trim() === "" ? [] : [""]; // also below front matter
  if (own !== -1) return { at, before: gap, after: until === undefined ? [] : [""] };
  const [first, ...others] = headings;
  const isTitle = first?.level === 1 && others.length > 0 && others.every(({ level }) => level > 1);
  const levels = (isTitle ? others : headings).map(({ level }) => level);
  const level = levels.length === 0 ? 2 : Math.min(...levels);
  return { at, before: [...gap, `${"#".repeat(level)} ${heading}`, ""], after: [] };
}

/** The headings of Markdown that are lines of their own, outside of code and comments. */
function headingsIn(
  lines: readonly Line[],
): { readonly at: number; readonly level: number; readonly text: string }[] {
  const found: { at: number; level: number; text: string }[] = [];
  let fence: string | undefined;
  let inComment = false;
  for (const [at, { text }] of lines.entries()) {
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/u.exec(text) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
      continue;
    }
    if (inComment) {
      inComment = !text.includes("-->");
      continue;
    }
    fence = mark;
    inComment = text.lastIndexOf("<!--") > text.lastIndexOf("-->");
    const [, signs = "", title = ""] = /^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#*)?[ \t]*$/u.exec(text) ?? [];
    if (signs !== "") found.push({ at, level: signs.length, text: title });
  }
  return found;
}
