/**
 * What the client throws: one class for each kind of refusal, all with one base.
 *
 * @module
 */

import type { ErrorCode, ErrorObject } from "../../core/wire/errors.ts";

/** The service's codes, and those of the client itself. A newer service may send others. */
export type TwinServiceErrorCode =
  | ErrorCode
  | ErrorObject["code"]
  | "connection_failed"
  | "timeout"
  | "detached"
  | "no_streams"
  | (string & {});

/** What an error says besides its message. */
export interface TwinServiceErrorOptions {
  readonly code: TwinServiceErrorCode;
  readonly status?: number | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/** The base of all errors of the client. An aborted call is none: it throws its signal's reason, as `fetch` does. */
export class TwinServiceError extends Error {
  override readonly name: string = "TwinServiceError";
  /** The HTTP status. Undefined if there was no answer, and for the end of a stream. */
  readonly status: number | undefined;
  readonly code: TwinServiceErrorCode;
  /** Facts for programs, such as `fields` of a `validation_error` or `messageId` of `conversation_busy`. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** The request's id in the service's log. */
  readonly requestId: string | undefined;
  /** After how many seconds the service asks to try again. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, options: TwinServiceErrorOptions) {
    super(message, { cause: options.cause });
    this.code = options.code;
    this.status = options.status;
    this.details = options.details;
    this.requestId = options.requestId;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** No answer, or one that broke off: code `connection_failed`, or `timeout`. */
export class ConnectionError extends TwinServiceError {
  override readonly name: string = "ConnectionError";

  constructor(message: string, options: Partial<TwinServiceErrorOptions> = {}) {
    super(message, { code: "connection_failed", ...options });
  }
}

/** The reply failed: code `model_error`, `model_timeout` or `interrupted`. Its text so far is in the history. */
export class ReplyError extends TwinServiceError {
  override readonly name = "ReplyError";

  /** The failed reply's id. */
  get messageId(): string {
    return String(this.details?.messageId);
  }
}

/** 400: the request is wrong. */
export class BadRequestError extends TwinServiceError {
  override readonly name = "BadRequestError";
}

/** 401: no credential, or one that is not valid. */
export class AuthenticationError extends TwinServiceError {
  override readonly name = "AuthenticationError";
}

/** 403: the credential's scope does not allow this. */
export class PermissionDeniedError extends TwinServiceError {
  override readonly name = "PermissionDeniedError";
}

/** 404: there is no such object, or it is another owner's. */
export class NotFoundError extends TwinServiceError {
  override readonly name = "NotFoundError";
}

/** 409: `conversation_busy`, with the running reply's id in `details.messageId`, or `key_limit_reached`. */
export class ConflictError extends TwinServiceError {
  override readonly name = "ConflictError";
}

/** 422: the Idempotency-Key was used with other fields. */
export class UnprocessableEntityError extends TwinServiceError {
  override readonly name = "UnprocessableEntityError";
}

/** 429: the limit is reached. `retryAfterSeconds` later, the same call succeeds. */
export class RateLimitError extends TwinServiceError {
  override readonly name = "RateLimitError";
  override readonly retryAfterSeconds: number;
  /** The requests per hour that are allowed, if the service says so. */
  readonly limit: number | undefined;

  constructor(message: string, options: TwinServiceErrorOptions) {
    super(message, options);
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1;
    const limit = options.details?.limit;
    this.limit = typeof limit === "number" ? limit : undefined;
  }
}

/** 500 and above: the service, or a proxy before it. */
export class InternalServerError extends TwinServiceError {
  override readonly name = "InternalServerError";
}

const classByStatus: Readonly<Record<number, typeof TwinServiceError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: UnprocessableEntityError,
  429: RateLimitError,
};

/** The error of an answer that refuses. It may come from a proxy, and then have no body of ours. */
export async function errorOf(response: Response): Promise<TwinServiceError> {
  const { status, headers } = response;
  const error = errorIn(await response.text());
  const { code = status >= 500 ? "unavailable" : "invalid_request", details, message } = error;
  const retryAfter = headers.get("retry-after") ?? ""; // a date is left out
  const options = {
    code,
    status,
    details,
    requestId: error.requestId ?? headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined,
  };
  if (status >= 500 && details?.messageId !== undefined) return new ReplyError(message ?? code, options);
  const Class = classByStatus[status] ?? (status >= 500 ? InternalServerError : TwinServiceError);
  return new Class(message ?? `The answer's status is ${status}.`, options);
}

/** The id of the reply that a conversation is busy with, as an error says. */
export function runningReply(error: unknown): string | undefined {
  const messageId = error instanceof ConflictError ? error.details?.messageId : undefined;
  return typeof messageId === "string" ? messageId : undefined;
}

/** The error that a stream ended with. */
export function replyError({ code, message, details, requestId }: ErrorObject): ReplyError {
  return new ReplyError(message, { code, details, requestId });
}

function errorIn(body: string): Partial<ErrorObject> {
  try {
    const { error } = JSON.parse(body);
    return typeof error === "object" && error !== null ? error : {};
  } catch {
    return {}; // a proxy's own page
  }
}
