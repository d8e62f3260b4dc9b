/**
 * What a setting is, and the kinds of values that settings have.
 *
 * @module
 */

import { isString } from "../core/base/json.ts";
import { oneOf, type Rule, wholeNumber } from "../core/base/rules.ts";

/** One setting: where its value comes from, and the rule that the value must keep. */
export interface Setting<Value> extends Rule {
  /** The environment variable. */
  readonly variable: string;
  /** The flag, without its dashes. Undefined: there is only the variable, as everyone can see a command line. */
  readonly flag: string | undefined;
  /** The default, as it would be written. Undefined: there is none. */
  readonly fallback: string | undefined;
  /** What the docs say in place of an absent fallback. */
  readonly otherwise?: string;
  /** What the setting is for, as a phrase. */
  readonly about: string;
  /** The value that a text stands for, before the rule judges it. Undefined: it stands for none. */
  parse(text: string): Value | undefined;
  /** Whether a value may hold a secret: then it is never shown. */
  readonly secret?: boolean;
}

/** A flag is named after its variable unless another is given: `LEASE_MS`, `--lease-ms`. */
export function setting<Value>(
  definition: Omit<Setting<Value>, "flag" | "fallback"> & { flag?: string; fallback: string },
): Setting<Value>;
export function setting<Value>(
  definition: Omit<Setting<Value>, "flag" | "fallback"> & { flag?: string },
): Setting<Value | undefined>;
export function setting<Value>(
  definition: Omit<Setting<Value>, "flag" | "fallback"> & { flag?: string; fallback?: string },
): Setting<Value | undefined> {
  const { flag = definition.variable.toLowerCase().replaceAll("_", "-"), fallback } = definition;
  return { ...definition, flag, fallback };
}

/** A setting that has only a variable, no flag. */
export function secretSetting(
  definition: Omit<Setting<string>, "flag" | "fallback" | "parse" | "secret">,
): Setting<string | undefined> {
  return { ...definition, flag: undefined, fallback: undefined, parse: asWritten, secret: true };
}

/** What texts are expected to be. */
export const withoutWhiteSpace = "without leading or trailing white space";

/** The rule of a text that is used as it is. */
export const trimmedText = { expected: `text ${withoutWhiteSpace}`, parse: asWritten, accepts: isTrimmed };

/** A whole number in decimal digits, from the least to the most. */
export function number(
  range: readonly [least: number, most: number],
): Pick<Setting<number>, keyof Rule | "parse"> {
  return {
    ...wholeNumber(range),
    parse: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
  };
}

/** One of these names. */
export function choice<const Name extends string>(
  names: readonly Name[],
): Pick<Setting<Name>, keyof Rule | "parse"> {
  return { ...oneOf(names), parse: (text) => names.find((name) => name === text) };
}

/** A text that stands for itself. */
export function asWritten(text: string): string {
  return text;
}

/** Whether a text matches a pattern. */
export function matches(pattern: RegExp): Rule["accepts"] {
  return (text) => isString(text) && pattern.test(text);
}

/** White space at an end is a mistake: usually half of a line end, an invisible reason for a text to match nothing. */
export function isTrimmed(text: unknown): boolean {
  return isString(text) && text === text.trim();
}

/** Whether a text is an address with one of these protocols (`http:`) and a host. */
export function isUrlOf(text: unknown, ...protocols: string[]): boolean {
  const url = isString(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && protocols.includes(url.protocol) && url.hostname !== "";
}
