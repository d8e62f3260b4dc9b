/**
 * The port for guards, which decide what an engine is asked, and what of its text is told.
 *
 * @module
 */

import { isJsonObject, isString } from "../base/json.ts";
import type { Rule } from "../base/rules.ts";
import type { Turn } from "./engine.ts";

/** What a guard says of a text. Nothing: it may pass. `replace`: this in its place. `stop`: this, and the reply ends. */
export type Verdict = { readonly replace: string } | { readonly stop: string } | undefined | null;

/**
 * Stands between people and an engine, and between the engine and the reply's text: what it refuses is neither told nor stored.
 * One that throws, or takes more than 10 seconds, fails the reply as `model_error`; of the text that it was asked about,
 * nothing is told.
 *
 * @example
 * ```ts
 * import type { Guard } from "twin-service";
 *
 * const guard: Guard = {
 *   input: (text) => (/password/i.test(text) ? { stop: "I don't talk about passwords." } : undefined),
 *   output: (text) => (text.includes("ACME-7") ? { replace: text.replaceAll("ACME-7", "…") } : undefined),
 * };
 * ```
 */
export interface Guard {
  /**
   * Asked about the question, before the engine is. `stop` is the reply, and the exchange is left out of later histories.
   * `replace` is what the engine is asked, now and in later histories; stored, and shown, is what the person wrote.
   */
  input?(text: string, turn: Turn): Verdict | undefined | Promise<Verdict | undefined>;
  /**
   * Asked about each sentence, or about the whole reply, before it is told. `whole`: the reply's text up to and including this
   * one. After a `stop`, what was told stays, and the guard's text is its end.
   */
  output?(text: string, turn: Turn, whole: string): Verdict | undefined | Promise<Verdict | undefined>;
  /**
   * How much is held back for `output`: a sentence, but at most 2,000 UTF-16 code units or what came within 2 seconds; or the
   * whole reply. Default `sentence`.
   */
  readonly hold?: "sentence" | "reply" | undefined;
}

/** What can be a guard. */
export const guardRule: Rule = {
  expected:
    "a guard: an object with functions input or output, or both, and hold, if given, sentence or reply",
  accepts(value) {
    if (!isJsonObject(value)) return false;
    const { input, output, hold } = value;
    const isHold = hold === undefined || hold === "sentence" || hold === "reply";
    const given = [input, output].filter((side) => side !== undefined);
    return isHold && given.length > 0 && given.every((side) => typeof side === "function");
  },
};

/**
 * What a guard has returned, checked.
 *
 * @throws {TypeError} if it is no verdict: a guard in plain JavaScript may return anything.
 */
export function requireVerdict(verdict: unknown): Verdict {
  if (verdict === undefined || verdict === null) return undefined;
  const { stop, replace } = isJsonObject(verdict) ? verdict : {};
  if (isString(stop)) return { stop };
  if (isString(replace)) return { replace };
  throw new TypeError("A guard returns nothing, { replace: string } or { stop: string }.");
}
