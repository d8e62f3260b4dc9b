/**
 * The form of answers: the envelope of payloads, the shape of errors, and the header fields of all.
 *
 * @module
 */

import { StoreUnavailable } from "../store/store.ts";
import { TooMuchToRead } from "../twins/own-twins.ts";
import { ApiError, tooMuchAtOnce } from "../wire/errors.ts";
import { jsonPieces } from "../wire/json.ts";
import type { Answer } from "../wire/request.ts";
import type { EventStream } from "../wire/sse.ts";
import type { Page, Result, Success } from "./route.ts";

/** The header fields of every answer. */
export function commonHeaders(requestId: string): Record<string, string> {
  return {
    "X-Request-Id": requestId,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  };
}

const jsonType = "application/json; charset=utf-8";

const streamHeaders = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store, no-transform",
  "X-Accel-Buffering": "no",
  Incremental: "?1", // RFC 10036: proxies pass it on as it arrives
} as const;

/** An answer whose text is still in pieces. */
export interface AnswerInPieces extends Pick<Answer, "status" | "headers"> {
  readonly body: Iterable<string> | Uint8Array<ArrayBuffer> | EventStream | null;
}

/** What a handler answers, in its envelope. */
export function toAnswer(success: Success, result: Result): AnswerInPieces {
  const { status = success.status, events } = result;
  if (events !== undefined) {
    const body = typeof events === "string" ? [events] : events;
    return { status, headers: { ...streamHeaders, ...result.headers }, body };
  }
  if (result.lines) {
    const headers = { ...streamHeaders, "Content-Type": "application/x-ndjson" };
    return { status, headers: { ...headers, ...result.headers }, body: result.lines };
  }
  const { document, data, json, page } = result;
  if (status === 204 || [document, data, json, page].every((payload) => payload === undefined))
    return { status, headers: { ...result.headers }, body: null };
  const body =
    document === undefined ? envelope(result) : typeof document === "string" ? [document] : document;
  return { status, headers: { "Content-Type": jsonType, ...result.headers }, body };
}

/** A payload as JSON, in its envelope. */
function* envelope({ data, json, page }: Result): Iterable<string> {
  yield '{"data":';
  if (page) yield* piecesOfPage(page);
  else if (json !== undefined) yield json;
  else yield* jsonPieces(data);
  yield page ? `,"pagination":${JSON.stringify(page.pagination)}}` : "}";
}

function* piecesOfPage({ items }: Page): Iterable<string> {
  let before = "[";
  for (const item of items) {
    yield before;
    if (typeof item === "string") yield item;
    else yield* item;
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}

/** An error as an answer. */
export function errorAnswer(
  error: ApiError,
  requestId: string,
  errorBody?: (error: ApiError, requestId: string) => string,
): Answer {
  const { status, headers, code, message, details } = error;
  const body =
    errorBody?.(error, requestId) ?? JSON.stringify({ error: { code, message, details, requestId } });
  return { status, headers: { "Content-Type": jsonType, ...headers }, body };
}

/** Whatever was thrown, as the error that the client gets. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StoreUnavailable) return unavailable(error);
  if (error instanceof TooMuchToRead) return tooMuchAtOnce();
  return new ApiError("internal_error", "Something went wrong on the server.");
}

/** 503 for an error of the store. An `ApiError` is meant for the client, and returned unchanged. */
export function unavailable(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  return new ApiError("unavailable", "The service's store cannot be reached right now.", {
    cause,
  });
}
