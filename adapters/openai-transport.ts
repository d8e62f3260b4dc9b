/**
 * How requests reach a model: the port, and its version over `fetch`.
 *
 * @module
 */

/** One HTTP request to a model. */
export interface ModelRequest {
  readonly method: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * Aborting closes the connection at once, whatever state it is in. It is the one way in which the engine
   * lets go of an exchange, and always happens at its end; after the body was read to its end it must do
   * nothing.
   */
  readonly signal: AbortSignal;
}

/** A model's answer, once its header has arrived. */
export interface ModelResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /** Iterated at most once. Rejects if the connection breaks before the body's end. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

/**
 * Sends a request to a model. Rejects if no answer's header arrives. Redirects are answers like others, and
 * never followed: they would carry the conversation and the key to another place.
 */
export type ModelTransport = (url: string, request: ModelRequest) => Promise<ModelResponse>;

/** A {@link ModelTransport} over the runtime's own `fetch`. */
export const fetchTransport: ModelTransport = async (url, { method, headers, body, signal }) => {
  const response = await fetch(url, { method, headers, body, signal, redirect: "manual" });
  return {
    status: response.status,
    headers: response.headers,
    body: response.body && readUntilAborted(response.body, signal),
  };
};

/**
 * A body that `signal` ends, even while a read is pending. The stream's own iterator can't do that: its
 * `return()` waits for the pending read. Nor does it always suffice that `fetch` knows the signal: where
 * instrumentation makes a `Request` of it, Node 20 holds it weakly, and a garbage collection loses it while the
 * body is still open.
 */
function readUntilAborted(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const reader = stream.getReader();
  const cancel = () => {
    // Rejects if the stream has failed already, and then a read has told so.
    reader.cancel(signal.reason).catch(() => undefined);
  };
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value } = await reader.read();
        return done ? { done, value: undefined } : { done, value };
      },
    }),
  };
}
