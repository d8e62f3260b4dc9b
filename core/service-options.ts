/**
 * The options of a service, and the values that they accept.
 *
 * @module
 */

import type { Page } from "./api/pages.ts";
import { type Clock, systemClock } from "./base/clock.ts";
import { sha256 as portableSha256, type RandomBytes, type Sha256, systemRandom } from "./base/crypto.ts";
import { isJsonObject, isString } from "./base/json.ts";
import { type Log, noLog } from "./base/log.ts";
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
import type { RateLimiter } from "./limits/token-bucket.ts";
import type { Store } from "./store/store.ts";
import type { TwinEngine } from "./twins/engine.ts";
import type { TwinSource } from "./twins/twins.ts";

/** Options of {@link createService}. */
export interface ServiceOptions {
  readonly store: Store;
  readonly twins: TwinSource;
  /** The engines that twins name, such as `{ echo: createEchoEngine() }`. */
  readonly engines: Readonly<Record<string, TwinEngine>>;
  readonly limiter: RateLimiter;
  /**
   * Resolves with the owner that a token is for, 1 to 255 printable characters. Rejects with an {@link ApiError},
   * usually `invalid_token`. If it resolves or rejects with anything else, the answer is 500 (for a `StoreUnavailable`,
   * 503), and the log says so. A request waits for it without limit.
   */
  readonly verifyToken: (token: string) => Promise<string>;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Default: Web Crypto. */
  readonly random?: RandomBytes | undefined;
  /**
   * The digest that identifies API keys and repeated requests. Default: one in JavaScript, for every runtime. The
   * runtime's own is faster: `(text) => hash("sha256", text)`, with `hash` from `node:crypto` on Node, Deno and Bun.
   */
  readonly sha256?: Sha256 | undefined;
  /** Default: silence. */
  readonly log?: Log | undefined;
  /** Callbacks that metrics and traces are made of. Default: none, which costs nothing. */
  readonly observe?: Observer | undefined;
  /** The prefix of all paths, such as `/twins-api`: plain segments, no trailing slash. Default: none. */
  readonly basePath?: string | undefined;
  /** Origins whose pages may call the API, such as `https://app.example.com`. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Pages that are served beside the API, by their paths below the base path, such as `/`. Default: none. */
  readonly pages?: Readonly<Record<string, Page>> | undefined;
  /** How many requests a key has in an hour, by its scope: 1 to 1,000,000. Default: 200 and 500. */
  readonly requestsPerHour?: Partial<RequestsPerHour> | undefined;
  /** Time without events on a stream after which a keep-alive comment is sent, in milliseconds. Default 5,000. */
  readonly heartbeatMs?: number | undefined;
  /**
   * Whether tokens that arrive within 4 ms of each other share a delta, and so a write. The first text is sent
   * immediately, unless it is the whole reply. This uses the system's time, not `clock`. Default `true`.
   */
  readonly joinTokens?: boolean | undefined;
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
  /**
   * Called for each reply with a promise that resolves once its end is stored, and never rejects. For hosts that
   * otherwise stop the work of a request when its client has left, such as workers. Called without `this`; what it throws
   * is logged. Default: not called.
   */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** The minimum and maximum of a key's requests in an hour. */
export const requestsPerHourRange: readonly [least: number, most: number] = [1, 1_000_000];

/** The minimum and maximum of each time, in milliseconds. */
export const timeRanges = {
  heartbeatMs: [1, 3_600_000],
  maxReplyMs: [1, 86_400_000],
  leaseMs: [100, 86_400_000],
} as const satisfies Readonly<Record<string, readonly [least: number, most: number]>>;

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
  store: objectWith("a store, such as createMemoryStore() returns", "ping", "beginReply", "endReply"),
  twins: objectWith("a source of twins, such as createTwinList() returns", "list", "get"),
  engines: {
    expected:
      "an object of engines by name, each with a function reply, and continues, if given, exact or partial",
    accepts: areEngines,
  },
  limiter: limiterRule,
  verifyToken: functionThat("resolves with a token's owner"),
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
  heartbeatMs: optional(wholeNumber(timeRanges.heartbeatMs)),
  joinTokens: optional({ expected: "true or false", accepts: (value) => typeof value === "boolean" }),
  maxReplyMs: optional(wholeNumber(timeRanges.maxReplyMs)),
  leaseMs: optional(wholeNumber(timeRanges.leaseMs)),
  onDisconnect: optional(oneOf(disconnectPolicies)),
  openaiApi: optional({
    expected: "what createOpenAIApi() returns",
    accepts: (value) => isJsonObject(value) && Array.isArray(value.routes),
  }),
  waitUntil: optional(functionThat("takes a promise")),
};

/** Options without a default: to leave them out means something. */
type WithoutDefault = "waitUntil" | "openaiApi";

/** Options with the defaults of those that were left out. */
export type CompleteOptions = {
  readonly [Name in Exclude<keyof ServiceOptions, "requestsPerHour">]-?:
    | Exclude<ServiceOptions[Name], undefined>
    | (Name extends WithoutDefault ? undefined : never);
} & { readonly requestsPerHour: RequestsPerHour };

/** Fills in the defaults. */
export function completeOptions(options: ServiceOptions): CompleteOptions {
  const { store, twins, engines, limiter, verifyToken, waitUntil, openaiApi } = options;
  const { clock = systemClock, random = systemRandom, sha256 = portableSha256, log = noLog } = options;
  const observe = guardObserver(options.observe ?? {}, log);
  const { basePath = "", corsOrigins = [], pages = {} } = options;
  const { joinTokens = true, onDisconnect = "continue" } = options;
  const { heartbeatMs = 5_000, maxReplyMs = 300_000, leaseMs = 30_000 } = options;
  const requestsPerHour = { ...defaultRequestsPerHour, ...options.requestsPerHour };
  const required = { store, twins, engines, limiter, verifyToken };
  const runtime = { clock, random, sha256, log, observe, waitUntil, openaiApi };
  const times = { heartbeatMs, maxReplyMs, leaseMs };
  return {
    ...required,
    ...runtime,
    ...times,
    requestsPerHour,
    basePath,
    corsOrigins,
    pages,
    joinTokens,
    onDisconnect,
  };
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

function areEngines(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every(isEngine);
}

function isEngine(value: unknown): value is TwinEngine {
  if (!hasMethods(value, ["reply"])) return false;
  const { continues } = value as Partial<TwinEngine>;
  return continues === undefined || continues === "exact" || continues === "partial";
}
