/**
 * The options of a service, and the values that they accept.
 *
 * @module
 */

import type { PageSource } from "./api/routes.ts";
import { type AuthenticateUser, capacityRange } from "./auth/host-users.ts";
import type { VerifyToken } from "./auth/jwt.ts";
import { type Clock, systemClock } from "./base/clock.ts";
import { sha256 as portableSha256, type RandomBytes, type Sha256, systemRandom } from "./base/ids.ts";
import { isJsonObject, isString } from "./base/json.ts";
import { consoleLog, type Log } from "./base/log.ts";
import { maskedLog } from "./base/mask.ts";
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
  requireOptions,
  unusable,
  wholeNumber,
} from "./base/rules.ts";
import { defaultRequestsPerHour, type RequestsPerHour } from "./http/rate-limit.ts";
import type { ApiExtension } from "./http/route.ts";
import { createMemoryLimiter } from "./limits/memory-limiter.ts";
import type { RateLimiter } from "./limits/token-bucket.ts";
import type { WebhookDelivery } from "./store/deliverer.ts";
import { createMemoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { tokenBudgetRange } from "./store/token-budgets.ts";
import { createEchoEngine, type TwinEngine } from "./twins/engine.ts";
import { type Guard, guardRule } from "./twins/guard.ts";
import { type OwnTwinsOptions, requireOwnTwins } from "./twins/own-twins.ts";
import { fixedTwins, type TwinSource } from "./twins/twins.ts";

/** The minimum and maximum of a key's requests in an hour. */
export const requestsPerHourRange: readonly [least: number, most: number] = capacityRange;

/** The minimum and maximum of a key's days, and of those after which a conversation is deleted. */
export const keyDaysRange = [1, 3_650] as const;

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

/**
 * Origins as browsers send them: no path, no trailing slash, no default port. Web views of apps and extensions have
 * schemes of their own, such as `capacitor://localhost`.
 */
export const originsRule: Rule = {
  expected: "a list of origins such as https://app.example.com",
  accepts: (value) =>
    Array.isArray(value) &&
    value.every((origin) => {
      if (!isString(origin)) return false;
      if (!/^https?:/.test(origin)) return /^[a-z][a-z0-9+.-]*:\/\/[\w.:-]+$/.test(origin);
      return URL.canParse(origin) && new URL(origin).origin === origin;
    }),
};

const sha256Rule = functionThat("digests a text to lower-case hexadecimal");

/** An option: its rule, and whether it is needed, has a default, or means something if it is left out. */
interface Option<Value, Kind extends "needed" | "usual" | "without"> extends Rule {
  readonly kind: Kind;
  /** The default. Absent: there is none. */
  readonly fallback?: (clock: Clock) => Value;
}

function needed<Value>(rule: Rule): Option<Value, "needed"> {
  return { ...rule, kind: "needed" };
}

function usual<Value>(rule: Rule, fallback: (clock: Clock) => Value): Option<Value, "usual"> {
  return { ...optional(rule), kind: "usual", fallback };
}

function without<Value>(rule: Rule): Option<Value, "without"> {
  return { ...optional(rule), kind: "without" };
}

/** All options: what each is for, its type, what it accepts, and its default. */
const table = {
  /** The twins that clients can talk to: `createTwinList()` for a few, `openTwinFiles()` for a folder. */
  twins: needed<TwinSource>(objectWith("a source of twins, such as createTwinList() returns", "list", "get")),
  /**
   * Where keys and conversations are kept. Default: in memory, and so lost with the process. `openSqlite()` and
   * `openPostgres()` keep them.
   */
  store: usual<Store>(
    objectWith("a store, such as createMemoryStore() returns", "ping", "beginReply", "endReply"),
    createMemoryStore,
  ),
  /** Where limits are kept. Default: in memory. A database's own limiter is durable, and shared by its processes. */
  limiter: usual<RateLimiter>(limiterRule, (clock) => createMemoryLimiter({ clock })),
  /** The engines that twins name, by their names. Default: `echo` and, unless it is imported from `core`, `knowledge`. */
  engines: usual<Readonly<Record<string, TwinEngine>>>(
    {
      expected:
        "an object of engines by name, each with a function reply, and continues, if given, exact or partial, and asksModel, if given, true or false",
      accepts: (value) => isJsonObject(value) && Object.values(value).every(isEngine),
    },
    () => ({ echo: createEchoEngine() }),
  ),
  /** Decides what engines are asked, and what of their text is told: `createModeration()` asks a model. Default: nothing does. */
  guard: without<Guard>(guardRule),
  /**
   * Verifies the JWT that keys are created with; `createJwtVerifier()` makes one. Resolves with the owner that a token
   * is for, 1 to 255 printable characters, or with a {@link VerifiedToken}. Rejects with an {@link ApiError}, usually `invalid_token`. If it resolves or
   * rejects with anything else, the answer is 500 (for a `StoreUnavailable`, 503), and the log says so. A request waits
   * for it without limit. Default: there are no keys, and their endpoints are 404.
   */
  verifyToken: without<VerifyToken>(functionThat("resolves with a token's owner")),
  /**
   * For hosts that know their users, by a session for example: finds the user of a request, so that no key is
   * needed. Null is 401. It may throw an {@link ApiError}; what else it throws is 500, and logged. `Authorization` and
   * cookies are the host's then; with `verifyToken`, what looks like one of this service's keys is checked as one.
   * Default: only keys are accepted.
   */
  authenticate: without<AuthenticateUser>(functionThat("finds a request's user")),
  /**
   * Lets owners make twins over HTTP, beside `twins`, which win: with a JWT, or as a host's user who `manages` them. `{}` is
   * enough. Default: owners make none, and the endpoints are 404.
   */
  ownTwins: without<OwnTwinsOptions>({
    expected: "an object, such as {}",
    accepts: (value) => isJsonObject(value),
  }),
  /** Time and timers. Default: the store's, or else the system's. */
  clock: usual<Clock>(clockRule, (clock) => clock),
  /** The source of keys and ids. Default: Web Crypto. */
  random: usual<RandomBytes>(functionThat("fills bytes"), () => systemRandom),
  /**
   * The digest that identifies API keys and repeated requests. Default: one in JavaScript, for every runtime. The
   * runtime's own is faster: `(text) => hash("sha256", text)`, with `hash` from `node:crypto` on Node, Deno and Bun.
   */
  sha256: usual<Sha256>(sha256Rule, () => portableSha256),
  /** What the operator is told: `createJsonLog()` writes lines. Default: warnings and errors go to the console. */
  log: usual<Log>(logRule, () => consoleLog),
  /** Callbacks that metrics and traces are made of. Default: none; this costs nothing. */
  observe: usual<Observer>(observerRule, () => ({})),
  /** The prefix of all paths, such as `/twins-api`: plain segments, no trailing slash. Default: none. */
  basePath: usual<string>(basePathRule, () => ""),
  /** Origins whose pages may call the API, such as `https://app.example.com`. Default: none. */
  corsOrigins: usual<readonly string[]>(originsRule, () => []),
  /**
   * Pages that are served beside the API, by their paths below the base path, such as `/`, or functions that choose one by a
   * request's header fields. Default: none.
   */
  pages: usual<Readonly<Record<string, PageSource>>>(
    {
      expected: "an object of pages, each with content and headers or a function, by paths",
      accepts: arePages,
    },
    () => ({}),
  ),
  /** How many requests a key has in an hour, by its scope: 1 to 1,000,000. Default: 200 and 500. */
  requestsPerHour: usual<Partial<RequestsPerHour>>(
    {
      expected: "an object of whole numbers from 1 to 1000000, named read_only and full_access",
      accepts: (value) =>
        isJsonObject(value) &&
        Object.entries(value).every(
          ([scope, count]) =>
            Object.hasOwn(defaultRequestsPerHour, scope) && wholeNumber(requestsPerHourRange).accepts(count),
        ),
    },
    () => ({}),
  ),
  /** The greatest limit of its own that a key may have, in requests an hour: 1 to 1,000,000. Default 1,000,000. */
  maxRequestsPerHour: usual<number>(wholeNumber(requestsPerHourRange), () => requestsPerHourRange[1]),
  /** After how many days a key ends at the latest, 1 to 3,650. Default: keys may last for ever. */
  keyMaxDays: without<number>(wholeNumber(keyDaysRange)),
  /** How many replies a key, or a host's user, may have running at once on this process: 1 to 100,000. Default 500. */
  maxRunningReplies: usual<number>(wholeNumber(runningRepliesRange), () => defaultRunningReplies),
  /** How many tokens the replies of each owner may take in a day of UTC, 1 to 10¹². Default: as many as others allow. */
  ownerTokensPerDay: without<number>(wholeNumber(tokenBudgetRange)),
  /**
   * After how many days without a message conversations are deleted, and what twins know of people who have none left:
   * 1 to 3,650. Default: never.
   */
  retentionDays: without<number>(wholeNumber(keyDaysRange)),
  /** Time without events on a stream after which a keep-alive comment is sent, in milliseconds. Default 5,000. */
  heartbeatMs: usual<number>(wholeNumber(timeRanges.heartbeatMs), () => defaultTimes.heartbeatMs),
  /** How many streams of conversations a key, or an end user, may have open in this process: 1 to 100,000. Default 100. */
  maxConversationStreams: usual<number>(
    wholeNumber(conversationStreamsRange),
    () => defaultConversationStreams,
  ),
  /** The longest time a reply may take, in milliseconds. Default 300,000. */
  maxReplyMs: usual<number>(wholeNumber(timeRanges.maxReplyMs), () => defaultTimes.maxReplyMs),
  /**
   * How long a process keeps its running reply without saving it, in milliseconds. Afterwards another process may end
   * it. Default 30,000.
   */
  leaseMs: usual<number>(wholeNumber(timeRanges.leaseMs), () => defaultTimes.leaseMs),
  /** Whether a reply continues or is cancelled when its last follower has left. Default `continue`. */
  onDisconnect: usual<"continue" | "cancel">(oneOf(disconnectPolicies), () => "continue"),
  /** The endpoints of `/v1` for OpenAI's clients, as `createOpenAIApi` creates them. Default: there are none. */
  openaiApi: without<ApiExtension>({ expected: "what createOpenAIApi() returns", accepts: isExtension }),
  /** The endpoint of `/mcp` for MCP clients, as `createMcpApi` creates it. Default: there is none. */
  mcpApi: without<ApiExtension>({ expected: "what createMcpApi() returns", accepts: isExtension }),
  /** Tells addresses of what happens, as `createWebhooks` creates it. Default: there are no webhooks, and nothing is kept for any. */
  webhooks: without<WebhookDelivery>(objectWith("what createWebhooks() returns", "check", "open")),
  /**
   * Called for each reply with a promise that resolves once its end is stored, and never rejects. For hosts that
   * otherwise stop the work of a request when its client has left, such as workers. Called without `this`; what it throws
   * is logged. Default: not called.
   */
  waitUntil: without<(work: Promise<unknown>) => void>(functionThat("takes a promise")),
};

type OptionTable = typeof table;
type ValueOf<Name extends keyof OptionTable> =
  OptionTable[Name] extends Option<infer Value, infer _> ? Value : never;
type KindOf<Name extends keyof OptionTable> = OptionTable[Name]["kind"];

/** Options of {@link createService}: `twins`, and whatever is not to be the default. */
export type ServiceOptions = {
  readonly [Name in keyof OptionTable as KindOf<Name> extends "needed" ? Name : never]: ValueOf<Name>;
} & {
  readonly [Name in keyof OptionTable as KindOf<Name> extends "needed" ? never : Name]?:
    | ValueOf<Name>
    | undefined;
};

/** Options with the defaults of those that were left out. */
export type CompleteOptions = {
  readonly [Name in Exclude<keyof OptionTable, "requestsPerHour">]:
    | ValueOf<Name>
    | (KindOf<Name> extends "without" ? undefined : never);
} & { readonly requestsPerHour: RequestsPerHour };

/** Fills in the defaults. */
export function completeOptions(options: ServiceOptions): CompleteOptions {
  const { store, clock = store?.clock ?? systemClock } = options;
  const log = maskedLog(options.log ?? consoleLog);
  const given = options as Readonly<Record<string, unknown>>;
  const complete = Object.entries<Rule & { readonly fallback?: (clock: Clock) => unknown }>(table).map(
    ([name, { fallback }]) => [name, given[name] ?? fallback?.(clock)],
  );
  return {
    ...(Object.fromEntries(complete) as Omit<CompleteOptions, "requestsPerHour">),
    log,
    observe: guardObserver(options.observe ?? {}, log),
    requestsPerHour: { ...defaultRequestsPerHour, ...options.requestsPerHour },
  };
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

/** Warns of twins whose engine is not there, as far as they are known before the first request. */
export function warnOfEngines({
  twins,
  engines,
  log,
}: Pick<CompleteOptions, "twins" | "engines" | "log">): void {
  for (const { id, engine } of fixedTwins(twins) ?? []) {
    if (Object.hasOwn(engines, engine)) continue;
    log("warn", "a twin's engine is not set up, so its replies will fail", { twin: id, engine });
  }
}

/** @throws {TypeError} for the first option that cannot be used, with what is accepted. */
export function requireServiceOptions(options: ServiceOptions): void {
  requireOptions<ServiceOptions>("createService", options, table);
  if (options.ownTwins) requireOwnTwins(options.ownTwins);
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
      path.startsWith("/") &&
      (typeof page === "function" ||
        (isJsonObject(page) && isString(page.content) && isJsonObject(page.headers))),
  );
}

function isExtension(value: unknown): boolean {
  return isJsonObject(value) && Array.isArray(value.routes);
}

function isEngine(value: unknown): value is TwinEngine {
  if (!hasMethods(value, ["reply"])) return false;
  const { continues, asksModel } = value as Partial<TwinEngine>;
  if (asksModel !== undefined && typeof asksModel !== "boolean") return false;
  return continues === undefined || continues === "exact" || continues === "partial";
}
