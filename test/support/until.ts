/**
 * Waiting for what other processes do.
 */

/** Polls until `ask` says yes, and rejects if that takes too long. Returns how long it took, in milliseconds. */
export async function until(
  what: string,
  milliseconds: number,
  ask: () => Promise<boolean> | boolean,
): Promise<number> {
  const startedAt = performance.now();
  while (!(await ask())) {
    if (performance.now() - startedAt > milliseconds)
      throw new Error(`Not within ${milliseconds} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return Math.round(performance.now() - startedAt);
}
