/**
 * Work in progress, so that a shutdown can wait for it.
 *
 * @module
 */

/**
 * Counts work without holding references to it. (A Set with constant additions and deletions outgrows one table after
 * another. In V8, each of these keeps the next one and its contents alive until a full garbage collection.)
 */
export class InFlight {
  #count = 0;
  #idle: (() => void)[] = [];

  /** Counts work until it settles. A failure is left to the caller that asked for the work. */
  track(work: Promise<unknown>): void {
    this.#count++;
    work.then(this.#settled, this.#settled);
  }

  /** Resolves once nothing is in progress. Also waits for work that begins in the meantime. */
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
