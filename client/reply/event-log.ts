/**
 * What has happened, for any number of readers.
 *
 * @module
 */

/** Events that are added one by one, until the log ends or fails. Each reader gets all of them. */
export class EventLog<Event> {
  readonly #events: Event[] = [];
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #wake = () => {};
  #changed = this.#nextChange();

  add(event: Event): void {
    this.#events.push(event);
    this.#tell();
  }

  end(): void {
    this.#ended = true;
    this.#tell();
  }

  /** Ends the log with an error, which readers get after all events. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.end();
  }

  /** All events, from the first on. */
  async *read(): AsyncGenerator<Event, void, undefined> {
    for (let index = 0; ; index++) {
      while (index >= this.#events.length && !this.#ended) await this.#changed;
      const event = this.#events[index];
      if (event === undefined) break;
      yield event;
    }
    if (this.#failure) throw this.#failure.error;
  }

  #tell(): void {
    this.#wake();
    this.#changed = this.#nextChange();
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
