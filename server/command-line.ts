/**
 * The reference server's command line: its command, and the settings.
 *
 * @module
 */

import { isOwnerName } from "../core/auth/credentials.ts";
import type { Setting } from "./setting.ts";
import { ConfigError, nameOf, type Settings, settingNames, settings } from "./settings.ts";

/** The command, with what it needs. */
export type Config =
  | { readonly command: "help" }
  | { readonly command: "version" }
  | { readonly command: "serve"; readonly settings: Settings }
  | {
      /** Print a JWT. */
      readonly command: "token";
      readonly settings: Settings;
      readonly sub: string;
      readonly expiresInSeconds: number;
    }
  | {
      /** Copy the records of a SQLite file into PostgreSQL. */
      readonly command: "copy";
      readonly settings: Settings;
      /** The file's path. */
      readonly from: string;
      /** The address of the PostgreSQL database. */
      readonly to: string;
    };

/** Environment variables. An empty one counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the arguments after the program's name, and the environment. A flag wins over its variable.
 *
 * @throws {ConfigError} for the first problem.
 */
export function readConfig(args: readonly string[], environment: Environment): Config {
  const { command, flags } = readArguments(args);
  if (flags.has("help")) return { command: "help" };
  if (flags.has("version")) return { command: "version" };
  const values = readSettings(flags, environment);
  refuseMisplacedFlags(command, flags);
  switch (command) {
    case undefined:
      return { command: "serve", settings: values };
    case "token":
      return { command, settings: values, ...readTokenFlags(flags) };
    case "copy":
      return { command, settings: values, from: readSource(flags), to: readTarget(values) };
  }
}

type Flags = ReadonlyMap<string, string>;

/** The flags that only one command takes. */
const commandFlags = { token: ["sub", "expires-in"], copy: ["from"] } as const;

type Command = keyof typeof commandFlags;

const switches = ["help", "version"];
const knownFlags = new Set<string>([
  ...Object.values(commandFlags).flat(),
  ...switches,
  ...Object.values(settings).flatMap(({ flag }) => flag ?? []),
]);

function readArguments(args: readonly string[]): { command: Command | undefined; flags: Flags } {
  const flags = new Map<string, string>();
  let command: Command | undefined;
  const rest = [...args];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (isCommand(argument) && !command) {
      command = argument;
      continue;
    }
    const [, name, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(argument === "-h" ? "--help" : argument) ?? [];
    if (name === undefined) throw new ConfigError(`Unknown argument ${quote(argument)}. ${seeHelp}`);
    refuseUnknownFlag(name);
    if (flags.has(name)) throw new ConfigError(`--${name} is given twice.`);
    flags.set(name, switches.includes(name) ? readSwitch(name, inline) : readValue(name, inline, rest));
  }
  return { command, flags };
}

function isCommand(argument: string): argument is Command {
  return Object.hasOwn(commandFlags, argument);
}

const seeHelp = "See --help.";

function refuseUnknownFlag(name: string): void {
  if (knownFlags.has(name)) return;
  const variable = name.toUpperCase().replaceAll("-", "_");
  if (Object.values(settings).some((setting) => setting.variable === variable && !setting.flag)) {
    throw new ConfigError(
      `--${name} is not a flag: set the variable ${variable}, because everyone on the machine can see a command line.`,
    );
  }
  throw new ConfigError(`Unknown flag ${quote(`--${name}`)}. ${seeHelp}`);
}

function readSwitch(name: string, inline: string | undefined): string {
  if (inline !== undefined) throw new ConfigError(`--${name} takes no value.`);
  return "";
}

function readValue(name: string, inline: string | undefined, rest: string[]): string {
  const value = inline ?? (rest[0]?.startsWith("--") ? undefined : rest.shift());
  if (!value) throw new ConfigError(`--${name} needs a value. ${seeHelp}`);
  return value;
}

function readSettings(flags: Flags, environment: Environment): Settings {
  const values = Object.fromEntries(
    settingNames.map((name) => [name, readSetting(name, flags, environment)]),
  ) as Settings;
  refuseSeveralJwtSources(values);
  return values;
}

function readSetting(name: keyof Settings, flags: Flags, environment: Environment): unknown {
  const setting: Setting<unknown> = settings[name];
  const { variable, flag, fallback } = setting;
  const given = (flag && flags.get(flag)) || environment[variable] || undefined;
  const text = given ?? fallback;
  if (text === undefined) return undefined;
  const value = setting.parse(text);
  if (value !== undefined && setting.accepts(value)) return value;
  const shown = setting.secret ? "" : `, not ${quote(text)}`;
  throw new ConfigError(`${nameOf(name)} must be ${setting.expected}${shown}.`);
}

function refuseSeveralJwtSources({ jwtSecret, jwtJwksUrl, jwtPublicKey }: Settings): void {
  if ([jwtSecret, jwtJwksUrl, jwtPublicKey].filter((value) => value !== undefined).length > 1) {
    throw new ConfigError("Only one of JWT_SECRET, JWT_JWKS_URL and JWT_PUBLIC_KEY may be given.");
  }
}

function refuseMisplacedFlags(command: Command | undefined, flags: Flags): void {
  for (const [owner, names] of Object.entries(commandFlags)) {
    const misplaced = names.find((name) => owner !== command && flags.has(name));
    if (misplaced) throw new ConfigError(`--${misplaced} belongs to the command "${owner}". ${seeHelp}`);
  }
}

function readTokenFlags(flags: Flags): { sub: string; expiresInSeconds: number } {
  const sub = flags.get("sub");
  if (sub === undefined) throw new ConfigError("token needs --sub, the owner that the token is for.");
  if (!isOwnerName(sub)) throw new ConfigError("--sub must have 1 to 255 printable characters.");
  return { sub, expiresInSeconds: readDuration(flags.get("expires-in") ?? "1h") };
}

const secondsByUnit: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const longestSeconds = 36_500 * 86_400;

function readDuration(text: string): number {
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
function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/** What `--help` prints. `program` is the command that starts this program. */
export function usage(program: string): string {
  const rows = Object.values(settings).flatMap((setting): [string, string][] => [
    [
      setting.flag ? `--${setting.flag}, ${setting.variable}` : setting.variable,
      setting.about.replaceAll("`", ""),
    ],
    ["", `default: ${shownDefault(setting)}; takes ${setting.expected}`],
  ]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`);
  return `Conversational AI twins over HTTP.

Usage:
  ${program} [flags]
      start the server
  ${program} token --sub <owner> [--expires-in 1h]
      print a JWT for creating API keys
  ${program} copy --from sqlite:<path> --database postgres://…
      copy all keys and conversations from a SQLite file into an empty PostgreSQL database
  ${program} --help | --version

Settings, as flags (--port 80 or --port=80) or environment variables; a flag wins over its variable:
${lines.join("\n")}
`;
}

/** The settings as a Markdown table, for the docs. */
export function settingsTable(): string {
  const rows = Object.values(settings).map((setting) => {
    const name = setting.flag ? `\`${setting.variable}\` (\`--${setting.flag}\`)` : `\`${setting.variable}\``;
    const fallback = setting.fallback ? `\`${setting.fallback}\`` : shownDefault(setting);
    return `| ${name} | ${fallback} | ${setting.about} | ${setting.expected.replaceAll("<", "\\<")} |`;
  });
  return ["| variable (flag) | default | | takes |", "|---|---|---|---|", ...rows].join("\n");
}

function shownDefault({ fallback, otherwise = "none" }: Setting<unknown>): string {
  return fallback || otherwise;
}
