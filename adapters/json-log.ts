/**
 * A log of JSON lines: `{"time", "level", "message", …}`.
 *
 * @module
 */

import { type Log, type LogLevel, logLevels } from "../core/base/log.ts";
import { maskCredentials } from "../core/base/mask.ts";
import { functionThat, oneOf, optional, type RulesFor, requireOptions } from "../core/base/rules.ts";
import { visibleLine } from "../core/base/visible.ts";

/** Options of {@link createJsonLog}. */
export interface JsonLogOptions {
  /** The lowest level that is written. Default `info`. */
  readonly level?: LogLevel | undefined;
  /** Called with one line, including its line end. Must not throw. */
  readonly write: (line: string) => void;
  /** Milliseconds since the epoch. Default: the system's. */
  readonly now?: (() => number) | undefined;
}

const rules: RulesFor<JsonLogOptions> = {
  level: optional(oneOf(logLevels)),
  write: functionThat("takes a line"),
  now: optional(functionThat("tells the time")),
};

/**
 * Creates a log that writes each entry as one line of JSON. What looks like an API key, a client token or a JWT is masked.
 *
 * @example
 * ```ts
 * import { createJsonLog } from "twin-service/json-log";
 *
 * const log = createJsonLog({ level: "warn", write: (line) => process.stderr.write(line) });
 * ```
 *
 * @throws {TypeError} for an option that is unknown or cannot be used.
 */
export function createJsonLog(options: JsonLogOptions): Log {
  requireOptions("createJsonLog", options, rules);
  const { level = "info", write, now = Date.now } = options;
  const least = logLevels.indexOf(level);
  return (entryLevel, message, fields) => {
    if (logLevels.indexOf(entryLevel) < least) return;
    const time = new Date(now()).toISOString();
    // One spread, and last: with two, Node 20 takes ten times as long.
    const entry = { time, level: entryLevel, message, ...fields };
    write(`${toJson(entry, { time, level: entryLevel, message })}\n`);
  };
}

function toJson(entry: object, withoutFields: object): string {
  try {
    return lineOf(JSON.stringify(entry, describeErrors));
  } catch (error) {
    // A field that JSON cannot represent, such as a circular one, must not lose the entry.
    return lineOf(JSON.stringify({ ...withoutFields, unwritable: String(error) }));
  }
}

/** What all that is logged passes. JSON itself leaves some characters as they are that control a terminal. */
function lineOf(json: string): string {
  return visibleLine(maskCredentials(json));
}

/** Looks errors up in their holder, because `value` is what their own `toJSON` made of them, if they have one. */
function describeErrors(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const own = this[key];
  return own instanceof Error ? describe(own) : value;
}

/** How deeply causes and aggregated errors are followed. */
const deepestCause = 5;

// Selected by name: other properties of an error may contain a request, a token or a response body.
function describe(error: Error, depth = 0): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  const inner = (found: unknown) => (found instanceof Error ? describe(found, depth + 1) : String(found));
  return {
    name,
    message,
    ...("code" in error && { code: error.code }),
    stack,
    ...(cause instanceof Error && depth < deepestCause && { cause: inner(cause) }),
    ...(error instanceof AggregateError && depth < deepestCause && { errors: error.errors.map(inner) }),
  };
}
