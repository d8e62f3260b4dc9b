/**
 * Waiting: time limits, and the pause before a request is sent again.
 *
 * @module
 */

import { ConnectionError, TwinServiceError } from "./errors.ts";

/** The first pause, doubled with each further failure up to the longest; half of it is random. */
const firstPauseMs = 500;
const longestPauseMs = 8_000;

/** What browsers tell a page when its network may be back, or its person is: a wait for a connection ends early then. */
const onlineHints = ["online", "visibilitychange"];

/** What a server may ask for at most. */
const longestRetryAfterMs = 30_000;

/** Resolves after some milliseconds, or with `true` at a hint. Rejects with the signal's reason as soon as that aborts. */
export async function sleep(
  ms: number,
  signal?: AbortSignal,
  hints: readonly string[] = [],
): Promise<boolean> {
  const over = new AbortController();
  const page = globalThis as Partial<EventTarget>; // Node's global object is none
  try {
    return await new Promise((resolve, reject) => {
      throwIfAborted(signal);
      signal?.addEventListener("abort", () => reject(signal.reason), { signal: over.signal });
      for (const hint of hints) page.addEventListener?.(hint, () => resolve(true), { signal: over.signal });
      const timer = setTimeout(() => resolve(false), ms);
      over.signal.addEventListener("abort", () => clearTimeout(timer));
    });
  } finally {
    over.abort();
  }
}

/** Failures in a row of what is tried again. */
export class Failures {
  /** How many there were since something new has come. */
  count = 0;

  /** Waits before the next try. Throws the signal's reason, or the failure if it will not pass or is one too many. */
  async wait(error: unknown, mayPass: boolean, most: number, signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    if (!mayPass || ++this.count > most) throw error;
    const hints = error instanceof ConnectionError ? onlineHints : [];
    if (await sleep(retryDelayMs(this.count, error), signal, hints)) this.count--;
  }
}

/** Throws the reason of a signal that has aborted. The signals of React Native do not do that themselves. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw signal.reason ?? new DOMException("The call was aborted.", "AbortError");
}

/** The pause after a number of failures in a row. What the server asked for comes first. */
function retryDelayMs(failures: number, error: unknown): number {
  if (error instanceof TwinServiceError && error.retryAfterSeconds !== undefined) {
    return Math.min(error.retryAfterSeconds * 1000, longestRetryAfterMs);
  }
  const most = Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs);
  return most * (0.5 + Math.random() / 2);
}

/** The longest time of a timer, in milliseconds: runtimes take a longer one for none. */
const longestTimerMs = 2 ** 31 - 1;

/** Calls a function after some milliseconds, of which there may be `Infinity`. */
export function startTimer(act: () => void, ms: number): ReturnType<typeof setTimeout> {
  return setTimeout(act, Math.min(ms, longestTimerMs));
}

/**
 * Does some work under a signal that aborts after a time, or with the outer one; then it rejects with the reason, whatever
 * the work does. Once the work has ended, its signal aborts no more.
 */
export async function within<Result>(
  ms: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  throwIfAborted(outer);
  const controller = new AbortController();
  const { signal } = controller;
  const abort = () => controller.abort(outer?.reason);
  const timer = startTimer(() => controller.abort(timeout(ms)), ms);
  outer?.addEventListener("abort", abort, { once: true });
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
  try {
    return await Promise.race([aborted, work(signal)]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", abort);
  }
}

function timeout(ms: number): ConnectionError {
  return new ConnectionError(`There was no answer within ${ms} ms.`, { code: "timeout" });
}
