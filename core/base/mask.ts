/**
 * Hides credentials in what is logged: clients put them where they do not belong, such as into a path, and errors of
 * others quote what they were given.
 *
 * @module
 */

import type { Log } from "./log.ts";

/** A character as it is, or percent-encoded, once or more often: `n`, `%6E`, `%256e`. */
function encodable(character: string): string {
  const hex = [...character.charCodeAt(0).toString(16)].map((digit) => `[${digit}${digit.toUpperCase()}]`);
  return `(?:[${character}]|%(?:25)*${hex.join("")})`;
}

const written = (text: string) => [...text].map(encodable).join("");

/** What base62 texts consist of, and base64url texts. Both take a little more where it is percent-encoded. */
const base62 = "(?:[0-9A-Za-z]|%(?:25)*[3-7][0-9A-Fa-f])";
const base64url = "(?:[\\w-]|%(?:25)*(?:[3-7][0-9A-Fa-f]|2[dD]))";
const dot = encodable(".");

/** API keys and client tokens, from 16 characters on: nobody takes a shorter part for a key, or could use it. */
const keys = `(${written("twin")}(?:${written("ct")})?${written("_")})${base62}{16,}`;
const usualTokens = `${written("eyJ")}${base64url}{10,}(?:${dot}${base64url}*){0,4}`;
/** The header of a JWT is JSON, which may begin with white space. Where one begins is told, so that no text is read twice. */
const ew = `${encodable("e")}(?:[wy]|%(?:25)*7[79])`;
const otherTokens = `(?<=^|[^\\w-]|%(?:25)*20)${ew}${base64url}{8,}(?:${dot}${base64url}{8,}){2}`;

/** What signs deliveries to webhooks, in base64. */
const webhookSecrets = `(${written("whsec_")})(?:[0-9A-Za-z+/=]|%(?:25)*[2-7][0-9A-Fa-f]){16,}`;

const credentials = new RegExp(`${keys}|${webhookSecrets}|${usualTokens}|${otherTokens}`, "g");

/** What each of them begins with. Most texts have none of it, and are not searched: each request is logged. */
function mayHaveOne(text: string): boolean {
  if (text.length < 13) return false;
  return (
    text.includes("twin_") ||
    text.includes("twinct_") ||
    text.includes("whsec_") ||
    text.includes("%") ||
    /\be[wy][\w-]{8}|eyJ/.test(text)
  );
}

/** A text without what looks like an API key, a client token or a JWT. */
export function maskCredentials(text: string): string {
  if (!mayHaveOne(text)) return text;
  return text.replace(
    credentials,
    (_, marker: string | undefined, webhook: string | undefined) => `${marker ?? webhook ?? "eyJ"}…`,
  );
}

/** A log to which no entry comes with a credential in it. */
export function maskedLog(log: Log): Log {
  return (level, message, fields) =>
    log(level, maskCredentials(message), fields && (masked(fields, 0) as typeof fields));
}

/** How deeply values are looked into. What is deeper is left out. */
const deepest = 6;

/** A value that is the same where nothing in it is masked. */
function masked(value: unknown, depth: number): unknown {
  if (typeof value === "string") return maskCredentials(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= deepest) return "…";
  if (value instanceof Error) return maskedError(value, depth);
  const given = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(given);
  if (names.every((name) => masked(given[name], depth + 1) === given[name])) return value;
  const after = names.map((name) => [name, masked(given[name], depth + 1)] as const);
  return Array.isArray(value) ? after.map(([, one]) => one) : Object.fromEntries(after);
}

/** An error of the same kind, where one of its texts is masked. */
function maskedError(error: Error, depth: number): Error {
  const { message, stack, cause } = error;
  const errors = error instanceof AggregateError ? error.errors : undefined;
  const found = Object.entries({ message, stack, cause, errors }).flatMap(([name, value]) => {
    const instead = masked(value, depth + 1);
    return instead === value ? [] : [[name, { value: instead, configurable: true, writable: true }] as const];
  });
  if (found.length === 0) return error;
  const own = Object.getOwnPropertyDescriptors(error);
  return Object.create(Object.getPrototypeOf(error), { ...own, ...Object.fromEntries(found) });
}
