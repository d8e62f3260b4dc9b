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
}

/** The header fields of a model's answer, by name in any case. */
export interface ModelHeaders {
  get(name: string): string | null;
}

/**
 * Is told of a model's answer while it arrives. It takes all at once, so nothing needs to be held back, and
 * never throws.
 */
export interface ModelListener {
  /** The answer's header has arrived. Called once at most, before anything of the body. */
  begin(status: number, headers: ModelHeaders): void;
  /** A piece of the body has arrived. */
  read(bytes: Uint8Array): void;
  /** The body has ended. */
  end(): void;
  /** No answer's header arrives, or the connection broke before the body's end. */
  fail(error: unknown): void;
}

/**
 * Sends a request to a model, and tells `listener` of the answer, not before it has returned. Redirects are
 * answers like others, and never followed: they would carry the conversation and the key to another place.
 *
 * Returns what closes the connection at once, whatever state it is in. That is the one way in which the engine
 * lets go of an exchange, and always happens at its end; after the body's end it must do nothing. What the
 * listener is told behind it is ignored.
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
  const reader = body?.getReader();
  if (reader) cancelWhenAborted(reader, signal);
  listener.begin(status, headers);
  for (let piece = await reader?.read(); piece?.value; piece = await reader?.read())
    listener.read(piece.value);
  listener.end();
}

/**
 * It does not always suffice that `fetch` knows the signal: where instrumentation makes a `Request` of it, Node
 * 20 holds it weakly, and a garbage collection loses it while the body is still open.
 */
function cancelWhenAborted(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal): void {
  const cancel = () => {
    // Rejects if the stream has failed already, and then a read has told so.
    reader.cancel(signal.reason).catch(() => undefined);
  };
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
}
