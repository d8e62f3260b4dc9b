/**
 * The reference server's settings: one table that the variables, the flags, `--help` and the docs come from.
 *
 * @module
 */

import {
  defaultMessageCharacters,
  messageCharactersRange,
} from "../adapters/openai-clients/message-characters.ts";
import { endpointOfApi } from "../adapters/openai-models/address.ts";
import { continuationModes } from "../adapters/openai-models/continuation.ts";
import { addressesOf } from "../adapters/postgres/hosts.ts";
import { parseRedisAddress, redisAddresses } from "../adapters/redis/address.ts";
import { parseHost } from "../adapters/webhooks/addresses.ts";
import { isJwksUrl } from "../core/auth/jwks.ts";
import { minSecretBytes } from "../core/auth/jwt.ts";
import { isString } from "../core/base/json.ts";
import { logLevels } from "../core/base/log.ts";
import { defaultRequestsPerHour } from "../core/http/rate-limit.ts";
import {
  basePathRule,
  conversationStreamsRange,
  defaultConversationStreams,
  defaultRunningReplies,
  defaultTimes,
  disconnectPolicies,
  keyDaysRange,
  originsRule,
  requestsPerHourRange,
  runningRepliesRange,
  timeRanges,
} from "../core/service-options.ts";
import { tokenBudgetRange } from "../core/store/token-budgets.ts";
import { defaultOwnTwins, ownTwinsRange } from "../core/twins/own-twins.ts";
import {
  asWritten,
  choice,
  isTrimmed,
  isUrlOf,
  matches,
  number,
  type Setting,
  secretSetting,
  setting,
  trimmedText,
  withoutWhiteSpace,
} from "./setting.ts";

/** An invalid setting. The message is one line that names the setting, and what is accepted. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Where conversations and keys are kept. */
export type DatabaseChoice =
  | { readonly kind: "memory" }
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

/** The address of a model's server. */
const modelAddress = {
  expected:
    "an http: or https: address up to and including /v1, without what requests add (/chat/completions), a query, user or password",
  parse: (text: string) => text.replace(/\/+$/, ""),
  accepts: (text: unknown) =>
    isUrlOf(text, "http:", "https:") && matches(/^[^?#@]*$/)(text) && !matches(endpointOfApi)(text),
  secret: true,
} as const;

/** All settings, in the order in which the docs list them. */
export const settings = {
  host: setting({
    variable: "HOST",
    fallback: "127.0.0.1",
    about: "address to listen on; `0.0.0.0` or `::` for all",
    expected: "a host name or IP address",
    parse: (host) => /^\[(.+)\]$/.exec(host)?.[1] ?? host, // an IPv6 address may be in brackets
    accepts: matches(/^[A-Za-z0-9.:%_-]+$/),
  }),
  port: setting({
    variable: "PORT",
    fallback: "8787",
    about: "port to listen on; 0: a free one",
    ...number([0, 65_535]),
  }),
  twinsDir: setting({
    variable: "TWINS_DIR",
    flag: "twins",
    otherwise: "./twins, or the samples",
    about: "folder of twin files",
    expected: `the path of a folder, ${withoutWhiteSpace}`,
    parse: asWritten,
    accepts: isTrimmed,
  }),
  database: setting({
    variable: "DATABASE_URL",
    flag: "database",
    fallback: "sqlite:./data/twins.db",
    about: "where keys and conversations are stored; a SQLite file belongs to one process",
    expected:
      "sqlite:<path> (sqlite:x.db, sqlite:/var/x.db; no ~, no ?, no trailing white space), memory: or " +
      "postgres://<user>:<password>@<host>/<database> (special characters percent-encoded); several hosts with commas",
    parse: parseDatabase,
    accepts: (database) => database !== undefined,
    secret: true,
  }),
  databasePoolSize: setting({
    variable: "DATABASE_POOL_SIZE",
    fallback: "10",
    about:
      "most PostgreSQL connections for the store; one for signals and, without Redis, two for limits come on top",
    ...number([1, 1000]),
  }),
  redisUrl: setting({
    variable: "REDIS_URL",
    flag: "redis",
    about: "Redis for rate limits that several processes share",
    expected: redisAddresses,
    parse: (text) => (parseRedisAddress(text) ? text : undefined),
    accepts: isString,
    secret: true,
  }),
  jwtSecret: secretSetting({
    variable: "JWT_SECRET",
    otherwise: "generated once, in the data folder",
    about: "secret of the JWTs that create API keys (HS256)",
    expected: `at least ${minSecretBytes} bytes of text ${withoutWhiteSpace}`,
    accepts: (text) => isTrimmed(text) && new TextEncoder().encode(String(text)).byteLength >= minSecretBytes,
  }),
  jwtJwksUrl: setting({
    variable: "JWT_JWKS_URL",
    about: "address of a JWKS that verifies JWTs instead",
    expected: "an http: or https: address without a user or password",
    parse: asWritten,
    accepts: isJwksUrl,
    secret: true,
  }),
  jwtPublicKey: setting({
    variable: "JWT_PUBLIC_KEY",
    about: "public key that verifies JWTs instead; line ends may be `\\n`",
    expected: "PEM text (-----BEGIN PUBLIC KEY-----) or a JSON Web Key: the key itself, not its path",
    parse: asWritten,
    accepts: matches(/^\s*(-----BEGIN PUBLIC KEY-----|\{)/),
    secret: true, // in case it is the private one
  }),
  jwtIssuer: setting({
    variable: "JWT_ISSUER",
    otherwise: "any",
    about: "`iss` that a JWT must have",
    ...trimmedText,
  }),
  jwtAudience: setting({
    variable: "JWT_AUDIENCE",
    otherwise: "any; required with a JWKS or public key",
    about: "`aud` that a JWT must have; `any`: none is checked",
    ...trimmedText,
  }),
  jwtRequire: setting({
    variable: "JWT_REQUIRE",
    about: "claim that a JWT must have to make keys, such as `role=admin`",
    expected: "a claim and its value, claim=value",
    parse: (text) => /^([^=\s]+)=(\S.*)$/.exec(text)?.slice(1) as [string, string] | undefined,
    accepts: Array.isArray,
  }),
  keyMaxDays: setting({
    variable: "KEY_MAX_DAYS",
    about: "days after which a key ends at the latest",
    ...number(keyDaysRange),
  }),
  modelBaseUrl: setting({
    variable: "MODEL_BASE_URL",
    about: "address of an OpenAI-compatible API, such as `http://127.0.0.1:11434/v1`",
    ...modelAddress,
  }),
  modelApiKey: secretSetting({
    variable: "MODEL_API_KEY",
    about: "API key for that address",
    expected: "printable ASCII text without spaces",
    accepts: matches(/^[!-~]+$/),
  }),
  modelName: setting({
    variable: "MODEL_NAME",
    about: "model for twins that do not name one",
    ...trimmedText,
  }),
  modelChoices: setting({
    variable: "MODEL_CHOICES",
    fallback: "",
    otherwise: "none",
    about: "models, besides that one, that owners may name in twins of their own",
    expected: "names of models, comma-separated",
    parse: (text) => text.split(",").flatMap((name) => name.trim() || []),
    accepts: Array.isArray,
  }),
  modelEmbeddings: setting({
    variable: "MODEL_EMBEDDINGS",
    about: "model of that address that finds sections by their meaning, too: see docs/twins.md",
    ...trimmedText,
  }),
  moderationModel: setting({
    variable: "MODERATION_MODEL",
    about:
      "model that decides, by `/moderations`, what twins are asked and what they say: see docs/guards.md",
    ...trimmedText,
  }),
  moderationBaseUrl: setting({
    variable: "MODERATION_BASE_URL",
    otherwise: "MODEL_BASE_URL",
    about: "address of the OpenAI-compatible API that has it",
    ...modelAddress,
  }),
  moderationApiKey: secretSetting({
    variable: "MODERATION_API_KEY",
    otherwise: "MODEL_API_KEY, if the address is the same",
    about: "API key for that address",
    expected: "printable ASCII text without spaces",
    accepts: matches(/^[!-~]+$/),
  }),
  continueReplies: setting({
    variable: "CONTINUE_REPLIES",
    fallback: "never",
    about: "how a model goes on with a reply after its process died: see docs/models.md",
    ...choice(continuationModes),
  }),
  mcpServers: setting({
    variable: "MCP_SERVERS",
    about: "JSON file of the MCP servers whose tools twins may use: see docs/tools.md",
    expected: `the path of a file, ${withoutWhiteSpace}`,
    parse: asWritten,
    accepts: isTrimmed,
  }),
  maxTwins: setting({
    variable: "MAX_TWINS",
    fallback: String(defaultOwnTwins),
    about: "twins that an owner may make over HTTP; 0: none may",
    ...number(ownTwinsRange),
  }),
  corsOrigins: setting({
    variable: "CORS_ORIGINS",
    fallback: "",
    otherwise: "none",
    about: "origins of pages that may call the API",
    expected: "exact origins such as https://app.example.com, comma-separated",
    parse: (text) => (text === "" ? [] : text.split(",").map((origin) => origin.trim())),
    accepts: originsRule.accepts,
  }),
  maxRunningReplies: setting({
    variable: "MAX_RUNNING_REPLIES",
    fallback: String(defaultRunningReplies),
    about: "replies that a key may have running at once on this process; an end user has up to 10",
    ...number(runningRepliesRange),
  }),
  maxMessageCharacters: setting({
    variable: "MAX_MESSAGE_CHARACTERS",
    fallback: String(defaultMessageCharacters),
    about: "characters of a message through `/v1`",
    ...number(messageCharactersRange),
  }),
  metricsPort: setting({
    variable: "METRICS_PORT",
    about: "port of a second listener on the same host, for `GET /metrics` alone",
    ...number([1, 65_535]),
  }),
  readOnlyPerHour: setting({
    variable: "READ_ONLY_PER_HOUR",
    fallback: String(defaultRequestsPerHour.read_only),
    about: "requests of a `read_only` key in an hour",
    ...number(requestsPerHourRange),
  }),
  fullAccessPerHour: setting({
    variable: "FULL_ACCESS_PER_HOUR",
    fallback: String(defaultRequestsPerHour.full_access),
    about: "requests of a `full_access` key in an hour",
    ...number(requestsPerHourRange),
  }),
  maxPerHour: setting({
    variable: "MAX_PER_HOUR",
    fallback: String(requestsPerHourRange[1]),
    about: "requests in an hour that a key may have at most as a limit of its own",
    ...number(requestsPerHourRange),
  }),
  retentionDays: setting({
    variable: "RETENTION_DAYS",
    otherwise: "never",
    about: "days without a message after which a conversation is deleted: see docs/operating.md",
    ...number(keyDaysRange),
  }),
  ownerTokensPerDay: setting({
    variable: "OWNER_TOKENS_PER_DAY",
    about: "tokens that an owner's replies may take in a day of UTC: see docs/operating.md",
    ...number(tokenBudgetRange),
  }),
  maxConversationStreams: setting({
    variable: "MAX_CONVERSATION_STREAMS",
    fallback: String(defaultConversationStreams),
    about: "streams of conversations that a key or an end user may have open in a process",
    ...number(conversationStreamsRange),
  }),
  heartbeatMs: setting({
    variable: "HEARTBEAT_MS",
    fallback: String(defaultTimes.heartbeatMs),
    about: "milliseconds of silence on a stream before a keep-alive comment",
    ...number(timeRanges.heartbeatMs),
  }),
  maxReplyMs: setting({
    variable: "MAX_REPLY_MS",
    fallback: String(defaultTimes.maxReplyMs),
    about: "milliseconds that a reply may take",
    ...number(timeRanges.maxReplyMs),
  }),
  leaseMs: setting({
    variable: "LEASE_MS",
    fallback: String(defaultTimes.leaseMs),
    about: "milliseconds without a sign of life after which another process takes a reply over",
    ...number(timeRanges.leaseMs),
  }),
  shutdownGraceMs: setting({
    variable: "SHUTDOWN_GRACE_MS",
    fallback: "25000",
    about: "milliseconds for running replies to finish after a signal to stop",
    ...number([0, 86_400_000]),
  }),
  shutdownDelayMs: setting({
    variable: "SHUTDOWN_DELAY_MS",
    fallback: "0",
    about:
      "milliseconds after a signal to stop in which `/readyz` is 503 and all is served, for balancers to notice",
    ...number([0, 600_000]),
  }),
  onDisconnect: setting({
    variable: "ON_DISCONNECT",
    fallback: "continue",
    about: "what happens to a reply after its last follower has left",
    ...choice(disconnectPolicies),
  }),
  openaiApi: setting({
    variable: "OPENAI_API",
    fallback: "on",
    about: "whether `/v1` is served",
    ...choice(["on", "off"]),
  }),
  mcp: setting({
    variable: "MCP",
    fallback: "on",
    about: "whether `/mcp` is served",
    ...choice(["on", "off"]),
  }),
  webhooks: setting({
    variable: "WEBHOOKS",
    fallback: "on",
    about: "whether owners may have addresses told of what happens: see docs/webhooks.md",
    ...choice(["on", "off"]),
  }),
  webhookHosts: setting({
    variable: "WEBHOOK_HOSTS",
    fallback: "",
    otherwise: "none",
    about: "hosts that webhooks may be at although they are not public, also over `http:`",
    expected: "hosts such as hooks.internal or 127.0.0.1:9000, comma-separated; without a port, any",
    parse: (text) => (text === "" ? [] : text.split(",").map((host) => host.trim())),
    accepts: (hosts) => Array.isArray(hosts) && hosts.every((host) => isString(host) && parseHost(host)),
  }),
  basePath: setting({
    variable: "BASE_PATH",
    fallback: "",
    otherwise: "none",
    about: "prefix of all paths",
    expected: "plain segments such as /tools/assistant",
    parse: (path) => path.replace(/^\/|\/$/g, "").replace(/^(?=.)/, "/"),
    accepts: basePathRule.accepts,
  }),
  playground: setting({
    variable: "PLAYGROUND",
    otherwise: "on for a loopback HOST, else off",
    about: "whether `/` is the playground, and `/docs` the API's reference",
    ...choice(["on", "off"]),
  }),
  logFormat: setting({
    variable: "LOG_FORMAT",
    otherwise: "pretty on a terminal, else json",
    about: "form of log lines",
    ...choice(["json", "pretty"]),
  }),
  logLevel: setting({
    variable: "LOG_LEVEL",
    fallback: "info",
    about: "lowest level to log",
    ...choice(logLevels),
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
  return shown(settingNames, values);
}

/** Like {@link shownSettings}, without the values that are the defaults. */
export function changedSettings(values: Settings): Record<string, unknown> {
  const changed = settingNames.filter((name) => {
    const setting: Setting<unknown> = settings[name];
    const usual = setting.fallback === undefined ? undefined : setting.parse(setting.fallback);
    return JSON.stringify(values[name]) !== JSON.stringify(usual);
  });
  return shown(changed, values);
}

function shown(names: readonly (keyof Settings)[], values: Settings): Record<string, unknown> {
  const open = names.filter((name) => !settings[name].secret);
  return Object.fromEntries(open.map((name) => [settings[name].variable, values[name] ?? null]));
}

function parseDatabase(text: string): DatabaseChoice | undefined {
  if (text === "memory:") return { kind: "memory" };
  const path = /^sqlite:(?:\/\/\/?(?=\/))?([^\0]+)$/.exec(text)?.[1];
  // A plain path, without what shells, SQLite or other programs give another meaning.
  const isPlain = path && !/^:memory:|^file:|^\/?$|^\/\/|^~|\?|\s$/.test(path);
  if (path) return isPlain ? { kind: "sqlite", path } : undefined;
  return addressesOf(text) ? { kind: "postgres", url: text } : undefined;
}
