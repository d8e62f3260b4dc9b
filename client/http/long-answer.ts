/**
 * Answers that take long: their head within a time, their text as it arrives, and no silence in between.
 *
 * @module
 */

import { ConnectionError } from "./errors.ts";
import { brokenOff, failed } from "./requests.ts";
import { startTimer, throwIfAborted, within } from "./waiting.ts";

/** The limits of a long answer. */
export interface LongAnswerOptions {
  /** The longest wait for its head, in milliseconds. */
  readonly timeoutMs: number;
  /** Silence after which the connection counts as broken, in milliseconds. */
  readonly silenceMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * The text of an answer in pieces. Throws a {@link ConnectionError} if it breaks off or falls silent, and the signal's
 * reason. Leaving closes the connection.
 */
export async function* readLongAnswer(
  open: (signal: AbortSignal) => Promise<Response>,
  { timeoutMs, silenceMs, signal }: LongAnswerOptions,
): AsyncGenerator<string, void, undefined> {
  const connection = new AbortController();
  const abort = () => connection.abort(signal?.reason);
  signal?.addEventListener("abort", abort);
  try {
    const response = await within(timeoutMs, signal, (limit) => {
      limit.addEventListener("abort", () => connection.abort(limit.reason));
      return open(connection.signal);
    });
    if (response.body) yield* readText(response.body, silenceMs, connection.signal);
    else yield await response.text().catch(failed(brokenOff)); // all at once, on React Native
  } finally {
    signal?.removeEventListener("abort", abort);
    connection.abort(); // some runtimes keep a silent connection otherwise
  }
}

async function* readText(
  body: ReadableStream<Uint8Array>,
  silenceMs: number,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const close = () => void reader.cancel().catch(() => {}); // then it has failed already
  signal.addEventListener("abort", close); // Node 20 may forget to
  try {
    for (;;) {
      const reading = reader.read().catch(failed(brokenOff));
      const { done, value } = await beforeSilence(reading, silenceMs);
      throwIfAborted(signal);
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

async function beforeSilence<Read>(reading: Promise<Read>, silenceMs: number): Promise<Read> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    const error = new ConnectionError(`The answer was silent for ${silenceMs} ms.`, { code: "timeout" });
    timer = startTimer(() => reject(error), silenceMs);
  });
  try {
    return await Promise.race([reading, silence]);
  } finally {
    clearTimeout(timer);
  }
}
