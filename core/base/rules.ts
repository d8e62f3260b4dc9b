/**
 * Rules that say what a value may be: an option, a setting, a line of a twin file's front matter. A mistake is reported
 * when the value is passed, not when it is first used.
 *
 * @module
 */

import { isJsonObject, isString } from "./json.ts";

/** What a value must be. */
export interface Rule {
  /** Phrased to follow "must be". */
  readonly expected: string;
  accepts(value: unknown): boolean;
}

/** A rule for each member that options have. */
export type RulesFor<Options> = { readonly [Name in keyof Options]-?: Rule };

/** The same, or undefined. */
export function optional({ expected, accepts }: Rule): Rule {
  return { expected, accepts: (value) => value === undefined || accepts(value) };
}

/** The same, or null. */
export function orNull({ expected, accepts }: Rule): Rule {
  return { expected: `${expected}, or null`, accepts: (value) => value === null || accepts(value) };
}

/** An object with these methods, its own or its class's. */
export function objectWith(expected: string, ...methods: string[]): Rule {
  return { expected, accepts: (value) => hasMethods(value, methods) };
}

export function functionThat(does: string): Rule {
  return { expected: `a function that ${does}`, accepts: (value) => typeof value === "function" };
}

/** A text, which may be empty. */
export const textRule: Rule = { expected: "a string", accepts: isString };

/** A whole number, from the least to the most, both inclusive. */
export function wholeNumber([least, most]: readonly [least: number, most: number]): Rule {
  return {
    expected: `a whole number from ${least} to ${most}`,
    accepts: (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
  };
}

/** One of these texts. */
export function oneOf(names: readonly string[]): Rule {
  return {
    expected: `one of ${names.join(", ")}`,
    accepts: (value) => names.some((name) => name === value),
  };
}

/** A {@link Clock}. */
export const clockRule: Rule = objectWith("a clock", "now", "after");

/** A {@link RateLimiter}. */
export const limiterRule: Rule = objectWith(
  "a rate limiter, such as createMemoryLimiter() returns",
  "take",
  "peek",
);

/** A {@link Log}. */
export const logRule: Rule = functionThat("takes a level, a message and fields");

export function hasMethods(value: unknown, methods: readonly string[]): boolean {
  const object = value as Readonly<Record<string, unknown>> | null | undefined;
  return methods.every((name) => typeof object?.[name] === "function");
}

/**
 * Checks options against their rules. `whose` begins the message.
 *
 * @throws {TypeError} for a member without a rule, because it may be misspelt, and for the first member that its rule
 * does not accept.
 */
export function requireOptions<Options extends object>(
  whose: string,
  options: Options,
  rules: RulesFor<Options>,
): void {
  const names = Object.keys(rules).join(", ");
  const given = (options ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof given !== "object") throw unusable(whose, `an object with ${names}`, given);
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(rules, name));
  if (unknown !== undefined) {
    throw new TypeError(`${whose}: ${unknown} is not known; the names are ${names}.`);
  }
  for (const [name, { expected, accepts }] of Object.entries<Rule>(rules)) {
    const value = given[name];
    if (!accepts(value)) throw unusable(`${whose}: ${name}`, expected, value);
  }
}

/**
 * Checks an address that a driver is given: most take an empty one, as of a variable that is not set, for one on the same
 * machine.
 *
 * @throws {TypeError} for anything but a text that is not empty.
 */
export function requireAddress(whose: string, example: string, url: unknown): void {
  if (!isString(url) || url === "") throw unusable(`${whose}: url`, `an address such as ${example}`, url);
}

/** The error for a value that cannot be used. */
export function unusable(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${name} must be ${expected}, not ${shown(value)}.`);
}

function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (isString(value) && value.length > 64) return "a string"; // perhaps a private key
  if (isString(value) || Array.isArray(value)) return JSON.stringify(value);
  return isJsonObject(value) ? Object.prototype.toString.call(value) : String(value); // not all have a toString()
}
