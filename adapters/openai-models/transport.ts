/**
 * How requests reach a model: the port, and its implementation over `fetch`.
 *
 * @module
 */

import { yieldThread } from "../../core/base/in-parts.ts";
import { createTurns } from "../bounded-text.ts";

/** One HTTP request to a model. */
export interface ModelRequest {
  readonly method: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The header fields of a model's response, by name in any case. */
export interface ModelHeaders {
  get(name: string): string | null;
}

/**
 * Receives a model's response as it arrives. It accepts data at any speed, and never throws. It has read a piece once it
 * returns: a transport that gives it many at once holds the thread.
 */
export interface ModelListener {
  /** The response headers have arrived. Called at most once, before any of the body. */
  begin(status: number, headers: ModelHeaders): void;
  /** A piece of the body has arrived. */
  read(bytes: Uint8Array): void;
  /** The body has ended. */
  end(): void;
  /** No response headers will arrive, or the connection broke before the end of the body. */
  fail(error: unknown): void;
}

/**
 * Sends a request to a model and passes the response to `listener`, but not before returning. Redirects are responses
 * like any other and never followed: they would send the conversation and the key elsewhere.
 *
 * Returns a function that closes the connection immediately, in any state. The engine always calls it when it is
 * done with the response; after the end of the body it must do nothing. What it throws is ignored, and so is what the
 * listener receives afterwards.
 */
export type ModelTransport = (url: string, request: ModelRequest, listener: ModelListener) => () => void;

/** A {@link ModelTransport} over the runtime's own `fetch`. */
export const fetchTransport: ModelTransport = (url, { method, headers, body }, listener) => {
  const controller = new AbortController();
  const { signal } = controller;
  const answered = fetch(url, { method, headers, body, signal, redirect: "manual" });
  receive(answered, listener, signal).catch((error) => listener.fail(error));
  return () => controller.abort();
};

async function receive(
  answered: Promise<Response>,
  listener: ModelListener,
  signal: AbortSignal,
): Promise<void> {
  const { status, headers, body } = await answered;
  // Deno's `fetch` leaves a body compressed if the request says what encodings it accepts, even if that is none. The others
  // never do.
  const [, encoding] = /^(?:x-)?(gzip|deflate)$/.exec(headers.get("content-encoding") ?? "") ?? [];
  const isCompressed = "Deno" in globalThis && encoding !== undefined;
  const plain = isCompressed
    ? body?.pipeThrough(new DecompressionStream(encoding as CompressionFormat))
    : body;
  const reader = plain?.getReader();
  if (reader) cancelWhenAborted(reader, signal);
  listener.begin(status, headers);
  const isTurnOver = createTurns();
  for (let piece = await reader?.read(); piece?.value; piece = await reader?.read()) {
    listener.read(piece.value);
    if (isTurnOver(piece.value)) await yieldThread();
  }
  listener.end();
}

/**
 * Passing the signal to `fetch` is not always enough: if instrumentation creates a `Request` with it, Node 20 holds it
 * weakly, and a garbage collection loses it while the body is still open.
 */
function cancelWhenAborted(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal): void {
  const cancel = () => {
    // Rejects if the stream has already failed, which a read has reported.
    reader.cancel(signal.reason).catch(() => undefined);
  };
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
}
