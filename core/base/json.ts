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

/** How many values a JSON text has, or a few more, and how deeply it is nested. */
export interface JsonMeasure {
  readonly values: number;
  readonly depth: number;
}

/** Measures a JSON text before a parser makes objects of it. `named`: gets the name of each member, as it stands before the colon. */
export function measureJson(text: string, named?: (name: string) => void): JsonMeasure {
  let [values, start, depth, deepest] = [1, 0, 0, 0];
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        start = index;
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
        named?.(text.slice(start, index));
        break;
      case closingBrace:
      case closingBracket:
        depth--;
    }
  }
  return { values, depth: deepest };
}

/** The position of the quotation mark that ends a string, or the text's end if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = 1;
    while (text.charCodeAt(end - before) === backslash) before++;
    if (before % 2 === 1) return end;
  }
  return text.length;
}
