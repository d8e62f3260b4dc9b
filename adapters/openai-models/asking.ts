/**
 * Asks a model until its server answers.
 *
 * @module
 */

import { type Clock, systemClock } from "../../core/base/clock.ts";
import { consoleLog, type Log } from "../../core/base/log.ts";
import { Attempt, type AttemptResult, type Deadlines } from "./attempt.ts";
import type { Completion } from "./chunk.ts";
import { CompletionReader } from "./completion.ts";
import { OverlapFilter } from "./continuation.ts";
import type { Failure } from "./failure.ts";
import {
  type Asking,
  authorization,
  completionHeaders,
  completionRequest,
  type ModelQuestion,
  requireBaseUrl,
  withLaterHalf,
} from "./request.ts";
import { fetchTransport, type ModelTransport } from "./transport.ts";

/** How many unknown finish reasons are logged: a broken server may make up one for each reply. */
const mostWarnings = 20;
/** The first pause is half to all of this, and doubles each time: three attempts take less than a second. */
const retryPauseMs = 250;
/** The longest `Retry-After` that is waited for. With a longer one, the reply fails immediately. */
const maxRetryAfterMs = 5_000;

/** A model's server, and how it is asked. */
export interface ModelServer {
  /**
   * The API's address up to and including its version, such as `https://api.openai.com/v1`. Without
   * credentials, query and fragment.
   */
  readonly baseUrl: string;
  /** Sent as a bearer token. Default: none is sent. */
  readonly apiKey?: string | undefined;
  /** How requests reach the model. Default: `fetch`. */
  readonly transport?: ModelTransport | undefined;
  /** How often a request is repeated after a failed connection or an overload, before any text. Default: 2. */
  readonly retries?: number | undefined;
  /** The clock for waits and pauses. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Receives a warning for what a model's server does that may need an operator. Default: the console. */
  readonly log?: Log | undefined;
}

/** What a model's server is known to accept. Missing: not known yet. */
interface Known {
  /** Whether it counts tokens on request. */
  counts?: boolean;
  /** Whether it takes tools. */
  takesTools?: boolean;
  /** Whether the log says that it was asked without tools. */
  warned?: true;
}

/** Creates a function that repeats a request that may succeed later, and simplifies one that is refused. */
export function createAskModel(options: ModelServer) {
  const { retries = 2, log = consoleLog } = options;
  const attempt = createAttempts(options);
  const servers = new Map<string | undefined, Known>();

  return async (question: ModelQuestion, deadlines: Deadlines): Promise<Completion> => {
    const { model } = question;
    const known = servers.get(model) ?? {};
    servers.set(model, known);
    let asking: Asking = { counted: known.counts !== false, ...question };
    if (known.takesTools === false) asking = { ...asking, tools: [] };
    for (let repeated = 0; ; ) {
      const tried = await attempt(asking, deadlines);
      if ("result" in tried) {
        known.counts = asking.counted;
        if (asking.tools.length > 0) known.takesTools = true;
        return tried.result;
      }
      const refusesTools = tried.refusesTools && asking.tools.length > 0;
      if (!refusesTools && repeated < retries && tried.retryAfterMs <= maxRetryAfterMs) {
        const pauseMs = retryPauseMs * 2 ** repeated++ * (0.5 + Math.random() / 2);
        await deadlines.pause(Math.max(pauseMs, tried.retryAfterMs));
        continue;
      }
      if (refusesTools) known.takesTools = false;
      const simpler = simplified(asking, question, tried, known);
      if (simpler.tools.length < asking.tools.length && !known.warned) {
        known.warned = true;
        log("warn", "a model's server refuses tools, so it is asked without them", { model: model ?? null });
      }
      asking = simpler;
    }
  };
}

/** A request that the server may accept after this failure. Throws if there is none. */
function simplified(asking: Asking, question: ModelQuestion, failure: Failure, known: Known): Asking {
  const { counted } = asking;
  const counts = known.counts !== false;
  const hasTools = asking.tools.length > 0;
  if (failure.refusesTools && hasTools) return { ...asking, tools: [] };
  if (failure.withoutCounts && counted && known.counts === undefined) return { ...asking, counted: false };
  if (failure.withoutTools && hasTools && !known.takesTools) return { ...asking, counted: counts, tools: [] };
  if (!failure.shorter || asking.turn.history.length === 0) throw failure.failure;
  const tools = known.takesTools === false ? [] : question.tools;
  return { ...withLaterHalf(asking), counted: counts, tools };
}

/** Sends a request each time it is called, and passes the reply's text to the output. */
function createAttempts(options: ModelServer) {
  const { transport = fetchTransport, clock = systemClock, log = consoleLog } = options;
  const unknownReasons = new Set<string>();
  const url = `${requireBaseUrl(options.baseUrl)}/chat/completions`;
  const common = { ...completionHeaders, ...authorization(options.apiKey) };

  return (asking: Asking, deadlines: Deadlines): Promise<AttemptResult> =>
    new Promise((resolve) => {
      const { partial, hasText, tools } = asking;
      const overlap =
        partial !== undefined && asking.continuation === "prompt"
          ? new OverlapFilter(asking, partial)
          : undefined;
      const end = (result: AttemptResult) => {
        overlap?.end();
        resolve(result);
      };
      const reader = new CompletionReader(overlap ?? asking, {
        mayBeEmpty: hasText,
        mayCall: tools.length > 0,
        unknownReason(reason) {
          if (unknownReasons.has(reason) || unknownReasons.size === mostWarnings) return;
          unknownReasons.add(reason);
          log("warn", "a model ended a reply with an unknown finish reason; it counts as length", { reason });
        },
      });
      new Attempt(reader, deadlines, clock, end).start((listener) => {
        // Created for each attempt, so that the conversation is not kept in memory twice during the reply.
        const body = JSON.stringify(completionRequest(asking));
        const { traceparent } = asking.turn;
        const headers = traceparent === undefined ? common : { traceparent, ...common };
        return transport(url, { method: "POST", headers, body }, listener);
      });
    });
}
