/**
 * How replies end.
 *
 * @module
 */

import { isCount } from "../base/json.ts";
import { unusable } from "../base/rules.ts";
import type { FinalState, ReplyFailure, Usage } from "../store/records.ts";
import type { EngineResult } from "../twins/engine.ts";

/** How a reply ends, before that is stored. `lost`: it is no longer its producer's to end. */
export type Outcome = FinalState | "lost";

const finishReasons = new Set<unknown>(["stop", "length", "content_filter"]);

/**
 * The engine finished the reply.
 *
 * @throws {TypeError} for any other finish reason: an engine in plain JavaScript may return its model's.
 */
export function completed(result: EngineResult): FinalState {
  const finishReason = result?.finishReason;
  if (!finishReasons.has(finishReason)) {
    throw unusable("An engine's finishReason", '"stop", "length" or "content_filter"', finishReason);
  }
  return { status: "completed", finishReason, usage: countsOf(result.usage), error: null };
}

/** Only the counts, because an engine may pass on other things that its model says. Null if one of them is missing. */
function countsOf(usage: Partial<Usage> | null): Usage | null {
  const { inputTokens, outputTokens, totalTokens } = usage ?? {};
  if (!isCount(inputTokens) || !isCount(outputTokens) || !isCount(totalTokens)) return null;
  return { inputTokens, outputTokens, totalTokens };
}

/** The reply was cancelled; its text so far is kept. */
export const cancelled: FinalState = {
  status: "cancelled",
  finishReason: "cancelled",
  usage: null,
  error: null,
};

const failureMessages: Record<ReplyFailure["code"], string> = {
  model_error: "The twin's model failed to reply.",
  model_timeout: "The twin's model took too long to reply.",
  interrupted: "The reply was interrupted before it was finished.",
};

/** The reply failed; its text so far is kept. */
export function failed(code: ReplyFailure["code"]): FinalState {
  return {
    status: "failed",
    finishReason: "error",
    usage: null,
    error: { code, message: failureMessages[code] },
  };
}
