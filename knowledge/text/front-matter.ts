/**
 * The properties that a document begins with: YAML between lines of `---`, TOML between `+++`, or JSON in braces.
 *
 * @module
 */

import { LineCounter, parseDocument } from "yaml";
import type { KnowledgeWarning } from "./source.ts";

/** A document without its properties. */
export interface Described {
  /** The text; its first lines are empty where the properties were. */
  readonly text: string;
  readonly title: string | undefined;
  /** What else the document is called, or asked for by: `aliases`, `keywords`, `tags`, `description`. */
  readonly askedAs: readonly string[];
  readonly warnings: readonly KnowledgeWarning[];
}

const named = ["aliases", "keywords", "tags", "description"];
const longest = 64 * 1024;

/** Reads the properties. What cannot be parsed is left out, with a warning; text that only looks like them stays. */
export function readFrontMatter(document: string): Described {
  const text = document.replace(/^\ufeff/u, "");
  const none = { text, title: undefined, askedAs: [], warnings: [] };
  const [whole, mark = "", inner = ""] =
    /^(---|\+\+\+)[ \t]*\r?\n([\s\S]*?)(?:\r?\n)?\1[ \t]*(?:\r?\n|$)/u.exec(text.slice(0, longest)) ??
    /^()(\{\r?\n[\s\S]*?\r?\n\})[ \t]*(?:\r?\n|$)/u.exec(text.slice(0, longest)) ??
    [];
  if (whole === undefined) return none;
  // Between two rulers, there may be ordinary text.
  if (mark === "---" && inner.trim() !== "" && !/^\s*["']?[\w-]+["']?\s*:/mu.test(inner)) return none;
  const rest = whole.replace(/[^\n]/gu, "") + text.slice(whole.length);
  const { properties, line } = mark === "+++" ? parseToml(inner) : parseYaml(inner);
  if (line !== undefined) {
    const message = "The front matter cannot be read, and is left out.";
    return { ...none, text: rest, warnings: [{ line: line + (mark === "" ? 0 : 1), message }] };
  }
  const askedAs = named.flatMap((name) => phrasesOf(properties[name]));
  return { text: rest, title: phrasesOf(properties.title)[0], askedAs, warnings: [] };
}

interface Parsed {
  readonly properties: Readonly<Record<string, unknown>>;
  /** The line of the fault, from 1. */
  readonly line?: number | undefined;
}

/** JSON is YAML, too. */
function parseYaml(text: string): Parsed {
  const lineCounter = new LineCounter();
  // What the last two do takes the square of a hostile text's length.
  const options = { logLevel: "silent", lineCounter, uniqueKeys: false, prettyErrors: false } as const;
  const parsed = parseDocument(text, options);
  const [error] = parsed.errors;
  if (error) return { properties: {}, line: lineCounter.linePos(error.pos[0]).line };
  try {
    const value: unknown = parsed.toJS();
    return { properties: typeof value === "object" ? { ...value } : {} };
  } catch {
    return { properties: {}, line: 1 }; // its aliases stand for too much
  }
}

/** The strings, and lists of strings, at the top of a TOML document: there is nothing else to know of it. */
function parseToml(text: string): Parsed {
  const properties: Record<string, unknown> = {};
  for (const [, name = "", value = ""] of text.matchAll(
    /^\s*(\w+)\s*=\s*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\[[^\]]*\])/gmu,
  )) {
    const strings = [...value.matchAll(/"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'/gu)].map(
      ([, one, other]) => one ?? other ?? "",
    );
    properties[name] = value.startsWith("[") ? strings : strings[0];
  }
  const bad = text.split("\n").findIndex((line) => /^\s*[^#\s[\]"'{}][^=]*$/u.test(line));
  return bad === -1 || Object.keys(properties).length > 0 ? { properties } : { properties, line: bad + 1 };
}

function phrasesOf(value: unknown): string[] {
  if (typeof value === "string") return value.trim() === "" ? [] : [value.trim()];
  if (typeof value === "number") return [String(value)];
  return Array.isArray(value) ? value.flatMap(phrasesOf) : [];
}
