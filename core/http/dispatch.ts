/**
 * The steps that every request takes, in order, from its Host to its answer.
 *
 * @module
 */

import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { Log } from "../base/log.ts";
import { ApiError, shuttingDown } from "../wire/errors.ts";
import type { Answer, IncomingRequest } from "../wire/request.ts";
import type { Admit, PendingRequest } from "./admission.ts";
import { readBytes } from "./body.ts";
import { corsHeaders, preflightHeaders } from "./cors.ts";
import {
  allowedMethods,
  commonHeaders,
  methodNotAllowed,
  refusal,
  toAnswer,
  toApiError,
} from "./envelope.ts";
import { requireIdempotencyKey } from "./idempotency.ts";
import { readBody, readQuery, requireJsonBody } from "./input.ts";
import type { Call, HandlerContext, PathParams, Route } from "./route.ts";
import { createRouter, type PathMatch, paramsOf } from "./router.ts";
import { readTarget, requireHost } from "./target.ts";

/** What the steps need. */
export interface DispatcherOptions {
  readonly routes: readonly Route[];
  readonly basePath: string;
  readonly corsOrigins: readonly string[];
  readonly admit: Admit;
  /** Resolves once the store is found in order. */
  readonly ready: () => Promise<void>;
  readonly context: HandlerContext;
  readonly log: Log;
}

/** Answers requests. None of its methods ever rejects or throws. */
export interface Dispatcher {
  /** Answers a request for whatever its path names. */
  byPath(request: IncomingRequest): Promise<Answer>;
  /** Answers requests for this endpoint alone. `given`: its path parameters; default: the path's own. */
  byRoute(route: Route): (request: IncomingRequest, given?: Partial<PathParams>) => Promise<Answer>;
  /** Answers what is refused before it is a request. */
  refuse(error: ApiError): Answer;
}

/** What is known of a request so far: needed to answer it, whether it succeeds or not. */
interface RequestState extends PendingRequest {
  readonly requestId: string;
  readonly startedAt: number;
  route?: Route;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { routes, basePath, corsOrigins, admit, ready, context, log } = options;
  const { clock, newId } = context;
  const match = createRouter(routes);

  /** Every request's frame: one place that begins it, one that turns errors into answers, one that ends it. */
  async function dispatch(
    request: IncomingRequest,
    respond: (current: RequestState) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const requestId = newId("req");
    const current: RequestState = {
      request,
      requestId,
      startedAt: clock.now(),
      headers: commonHeaders(requestId),
    };
    try {
      requireHost(request.headers.get("host"));
      return finish(current, await respond(current));
    } catch (error) {
      return finish(current, errorAnswer(error, requestId));
    }
  }

  function byPath(current: RequestState): Answer | Promise<Answer> {
    const { path, search } = readTarget(current.request.url, basePath);
    if (path === undefined) throw new ApiError("not_found", `Paths begin with ${basePath}/ here.`);
    const found = match(path);
    if (!found) throw new ApiError("not_found", "There is nothing at this path.");
    return byMethod(current, found, search);
  }

  function byMethod(
    current: RequestState,
    { routes, params }: PathMatch,
    search: string,
  ): Answer | Promise<Answer> {
    const { method } = current.request;
    if (method === "OPTIONS") return options204(current, allowedMethods(routes));
    const route = routes.get(method === "HEAD" ? "GET" : method);
    if (!route || (method === "HEAD" && route.success.events)) throw methodNotAllowed(routes);
    return runRoute(current, route, params, search);
  }

  async function runRoute(
    current: RequestState,
    route: Route,
    params: PathParams,
    search: string,
  ): Promise<Answer> {
    const { request, requestId } = current;
    current.route = route;
    const admitted = await admit(current, route);
    if (route.credential !== "none") await ready(); // not before, so that requests without credentials cost no work
    if (route.body) requireJsonBody(request.headers);
    requireIdempotencyKey(route, request.headers);
    const query = readQuery(route, search, request.headers);
    const body = route.body && readBody(route.body, await readBytes(request, clock));
    const call: Call = { requestId, request, params, query, body, ...admitted };
    return toAnswer(route.success, await route.handle(call, context));
  }

  function options204(current: RequestState, allow: string): Answer {
    const { headers } = current.request;
    return {
      status: 204,
      headers: { Allow: allow, ...preflightHeaders(headers, allow, corsOrigins) },
      body: null,
    };
  }

  function errorAnswer(thrown: unknown, requestId: string): Answer {
    const reason = context.replies.closing && isBrokenBody(thrown) ? shuttingDown() : thrown;
    const error = toApiError(reason);
    if (error.status >= 500 && !isToldAlready(reason))
      log("error", error.message, { requestId, code: error.code, error: reason });
    return refusal(error, requestId);
  }

  /** Adds the header fields of every answer, and logs the request. */
  function finish(current: RequestState, answer: Answer): Answer {
    const { request, requestId, startedAt, route, owner, keyId } = current;
    const { status } = answer;
    const headers = Object.assign(current.headers, corsHeaders(request.headers, corsOrigins), answer.headers);
    const durationMs = clock.now() - startedAt;
    // The pattern, because the path itself may contain what somebody put there by mistake.
    log("info", "request", {
      requestId,
      method: request.method,
      route: route?.path,
      status,
      durationMs,
      owner,
      keyId,
    });
    if (request.method !== "HEAD" || typeof answer.body !== "string")
      return { status, headers, body: answer.body };
    headers["Content-Length"] = String(utf8ToBytes(answer.body).length);
    return { status, headers, body: null };
  }

  return {
    byPath: (request) => dispatch(request, byPath),
    byRoute(route) {
      const only = new Map([[route.method, route]]);
      return (request, given) =>
        dispatch(request, (current) => {
          const { path = "", search } = readTarget(request.url, "");
          return byMethod(current, { routes: only, params: paramsOf(route, path, given) }, search);
        });
    },
    refuse(error) {
      const requestId = newId("req");
      const { status, headers, body } = errorAnswer(error, requestId);
      log("info", "request", { requestId, status });
      return { status, headers: { ...commonHeaders(requestId), ...headers }, body };
    },
  };
}

/** Without a cause, an error is in the log already, such as that of a failed reply, or is no fault, such as a shutdown. */
function isToldAlready(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.cause === undefined;
}

/** Whether a body did not arrive completely, which may be because the server is stopping. In `body.ts`, only that has a cause. */
function isBrokenBody(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.code === "invalid_request" && thrown.cause !== undefined;
}
