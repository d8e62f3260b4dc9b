/**
 * Errors as OpenAI's clients read them.
 *
 * @module
 */

import { isJsonObject } from "../../core/base/json.ts";
import type { ApiError, ErrorCode } from "../../core/wire/errors.ts";
import { validationError } from "../../core/wire/errors.ts";

/** The value of `error` in a body, and in a stream's last event. */
export interface OpenAIErrorObject {
  readonly message: string;
  readonly type: string;
  /** The parameter that is wrong. */
  readonly param: string | null;
  readonly code: string;
}

/** Codes that OpenAI's clients know by another name. */
const codes: Readonly<Partial<Record<ErrorCode, string>>> = {
  missing_credentials: "invalid_api_key",
  invalid_token: "invalid_api_key",
  twin_not_found: "model_not_found",
  rate_limited: "rate_limit_exceeded",
  too_many_running: "rate_limit_exceeded",
  budget_exceeded: "insufficient_quota",
};

/** An error's body. Which request it was is in `X-Request-Id`. */
export function errorBody(error: ApiError): string {
  const { code, status, message, details } = error;
  if (status >= 500) return JSON.stringify({ error: serverError(message) });
  const isQuota = code === "budget_exceeded";
  const type = isQuota ? "insufficient_quota" : status === 429 ? "requests" : "invalid_request_error";
  const fields: unknown = details?.fields;
  const first: unknown = Array.isArray(fields) ? fields[0] : undefined;
  const param = isJsonObject(first) && typeof first.path === "string" ? first.path : null;
  const object: OpenAIErrorObject = { message, type, param, code: codes[code] ?? code };
  return JSON.stringify({ error: object });
}

/** The error of a reply that failed, or of the server. */
export function serverError(message: string): OpenAIErrorObject {
  return { message, type: "server_error", param: null, code: "server_error" };
}

/** Refuses a request for one of its parameters. */
export function refuseParam(path: string, message: string): never {
  throw validationError([{ path, message }]);
}
