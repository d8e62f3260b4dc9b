/**
 * The file `.env` in the working folder.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { parseEnv } from "node:util";
import { codeOf } from "../adapters/system.ts";
import type { Log } from "../core/base/log.ts";
import { decodeText } from "./process.ts";
import { settings } from "./settings.ts";

const file = ".env";

/**
 * Adds the variables of a file `.env` in this folder to those of the environment; the environment wins. Returns their names, or
 * undefined if there is no such file; throws a one-line error if it cannot be read.
 */
export function loadEnvironmentFile(): string[] | undefined {
  const text = readEnvironmentFile();
  if (text === undefined) return undefined;
  return Object.entries(parseEnv(text)).map(([key, value]) => {
    // Node 20 takes a line without "=" for a part of the next one's name.
    const name = key.slice(key.lastIndexOf("\n") + 1).replace(/^export\s+/, "");
    process.env[name] ??= value;
    return name;
  });
}

function readEnvironmentFile(): string | undefined {
  try {
    return decodeText(readFileSync(file));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw new Error(
      `The file .env cannot be read (${codeOf(error)}): let this process read it, or remove it.`,
      { cause: error },
    );
  }
}

/**
 * Says that the file was read, with the names in it that are no settings: proxies and tools may use these. Warns of those that
 * are like settings.
 */
export function logEnvironmentFile(names: readonly string[] | undefined, log: Log): void {
  if (names === undefined) return;
  const others = names.filter((name) => !variables.includes(name)).sort();
  log("info", "the file .env was read", {
    file: resolve(file),
    others: others.length > 0 ? others : undefined,
  });
  for (const name of others) {
    const like = settingsLike(name);
    if (like.length > 0) log("warn", `${name} in .env is not a setting; there is ${like.join(", ")}`);
  }
}

const variables = Object.values(settings).map(({ variable }) => variable);

/** From how many settings on the first word that they share is taken for theirs alone, such as `MODEL`. */
const settingsOfFamily = 3;

/** The settings that may be meant by a name: what differs in one edit, else what begins with the same word. */
function settingsLike(name: string): string[] {
  const near = variables.filter((variable) => isOneEditAway(name.toUpperCase(), variable));
  if (near.length > 0) return near;
  const [word] = /^[A-Z]+_/.exec(name) ?? [];
  const family = variables.filter((variable) => word !== undefined && variable.startsWith(word));
  return family.length < settingsOfFamily ? [] : family;
}

/** Whether texts differ in one character at most, or in two that changed places. */
function isOneEditAway(one: string, other: string): boolean {
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const [rest, otherRest] = [one.slice(start, one.length - end), other.slice(start, other.length - end)];
  const areSwapped = rest.length === 2 && rest === [...otherRest].reverse().join("");
  return areSwapped || Math.max(rest.length, otherRest.length) <= 1;
}
