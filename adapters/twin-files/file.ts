/**
 * A twin as a file: Markdown with YAML front matter.
 *
 * @module
 */

import { parseDocument } from "yaml";
import type { Twin } from "../../core/twins/twins.ts";

/** A twin as its file defines it. The times come from the file system. */
export type TwinFile = Omit<Twin, "createdAt" | "updatedAt">;

/** Options of {@link parseTwinFile}. */
export interface TwinFileOptions {
  /** The engine of a file that names none. */
  readonly defaultEngine: string;
  /** The engines that a file may name. */
  readonly engines: readonly string[];
}

/** A twin file cannot be used. The message is one line that names the file, what is wrong and what is accepted. */
export class TwinFileError extends Error {
  override readonly name = "TwinFileError";

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super(`Twin file ${JSON.stringify(file)}: ${problem}`, options);
  }
}

/** The largest twin file, in bytes. */
export const largestTwinFile = 1024 * 1024;

/** The problem of a larger one. */
export const tooLarge = "is larger than 1 MiB.";

/**
 * Reads a twin from the bytes of the file called `file`.
 *
 * @throws {TwinFileError} if it is not UTF-8, has no front matter, an unknown key or a value that is not accepted.
 */
export function parseTwinFile(file: string, bytes: Uint8Array, options: TwinFileOptions): TwinFile {
  if (bytes.length > largestTwinFile) throw new TwinFileError(file, tooLarge);
  const { frontMatter, body } = splitFile(file, decode(file, bytes));
  const values = readValues(file, frontMatter, options.engines);
  return {
    id: readText(values, "id") ?? idFromName(file),
    name: readText(values, "name") ?? missing(file, "name"),
    description: readText(values, "description"),
    avatarUrl: readText(values, "avatarUrl"),
    greeting: readText(values, "greeting"),
    tags: readList(values, "tags") ?? [],
    engine: readText(values, "engine") ?? options.defaultEngine,
    model: readText(values, "model"),
    temperature: readNumber(values, "temperature"),
    access: readList(values, "access"),
    instructions: body,
  };
}

function decode(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes); // also removes a byte order mark
  } catch (cause) {
    throw new TwinFileError(file, "is not valid UTF-8.", { cause });
  }
}

/** Splits a file at the lines of three dashes around its front matter. Line ends become `\n`. */
function splitFile(file: string, text: string): { frontMatter: string; body: string } {
  const lines = text.split(/\r\n?|\n/u).map((line) => (/^---[ \t]*$/u.test(line) ? "---" : line));
  if (lines[0] !== "---") {
    throw new TwinFileError(file, 'must begin with YAML front matter between two lines "---".');
  }
  const end = lines.indexOf("---", 1);
  if (end === -1) throw new TwinFileError(file, 'the front matter has no closing line "---".');
  return {
    frontMatter: lines.slice(1, end).join("\n"),
    body: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

type Values = ReadonlyMap<string, unknown>;

function readValues(file: string, yaml: string, engines: readonly string[]): Values {
  const values = parseYaml(file, yaml);
  const accepted = fieldsOf(engines);
  for (const [key, value] of values) {
    const field = accepted.get(key);
    if (!field) {
      const known = [...accepted.keys()].join(", ");
      throw new TwinFileError(
        file,
        `${JSON.stringify(key)} is not a known key; the known keys are ${known}.`,
      );
    }
    if (!field.accepts(value)) throw new TwinFileError(file, `${key} must be ${field.expected}.`);
  }
  return values;
}

function parseYaml(file: string, yaml: string): Values {
  // The core schema knows strings, numbers, booleans, null, lists and maps: nothing that could run or load.
  const document = parseDocument(yaml, { schema: "core", stringKeys: true, logLevel: "silent" });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) {
    const line = (problem.linePos?.[0].line ?? 0) + 1; // after the opening dashes
    const [message] = problem.message.split(/ at line \d|\n/u);
    throw new TwinFileError(file, `line ${line} is not valid front matter: ${message}.`, { cause: problem });
  }
  const content = toPlain(file, () => document.toJS({ maxAliasCount: 0 }));
  if (content === null) return new Map();
  if (typeof content !== "object" || Array.isArray(content)) {
    throw new TwinFileError(file, 'the front matter must consist of lines such as "name: Ada".');
  }
  return new Map(Object.entries(content));
}

function toPlain(file: string, convert: () => unknown): unknown {
  try {
    return convert();
  } catch (cause) {
    throw new TwinFileError(file, "the front matter must not use YAML aliases.", { cause });
  }
}

interface Field {
  readonly expected: string;
  accepts(value: unknown): boolean;
}

/** Ids are used in paths: only characters that need no escaping there. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u;
const idRule = 'a string of 1 to 64 letters, digits, ".", "_" and "-", with a letter or digit first';

const itemRule = "of up to 255 characters on one line";

function fieldsOf(engines: readonly string[]): ReadonlyMap<string, Field> {
  return new Map<string, Field>([
    ["id", { expected: idRule, accepts: (value) => typeof value === "string" && idPattern.test(value) }],
    [
      "name",
      { expected: "a string of 1 to 100 characters on one line", accepts: (value) => isLine(value, 100) },
    ],
    ["description", { expected: "a string that is not empty", accepts: isText }],
    ["avatarUrl", { expected: "an http or https address", accepts: isWebAddress }],
    ["greeting", { expected: "a string that is not empty", accepts: isText }],
    ["tags", { expected: `a list of strings ${itemRule}, such as [coffee, howto]`, accepts: isList }],
    [
      "engine",
      {
        expected: `one of ${engines.join(", ")}`,
        accepts: (value) => engines.some((name) => name === value),
      },
    ],
    [
      "model",
      { expected: "a string of 1 to 200 characters on one line", accepts: (value) => isLine(value, 200) },
    ],
    ["temperature", { expected: "a number from 0 to 2", accepts: isTemperature }],
    [
      "access",
      { expected: `a list of owners ${itemRule}, such as [alice, bob]; [] means nobody`, accepts: isList },
    ],
  ]);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "" && !/[^\P{Cc}\n\t]|\p{Cs}/u.test(value);
}

function isLine(value: unknown, longest: number): boolean {
  return typeof value === "string" && isText(value) && !/\p{Cc}/u.test(value) && [...value].length <= longest;
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => isLine(item, 255));
}

function isWebAddress(value: unknown): boolean {
  return typeof value === "string" && /^https?:\/\//iu.test(value) && URL.canParse(value);
}

function isTemperature(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= 2;
}

function readText(values: Values, key: string): string | null {
  const value = values.get(key);
  return typeof value === "string" ? value : null;
}

function readNumber(values: Values, key: string): number | null {
  const value = values.get(key);
  return typeof value === "number" ? value : null;
}

function readList(values: Values, key: string): readonly string[] | null {
  const value = values.get(key);
  return Array.isArray(value) ? value.map(String) : null;
}

function missing(file: string, key: string): never {
  throw new TwinFileError(file, `${key} is missing.`);
}

function idFromName(file: string): string {
  const id = file.replace(/\.md$/u, "");
  if (idPattern.test(id)) return id;
  throw new TwinFileError(
    file,
    `the file's name cannot be the twin's id; rename it, or set id to ${idRule}.`,
  );
}
