/**
 * Distinguishes kinds of JSON values, and measures JSON before it is parsed. Apart from the rules for options, because readers of
 * wire formats need no more.
 *
 * @module
 */

/** A JSON object: neither an array nor null. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isString(value: unknown): value is string {
  return typeof value === "string";
}

/** A whole number that isn't negative. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// ASCII codes.
const quote = 34;
const comma = 44;
const colon = 58;
const openingBracket = 91;
const backslash = 92;
const closingBracket = 93;
const openingBrace = 123;
const closingBrace = 125;

/** How many values a JSON text has, or a few more, how many names its objects' members have together, and how deeply it is nested. */
export interface JsonMeasure {
  readonly values: number;
  readonly names: number;
  readonly depth: number;
}

/** Measures a JSON text before a parser makes objects of it. */
export function measureJson(text: string): JsonMeasure {
  let [values, names, depth, deepest] = [1, 0, 0, 0];
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = endOfString(text, index + 1);
        break;
      case openingBrace:
      case openingBracket:
        values++;
        if (++depth > deepest) deepest = depth;
        break;
      case comma:
        values++;
        break;
      case colon:
        names++;
        break;
      case closingBrace:
      case closingBracket:
        depth--;
    }
  }
  return { values, names, depth: deepest };
}

/** The position of the quotation mark that ends a string, or the text's end if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}
