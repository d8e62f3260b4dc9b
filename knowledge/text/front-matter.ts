/**
 * The properties that a document begins with, after blank lines: YAML between lines of `---`, of which the second may be `...`,
 * TOML between `+++`, or JSON in braces.
 *
 * @module
 */

import type { KnowledgeWarning } from "./source.ts";
import { readYaml } from "./yaml.ts";

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
  const [blank = ""] = /^(?:[ \t]*\r?\n)*/u.exec(text) ?? [];
  const beginning = text.slice(blank.length, blank.length + longest);
  const [whole, mark = "", inner = ""] =
    /^(---|\+\+\+)[ \t]*\r?\n([\s\S]*?)(?<=\n)(?:\1|\.{3})[ \t]*(?:\r?\n|$)/u.exec(beginning) ??
    /^()(\{\r?\n[\s\S]*?\r?\n\})[ \t]*(?:\r?\n|$)/u.exec(beginning) ??
    [];
  const linesBefore = blank.split("\n").length - 1;
  if (whole === undefined) {
    const message = 'The front matter has no closing line "---", and is read as text.';
    const isOpen = /^---[ \t]*\r?\n[\w-]+:\s/u.test(beginning);
    return isOpen ? { ...none, warnings: [{ line: linesBefore + 1, message }] } : none;
  }
  // Between two rulers, there may be ordinary text.
  if (mark === "---" && inner.trim() !== "" && !/^[ \t]*["']?[\w-]+["']?[ \t]*:/mu.test(inner)) return none;
  const rest = (blank + whole).replace(/[^\n]/gu, "") + text.slice(blank.length + whole.length);
  const { properties, line } = parse(mark === "+++" ? tomlToYaml(inner) : inner);
  if (line !== undefined) {
    const message = "The front matter cannot be read, and is left out.";
    return { ...none, text: rest, warnings: [{ line: linesBefore + line + (mark === "" ? 0 : 1), message }] };
  }
  const askedAs = named.flatMap((name) => phrasesOf(properties[name]));
  return { text: rest, title: phrasesOf(properties.title)[0], askedAs, warnings: [] };
}

/** The strings, numbers, and lists at the top of a TOML document are written as in YAML; there is nothing else to know of it. */
function tomlToYaml(toml: string): string {
  const [top = ""] = toml.split(/^[ \t]*\[/mu, 1);
  return top.replace(/^[ \t]*([\w-]+)[ \t]*=[ \t]*/gmu, "$1: ");
}

/** The properties that YAML says, or else the line of the fault, from 1. JSON is YAML, too. */
function parse(yaml: string): { properties: Readonly<Record<string, unknown>>; line?: number } {
  const { document, lines, beyond } = readYaml(yaml);
  const fault = document.errors[0]?.pos[0] ?? beyond?.at;
  if (fault !== undefined) return { properties: {}, line: lines.linePos(fault).line };
  try {
    const value: unknown = document.toJS();
    return { properties: typeof value === "object" ? { ...value } : {} };
  } catch {
    return { properties: {}, line: 1 }; // its aliases stand for too much
  }
}

function phrasesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(phrasesOf);
  if (typeof value !== "string" && typeof value !== "number") return [];
  return String(value).trim() === "" ? [] : [String(value).trim()];
}
