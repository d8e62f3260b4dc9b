/**
 * Every error that a client can get: its code, its HTTP status, its JSON body.
 *
 * @module
 */

import type { CredentialRefused } from "../base/observe.ts";
import { type MessageRecord, mostBranches, type ReplyFailure } from "../store/records.ts";

const statusByCode = {
  invalid_request: 400,
  invalid_json: 400,
  validation_error: 400,
  idempotency_not_supported: 400,
  tests_failed: 400,
  missing_credentials: 401,
  invalid_api_key: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  cross_site_request: 403,
  not_found: 404,
  twin_not_found: 404,
  conversation_not_found: 404,
  message_not_found: 404,
  api_key_not_found: 404,
  memory_not_found: 404,
  version_not_found: 404,
  document_not_found: 404,
  webhook_not_found: 404,
  delivery_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conversation_busy: 409,
  answered_by_person: 409,
  key_limit_reached: 409,
  webhook_limit_reached: 409,
  webhook_disabled: 409,
  too_many_branches: 409,
  twin_exists: 409,
  twin_limit_reached: 409,
  revision_mismatch: 412,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limited: 429,
  budget_exceeded: 429,
  too_many_running: 429,
  too_many_streams: 429,
  headers_too_large: 431,
  internal_error: 500,
  model_error: 502,
  unavailable: 503,
  shutting_down: 503,
  model_timeout: 504,
} as const;

/** The `code` of an error answer. Each code has exactly one HTTP status. */
export type ErrorCode = keyof typeof statusByCode;

/** All error codes, in the order of their statuses. */
export const errorCodes = Object.keys(statusByCode) as ErrorCode[];

/** The HTTP status that answers an error code. */
export function errorStatus(code: ErrorCode): number {
  return statusByCode[code];
}

/** The challenge of RFC 6750 section 3, without scope and error. */
export const challenge = 'Bearer realm="twins"';

const refusedChallenge = `${challenge}, error="invalid_token"`;

/** Every 401 names the credential that is needed (RFC 9110 section 11.6.1). */
const challengeByCode: Readonly<Partial<Record<ErrorCode, string>>> = {
  missing_credentials: challenge,
  invalid_api_key: refusedChallenge,
  invalid_token: refusedChallenge,
};

/** Every 503 says when to try again, in seconds. Another process is there at once, a store rather later. */
const retryAfterByCode: Readonly<Partial<Record<ErrorCode, string>>> = {
  unavailable: "5",
  shutting_down: "1",
};

/** What is wrong with a credential that is refused. */
export type CredentialProblem = CredentialRefused["reason"];

/** Why a credential was refused, and whose it is, as far as that is known. Clients do not learn it. */
export interface CredentialRefusal {
  readonly reason: CredentialProblem;
  readonly owner?: string | undefined;
  readonly keyId?: string | undefined;
}

/** What an {@link ApiError} contains besides its code and message. */
export interface ApiErrorOptions {
  /** Facts for programs, such as `{ fields: [{ path, message }] }`. Sent to the client unchanged. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Header fields of the error's response, such as `Retry-After`. A 401 has a `WWW-Authenticate`, a 503 a `Retry-After` even without them.
   * Values are Latin-1 without control characters (RFC 9110 section 5.5).
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Why a credential was refused, never sent: for the audit log and metrics. */
  readonly refusal?: CredentialRefusal | undefined;
  /** What went wrong underneath, never sent. From status 500 on, an error is logged by itself only if it has a cause. */
  readonly cause?: unknown | undefined;
}

/**
 * An error that is sent to the client. Its message says what was wrong and what is accepted, and is sent unchanged: it
 * must not contain a stack, SQL, a file path, a secret or an upstream's words.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly refusal: CredentialRefusal | undefined;

  /** @throws {TypeError} for what cannot be sent: an unknown code, details that are no JSON, an invalid header field. */
  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    if (!errorCodes.includes(code)) {
      throw new TypeError(`The error code ${code} is not one of ${errorCodes.join(", ")}.`);
    }
    JSON.stringify(options.details); // throws for what it cannot represent
    this.code = code;
    this.details = options.details;
    this.refusal = options.refusal;
    const headers = requireSendable(options.headers ?? {});
    const usual: readonly [name: string, value: string | undefined] =
      statusByCode[code] === 503
        ? ["Retry-After", retryAfterByCode[code]]
        : ["WWW-Authenticate", challengeByCode[code]];
    const [name, value] = usual;
    const hasOwn = Object.keys(headers).some((own) => own.toLowerCase() === name.toLowerCase());
    this.headers = value !== undefined && !hasOwn ? { ...headers, [name]: value } : headers;
  }

  get status(): number {
    return statusByCode[this.code];
  }
}

/** Checked here, because an adapter would find it too late for an answer. */
function requireSendable(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) continue;
    throw new TypeError(
      `The header field ${JSON.stringify(name)} cannot be sent: its name or value is not valid HTTP.`,
    );
  }
  return headers;
}

/** One refused field of a request: where it is, and what is accepted there. */
export interface FieldError {
  /** The field's name, or a path such as `body` for the whole body. */
  readonly path: string;
  readonly message: string;
}

/** A `validation_error` that lists the refused fields. */
export function validationError(fields: readonly FieldError[]): ApiError {
  const summary = fields.map((field) => `${field.path} ${field.message}`).join("; ");
  return new ApiError("validation_error", `${summary}.`, { details: { fields } });
}

/** 503: the server accepts no new work, or stops waiting for a reply. */
export function shuttingDown(details?: Readonly<Record<string, unknown>>): ApiError {
  return new ApiError("shutting_down", "The server is shutting down; send the request again elsewhere.", {
    details,
  });
}

/** 503: requests and replies would hold too much memory together. */
export function tooMuchAtOnce(): ApiError {
  return new ApiError("unavailable", "Too much is being sent and read at once; try again in a moment.");
}

/** The value of `error` in an error answer and in a stream's error event. */
export interface ErrorObject {
  /** `interrupted` only occurs as the end of a reply, never as the code of an answer. */
  readonly code: ErrorCode | "interrupted";
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly requestId: string;
}

const codeOfFailure: Record<ReplyFailure["code"], ErrorCode> = {
  model_error: "model_error",
  model_timeout: "model_timeout",
  interrupted: "shutting_down",
};

/** The error for a normal send if its reply failed, and for a repetition of it. */
export function replyFailed(
  messageId: string,
  { code, message }: ReplyFailure,
  headers: Readonly<Record<string, string>>,
): ApiError {
  return new ApiError(codeOfFailure[code], message, { details: { messageId }, headers });
}

export function conversationBusy(messageId: string): ApiError {
  return new ApiError(
    "conversation_busy",
    "The conversation is busy with a reply; wait for its end or cancel it.",
    {
      details: { messageId },
      headers: { "Retry-After": "1" },
    },
  );
}

export function answeredByPerson(): ApiError {
  const message =
    "A person answers in this conversation, for whom a message cannot wait here; nothing was stored.";
  return new ApiError("answered_by_person", message);
}

export function tooManyBranches(): ApiError {
  const message = `The conversation has ${mostBranches} branches already; go on at the end of one, or begin a conversation.`;
  return new ApiError("too_many_branches", message);
}

export function twinNotFound(): never {
  throw new ApiError("twin_not_found", "There is no twin with this id.");
}

export function conversationNotFound(): never {
  throw new ApiError("conversation_not_found", "There is no conversation with this id.");
}

export function memoryNotFound(): never {
  throw new ApiError("memory_not_found", "The twin knows nothing of this person.");
}

export function messageNotFound(): never {
  throw new ApiError("message_not_found", "There is no such message in this conversation.");
}

/** A message that a conversation can go on from. `path`: the member of the body that names it. */
export function requirePlace(message: MessageRecord, path: string): MessageRecord {
  if (message.role === "user" && !message.alone) {
    const expected = "must be the id of a reply, of what a person said, or of a question without a reply";
    throw validationError([{ path, message: expected }]);
  }
  if (message.status === "in_progress") throw conversationBusy(message.id);
  return message;
}
