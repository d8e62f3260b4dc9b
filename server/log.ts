/**
 * The log of the process, on stderr: lines of JSON, or lines for people that are made of these.
 *
 * @module
 */

import process from "node:process";
import { styleText } from "node:util";
import { createJsonLog } from "../adapters/json-log.ts";
import type { Log, LogLevel } from "../core/base/log.ts";
import { visibleLine } from "../core/base/visible.ts";
import { createLineWriter, logConsole, logWarnings } from "./process.ts";
import type { Settings } from "./settings.ts";

/** Opens the log. Warnings of the runtime, and what packages print, go there, too. */
export function openLog({ logLevel, logFormat }: Settings): Log {
  const { isTTY } = process.stderr;
  const isForPeople = (logFormat ?? (isTTY ? "pretty" : "json")) === "pretty";
  const colors = isTTY && !process.env.NO_COLOR;
  const writeLine = createLineWriter();
  const write = isForPeople ? (line: string) => writeLine(prettyLine(line, colors)) : writeLine;
  const log = createJsonLog({ level: logLevel, write });
  logWarnings(log);
  logConsole(log);
  return log;
}

/** The log of a command that people use: what they should know, and what was done to which credential. */
export function openQuietLog(settings: Settings): Log {
  const log = openLog(settings);
  return (level, message, fields) => {
    if (level === "warn" || level === "error" || message === "audit") log(level, message, fields);
  };
}

const colorOf = { debug: "gray", info: "green", warn: "yellow", error: "red" } as const;

/** An error as a line of JSON has it. */
interface LoggedError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: LoggedError | string;
  readonly errors?: readonly (LoggedError | string)[];
}

/**
 * A line of the JSON log as one for people: the time of day, the level, the message, and the fields by their names; an
 * error with its stack below. Characters that control a terminal are escaped, as a client may have sent them.
 */
export function prettyLine(line: string, colors: boolean): string {
  const { time, level, message, error, ...fields } = JSON.parse(line) as {
    readonly time: string;
    readonly level: LogLevel;
    readonly message: string;
    readonly error?: LoggedError | string;
  };
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    colors ? styleText(style, text, { validateStream: false }) : text;
  const shown = Object.entries(fields).map(([name, value]) => `${paint("gray", `${name}=`)}${textOf(value)}`);
  const date = new Date(time);
  const timeOfDay = `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, "0")}`;
  const head = [paint("gray", timeOfDay), paint(colorOf[level], level.padEnd(5)), visibleLine(message)];
  const stack = error === undefined ? [] : stackOf(error).split("\n");
  const below = stack.map((line) => `  ${visibleLine(line)}\n`).join("");
  return `${[...head, ...shown].join(" ")}\n${below}`;
}

function textOf(value: unknown): string {
  const text = typeof value === "string" && !/[\s"]/.test(value) ? value : JSON.stringify(value);
  return visibleLine(text);
}

function stackOf(error: LoggedError | string): string {
  if (typeof error === "string") return error;
  const { name, message, stack = `${name}: ${message}`, cause, errors = [] } = error;
  const causes = cause === undefined ? errors : [cause, ...errors];
  return [stack, ...causes.map((each) => `caused by ${stackOf(each)}`)].join("\n");
}
