/**
 * The reference server's command line: its command, and the settings.
 *
 * @module
 */

import { parseArgs } from "node:util";
import {
  type CommandName,
  type CommandRequest,
  commands,
  type Flags,
  isCommandName,
  quote,
} from "./commands/mod.ts";
import type { Setting } from "./setting.ts";
import { ConfigError, nameOf, type Settings, settingNames, settings } from "./settings.ts";

/** A command with what it needs. */
export type CommandConfig<Name extends CommandName> = {
  readonly command: Name;
  readonly settings: Settings;
} & CommandRequest<Name>;

/** What the program is to do. */
export type Config =
  | { readonly command: "help" | "version" }
  | { readonly command: "serve"; readonly settings: Settings }
  | { readonly [Name in CommandName]: CommandConfig<Name> }[CommandName];

/** Environment variables. An empty one counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the arguments after the program's name, and the environment. A flag wins over its variable.
 *
 * @throws {ConfigError} for the first problem.
 */
export function readConfig(args: readonly string[], environment: Environment): Config {
  const { command, flags, operand } = readArguments(args);
  if (flags.has("help")) return { command: "help" };
  if (flags.has("version")) return { command: "version" };
  const values = readSettings(flags, environment);
  refuseMisplacedFlags(command, flags);
  if (command === undefined) return { command: "serve", settings: values };
  // One of the commands, with what its own `read` returns: more than the compiler can follow.
  return { command, settings: values, ...commands[command].read(flags, values, operand) } as Config;
}

const switches = ["help", "version", "new", "dry-run", "prune"];
const valueFlags = [
  ...Object.values(commands).flatMap(({ flags }) => flags),
  ...Object.values(settings).flatMap(({ flag }) => flag ?? []),
];

const options = {
  ...Object.fromEntries(valueFlags.map((name) => [name, { type: "string" } as const])),
  new: { type: "boolean" },
  "dry-run": { type: "boolean" },
  prune: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

const seeHelp = "See --help.";

/** What a command line consists of. */
interface Arguments {
  readonly command: CommandName | undefined;
  readonly flags: Flags;
  /** What the command is given besides flags. */
  readonly operand: string | undefined;
}

/** Not strictly, because the messages of `parseArgs` do not fit on one line, and differ between runtimes. */
function readArguments(args: readonly string[]): Arguments {
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const flags = new Map<string, string>();
  let command: CommandName | undefined;
  let operand: string | undefined;
  for (const token of tokens) {
    if (token.kind === "option") {
      refuseUnknownFlag(token);
      if (flags.has(token.name)) throw new ConfigError(`--${token.name} is given twice.`);
      flags.set(token.name, readValue(token));
    } else if (token.kind === "positional" && isCommandName(token.value) && !command) {
      command = token.value;
    } else if (token.kind === "positional" && command && commands[command].operand && !operand) {
      operand = token.value;
    } else {
      const argument = token.kind === "positional" ? token.value : "--";
      throw new ConfigError(`Unknown argument ${quote(argument)}. ${seeHelp}`);
    }
  }
  return { command, flags, operand };
}

/** A flag as `parseArgs` found it. */
interface GivenFlag {
  readonly name: string;
  /** As it was written, with its dashes. */
  readonly rawName: string;
  readonly value: string | undefined;
  /** Whether the value followed an equals sign. */
  readonly inlineValue: boolean | undefined;
}

function refuseUnknownFlag({ name, rawName }: GivenFlag): void {
  if (Object.hasOwn(options, name)) return;
  const variable = name.toUpperCase().replaceAll("-", "_");
  if (Object.values(settings).some((setting) => setting.variable === variable && !setting.flag)) {
    throw new ConfigError(
      `--${name} is not a flag: set the variable ${variable}, because everyone on the machine can see a command line.`,
    );
  }
  throw new ConfigError(`Unknown flag ${quote(rawName)}. ${seeHelp}`);
}

function readValue({ name, value, inlineValue }: GivenFlag): string {
  if (switches.includes(name)) {
    if (value !== undefined) throw new ConfigError(`--${name} takes no value.`);
    return "";
  }
  if (!value || (!inlineValue && value.startsWith("--"))) {
    throw new ConfigError(`--${name} needs a value. ${seeHelp}`);
  }
  return value;
}

function readSettings(flags: Flags, environment: Environment): Settings {
  const values = Object.fromEntries(
    settingNames.map((name) => [name, readSetting(name, flags, environment)]),
  ) as Settings;
  const { jwtSecret, jwtJwksUrl, jwtPublicKey, port, metricsPort } = values;
  if ([jwtSecret, jwtJwksUrl, jwtPublicKey].filter((value) => value !== undefined).length > 1) {
    throw new ConfigError("Only one of JWT_SECRET, JWT_JWKS_URL and JWT_PUBLIC_KEY may be given.");
  }
  if (metricsPort !== undefined && metricsPort === port) {
    throw new ConfigError(
      `${nameOf("metricsPort")} must be another port than ${nameOf("port")}, not ${port}.`,
    );
  }
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

function refuseMisplacedFlags(command: CommandName | undefined, flags: Flags): void {
  const own = command === undefined ? [] : commands[command].flags;
  for (const [owner, { flags: names }] of Object.entries(commands)) {
    const misplaced = names.find((name) => flags.has(name) && !own.includes(name));
    if (misplaced) throw new ConfigError(`--${misplaced} belongs to the command "${owner}". ${seeHelp}`);
  }
}
