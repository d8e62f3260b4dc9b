/**
 * The way of a request, from its Host to its answer: the same steps for every endpoint.
 *
 * @module
 */

import { utf8ToBytes } from "@noble/hashes/utils.js";
import { FairQueue } from "../base/fair-queue.ts";
import { isJsonObject, isString } from "../base/json.ts";
import { maskCredentials } from "../base/mask.ts";
import type { Held } from "../base/memory-budget.ts";
import type { Observer } from "../base/observe.ts";
import { ApiError, type ErrorCode, shuttingDown, tooMuchAtOnce } from "../wire/errors.ts";
import { type Answer, type HeaderFields, type IncomingRequest, readHeaderFields } from "../wire/request.ts";
import { requireHost, splitTarget } from "../wire/target.ts";
import { piecesOf, TextStream } from "../wire/text-stream.ts";
import { type IdentifyCaller, requireScope } from "./admission.ts";
import { corsHeaders, optionsAnswer } from "./cors.ts";
import { type AnswerInPieces, commonHeaders, errorAnswer, toAnswer, toApiError } from "./envelope.ts";
import { readInput, takesBody } from "./input.ts";
import { chargeRequest } from "./rate-limit.ts";
import type { ApiExtension, Call, Caller, HandlerContext, PathParams, Route } from "./route.ts";
import { allowedMethods, createRouteFinder, createRouter, type MatchedPath, routeOf } from "./router.ts";

/** What the steps need. */
export interface DispatcherOptions {
  readonly routes: readonly Route[];
  /** Endpoints with errors in a form of their own. */
  readonly extensions: readonly ApiExtension[];
  readonly basePath: string;
  readonly corsOrigins: readonly string[];
  readonly identifyCaller: IdentifyCaller;
  readonly context: HandlerContext;
  readonly observe: Observer;
}

/** What is known of a request so far: its answer needs it, whether the request succeeds or not. */
interface Exchange {
  readonly request: IncomingRequest;
  readonly fields: HeaderFields;
  readonly requestId: string;
  readonly startedAt: number;
  /** The header fields of the answer, success or error. */
  headers: Record<string, string>;
  route?: Route;
  caller?: Caller;
  /** The error that is answered. */
  code?: ErrorCode;
  /** Where the audit log finds the name of the route's object. */
  named: readonly unknown[];
}

/** Finds the routes that a request's target names. */
type Find = (url: string) => MatchedPath;

/** Answers requests. None of its methods ever rejects or throws. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #find: Find;
  /** Long bodies are parsed one at a time, and owners take turns. */
  readonly #longBodies = new FairQueue(1);

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { routes, extensions, basePath } = options;
    this.#find = createRouter([...routes, ...extensions.flatMap((each) => each.routes)], basePath);
  }

  /** Answers a request for the route that its path names. */
  byPath(request: IncomingRequest): Promise<Answer> {
    return this.#answer(request, this.#find);
  }

  /** Answers requests for this endpoint alone. `given`: its path parameters; default: the path's own. */
  byRoute(route: Route): (request: IncomingRequest, given?: Partial<PathParams>) => Promise<Answer> {
    const find = createRouteFinder(route);
    return (request, given) => this.#answer(request, (url) => find(url, given));
  }

  /** Answers what is refused before it is a request. */
  refuse(error: ApiError): Answer {
    const { context, observe } = this.#options;
    const requestId = context.newId("req");
    const { status, headers, body } = errorAnswer(this.#toError(error, requestId), requestId);
    context.log("info", "request", { requestId, status, code: error.code });
    observe.requestEnded?.({ requestId, method: "", route: undefined, status, durationMs: 0 });
    return { status, headers: { ...commonHeaders(requestId), ...headers }, body };
  }

  /** The frame of every request: the one place that begins it, turns errors into answers, and ends it. */
  async #answer(request: IncomingRequest, find: Find): Promise<Answer> {
    const { context, observe } = this.#options;
    const requestId = context.newId("req");
    const exchange: Exchange = {
      request,
      fields: readHeaderFields(request.headers),
      requestId,
      startedAt: context.clock.now(),
      headers: commonHeaders(requestId),
      named: [],
    };
    const { method } = request;
    const traceparent = exchange.fields.traceparent ?? undefined;
    observe.requestBegan?.({ requestId, method, traceparent });
    try {
      return this.#finish(exchange, await this.#serve(exchange, find));
    } catch (thrown) {
      const error = this.#toError(thrown, requestId);
      exchange.code = error.code;
      // A credential that ended while its request was answered has no bucket to tell of.
      if (error.status === 401) {
        exchange.headers = commonHeaders(requestId);
        this.#auditRefusal(error, exchange);
      }
      return this.#finish(exchange, errorAnswer(error, requestId, this.#extensionOf(request.url)?.errorBody));
    }
  }

  /** The extension that a target belongs to, by its prefix. */
  #extensionOf(url: string): ApiExtension | undefined {
    const { extensions, basePath } = this.#options;
    const { path } = splitTarget(url);
    return extensions.find(({ prefix }) => `${path}/`.startsWith(`${basePath}${prefix}/`));
  }

  /** The way itself: each step is a line, and the first that refuses the request ends it. */
  async #serve(exchange: Exchange, find: Find): Promise<Answer> {
    const { identifyCaller, context, corsOrigins } = this.#options;
    const { request, fields, requestId } = exchange;
    requireHost(fields.host);
    const { routes, params, search } = find(request.url);
    if (request.method === "OPTIONS")
      return optionsAnswer(request, fields, {
        methods: allowedMethods(routes),
        origins: corsOrigins,
      });
    const route = routeOf(request.method, routes);
    exchange.route = route;
    route.admit?.(fields, corsOrigins);
    const caller = await identifyCaller(route, request, fields);
    exchange.caller = caller;
    const { rate, headers } = await chargeRequest(context.limiter, route, caller, context.clock);
    Object.assign(exchange.headers, headers);
    requireScope(route, caller);
    if (route.credential !== "none") await context.health.ready(); // not before: requests without credentials cost no work
    const received = context.memory.hold(caller.reach);
    const memory = context.memory.hold(caller.reach);
    try {
      const { clock } = context;
      const { query, body } = await readInput(
        route,
        { request, fields, params, search },
        { clock, received, takeTurn: () => this.#longBodies.take(caller.reach.owner, caller.reach.endUser) },
      );
      exchange.named = [body, query, params];
      if (takesBody(route)) await this.#lookAgain(exchange, route, caller);
      const named: Record<string, string | null> = {};
      for (const [name, header] of Object.entries(route.headers ?? {}))
        named[name] = request.headers.get(header);
      const call: Call = {
        query,
        body,
        received,
        memory,
        caller: exchange.caller ?? caller,
        requestId,
        request,
        fields,
        params,
        rate,
        headers: named,
        recheck: (maxAgeMs) => identifyCaller(route, request, fields, maxAgeMs),
      };
      const result = await route.handle(call, context);
      exchange.named = [result.data, ...exchange.named];
      return this.#bound(toAnswer(route.success, result), exchange, memory);
    } catch (error) {
      memory.release();
      throw error;
    } finally {
      received.release();
    }
  }

  /** Looks at a credential again once the body has arrived: it may have ended in the meantime. */
  async #lookAgain(exchange: Exchange, route: Route, { key }: Caller): Promise<void> {
    const { identifyCaller, context } = this.#options;
    const { request, fields, startedAt } = exchange;
    if (!key && context.clock.now() - startedAt <= longestTrustMs) return;
    exchange.caller = await identifyCaller(route, request, fields);
    requireScope(route, exchange.caller);
  }

  /**
   * An answer whose text counts until its client has it. A long one is sent in pieces, each made as the one before is taken.
   * What only reads is refused where there is no memory left, and can be asked for again.
   */
  #bound(
    { status, headers, body }: AnswerInPieces,
    { request, route, requestId }: Exchange,
    memory: Held,
  ): Answer {
    const { clock, log } = this.#options.context;
    if (body === null || request.method === "HEAD") {
      memory.release();
      const length = body === null || "wake" in body ? undefined : bytesIn(body);
      if (length !== undefined) headers["Content-Length"] = String(length);
      return { status, headers, body: null };
    }
    if (body instanceof Uint8Array) {
      const sent = memory.bytes === 0 ? undefined : () => memory.release();
      return { status, headers, body, sent };
    }
    if (route?.method === "GET" && !memory.fits()) {
      if ("wake" in body) body.close();
      throw tooMuchAtOnce();
    }
    if ("wake" in body) return { status, headers, body };
    const rest = body[Symbol.iterator]();
    let text = "";
    for (let next = rest.next(); !next.done; next = rest.next()) {
      text += next.value;
      if (text.length <= shortAnswer) continue;
      memory.count(2 * text.length);
      const failed = (error: unknown) => log("error", "an answer broke off", { requestId, error });
      const pieces = piecesOf(text, rest);
      return { status, headers, body: new TextStream({ pieces, clock, failed, memory }) };
    }
    memory.release();
    return { status, headers, body: text };
  }

  /** The error that the client gets. Logs what was thrown, if that is a fault. */
  #toError(thrown: unknown, requestId: string): ApiError {
    const { replies, log } = this.#options.context;
    // In `body.ts`, only the error of a body that broke off has a cause: perhaps because the server stops.
    const isBrokenBody = thrown instanceof ApiError && thrown.code === "invalid_request" && thrown.cause;
    const reason = replies.closing && isBrokenBody ? shuttingDown() : thrown;
    const error = toApiError(reason);
    // Others are in the log already (a failed reply), or are no fault (a shutdown, too little memory).
    const isNew = error.cause !== undefined || error.code === "internal_error";
    if (error.status >= 500 && isNew)
      log("error", error.message, { requestId, code: error.code, error: reason });
    return error;
  }

  /** Adds the header fields of every answer, and logs the request. */
  #finish(exchange: Exchange, answer: Answer): Answer {
    const { request, fields, requestId, startedAt, headers, route, caller, code } = exchange;
    const { context, corsOrigins, observe } = this.#options;
    const { status, body, sent } = answer;
    const { method } = request;
    const durationMs = context.clock.now() - startedAt;
    if (corsOrigins.length > 0) Object.assign(headers, corsHeaders(fields, corsOrigins));
    const vary = headers.Vary;
    Object.assign(headers, answer.headers);
    if (vary !== undefined && answer.headers.Vary !== undefined)
      headers.Vary = `${vary}, ${answer.headers.Vary}`;
    context.log("info", "request", {
      requestId,
      method,
      route: route?.path, // the pattern, because the path itself may contain what was put there by mistake
      path: !route && status === 404 ? pathToLog(request.url) : undefined,
      status,
      code,
      durationMs,
      owner: caller?.owner || undefined,
      keyId: caller?.key?.id,
    });
    if (route?.audit && caller) this.#audit(exchange, route.audit, status);
    if (status === 429) observe.rateLimited?.({ scope: caller?.scope });
    observe.requestEnded?.({ requestId, method, route: route?.path, status, durationMs });
    const isWhole = isString(body) || body instanceof Uint8Array;
    if (method !== "HEAD" || !isWhole) return { status, headers, body, sent };
    headers["Content-Length"] = String((isString(body) ? utf8ToBytes(body) : body).length);
    return { status, headers, body: null };
  }

  /** Who did what to which object, and with which result: kept for the operator, and never with a secret. */
  #audit(
    { requestId, caller, code, named }: Exchange,
    { action, object, version }: NonNullable<Route["audit"]>,
    status: number,
  ): void {
    const [answer] = named;
    this.#options.context.log("info", "audit", {
      action,
      object: named.map((record) => isJsonObject(record) && record[object]).find(Boolean),
      ...(version && { version: isJsonObject(answer) ? answer.version : undefined }),
      result: status < 400 ? "done" : "refused",
      code,
      owner: caller?.owner || undefined,
      keyId: caller?.key?.id,
      requestId,
    });
  }

  /** A credential that was refused, and why: the client does not learn it. */
  #auditRefusal({ code, refusal }: ApiError, { requestId }: Exchange): void {
    if (code === "missing_credentials") return;
    const { context, observe } = this.#options;
    const { reason, owner, keyId } = refusal ?? { reason: "other" };
    context.log("info", "audit", {
      action: "authenticate",
      result: "refused",
      reason,
      code,
      owner,
      keyId,
      requestId,
    });
    observe.credentialRefused?.({ requestId, reason });
  }
}

/** The longest text of an answer, in characters, that its connection has at once: no more than its own buffers. */
const shortAnswer = 16 * 1024;

/** How long a body is in UTF-8, in bytes. Undefined: it is a long text whose pieces would have to be made. */
function bytesIn(texts: Iterable<string> | Uint8Array): number | undefined {
  if (texts instanceof Uint8Array) return texts.length;
  let [characters, bytes] = [0, 0];
  for (const text of texts) {
    characters += text.length;
    if (characters > shortAnswer && !Array.isArray(texts)) return undefined;
    bytes += utf8ToBytes(text).length;
  }
  return bytes;
}

/** A path that leads nowhere, for the log. Masked before it is cut: half a credential would not look like one. */
function pathToLog(url: string): string {
  return maskCredentials(splitTarget(url).path).slice(0, loggedPathLength);
}

/** How much of a path is logged that leads nowhere: enough to find the client's mistake. */
const loggedPathLength = 200;

/**
 * For how long the word of a host or a JWT counts while a body arrives, in milliseconds. A key's look-up is cached, and
 * made again once the body is there.
 */
const longestTrustMs = 5_000;
