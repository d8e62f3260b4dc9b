/**
 * The commands of the reference server's program, besides starting the server.
 *
 * @module
 */

import { isOwnerName } from "../core/auth/credentials.ts";
import { ConfigError, nameOf, type Settings, settings } from "./settings.ts";

/** The flags that were given, by their names without dashes. */
export type Flags = ReadonlyMap<string, string>;

/** A command: what `--help` says of it, and what it needs. */
interface Command<Request> {
  /** What follows its name. */
  readonly takes: string;
  readonly about: string;
  /** Its flags besides those of the settings, each of which takes a value. */
  readonly flags: readonly string[];
  /** @throws {ConfigError} if a flag is missing or wrong. */
  read(flags: Flags, values: Settings): Request;
}

function command<Request>(definition: Command<Request>): Command<Request> {
  return definition;
}

/** All commands by their names, in the order in which `--help` lists them. */
export const commands = {
  token: command({
    takes: "--sub <owner> [--expires-in 1h]",
    about: "print a JWT for creating API keys",
    flags: ["sub", "expires-in"],
    read: (flags) => ({ sub: readOwner("token", flags), expiresInSeconds: readLifetime(flags) }),
  }),
  check: command({
    takes: "[--twins <folder>]",
    about: "check the twin files, and ask the questions that they list as tests; needs no network",
    flags: [],
    read: () => ({}),
  }),
  copy: command({
    takes: "--from sqlite:<path> --database postgres://…",
    about: "copy all keys and conversations from a SQLite file into an empty PostgreSQL database",
    flags: ["from"],
    read: (flags, values) => ({ from: readSource(flags), to: readTarget(values) }),
  }),
};

/** The name of a command. */
export type CommandName = keyof typeof commands;

/** What a command needs: for `token`, the owner (`sub`) and how long it is valid; for `copy`, the file and the address. */
export type CommandRequest<Name extends CommandName> = ReturnType<(typeof commands)[Name]["read"]>;

/** Whether an argument is the name of a command. */
export function isCommandName(argument: string): argument is CommandName {
  return Object.hasOwn(commands, argument);
}

function readOwner(name: string, flags: Flags): string {
  const sub = flags.get("sub");
  if (sub === undefined) throw new ConfigError(`${name} needs --sub, the owner that the ${name} is for.`);
  if (!isOwnerName(sub)) throw new ConfigError("--sub must have 1 to 255 printable characters.");
  return sub;
}

const secondsByUnit: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const longestSeconds = 36_500 * 86_400;

function readLifetime(flags: Flags): number {
  const text = flags.get("expires-in") ?? "1h";
  const [, count, unit = ""] = /^([1-9]\d{0,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (secondsByUnit[unit] ?? Number.NaN);
  if (seconds <= longestSeconds) return seconds;
  throw new ConfigError(`--expires-in must be a time such as 90s, 30m, 1h or 7d, not ${quote(text)}.`);
}

function readSource(flags: Flags): string {
  const text = flags.get("from");
  const database = text === undefined ? undefined : settings.database.parse(text);
  if (database?.kind === "sqlite") return database.path;
  throw new ConfigError("copy needs --from sqlite:<path>, the file that is copied.");
}

function readTarget({ database }: Settings): string {
  if (database.kind === "postgres") return database.url;
  throw new ConfigError(`copy needs ${nameOf("database")} to be postgres://…, the database to copy into.`);
}

/** Any text on one line, and not too long. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
