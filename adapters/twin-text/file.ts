/**
 * A twin as a text: Markdown with YAML front matter, wherever it is kept.
 *
 * @module
 */

import { type Document, isCollection, isMap, isNode, isScalar, visit } from "yaml";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { oneOf, type Rule, type RulesFor } from "../../core/base/rules.ts";
import type { AuthorRules, GoldenQuestion, TwinFault } from "../../core/twins/reader.ts";
import {
  type KnowledgeMode,
  knowledgeRule,
  languageRule,
  type Twin,
  temperatureRule,
  tokensRule,
  twinIdPattern,
} from "../../core/twins/twins.ts";
import { deepest, type ReadYaml, readYaml } from "../../knowledge/text/yaml.ts";

/** A twin as its file defines it. The times, and further documents, come from where it is kept. */
export interface TwinFile {
  readonly twin: Omit<Twin, "id" | "createdAt" | "updatedAt" | "documents">;
  /** Undefined: the file names none, and neither does its name. */
  readonly id: string | undefined;
  readonly tests: readonly GoldenQuestion[];
  /** The line of the file that the instructions begin on, from 1. */
  readonly instructionsLine: number;
}

/** The engines that a file may name, unless the host has others. */
export const usualEngines: readonly string[] = ["knowledge", "openai", "echo"];

/** Options of {@link readTwinFile}. */
export interface TwinFileOptions {
  /** The engine of a file that names none. */
  readonly defaultEngine: string;
  /** The engines that a file may name. */
  readonly engines: readonly string[];
  /** What is wrong with a name under `tools`, as the end of a sentence. Undefined: nothing. Default: nothing ever is. */
  readonly toolProblem?: ((name: string) => string | undefined) | undefined;
  /** What its author may choose, who is not the operator. Absent: anything. */
  readonly author?: Pick<AuthorRules, "id" | "models"> | undefined;
  /** What a file's name gives for an id, if it names none itself. Absent: it has none then. */
  readonly idFromName?: string | undefined;
}

/** A twin's file cannot be used. */
export class TwinFaults extends Error {
  override readonly name = "TwinFaults";
  /** At least one. */
  readonly faults: readonly [TwinFault, ...TwinFault[]];

  constructor(faults: readonly [TwinFault, ...TwinFault[]], options?: ErrorOptions) {
    super(faults[0].message, options);
    this.faults = faults;
  }
}

/** The largest twin file, in bytes. */
export const largestTwinFile = 1024 * 1024;

/** The longest front matter, in bytes. */
export const longestFrontMatter: number = 64 * 1024;

/** The problem of a larger one. */
export const tooLarge = "is larger than 1 MiB.";

/**
 * Reads a twin from the bytes of its file.
 *
 * @throws {TwinFaults} if it is not UTF-8, has no front matter, an unknown key or a value that is not accepted: with all
 * faults that can be told at once.
 */
export function readTwinFile(bytes: Uint8Array, options: TwinFileOptions): TwinFile {
  if (bytes.length > largestTwinFile) refuse(tooLarge);
  const { frontMatter, body, line } = splitFile(decode(bytes));
  const { values, lineOf } = readFrontMatter(frontMatter, options);
  const twin = {
    name: values.name,
    description: values.description ?? null,
    avatarUrl: values.avatarUrl ?? null,
    greeting: values.greeting ?? null,
    tags: values.tags ?? [],
    engine: values.engine ?? options.defaultEngine,
    model: values.model ?? null,
    temperature: values.temperature ?? null,
    access: values.access ?? null,
    instructions: body,
    language: values.language ?? null,
    knowledge: values.knowledge ?? null,
    tools: values.tools ?? [],
    confirm: values.confirm ?? [],
    tokensPerDay: values.tokensPerDay ?? null,
    handover: values.handover ?? false,
  };
  const tests = (values.tests ?? []).map((test, at) => toGoldenQuestion(test, lineOf(["tests", at, "ask"])));
  return { twin, id: values.id ?? options.idFromName, tests, instructionsLine: line };
}

/** A fault of the file as a whole, or of a line of it. */
function refuse(message: string, line = 1, cause?: unknown): never {
  throw new TwinFaults([{ path: "body", line, message }], { cause });
}

/** A text may be given alone, or in a list of texts. */
function toGoldenQuestion({ ask, source, says, never }: WrittenTest, line: number): GoldenQuestion {
  return {
    ask,
    line,
    ...(source !== undefined && { source }),
    says: [says ?? []].flat(),
    never: [never ?? []].flat(),
  };
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes); // also removes a byte order mark
  } catch (cause) {
    return refuse("is not valid UTF-8.", 1, cause);
  }
}

/** A line that ends front matter: YAML also ends with three dots. */
export const closingLine = /^(?:---|\.\.\.)[ \t]*$/mu;

/** Splits a file at the lines around its front matter. Line ends become `\n`. */
function splitFile(text: string): { frontMatter: string; body: string; line: number } {
  const lines = text.split("\r\n").join("\n").split("\r").join("\n"); // a pattern takes five times as long
  const [opening] = /^---[ \t]*(?=\n|$)/u.exec(lines) ?? [];
  if (opening === undefined) refuse('must begin with YAML front matter between two lines "---".');
  const closing = new RegExp(`\\n${closingLine.source}`, "gmu");
  closing.lastIndex = opening.length;
  const end = closing.exec(lines);
  if (!end) refuse('the front matter has no closing line "---".');
  const frontMatter = lines.slice(opening.length + 1, end.index);
  if (new TextEncoder().encode(frontMatter).length > longestFrontMatter)
    refuse("the front matter is longer than 64 KiB; texts belong below it.");
  const rest = lines.slice(closing.lastIndex);
  const body = rest.trim();
  const begin = body === "" ? end.index + 1 : lines.length - rest.trimStart().length;
  let line = 1;
  for (let at = 0; at < begin; at++) if (lines.charAt(at) === "\n") line++;
  return { frontMatter, body, line };
}

/** The values of front matter, after their rules have accepted them. */
interface FrontMatter {
  readonly id?: string;
  readonly name: string;
  readonly description?: string;
  readonly avatarUrl?: string;
  readonly greeting?: string;
  readonly tags?: readonly string[];
  readonly engine?: string;
  readonly model?: string;
  readonly temperature?: number;
  readonly access?: readonly string[];
  readonly language?: string;
  readonly knowledge?: KnowledgeMode;
  readonly tools?: readonly string[];
  readonly confirm?: readonly string[];
  readonly tokensPerDay?: number;
  readonly handover?: boolean;
  readonly tests?: readonly WrittenTest[];
}

interface WrittenTest {
  readonly ask: string;
  readonly source?: string | null;
  readonly says?: string | readonly string[];
  readonly never?: string | readonly string[];
}

/** Front matter that was read. */
interface ReadFrontMatter {
  readonly values: FrontMatter;
  /** The line of the file that a value is on, from 1. */
  lineOf(path: Path): number;
}

type Path = readonly [key: string, ...(string | number)[]];

function readFrontMatter(
  yaml: string,
  { engines, toolProblem, author, idFromName }: TwinFileOptions,
): ReadFrontMatter {
  const { document, lines } = parseYaml(yaml);
  // By their keys: a map looks at all of its items for one.
  const { contents } = document;
  const nodes = new Map(
    isMap(contents) ? contents.items.map(({ key, value }) => [isScalar(key) && key.value, value]) : [],
  );
  function lineOf([key, ...path]: Path): number {
    const value = nodes.get(key);
    const node = path.length > 0 && isCollection(value) ? value.getIn(path, true) : value;
    const [offset = 0] = isNode(node) ? (node.range ?? []) : [];
    return lines.linePos(offset).line + 1; // after the opening dashes
  }
  const values = valuesOf(document);
  const rules: Readonly<Record<string, Rule>> = rulesFor(engines);
  const faults: TwinFault[] = [];
  for (const [key, value] of Object.entries(values)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    const line = lineOf([key]);
    if (!rule) {
      const known = Object.keys(rules).join(", ");
      const message = `${JSON.stringify(key)} is not a known key; the known keys are ${known}.`;
      faults.push({ path: key, line, message });
    } else if (!rule.accepts(value))
      faults.push({ path: key, line, message: `${key} must be ${rule.expected}.` });
  }
  for (const path of ["tools", "confirm"] as const) {
    const named: unknown = values[path];
    const tools: readonly unknown[] = Array.isArray(named) ? named : [];
    for (const [at, tool] of tools.entries()) {
      const problem = isString(tool) ? toolProblem?.(tool) : undefined;
      if (problem === undefined) continue;
      faults.push({ path, line: lineOf([path, at]), message: `${path} must be known: ${problem}.` });
    }
  }
  if (author) {
    for (const [path, message] of authorFaults(values, author))
      faults.push({ path, line: lineOf([path]), message });
  }
  if (!Object.hasOwn(values, "id") && idFromName !== undefined && !idRule.accepts(idFromName)) {
    const message = `the file's name cannot be the twin's id; rename it, or set id to ${idRule.expected}.`;
    faults.push({ path: "id", line: 1, message });
  }
  if (!Object.hasOwn(values, "name")) faults.push({ path: "name", line: 1, message: "name is missing." });
  const [first, ...others] = faults;
  if (first) throw new TwinFaults([first, ...others]);
  return { values: values as unknown as FrontMatter, lineOf };
}

/** What an author who is not the operator may not say. */
function authorFaults(
  values: JsonObject,
  { id, models }: NonNullable<TwinFileOptions["author"]>,
): [path: string, message: string][] {
  const faults: [path: string, message: string][] = [];
  if (id !== undefined && !idRule.accepts(id)) faults.push(["id", `id must be ${idRule.expected}.`]);
  else if (id !== undefined && values.id !== undefined && values.id !== id)
    faults.push(["id", `id must be ${JSON.stringify(id)}, as in the path, or left out.`]);
  if (values.access !== undefined) faults.push(["access", "access is the operator's to give: leave it out."]);
  if (isString(values.model) && !models.includes(values.model)) {
    const choice = models.length === 0 ? "left out: no model can be chosen here" : oneOf(models).expected;
    faults.push(["model", `model must be ${choice}.`]);
  }
  return faults;
}

const inQuotes = 'put the value in quotes, as in description: "Ada: a life"';

/** What the parser's errors mean for whoever writes the file, by their codes. */
const plainWords: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY: `a value has a colon, or a line is indented otherwise than those around it; if it is the colon, ${inQuotes}`,
  BAD_SCALAR_START: `a value begins with a sign that has a meaning of its own; ${inQuotes}`,
  TAG_RESOLVE_FAILED: `a value begins with "!", which has a meaning of its own; ${inQuotes}`,
  ALIAS: `a value begins with "*", which has a meaning of its own; ${inQuotes}`,
  MULTIPLE_ANCHORS: `a value begins with "&", which has a meaning of its own; ${inQuotes}`,
  MULTILINE_IMPLICIT_KEY: 'a line has no colon after its key, as in "name: Ada"',
  MISSING_CHAR: "a quote, a bracket, a comma or a colon is missing",
  BAD_INDENT: "a line is indented otherwise than those around it, or a bracket before it is not closed",
  TAB_AS_INDENT: "a line is indented by a tab; use spaces",
  DUPLICATE_KEY: "a key is there a second time",
  BAD_DQ_ESCAPE: "a backslash in double quotes has no meaning here; write two, or use single quotes",
  BLOCK_IN_FLOW: "a list of lines is within brackets, where items are separated by commas",
  UNEXPECTED_TOKEN: "this does not belong here: before it, something is missing, or is complete",
};

/** The codes of errors that a value causes which is not in quotes. */
const unquoted = new Set(["BLOCK_AS_IMPLICIT_KEY", "BAD_SCALAR_START", "MULTILINE_IMPLICIT_KEY"]);

function parseYaml(yaml: string): ReadYaml {
  const read = readYaml(yaml, { stringKeys: true });
  const { document, lines, beyond } = read;
  const [problem] = [...document.errors, ...document.warnings];
  if (beyond?.is === "long") {
    refuse(
      "the front matter has too many keys, values and lines, and is not read from here on; it may have a list of 2,600 items.",
      lines.linePos(beyond.at).line + 1, // after the opening dashes
    );
  }
  if (beyond?.is === "another document") {
    refuse('a line that ends the front matter has nothing but "---".', lines.linePos(beyond.at).line + 1);
  }
  // Each value with a colon that is not in quotes nests what follows one level deeper.
  if (beyond && !(problem && unquoted.has(problem.code))) {
    refuse(
      `the front matter nests lists and maps more than ${deepest} deep; it needs at most 4.`,
      lines.linePos(beyond.at).line + 1,
    );
  }
  const fault = problem
    ? { at: problem.pos[0], code: problem.code, cause: problem }
    : (repeatedKey(document) ?? firstAlias(document));
  if (!fault) return read;
  const { line, col } = lines.linePos(fault.at);
  const reason = plainWords[fault.code] ?? "it cannot be read from here on";
  return refuse(`the front matter is not valid at column ${col}: ${reason}.`, line + 1, fault.cause);
}

/** The first key that its map has already. */
function repeatedKey(document: Document.Parsed) {
  let at: number | undefined;
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue; // refused: keys are strings
        if (seen.has(key.value)) at = key.range?.[0] ?? 0;
        if (at !== undefined) return visit.BREAK;
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return at === undefined ? undefined : { at, code: "DUPLICATE_KEY", cause: undefined };
}

/** The first value that stands for another one, which a text of Markdown may look like. */
function firstAlias(document: Document.Parsed) {
  let at: number | undefined;
  visit(document, {
    Alias(_, { range }) {
      at = range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return at === undefined ? undefined : { at, code: "ALIAS", cause: undefined };
}

function valuesOf(document: Document.Parsed): JsonObject {
  const content: unknown = document.toJS();
  if (content === null) return {};
  if (isJsonObject(content)) return content;
  return refuse('the front matter must consist of lines such as "name: Ada".');
}

/** What an id may be. */
export const idRule: Rule = {
  expected:
    'a string of 1 to 64 letters, digits, ".", "_" and "-", with a letter or digit first, and not "check"',
  accepts: (value) => isString(value) && twinIdPattern.test(value),
};

const textRule: Rule = { expected: "a string that is not empty", accepts: isText };

const addressRule: Rule = {
  expected: "an http or https address",
  accepts: (value) => isString(value) && /^https?:\/\//iu.test(value) && URL.canParse(value),
};

/** What each key may be. A new key is added here, to {@link FrontMatter}, and to what {@link readTwinFile} returns. */
function rulesFor(engines: readonly string[]): RulesFor<FrontMatter> {
  return {
    id: idRule,
    name: lineUpTo(100),
    description: textRule,
    avatarUrl: addressRule,
    greeting: textRule,
    tags: listOf("strings", ", such as [coffee, howto]"),
    engine: oneOf(engines),
    model: lineUpTo(200),
    temperature: temperatureRule,
    access: listOf("owners", ", such as [alice, bob]; [] means no owner"),
    language: languageRule,
    knowledge: knowledgeRule,
    tools: listOf("tools", ", such as [orders, weather/forecast]"),
    confirm: listOf("tools", ", such as [orders/cancel]"),
    tokensPerDay: tokensRule,
    handover: { expected: "true or false", accepts: (value) => typeof value === "boolean" },
    tests: testsRule,
  };
}

const testsRule: Rule = {
  expected: "a list of questions, each with ask, and source (a heading, or null), says or never (texts)",
  accepts: (value) => Array.isArray(value) && value.every(isTest),
};

function isTest(value: unknown): boolean {
  if (!isJsonObject(value) || !isText(value.ask)) return false;
  const isTexts = (texts: unknown) => [texts].flat().every(isText);
  return Object.entries(value).every(([key, part]) => {
    if (key === "source") return part === null || isText(part);
    return key === "ask" || ((key === "says" || key === "never") && isTexts(part));
  });
}

function lineUpTo(longest: number): Rule {
  return {
    expected: `a string of 1 to ${longest} characters on one line`,
    accepts: (value) => isLine(value, longest),
  };
}

function listOf(what: string, example: string): Rule {
  return {
    expected: `a list of ${what}, each of up to 255 characters on one line${example}`,
    accepts: (value) => Array.isArray(value) && value.every((item) => isLine(item, 255)),
  };
}

function isText(value: unknown): value is string {
  return isString(value) && value.trim() !== "" && !/[^\P{Cc}\n\t]|\p{Cs}/u.test(value);
}

function isLine(value: unknown, longest: number): boolean {
  return isText(value) && !/\p{Cc}/u.test(value) && [...value].length <= longest;
}
