/**
 * Tells whoever follows a conversation that something in it has changed, in this process and in others.
 *
 * @module
 */

import type { StoreSignals } from "../store/store.ts";

/** Hints that a conversation has changed: whoever hears one looks at the store. */
export class ConversationChanges {
  readonly #signals: StoreSignals | undefined;
  readonly #watching = new Map<string, Set<() => void>>();
  readonly #stopListening: (() => void) | undefined;

  constructor(signals: StoreSignals | undefined) {
    this.#signals = signals;
    this.#stopListening = signals?.listen("conversation", (id) => this.#hear(id));
  }

  /** Calls back after each change. Returns a function that stops this (idempotent). */
  watch(id: string, changed: () => void): () => void {
    const watching = this.#watching.get(id) ?? new Set();
    this.#watching.set(id, watching.add(changed));
    return () => {
      watching.delete(changed);
      if (watching.size === 0 && this.#watching.get(id) === watching) this.#watching.delete(id);
    };
  }

  /** A message was sent into a conversation, or the conversation was changed or deleted. */
  tell(id: string): void {
    this.#hear(id);
    this.#signals?.notify("conversation", id);
  }

  /** Stops listening to other processes. */
  close(): void {
    this.#stopListening?.();
  }

  /** An empty id: any of them may have changed. */
  #hear(id: string): void {
    const watching = id === "" ? [...this.#watching.values()] : [this.#watching.get(id) ?? []];
    for (const changed of watching.flatMap((each) => [...each])) changed();
  }
}
