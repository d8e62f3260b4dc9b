/**
 * The options of a service, and the values that they accept.
 *
 * @module
 */

import type { ServedPage } from "./api/routes.ts";
import { type AuthenticateUser, capacityRange } from "./auth/host-users.ts";
import { type Clock, systemClock } from "./base/clock.ts";
import { sha256 as portableSha256, type RandomBytes, type Sha256, systemRandom } from "./base/ids.ts";
import { isJsonObject, isString } from "./base/json.ts";
import { consoleLog, type Log } from "./base/log.ts";
import { guardObserver, type Observer, observerRule } from "./base/observe.ts";
import {
  clockRule,
  functionThat,
  hasMethods,
  limiterRule,
  logRule,
  objectWith,
  oneOf,
  optional,
  type Rule,
  type RulesFor,
  requireOptions,
  unusable,
  wholeNumber,
} from "./base/rules.ts";
import { defaultRequestsPerHour, type RequestsPerHour } from "./http/rate-limit.ts";
import type { ApiExtension } from "./http/route.ts";
import { createMemoryLimiter } from "./limits/memory-limiter.ts";
import type { RateLimiter } from "./limits/token-bucket.ts";
import { createMemoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { createEchoEngine, type TwinEngine } from "./twins/engine.ts";
import type { TwinSource } from "./twins/twins.ts";

/** Options of {@link createService}: `twins`, and whatever is not to be the default. */
export interface ServiceOptions {
  /** The twins that clients can talk to: `createTwinList()` for a few, `openTwinFiles()` for a folder. */
  readonly twins: TwinSource;
  /**
   * Where keys and conversations are kept. Default: in memory, and so lost with the process. `openSqlite()` and
   * `openPostgres()` keep them.
   */
  readonly store?: Store | undefined;
  /** Where limits are kept. Default: in memory. A database's own limiter is durable, and shared by its processes. */
  readonly limiter?: RateLimiter | undefined;
  /** The engines that twins name, by their names. Default: `echo` and, unless it is imported from `core`, `knowledge`. */
  readonly engines?: Readonly<Record<string, TwinEngine>> | undefined;
  /**
   * Verifies the JWT that keys are created with; `createJwtVerifier()` makes one. Resolves with the owner that a token
   * is for, 1 to 255 printable characters. Rejects with an {@link ApiError}, usually `invalid_token`. If it resolves or
   * rejects with anything else, the answer is 500 (for a `StoreUnavailable`, 503), and the log says so. A request waits
   * for it without limit. Default: there are no keys, and their endpoints are 404.
   */
  readonly verifyToken?: ((token: string) => Promise<string>) | undefined;
  /**
   * For hosts that know their users, by a session for example: finds the user of a request, so that no key is
   * needed. Null is 401. It may throw an {@link ApiError}; what else it throws is 500, and logged. `Authorization` and
   * cookies are the host's then; with `verifyToken`, what looks like one of this service's keys is checked as one.
   * Default: only keys are accepted.
   */
  readonly authenticate?: AuthenticateUser | undefined;
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** The source of keys and ids. Default: Web Crypto. */
  readonly random?: RandomBytes | undefined;
  /**
   * The digest that identifies API keys and repeated requests. Default: one in JavaScript, for every runtime. The
   * runtime's own is faster: `(text) => hash("sha256", text)`, with `hash` from `node:crypto` on Node, Deno and Bun.
   */
  readonly sha256?: Sha256 | undefined;
  /** What the operator is told: `createJsonLog()` writes lines. Default: warnings and errors go to the console. */
  readonly log?: Log | undefined;
  /** Callbacks that metrics and traces are made of. Default: none; this costs nothing. */
  readonly observe?: Observer | undefined;
  /** The prefix of all paths, such as `/twins-api`: plain segments, no trailing slash. Default: none. */
  readonly basePath?: string | undefined;
  /** Origins whose pages may call the API, such as `https://app.example.com`. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Pages that are served beside the API, by their paths below the base path, such as `/`. Default: none. */
  readonly pages?: Readonly<Record<string, ServedPage>> | undefined;
  /** How many requests a key has in an hour, by its scope: 1 to 1,000,000. Default: 200 and 500. */
  readonly requestsPerHour?: Partial<RequestsPerHour> | undefined;
  /** How many replies a key, or a host's user, may have running at once on this process: 1 to 100,000. Default 500. */
  readonly maxRunningReplies?: number | undefined;
  /** Time without events on a stream after which a keep-alive comment is sent, in milliseconds. Default 5,000. */
  readonly heartbeatMs?: number | undefined;
  /** How many streams of conversations a key, or an end user, may have open in this process: 1 to 100,000. Default 100. */
  readonly maxConversationStreams?: number | undefined;
  /** The longest time a reply may take, in milliseconds. Default 300,000. */
  readonly maxReplyMs?: number | undefined;
  /**
   * How long a process keeps its running reply without saving it, in milliseconds. Afterwards another process may end
   * it. Default 30,000.
   */
  readonly leaseMs?: number | undefined;
  /** Whether a reply continues or is cancelled when its last follower has left. Default `continue`. */
  readonly onDisconnect?: "continue" | "cancel" | undefined;
  /** The endpoints of `/v1` for OpenAI's clients, as `createOpenAIApi` creates them. Default: there are none. */
  readonly openaiApi?: ApiExtension | undefined;
  /** The endpoint of `/mcp` for MCP clients, as `createMcpApi` creates it. Default: there is none. */
  readonly mcpApi?: ApiExtension | undefined;
  /**
   * Called for each reply with a promise that resolves once its end is stored, and never rejects. For hosts that
   * otherwise stop the work of a request when its client has left, such as workers. Called without `this`; what it throws
   * is logged. Default: not called.
   */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** The minimum and maximum of a key's requests in an hour. */
export const requestsPerHourRange: readonly [least: number, most: number] = capacityRange;

/** The minimum and maximum of replies that run at once, and what is usual. */
export const runningRepliesRange = [1, 100_000] as const;
export const defaultRunningReplies = 500;

/** The minimum and maximum of each time, in milliseconds. */
export const timeRanges = {
  heartbeatMs: [1, 3_600_000],
  maxReplyMs: [1, 86_400_000],
  leaseMs: [100, 86_400_000],
} as const satisfies Readonly<Record<string, readonly [least: number, most: number]>>;

/** The minimum and maximum of a caller's streams of conversations, and how many there may be by default. */
export const conversationStreamsRange: readonly [least: number, most: number] = [1, 100_000];
export const defaultConversationStreams = 100;

/** The times of a service that names none, in milliseconds. */
export const defaultTimes = { heartbeatMs: 5_000, maxReplyMs: 300_000, leaseMs: 30_000 } as const;

/** What to do with a reply whose last follower has gone. */
export const disconnectPolicies = ["continue", "cancel"] as const;

/**
 * What can be the prefix of all paths: nothing, or segments that each follow a slash. Paths are compared as they are
 * sent, so nothing is escaped.
 */
export const basePathRule: Rule = {
  expected: "empty, or a path such as /twins-api, with letters, digits and -._~!$&'()*+,;=:@ in its segments",
  accepts: (value) => isString(value) && /^(\/(?!\.\.?(\/|$))[\w.~!$&'()*+,;=:@-]+)*$/.test(value),
};

/** Origins as browsers send them. */
export const originsRule: Rule = {
  expected: "a list of origins such as https://app.example.com",
  accepts: (value) => Array.isArray(value) && value.every((origin) => isString(origin) && isOrigin(origin)),
};

/**
 * Whether a text is an origin: no path, no trailing slash, no default port. Web views of apps and extensions have
 * schemes of their own, such as `capacitor://localhost`.
 */
function isOrigin(text: string): boolean {
  if (!/^https?:/.test(text)) return /^[a-z][a-z0-9+.-]*:\/\/[\w.:-]+$/.test(text);
  return URL.canParse(text) && new URL(text).origin === text;
}

const sha256Rule = functionThat("digests a text to lower-case hexadecimal");

const rules: RulesFor<ServiceOptions> = {
  twins: objectWith("a source of twins, such as createTwinList() returns", "list", "get"),
  store: optional(
    objectWith("a store, such as createMemoryStore() returns", "ping", "beginReply", "endReply"),
  ),
  limiter: optional(limiterRule),
  engines: optional({
    expected:
      "an object of engines by name, each with a function reply, and continues, if given, exact or partial",
    accepts: areEngines,
  }),
  verifyToken: optional(functionThat("resolves with a token's owner")),
  authenticate: optional(functionThat("finds a request's user")),
  clock: optional(clockRule),
  random: optional(functionThat("fills bytes")),
  sha256: optional(sha256Rule),
  log: optional(logRule),
  observe: optional(observerRule),
  basePath: optional(basePathRule),
  corsOrigins: optional(originsRule),
  pages: optional({
    expected: "an object of pages, each with content and headers, by paths",
    accepts: arePages,
  }),
  requestsPerHour: optional({
    expected: "an object of whole numbers from 1 to 1000000, named read_only and full_access",
    accepts: (value) =>
      isJsonObject(value) &&
      Object.entries(value).every(
        ([scope, count]) =>
          Object.hasOwn(defaultRequestsPerHour, scope) && wholeNumber(requestsPerHourRange).accepts(count),
      ),
  }),
  maxRunningReplies: optional(wholeNumber(runningRepliesRange)),
  heartbeatMs: optional(wholeNumber(timeRanges.heartbeatMs)),
  maxConversationStreams: optional(wholeNumber(conversationStreamsRange)),
  maxReplyMs: optional(wholeNumber(timeRanges.maxReplyMs)),
  leaseMs: optional(wholeNumber(timeRanges.leaseMs)),
  onDisconnect: optional(oneOf(disconnectPolicies)),
  openaiApi: optional({ expected: "what createOpenAIApi() returns", accepts: isExtension }),
  mcpApi: optional({ expected: "what createMcpApi() returns", accepts: isExtension }),
  waitUntil: optional(functionThat("takes a promise")),
};

/** Options without a default: to leave them out means something. */
type WithoutDefault = "verifyToken" | "authenticate" | "waitUntil" | "openaiApi" | "mcpApi";

/** Options with the defaults of those that were left out. */
export type CompleteOptions = {
  readonly [Name in Exclude<keyof ServiceOptions, "requestsPerHour">]-?:
    | Exclude<ServiceOptions[Name], undefined>
    | (Name extends WithoutDefault ? undefined : never);
} & { readonly requestsPerHour: RequestsPerHour };

/** Fills in the defaults. */
export function completeOptions(options: ServiceOptions): CompleteOptions {
  const { twins, verifyToken, authenticate, waitUntil, openaiApi, mcpApi } = options;
  const { clock = systemClock, random = systemRandom, sha256 = portableSha256, log = consoleLog } = options;
  const { store = createMemoryStore(), limiter = createMemoryLimiter({ clock }) } = options;
  const { engines = { echo: createEchoEngine() } } = options;
  const { basePath = "", corsOrigins = [], pages = {} } = options;
  const { maxConversationStreams = defaultConversationStreams, onDisconnect = "continue" } = options;
  const { heartbeatMs = defaultTimes.heartbeatMs, maxReplyMs = defaultTimes.maxReplyMs } = options;
  const { leaseMs = defaultTimes.leaseMs } = options;
  const { maxRunningReplies = defaultRunningReplies } = options;
  const observe = guardObserver(options.observe ?? {}, log);
  const requestsPerHour = { ...defaultRequestsPerHour, ...options.requestsPerHour };
  const parts = { store, twins, engines, limiter, requestsPerHour, verifyToken, authenticate, waitUntil };
  const limits = { maxRunningReplies, maxConversationStreams };
  const http = { ...limits, basePath, corsOrigins, pages, openaiApi, mcpApi, onDisconnect };
  return { ...parts, ...http, clock, random, sha256, log, observe, heartbeatMs, maxReplyMs, leaseMs };
}

/** Warns once of what the defaults mean: what is lost with the process, and that no client can call the service. */
export function warnOfDefaults(options: ServiceOptions, log: Log): void {
  const keptInMemory = { store: "keys, conversations", limiter: "limits" } as const;
  const names = (["store", "limiter"] as const).filter((name) => !options[name]);
  const lost = `${names.map((name) => keptInMemory[name]).join(" and ")} are kept in memory and lost when this process ends`;
  const isClosed = !options.verifyToken && !options.authenticate;
  const warnings = [
    ...(names.length > 0 ? [`${lost}: give createService a ${names.join(" and a ")} to keep them`] : []),
    ...(isClosed ? ["every request is refused: give createService verifyToken or authenticate"] : []),
  ];
  if (warnings.length > 0) log("warn", warnings.join("; "));
}

/** @throws {TypeError} for the first option that cannot be used, with what is accepted. */
export function requireServiceOptions(options: ServiceOptions): void {
  requireOptions("createService", options, rules);
  const { sha256 = portableSha256 } = options;
  const digest: unknown = sha256(sample);
  if (digest !== portableSha256(sample)) throw unusable("createService: sha256", sha256Rule.expected, digest);
}

/** What a SHA-256 function is tested with. Not ASCII, because it must digest UTF-8. */
const sample = "\u00e9\u4e16";

function arePages(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  return Object.entries(value).every(
    ([path, page]) =>
      path.startsWith("/") && isJsonObject(page) && isString(page.content) && isJsonObject(page.headers),
  );
}

function isExtension(value: unknown): boolean {
  return isJsonObject(value) && Array.isArray(value.routes);
}

function areEngines(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every(isEngine);
}

function isEngine(value: unknown): value is TwinEngine {
  if (!hasMethods(value, ["reply"])) return false;
  const { continues } = value as Partial<TwinEngine>;
  return continues === undefined || continues === "exact" || continues === "partial";
}
