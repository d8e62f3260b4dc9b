/**
 * How replies end other than by completion.
 *
 * @module
 */

import type { EndReply, ReplyFailure } from "./store.ts";

/** How a reply ends, before that is stored. `lost`: it is no longer this process's to end. */
export type Ending = "lost" | Pick<EndReply, "status" | "finishReason" | "usage" | "error">;

/** The reply was cancelled; its text so far is kept. */
export const cancelled: Exclude<Ending, "lost"> = {
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
export function failed(code: ReplyFailure["code"]): Exclude<Ending, "lost"> {
  return {
    status: "failed",
    finishReason: "error",
    usage: null,
    error: { code, message: failureMessages[code] },
  };
}
