/**
 * The service, assembled from its parts. The steps that every request takes are in `dispatch.ts`.
 *
 * @module
 */

import { createOpenApi } from "./api/openapi.ts";
import { type OperationId, routes } from "./api/routes.ts";
import { createKeyring } from "./auth/key-lookup.ts";
import { systemClock } from "./base/clock.ts";
import { sha256 as portableSha256, systemRandom } from "./base/crypto.ts";
import { createIds } from "./base/ids.ts";
import { noLog } from "./base/log.ts";
import { createAdmission } from "./http/admission.ts";
import { createDispatcher, type Dispatcher } from "./http/dispatch.ts";
import { unavailable } from "./http/envelope.ts";
import type { HandlerContext, PathParams } from "./http/route.ts";
import { createConversationMemory } from "./replies/conversation-cache.ts";
import { createReplies } from "./replies/replies.ts";
import { requireServiceOptions, type ServiceOptions } from "./service-options.ts";
import { type ApiError, shuttingDown } from "./wire/errors.ts";
import { type Answer, HostRequest, type IncomingRequest, toResponse } from "./wire/request.ts";

/**
 * One endpoint as a function, for hosts with their own router. Path parameters are read from the path unless they are
 * given.
 */
export type Handler = (request: Request, pathParams?: Partial<PathParams>) => Promise<Response>;

/** The service. */
export interface Service {
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
 * import { createMemoryLimiter, createMemoryStore, createService, createTwinList } from "twin-service";
 * import { createKnowledgeEngine } from "twin-service/knowledge";
 *
 * const service = createService({
 *   store: createMemoryStore(),
 *   twins: createTwinList([{ id: "ada", name: "Ada", engine: "knowledge", instructions: "You are Ada." }]),
 *   engines: { knowledge: createKnowledgeEngine() },
 *   limiter: createMemoryLimiter(),
 *   verifyToken: ownerOf, // who may create API keys is yours to say
 *   basePath: "/assistant",
 * });
 * const response = await service.fetch(request);
 * ```
 *
 * @throws {TypeError} for an invalid option; the message says what is accepted.
 */
export function createService(options: ServiceOptions): Service {
  requireServiceOptions(options);
  const { store, twins, engines, limiter, verifyToken, basePath = "", corsOrigins = [] } = options;
  const { clock = systemClock, random = systemRandom, sha256 = portableSha256, log = noLog } = options;
  const { heartbeatMs = 5_000, maxReplyMs = 300_000, leaseMs = 30_000, onDisconnect = "continue" } = options;
  const { joinTokens = true, waitUntil } = options;
  const cancelOnDisconnect = onDisconnect === "cancel";
  const newId = createIds(clock, random);
  const keyring = createKeyring({ store, clock, log, sha256 });
  const stopListening = store.signals?.listen("revoked", (hash) => keyring.forget(hash));
  const admit = createAdmission({ keyring, limiter, verifyToken, clock });
  const memory = createConversationMemory(store);
  const replies = createReplies({
    store,
    memory,
    engines,
    clock,
    log,
    newId,
    sha256,
    leaseMs,
    maxReplyMs,
    cancelOnDisconnect,
    waitUntil,
  });
  const context: HandlerContext = {
    store,
    memory,
    twins,
    replies,
    keyring,
    clock,
    random,
    sha256,
    newId,
    root: `${basePath}/api/v1`,
    heartbeatMs,
    joinTokens,
    openApi: lazyOpenApi(basePath),
    requireReady,
  };

  let started: Promise<void> | undefined;

  function ready(): Promise<void> {
    started ??= replies.start().catch((error) => {
      started = undefined; // the next request tries again
      throw unavailable(error);
    });
    return started;
  }

  async function requireReady(): Promise<void> {
    if (replies.closing) throw shuttingDown();
    await ready();
    await store.ping().catch((error) => {
      throw unavailable(error); // also where trying again does not help, as with a damaged file
    });
  }

  const { byPath, byRoute, refuse } = createDispatcher({
    routes,
    basePath,
    corsOrigins,
    admit,
    ready,
    context,
    log,
  });

  return {
    answer: byPath,
    async fetch(request) {
      return toResponse(await byPath(new HostRequest(request, cancelOnDisconnect)));
    },
    handlers: createHandlers(byRoute, cancelOnDisconnect),
    refuse,
    ready,
    async close({ graceMs = 25_000 } = {}) {
      await replies.close(graceMs);
      stopListening?.();
    },
  };
}

/** The OpenAPI document as JSON, created when it is first read: few services are asked for it. */
function lazyOpenApi(basePath: string): () => string {
  const versioned = routes.filter(({ path }) => path.startsWith("/api/v1/"));
  let document: string | undefined;
  return () => {
    document ??= JSON.stringify(createOpenApi(versioned, basePath));
    return document;
  };
}

function createHandlers(byRoute: Dispatcher["byRoute"], withSignal: boolean): Service["handlers"] {
  const handlers = routes.map((route): [string, Handler] => {
    const answer = byRoute(route);
    return [
      route.operationId,
      async (request, given) => toResponse(await answer(new HostRequest(request, withSignal), given)),
    ];
  });
  return Object.fromEntries(handlers) as Record<OperationId, Handler>;
}
