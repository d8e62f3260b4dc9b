/**
 * Reasons to stop: signals, from Ctrl-C or from whatever supervises the process, and an output that nobody reads.
 *
 * @module
 */

/** Within how many milliseconds a single Ctrl-C may arrive twice: from the terminal and from npm. */
const sameKeyMs = 200;

/**
 * Aborts at the first SIGINT or SIGTERM, or when whoever reads the output has left, for an orderly end. The next signal
 * ends the process immediately, with exit code 1.
 */
export function listenForStop(): AbortSignal {
  const stop = new AbortController();
  let stoppingSince = 0;

  function onSignal(signal: NodeJS.Signals): void {
    if (stop.signal.aborted) {
      const isEcho =
        signal === "SIGINT" && process.stdin.isTTY && performance.now() - stoppingSince < sameKeyMs;
      if (isEcho) return;
      process.exit(1);
    }
    stoppingSince = performance.now();
    stop.abort();
  }
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  process.stdout.on("error", () => stop.abort());
  return stop.signal;
}
