/**
 * Work that has begun and not ended, so that a shutdown can wait for it.
 *
 * @module
 */

/**
 * Counts work, and knows none of it. (A Set that is added to and deleted from all the time grows out of one table after
 * another. In V8 each of these holds the next until a full garbage collection, and with it what was in it.)
 */
export class Underway {
  #count = 0;
  #idle: (() => void)[] = [];

  /** Counts work until it settles. Whoever asked for it is told of a failure. */
  track(work: Promise<unknown>): void {
    this.#count++;
    work.then(this.#settled, this.#settled);
  }

  /** Resolves once nothing is under way. What begins meanwhile is waited for, too. */
  async idle(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  readonly #settled = (): void => {
    this.#count--;
    if (this.#count > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  };
}
