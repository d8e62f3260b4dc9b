/**
 * Reads the YAML that a text begins with. Its parser holds the thread until it has read all, for a quarter of a second for
 * 64 KiB of commas, so no more is read than people write.
 *
 * @module
 */

import { Composer, type CST, type Document, Lexer, LineCounter, Parser } from "yaml";

/** How many lexemes are read: some 2,200 keys with a value each, or 2,600 items of a list, or 500 golden questions. */
const mostLexemes = 16_000;

/** How deep lists and maps may be nested: golden questions need four levels, and a parser's stack ends. */
export const deepest = 20;

/** YAML that was read. */
export interface ReadYaml {
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
  /** What is no more read, from which place on. */
  readonly beyond?: { readonly at: number; readonly is: "long" | "deep" | "another document" };
}

/** Reads YAML. Of what is longer, or nested deeper, the beginning is read. `stringKeys`: other keys are faults. */
export function readYaml(yaml: string, { stringKeys = false } = {}): ReadYaml {
  const lines = new LineCounter();
  const { tokens, ...rest } = tokensOf(yaml, lines);
  const composer = new Composer({
    schema: "core", // strings, numbers, booleans, null, lists and maps: nothing that could run or load
    stringKeys,
    logLevel: "silent",
    uniqueKeys: false, // comparing each key with all others takes the square of a hostile text's length
  });
  const [document, other] = withoutStacks(() => [...composer.compose(tokens, true, yaml.length)]);
  if (!document) throw new Error("A composer that is told to has made no document.");
  const beyond = other && { at: other.range[0], is: "another document" as const };
  return { document, lines, ...(beyond && { beyond }), ...rest };
}

/** The tokens of YAML, until the first that is none, or until there are too many, or they are nested too deep. */
function tokensOf(yaml: string, lines: LineCounter): { tokens: CST.Token[] } & Pick<ReadYaml, "beyond"> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const tokens: CST.Token[] = [];
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(yaml)) {
    tokens.push(...parser.next(lexeme));
    if (tokens.at(-1)?.type === "error") break; // a hostile text has one for each character
    // Beside lists and maps, the stack has the document and a value.
    const isDeep = parser.stack.length > deepest + 2;
    if (!isDeep && ++lexemes <= mostLexemes) continue;
    const beyond = { at: parser.offset, is: isDeep ? "deep" : "long" } as const;
    return { tokens: [...tokens, ...parser.end()], beyond };
  }
  tokens.push(...parser.end());
  return { tokens };
}

/** What a call returns whose errors have no stacks: a hostile text makes one for each character, which took most of its time. */
function withoutStacks<Result>(call: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return call();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
