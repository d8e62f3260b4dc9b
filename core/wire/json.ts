/**
 * Values as JSON in pieces: a long text is encoded as its client takes it. All at once would hold up everything else, and
 * take its memory again.
 *
 * @module
 */

import { isString } from "../base/json.ts";

/** The length of the pieces that a text is cut into, in code units. */
const pieceLength = 65_536;

/** The pieces of a text, none of which ends inside a surrogate pair. */
export function* slicesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let end = Math.min(text.length, from + pieceLength);
    if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end = Math.min(text.length, end + 1);
    yield text.slice(from, end);
    from = end;
  }
}

/** A value of plain data as JSON: in one piece, unless it is long. `encode`: how its parts become JSON. */
export function jsonPieces(
  value: unknown,
  encode: (part: unknown) => string = JSON.stringify,
): Generator<string> {
  return joined(partsOf(value, encode));
}

/** Values of plain data, each as a line of JSON: in one piece, unless they are long together. */
export function jsonLines(values: readonly unknown[]): Generator<string> {
  function* lines() {
    for (const value of values) {
      yield* partsOf(value, JSON.stringify);
      yield "\n";
    }
  }
  return joined(lines());
}

function* joined(parts: Iterable<string>): Generator<string> {
  let text = "";
  for (const part of parts) {
    text += part;
    if (text.length < pieceLength) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}

function* partsOf(value: unknown, encode: (part: unknown) => string): Generator<string> {
  if (!isLong(value)) {
    yield encode(value);
  } else if (isString(value)) {
    yield '"';
    for (const slice of slicesOf(value)) yield encode(slice).slice(1, -1);
    yield '"';
  } else {
    const isList = Array.isArray(value);
    let before = isList ? "[" : "{";
    for (const [name, part] of Object.entries(value)) {
      if (part === undefined) continue;
      yield isList ? before : `${before}${encode(name)}:`;
      yield* partsOf(part, encode);
      before = ",";
    }
    yield isList ? "]" : "}";
  }
}

/** Whether the texts in a value are more than one piece together. */
function isLong(value: unknown): value is string | object {
  return lengthOf(value) > pieceLength;
}

function lengthOf(value: unknown): number {
  if (isString(value)) return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let length = 0;
  for (const part of Object.values(value)) length += lengthOf(part);
  return length;
}
