/**
 * The reference server's settings: one table that the variables, the flags, `--help` and the docs come from.
 *
 * @module
 */

import { isJwksUrl } from "../core/auth/jwks.ts";
import { minSecretBytes } from "../core/auth/jwt.ts";
import { logLevels } from "../core/base/log.ts";
import { disconnectPolicies, isBasePath, isOrigin, timeRanges } from "../core/service-options.ts";

/** An invalid setting. The message is one line that says which setting, and what is accepted. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** One setting. */
export interface Setting<Value> {
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
  /** What is accepted, phrased to follow "must be". */
  readonly accepts: string;
  /** Parses the text of a value. Undefined: it is not accepted. */
  read(text: string): Value | undefined;
  /** Whether a value may hold a secret: then it is never shown. */
  readonly secret?: boolean;
}

/** Where conversations and keys are kept. */
export type Database =
  | { readonly kind: "memory" }
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

/** A flag is named after its variable unless another is given: `LEASE_MS`, `--lease-ms`. */
function setting<Value>(
  definition: Omit<Setting<Value>, "flag" | "fallback"> & { flag?: string; fallback: string },
): Setting<Value>;
function setting<Value>(
  definition: Omit<Setting<Value>, "flag" | "fallback"> & { flag?: string },
): Setting<Value | undefined>;
function setting<Value>(
  definition: Omit<Setting<Value>, "flag" | "fallback"> & { flag?: string; fallback?: string },
): Setting<Value | undefined> {
  const { flag = definition.variable.toLowerCase().replaceAll("_", "-"), fallback } = definition;
  return { ...definition, flag, fallback };
}

/** A setting that has only a variable, no flag. */
function secretSetting(definition: Omit<Setting<string>, "flag" | "fallback">): Setting<string | undefined> {
  return { ...definition, flag: undefined, fallback: undefined, secret: true };
}

const withoutWhiteSpace = "without leading or trailing white space";

/** All settings, in the order in which the docs list them. */
export const settings = {
  host: setting({
    variable: "HOST",
    fallback: "127.0.0.1",
    about: "address to listen on; `0.0.0.0` or `::` for all",
    accepts: "a host name or an IP address",
    read: readHost,
  }),
  port: setting({
    variable: "PORT",
    fallback: "8787",
    about: "port to listen on; 0 picks a free one",
    ...wholeNumber(0, 65_535),
  }),
  twinsDir: setting({
    variable: "TWINS_DIR",
    flag: "twins",
    otherwise: "./twins, or the samples",
    about: "folder of twin files",
    accepts: `the path of a folder, ${withoutWhiteSpace}`,
    read: readText,
  }),
  database: setting({
    variable: "DATABASE_URL",
    flag: "database",
    fallback: "sqlite:./data/twins.db",
    about: "where keys and conversations are stored; a SQLite file belongs to one process",
    accepts:
      "sqlite:<path> (sqlite:x.db, sqlite:/var/x.db; no ~, no ?, no trailing white space), memory: or " +
      "postgres://<user>:<password>@<host>/<database> (special characters percent-encoded)",
    read: readDatabase,
    secret: true,
  }),
  databasePoolSize: setting({
    variable: "DATABASE_POOL_SIZE",
    fallback: "10",
    about:
      "most PostgreSQL connections for the store; one for notifications and, without Redis, two for limits come on top",
    ...wholeNumber(1, 1000),
  }),
  redisUrl: setting({
    variable: "REDIS_URL",
    flag: "redis",
    about: "Redis for rate limits that several processes share",
    accepts:
      "redis://<host>:<port>, redis://<user>:<password>@<host>:<port> (special characters percent-encoded) or " +
      "rediss://…",
    read: readUrl("redis:", "rediss:"),
    secret: true,
  }),
  jwtSecret: secretSetting({
    variable: "JWT_SECRET",
    otherwise: "generated on first start, stored in the data folder",
    about: "secret that signs the JWTs for creating API keys (HS256)",
    accepts: `at least ${minSecretBytes} bytes of text ${withoutWhiteSpace}`,
    read: readSecret,
  }),
  jwtJwksUrl: setting({
    variable: "JWT_JWKS_URL",
    about: "address of a JWKS whose public keys verify JWTs, instead of a secret",
    accepts: "an http: or https: address without a user or password",
    read: (text) => (isJwksUrl(text) ? text : undefined),
    secret: true,
  }),
  jwtPublicKey: setting({
    variable: "JWT_PUBLIC_KEY",
    about: "public key that verifies JWTs, instead of a secret; line ends may be written `\\n`",
    accepts: "PEM text (-----BEGIN PUBLIC KEY-----) or a JSON Web Key: the key itself, not its path",
    read: (text) => (/^\s*(-----BEGIN PUBLIC KEY-----|\{)/.test(text) ? text : undefined),
    secret: true, // in case somebody passes the private one
  }),
  jwtIssuer: setting({
    variable: "JWT_ISSUER",
    otherwise: "any",
    about: "`iss` that a JWT must have",
    accepts: `text ${withoutWhiteSpace}`,
    read: readText,
  }),
  jwtAudience: setting({
    variable: "JWT_AUDIENCE",
    otherwise: "any",
    about: "`aud` that a JWT must have",
    accepts: `text ${withoutWhiteSpace}`,
    read: readText,
  }),
  modelBaseUrl: setting({
    variable: "MODEL_BASE_URL",
    about: "address of an OpenAI-compatible API, such as `http://127.0.0.1:11434/v1`",
    accepts: "an http: or https: address up to and including /v1, without a query, user or password",
    read: readModelUrl,
    secret: true,
  }),
  modelApiKey: secretSetting({
    variable: "MODEL_API_KEY",
    about: "API key for that address",
    accepts: "printable ASCII text without spaces",
    read: (text) => (/^[!-~]+$/.test(text) ? text : undefined),
  }),
  modelName: setting({
    variable: "MODEL_NAME",
    about: "model for twins that do not name one",
    accepts: `text ${withoutWhiteSpace}`,
    read: readText,
  }),
  modelTimeoutMs: setting({
    variable: "MODEL_TIMEOUT_MS",
    fallback: "30000",
    about:
      "longest wait for a model to start answering, in milliseconds; one that must be loaded may need more",
    ...wholeNumber(1, 86_400_000),
  }),
  corsOrigins: setting({
    variable: "CORS_ORIGINS",
    fallback: "",
    otherwise: "none",
    about: "origins whose pages may call the API",
    accepts: "exact origins such as https://app.example.com, comma-separated",
    read: readOrigins,
  }),
  heartbeatMs: setting({
    variable: "HEARTBEAT_MS",
    fallback: "5000",
    about: "silence on a stream before a keep-alive comment is sent, in milliseconds",
    ...wholeNumber(...timeRanges.heartbeatMs),
  }),
  maxReplyMs: setting({
    variable: "MAX_REPLY_MS",
    fallback: "300000",
    about: "longest time a reply may take, in milliseconds",
    ...wholeNumber(...timeRanges.maxReplyMs),
  }),
  leaseMs: setting({
    variable: "LEASE_MS",
    fallback: "30000",
    about: "time without a sign of life after which another process ends a reply, in milliseconds",
    ...wholeNumber(...timeRanges.leaseMs),
  }),
  shutdownGraceMs: setting({
    variable: "SHUTDOWN_GRACE_MS",
    fallback: "25000",
    about: "time for running replies to finish after SIGTERM or SIGINT, in milliseconds",
    ...wholeNumber(0, 86_400_000),
  }),
  onDisconnect: setting({
    variable: "ON_DISCONNECT",
    fallback: "continue",
    about: "whether a reply continues or is cancelled when its last reader has left",
    ...oneOf(disconnectPolicies),
  }),
  basePath: setting({
    variable: "BASE_PATH",
    fallback: "",
    otherwise: "none",
    about: "prefix of all paths, such as `/assistant`",
    accepts: "a path of plain segments such as /assistant or /tools/assistant",
    read: readBasePath,
  }),
  logLevel: setting({
    variable: "LOG_LEVEL",
    fallback: "info",
    about: "lowest level that is logged",
    ...oneOf(logLevels),
  }),
};

/** The values of all settings. */
export type Settings = {
  readonly [Name in keyof typeof settings]: (typeof settings)[Name] extends Setting<infer Value>
    ? Value
    : never;
};

/** The names of all settings. */
export const settingNames = Object.keys(settings) as readonly (keyof Settings)[];

/** What messages call a setting: `PORT (--port)`. */
export function nameOf(name: keyof Settings): string {
  const { variable, flag } = settings[name];
  return flag ? `${variable} (--${flag})` : variable;
}

/** The values in use, by their variables, null if there is none; without those that may hold a secret. */
export function shownSettings(values: Settings): Record<string, unknown> {
  const shown = settingNames.filter((name) => !settings[name].secret);
  return Object.fromEntries(shown.map((name) => [settings[name].variable, values[name] ?? null]));
}

function wholeNumber(least: number, most: number): Pick<Setting<number>, "accepts" | "read"> {
  return {
    accepts: `a whole number from ${least} to ${most}`,
    read(text) {
      const number = /^\d{1,15}$/.test(text) ? Number(text) : -1;
      return number >= least && number <= most ? number : undefined;
    },
  };
}

function oneOf<const Name extends string>(names: readonly Name[]): Pick<Setting<Name>, "accepts" | "read"> {
  return {
    accepts: `one of ${names.join(", ")}`,
    read: (text) => names.find((name) => name === text),
  };
}

/** White space at an end is a mistake: usually half of a line end, which nobody sees when the text then matches nothing. */
function readText(text: string): string | undefined {
  return text === text.trim() ? text : undefined;
}

function readSecret(text: string): string | undefined {
  return new TextEncoder().encode(text).byteLength >= minSecretBytes ? readText(text) : undefined;
}

function readHost(text: string): string | undefined {
  const host = /^\[(.+)\]$/.exec(text)?.[1] ?? text;
  return /^[A-Za-z0-9.:%_-]+$/.test(host) ? host : undefined;
}

function readUrl(...protocols: string[]): (text: string) => string | undefined {
  return (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    return url && protocols.includes(url.protocol) && url.hostname !== "" ? text : undefined;
  };
}

function readModelUrl(text: string): string | undefined {
  const url = readUrl("http:", "https:")(text);
  return url && !/[?#@]/.test(url) ? url.replace(/\/+$/, "") : undefined;
}

function readDatabase(text: string): Database | undefined {
  if (text === "memory:") return { kind: "memory" };
  const path = /^sqlite:(?:\/\/\/?(?=\/))?([^\0]+)$/.exec(text)?.[1];
  if (path) return isFilePath(path) ? { kind: "sqlite", path } : undefined;
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text) ? { kind: "postgres", url: text } : undefined;
}

/** Whether it is a plain path, without what shells, SQLite or other programs give another meaning. */
function isFilePath(path: string): boolean {
  return !/^:memory:|^file:|^\/?$|^\/\/|^~|\?|\s$/.test(path);
}

function readOrigins(text: string): readonly string[] | undefined {
  if (text === "") return [];
  const origins = text.split(",").map((origin) => origin.trim());
  return origins.every(isOrigin) ? origins : undefined;
}

function readBasePath(text: string): string | undefined {
  const segments = text.replace(/^\/|\/$/g, "");
  const path = segments && `/${segments}`;
  return isBasePath(path) ? path : undefined;
}
