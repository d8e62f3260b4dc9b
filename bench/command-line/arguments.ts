/**
 * Numbers on the command line.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { firstSentenceOf } from "./errors.ts";

/** Reads a command line of one number at most. Its errors end with the usage. */
export function readNumber(usage: string, fallback: string, read: (text: string) => number): number | "help" {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { help: { type: "boolean", default: false } },
    });
    if (values.help) return "help";
    const [number = fallback, more] = positionals;
    if (more !== undefined) throw new Error(`Unexpected argument '${more}'.`);
    return read(number);
  } catch (error) {
    throw new Error(`${firstSentenceOf(error)}\n\n${usage}`);
  }
}

/** Reads a number. `name` is what the user calls it. */
export function atLeast(least: number, text: string, name: string): number {
  const value = Number(text);
  if (value >= least && Number.isFinite(value)) return value;
  throw new Error(`${name} must be a number of at least ${least}, not ${text}.`);
}

/** As {@link atLeast}, for whole numbers. */
export function wholeAtLeast(least: number, text: string, name: string): number {
  const value = Number(text);
  if (value >= least && Number.isSafeInteger(value)) return value;
  throw new Error(`${name} must be a whole number of at least ${least}, not ${text}.`);
}
