/**
 * The service, assembled from its parts. The steps that every request takes are in `dispatch.ts`.
 *
 * @module
 */

import { type OperationId, pageRoutes, routes } from "./api/routes.ts";
import { KeyLookup } from "./auth/key-lookup.ts";
import { createIds, type NewId, type Sha256 } from "./base/ids.ts";
import { MemoryBudget } from "./base/memory-budget.ts";
import { createAuthentication } from "./http/admission.ts";
import { Dispatcher } from "./http/dispatch.ts";
import { unavailable } from "./http/envelope.ts";
import { KeyedRequests } from "./http/keyed-requests.ts";
import type { HandlerContext, PathParams, Route, StaticText } from "./http/route.ts";
import { Replies } from "./replies/replies.ts";
import {
  type CompleteOptions,
  completeOptions,
  requireServiceOptions,
  type ServiceOptions,
  warnOfDefaults,
  warnOfEngines,
} from "./service-options.ts";
import type { Deliverer } from "./store/deliverer.ts";
import { defaultTwinBytes, OwnTwins } from "./twins/own-twins.ts";
import type { ApiError } from "./wire/errors.ts";
import { type Answer, HostRequest, type IncomingRequest, toResponse } from "./wire/request.ts";

/**
 * One endpoint as a function, for hosts with their own router. Path parameters are read from the path unless they are
 * given.
 */
export type Handler = (request: Request, pathParams?: Partial<PathParams>) => Promise<Response>;

/** The service. `await using` closes it. */
export interface Service extends AsyncDisposable {
  /** The whole API, under the base path. Never rejects. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Each endpoint by its operationId, with the same checks. Never rejects. */
  readonly handlers: Readonly<Record<OperationId, Handler>>;
  /** Like {@link Service.fetch}, for adapters that write the answer themselves. Never rejects. */
  readonly answer: (request: IncomingRequest) => Promise<Answer>;
  /** The answer for an error, for adapters that refuse something before it is a request. */
  readonly refuse: (error: ApiError) => Answer;
  /**
   * Resolves once the store has been found usable; the first request with a credential waits for this, too. Rejects with
   * `unavailable` if it is not, and the next call tries again.
   */
  ready(): Promise<void>;
  /** From now on, `/readyz` is 503, so that balancers send their clients elsewhere. All else is served as before. */
  drain(): void;
  /**
   * Refuses new sends, gives running replies `graceMs` milliseconds to finish (default 25,000), ends the rest as
   * interrupted, and resolves. The store stays open: it belongs to the caller.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

/**
 * Creates the service. Nothing runs before the first request, or {@link Service.ready}.
 *
 * @example
 * ```ts
 * import { createService, createTwinList } from "twin-service";
 *
 * const service = createService({
 *   twins: createTwinList([{ id: "ada", name: "Ada", engine: "knowledge", instructions: "You are Ada." }]),
 *   authenticate: (request) => userOf(request), // { owner: "alice" }, or null
 * });
 * const response = await service.fetch(request);
 * ```
 *
 * @throws {TypeError} for an invalid option; the message says what is accepted.
 */
export function createService(options: ServiceOptions): Service {
  requireServiceOptions(options);
  const parts = completeOptions(options);
  const { store, basePath, corsOrigins, log, observe } = parts;
  warnOfDefaults(options, log);
  warnOfEngines(parts);
  const managesTwins = parts.ownTwins !== undefined && parts.ownTwins.maxTwins !== 0;
  const offered = routes.filter(({ credential, needsWebhooks }) => {
    if (credential === "manager") return managesTwins && (parts.verifyToken ?? parts.authenticate);
    return (credential !== "token" || parts.verifyToken) && (!needsWebhooks || parts.webhooks);
  });
  // What manages twins is 404 for all methods, rather than 405, where there is nothing to manage.
  const served = routes.flatMap((route): Route[] => {
    if (offered.includes(route)) return [route];
    return route.credential === "manager" ? [{ ...route, absent: true }] : [];
  });
  let draining = false;
  const newId = createIds(parts.clock, parts.random);
  const deliverer = parts.webhooks?.open({ ...parts, holder: newId("run") });
  const context = createContext({ ...parts, newId, deliverer }, offered, () => draining);
  const { keys, replies } = context;
  const { ready } = context.health;
  const identifyCaller = createAuthentication({ ...parts, keys, managesTwins });
  const dispatcher = new Dispatcher({
    routes: [...served, ...pageRoutes(parts.pages)],
    extensions: [parts.openaiApi, parts.mcpApi].filter((api) => api !== undefined),
    basePath,
    corsOrigins,
    identifyCaller,
    context,
    observe,
  });
  const stopListening = store.signals?.listen("revoked", (id) => keys.forget(id));
  const withSignal = parts.onDisconnect === "cancel";
  const close: Service["close"] = async ({ graceMs = 25_000 } = {}) => {
    await replies.close(graceMs);
    await deliverer?.close();
    stopListening?.();
  };
  return {
    answer: (request) => dispatcher.byPath(request),
    fetch: async (request) => toResponse(await dispatcher.byPath(new HostRequest(request, withSignal))),
    handlers: createHandlers(dispatcher, withSignal),
    refuse: (error) => dispatcher.refuse(error),
    ready,
    drain() {
      draining = true;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What handlers work with, each part given what it needs. */
function createContext(
  options: CompleteOptions & { readonly newId: NewId; readonly deliverer: Deliverer | undefined },
  offered: readonly Route[],
  isDraining: () => boolean,
): HandlerContext {
  const { store, limiter, clock, random, sha256, log, basePath, newId, deliverer } = options;
  const memory = new MemoryBudget(options.ownTwins?.mostBytes ?? defaultTwinBytes);
  const ownTwins = openOwnTwins(options, memory);
  const twins = ownTwins ?? options.twins;
  const tells = deliverer && {
    newId: () => newId("dlv"),
    told: (ids: readonly string[]) => deliverer.told(ids),
  };
  const replies = new Replies({
    ...options,
    twins,
    memory,
    tells,
    deliverDue: deliverer && (() => deliverer.deliverDue()),
    cancelOnDisconnect: options.onDisconnect === "cancel",
  });
  const start = async () => {
    await replies.start();
    await deliverer?.start();
  };
  return {
    store,
    twins,
    ownTwins,
    replies,
    keys: new KeyLookup({ store, clock, log, sha256 }),
    keyed: new KeyedRequests(store),
    webhooks: options.webhooks,
    tells,
    limiter,
    log,
    clock,
    newKeys: {
      random,
      maxDays: options.keyMaxDays,
      maxRequestsPerHour: options.maxRequestsPerHour,
      requestsPerHour: options.requestsPerHour,
    },
    retentionDays: options.retentionDays,
    memory,
    sha256,
    newId,
    api: { root: `${basePath}/api/v1`, describe: lazyOpenApi(offered, basePath, sha256) },
    health: { ready: startOnce(start), isDraining },
  };
}

/** The twins of owners beside the operator's. Undefined: owners make none. */
function openOwnTwins(
  { ownTwins: options, store, twins, engines, clock, log }: CompleteOptions,
  memory: MemoryBudget,
): OwnTwins | undefined {
  if (!options?.reader || options.maxTwins === 0) return undefined;
  const { reader } = options;
  const parts = { store, twins, engines: Object.keys(engines), clock, log, memory };
  return new OwnTwins({ ...parts, options: { ...options, reader } });
}

/** Starts with the first call, and again with the next one after a failure. */
function startOnce(start: () => Promise<void>): () => Promise<void> {
  let started: Promise<void> | undefined;
  return () => {
    started ??= start().catch((error) => {
      started = undefined;
      throw unavailable(error);
    });
    return started;
  };
}

/** The OpenAPI document as JSON, loaded and created when it is first read: few services are asked for it. */
function lazyOpenApi(
  offered: readonly Route[],
  basePath: string,
  sha256: Sha256,
): HandlerContext["api"]["describe"] {
  let made: Promise<StaticText> | undefined;
  async function describe(): Promise<StaticText> {
    const { createOpenApi } = await import("./api/document/mod.ts");
    const versioned = offered.filter(({ path }) => path.startsWith("/api/v1/"));
    const content = JSON.stringify(createOpenApi(versioned, basePath));
    // Clients may keep it, and ask each time whether it has changed: another version may run by then.
    const headers = { ETag: `"${sha256(content).slice(0, 16)}"`, "Cache-Control": "no-cache" };
    return { content, headers };
  }
  return () => {
    made ??= describe();
    return made;
  };
}

function createHandlers(dispatcher: Dispatcher, withSignal: boolean): Service["handlers"] {
  const handlers = routes.map((route): [string, Handler] => {
    const answer = dispatcher.byRoute(route);
    return [
      route.operationId,
      async (request, given) => toResponse(await answer(new HostRequest(request, withSignal), given)),
    ];
  });
  return Object.fromEntries(handlers) as Record<OperationId, Handler>;
}
