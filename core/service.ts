/**
 * The service, put together of its parts. The steps that every request walks are in `visit.ts`.
 *
 * @module
 */

import { createAdmission } from "./admission.ts";
import { type Answer, type IncomingRequest, toResponse } from "./answer.ts";
import { createKeyring } from "./auth.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createConversationMemory } from "./conversation-memory.ts";
import type { TwinEngine } from "./engine.ts";
import { unavailable } from "./envelope.ts";
import { ApiError } from "./errors.ts";
import { createIds, type RandomBytes, systemRandom } from "./ids.ts";
import type { RateLimiter } from "./limit.ts";
import { type Log, noLog } from "./log.ts";
import { createOpenApi } from "./openapi.ts";
import { createReplies } from "./replies.ts";
import type { HandlerContext } from "./route.ts";
import { type OperationId, routes } from "./routes.ts";
import type { Store } from "./store.ts";
import type { TwinSource } from "./twins.ts";
import { createVisits } from "./visit.ts";

/** Options of {@link createService}. */
export interface ServiceOptions {
  readonly store: Store;
  readonly twins: TwinSource;
  /** The engines that twins name, such as `{ echo: createEchoEngine() }`. */
  readonly engines: Readonly<Record<string, TwinEngine>>;
  readonly limiter: RateLimiter;
  /**
   * The owner that a token speaks for, 1 to 255 printable characters. Rejects with an {@link ApiError}, `invalid_token`
   * as a rule. What resolves with anything else answers 500, and the log says so.
   */
  readonly verifyToken: (token: string) => Promise<string>;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Default: Web Crypto. */
  readonly random?: RandomBytes;
  /** Default: silence. */
  readonly log?: Log;
  /** What all paths begin with, such as `/twins-api`; no slash at its end. Default: nothing. */
  readonly basePath?: string;
  /** Origins whose pages may call the API, such as `https://app.example.com`. Default: none. */
  readonly corsOrigins?: readonly string[];
  /** Silence on a stream after which a keep-alive comment is sent, in milliseconds. Default 5,000. */
  readonly heartbeatMs?: number;
  /**
   * Whether tokens that follow one another within 4 ms share a delta, and so a write. The first text leaves at once,
   * unless it is all there is. It is the system's time that counts, not `clock`. Default `true`.
   */
  readonly joinTokens?: boolean;
  /** The longest that a reply may take, in milliseconds. Default 300,000. */
  readonly maxReplyMs?: number;
  /** How long a running reply stays its process's own without a save, in milliseconds. Default 30,000. */
  readonly leaseMs?: number;
  /** Whether a reply goes on when its last follower has gone. Default `continue`. */
  readonly onDisconnect?: "continue" | "cancel";
  /**
   * Called with each reply that begins, as a promise of its stored end, which never rejects: for hosts that otherwise
   * stop what a request began when its client has gone, such as workers. Default: nobody is told.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void;
}

/** One endpoint as a function, for hosts that route by themselves. Path parameters default to the path's own. */
export type Handler = (request: Request, pathParams?: Readonly<Record<string, string>>) => Promise<Response>;

/** The service. */
export interface Service {
  /** The whole API, below the base path. Never rejects. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Each endpoint by its operationId, walking the same steps. Never rejects. */
  readonly handlers: Readonly<Record<OperationId, Handler>>;
  /** As {@link Service.fetch}, for adapters that write an answer themselves. Never rejects. */
  readonly answer: (request: IncomingRequest) => Promise<Answer>;
  /** An error as an answer, for adapters that refuse a request before it is one. */
  readonly refuse: (error: ApiError) => Answer;
  /** Resolves once the store is found in order. The first request waits for it, too. */
  ready(): Promise<void>;
  /**
   * Refuses new sends, gives running replies `graceMs` milliseconds (default 25,000), ends those left as
   * interrupted, and resolves. The store stays open: it is the caller's.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Puts the service together. Nothing runs before the first request, or {@link Service.ready}.
 *
 * @example
 * ```ts
 * import { createKnowledgeEngine, createMemoryLimiter, createMemoryStore, createService, createTwinList } from "twin-service";
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
 */
export function createService(options: ServiceOptions): Service {
  const { store, twins, engines, limiter, verifyToken, basePath = "", corsOrigins = [] } = options;
  const { clock = systemClock, random = systemRandom, log = noLog } = options;
  const { heartbeatMs = 5_000, maxReplyMs = 300_000, leaseMs = 30_000, onDisconnect = "continue" } = options;
  const { joinTokens = true, waitUntil } = options;
  const newId = createIds(clock, random);
  const keyring = createKeyring({ store, clock, log });
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
    leaseMs,
    maxReplyMs,
    onDisconnect,
    waitUntil,
  });
  const root = `${basePath}/api/v1`;
  const versioned = routes.filter(({ path }) => path.startsWith("/api/v1/"));
  let openApi: string | undefined; // made when it is first read: few services are asked for it
  const context: HandlerContext = {
    store,
    memory,
    twins,
    replies,
    keyring,
    clock,
    random,
    newId,
    root,
    heartbeatMs,
    joinTokens,
    openApi() {
      openApi ??= JSON.stringify(createOpenApi(versioned, basePath));
      return openApi;
    },
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
    if (replies.closing) throw new ApiError("shutting_down", "The server is shutting down.");
    await ready();
    await store.ping();
  }

  const { byPath, byRoute, refuse } = createVisits({
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
      return toResponse(await byPath(request));
    },
    handlers: Object.fromEntries(
      routes.map((route) => {
        const handler: Handler = async (request, given) => toResponse(await byRoute(request, route, given));
        return [route.operationId, handler];
      }),
    ) as Record<OperationId, Handler>,
    refuse,
    ready,
    async close({ graceMs = 25_000 } = {}) {
      await replies.close(graceMs);
      stopListening?.();
    },
  };
}
