/**
 * The commands of the reference server's program, besides starting the server.
 *
 * @module
 */

import { isOwnerName } from "../../core/auth/credentials.ts";
import { prefixLength } from "../../core/auth/secrets.ts";
import type { Rule } from "../../core/base/rules.ts";
import { scopes } from "../../core/store/records.ts";
import { tokenBudgetRange } from "../../core/store/token-budgets.ts";
import { choice, isUrlOf, number, type Setting } from "../setting.ts";
import { ConfigError, nameOf, type Settings, settings } from "../settings.ts";

/** The flags that were given, by their names without dashes. */
export type Flags = ReadonlyMap<string, string>;

/** A command: what `--help` says of it, and what it needs. */
interface Command<Request> {
  /** What follows its name. */
  readonly takes: string;
  readonly about: string;
  /** Its flags besides those of the settings. Each takes a value. */
  readonly flags: readonly string[];
  /** Whether it takes an argument that is no flag. */
  readonly operand?: true;
  /** @throws {ConfigError} if a flag or the operand is missing or wrong. */
  read(flags: Flags, values: Settings, operand: string | undefined): Request;
}

function command<Request>(definition: Command<Request>): Command<Request> {
  return definition;
}

/** All commands by their names, in the order in which `--help` lists them. */
export const commands = {
  token: command({
    takes: "--sub <owner> [--expires-in 1h] [--tokens-per-day <count>] [--new]",
    about:
      "print a JWT for creating API keys; --tokens-per-day: the owner's budget; --new: with a new secret, if there is " +
      "no database yet",
    flags: ["sub", "expires-in", "tokens-per-day", "new"],
    read: (flags) => ({
      isNew: flags.has("new"),
      sub: readOwner(flags) ?? missing("token needs --sub, the owner that the token is for"),
      expiresInSeconds: readLifetime(flags),
      tokensPerDay: readFlag(flags, "tokens-per-day", number(tokenBudgetRange)) ?? undefined,
    }),
  }),
  key: command({
    takes:
      "--sub <owner> [--scope full_access] [--name <label>] [--requests-per-hour <count>] [--tokens-per-day <count>] " +
      "[--tokens-per-month <count>] [--url http://… | --new]",
    about:
      "create an API key and print it: in the database (--new: which is made, if there is none), or at the running " +
      "server that --url names",
    flags: [
      ...["sub", "scope", "name", "requests-per-hour", "tokens-per-day", "tokens-per-month"],
      ...["url", "new"],
    ],
    read: (flags, { maxPerHour }) => ({
      isNew: flags.has("new"),
      sub: readOwner(flags) ?? missing("key needs --sub, the owner that the key is for"),
      scope: readFlag(flags, "scope", choice(scopes)) ?? "full_access",
      name: flags.get("name") ?? "command line",
      requestsPerHour: readFlag(flags, "requests-per-hour", number([1, maxPerHour])),
      tokensPerDay: readFlag(flags, "tokens-per-day", number(tokenBudgetRange)),
      tokensPerMonth: readFlag(flags, "tokens-per-month", number(tokenBudgetRange)),
      url: readServer(flags),
    }),
  }),
  keys: command({
    takes: "--sub <owner> [--url http://…]",
    about: "list an owner's API keys: id, beginning, scope, state, name",
    flags: ["sub", "url"],
    read: (flags) => ({
      sub: readOwner(flags) ?? missing("keys needs --sub, the owner of the keys"),
      url: readServer(flags),
    }),
  }),
  revoke: command({
    takes: "--id <id> | --prefix <beginning> | --sub <owner> [--url http://…]",
    about:
      "revoke API keys: one, by its id or the 12 characters that it begins with, or all of an owner; at a running " +
      "server, --sub is needed, too",
    flags: ["sub", "id", "prefix", "url"],
    read: (flags) => ({
      sub: readOwner(flags),
      ...readMeantKeys(flags),
      url: readServer(flags),
    }),
  }),
  rotate: command({
    takes: "--id <id> [--overlap <seconds>] [--sub <owner> --url http://…]",
    about:
      "give an API key another secret and print it; the one before works for a day, or --overlap seconds (0 to 604800)",
    flags: ["sub", "id", "overlap", "url"],
    read: (flags) => ({
      sub: readOwner(flags),
      id: flags.get("id") ?? missing("rotate needs --id, the id of the key"),
      overlapSeconds: readFlag(flags, "overlap", number([0, 604_800])) ?? 86_400,
      url: readServerOfKeys(flags),
    }),
  }),
  chat: command({
    takes: "<twin> [--sub alice] [--url http://…]",
    about:
      "talk to a twin, with the database or at the running server that --url names; Ctrl-C stops a reply",
    flags: ["sub", "url"],
    operand: true,
    read: (flags, _, operand) => ({
      twinId: operand ?? missing("chat needs the id of a twin, such as: chat ada"),
      sub: readOwner(flags) ?? "alice",
      url: readServer(flags),
    }),
  }),
  check: command({
    takes: "[--twins <folder>]",
    about: "check the twin files, and ask the questions that they list as tests; needs no network",
    flags: [],
    read: () => ({}),
  }),
  backup: command({
    takes: "<file> [--database sqlite:<path>]",
    about: "copy the SQLite database into a new file, also while the server runs",
    flags: [],
    operand: true,
    read: (_, __, operand) => ({
      target: operand ?? missing("backup needs the file to write, such as: backup /backups/monday.db"),
    }),
  }),
  tests: command({
    takes: "--twin <twin> [--sub alice] [--url http://…]",
    about:
      "print golden questions for a twin's front matter, of what was left unanswered and what people thought of replies",
    flags: ["twin", "sub", "url"],
    read: (flags) => ({
      twinId: flags.get("twin") ?? missing("tests needs --twin, the id of a twin"),
      sub: readOwner(flags) ?? "alice",
      url: readServer(flags),
    }),
  }),
  retention: command({
    takes: "--dry-run [--retention-days 90]",
    about: "count what a server with these RETENTION_DAYS would delete, and delete nothing",
    flags: ["dry-run"],
    read(flags, { retentionDays }) {
      if (!flags.has("dry-run")) missing("retention needs --dry-run: it only counts, and servers delete");
      return {
        days: retentionDays ?? missing(`retention needs ${nameOf("retentionDays")}, the days to count by`),
      };
    },
  }),
  push: command({
    takes: "<folder> [--sub alice] [--url http://…] [--prune] [--tests run|require|skip]",
    about:
      "send a folder of twins to the database, or to the running server that --url names, as an owner's own: what differs; " +
      "--prune deletes what the folder lacks; exits with 1 if something was refused",
    flags: ["sub", "url", "prune", "tests"],
    operand: true,
    read: (flags, _, operand) => ({
      folder: operand ?? missing("push needs the folder of twins, such as: push twins/"),
      sub: readOwner(flags) ?? "alice",
      url: readServer(flags),
      prune: flags.has("prune"),
      tests: readFlag(flags, "tests", choice(["run", "require", "skip"])) ?? "run",
    }),
  }),
  pull: command({
    takes: "<folder> [--sub alice] [--url http://…]",
    about: "write an owner's own twins into a folder: what differs",
    flags: ["sub", "url"],
    operand: true,
    read: (flags, _, operand) => ({
      folder: operand ?? missing("pull needs the folder to write, such as: pull twins/"),
      sub: readOwner(flags) ?? "alice",
      url: readServer(flags),
    }),
  }),
  copy: command({
    takes: "--from sqlite:<path> --database postgres://…",
    about: "copy all keys and conversations from a SQLite file into an empty PostgreSQL database",
    flags: ["from"],
    read(flags, { database }) {
      const from = settings.database.parse(flags.get("from") ?? "");
      if (from?.kind !== "sqlite")
        throw new ConfigError("copy needs --from sqlite:<path>, the file that is copied.");
      if (database.kind === "postgres") return { from: from.path, to: database.url };
      const target = nameOf("database");
      throw new ConfigError(`copy needs ${target} to be postgres://…, the database to copy into.`);
    },
  }),
};

/** The name of a command. */
export type CommandName = keyof typeof commands;

/** What a command needs, as its `read` returns it. */
export type CommandRequest<Name extends CommandName> = ReturnType<(typeof commands)[Name]["read"]>;

/** Whether an argument is the name of a command. */
export function isCommandName(argument: string): argument is CommandName {
  return Object.hasOwn(commands, argument);
}

function missing(what: string): never {
  throw new ConfigError(`${what}.`);
}

function readOwner(flags: Flags): string | undefined {
  const sub = flags.get("sub");
  if (sub === undefined || isOwnerName(sub)) return sub;
  throw new ConfigError("--sub must have 1 to 255 printable characters.");
}

/** A flag's value by the rule of a kind of settings. Null: it is not given. */
function readFlag<Value>(
  flags: Flags,
  name: string,
  { parse, accepts, expected }: Pick<Setting<Value>, keyof Rule | "parse">,
): Value | null {
  const text = flags.get(name);
  if (text === undefined) return null;
  const value = parse(text);
  if (value !== undefined && accepts(value)) return value;
  throw new ConfigError(`--${name} must be ${expected}, not ${quote(text)}.`);
}

/** A running server, at which a key's owner must be known. */
function readServerOfKeys(flags: Flags): string | undefined {
  if (!flags.has("sub") && flags.has("url"))
    missing("rotate needs --sub, too, at a running server: the owner of the key");
  return readServer(flags);
}

/** Which keys to revoke: of an owner, or by what names a key by itself. */
function readMeantKeys(flags: Flags): {
  readonly id: string | undefined;
  readonly prefix: string | undefined;
} {
  const [id, prefix] = [flags.get("id"), flags.get("prefix")];
  if (id === undefined && prefix === undefined && !flags.has("sub"))
    missing("revoke needs --id, --prefix or --sub: which keys are to be revoked");
  if (!flags.has("sub") && flags.has("url"))
    missing("revoke needs --sub, too, at a running server: the owner of the key");
  if (!flags.has("sub") && prefix !== undefined && prefix.length < prefixLength)
    missing(`--prefix without --sub must have the first ${prefixLength} characters of the key, or more`);
  return { id, prefix };
}

/** The address of a running server, with its base path. */
function readServer(flags: Flags): string | undefined {
  const url = flags.get("url");
  if (url === undefined || isUrlOf(url, "http:", "https:")) return url?.replace(/(?:\/api\/v1)?\/*$/, "");
  throw new ConfigError(
    `--url must be the address of a running server, such as http://127.0.0.1:8787, not ${quote(url)}.`,
  );
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

/** Any text on one line, and not too long. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
