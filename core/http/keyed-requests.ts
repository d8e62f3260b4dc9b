/**
 * Requests with an `Idempotency-Key`, as they act: those that come at once.
 *
 * @module
 */

import type { IdempotencyClaim, MadeClaim } from "../store/records.ts";
import type { Store } from "../store/store.ts";

/** What an equal request has made. */
interface Claimed {
  readonly claim: MadeClaim;
}

/** Has requests with keys act once. Equal ones that come at once to this process act in turn, and so count as one. */
export class KeyedRequests {
  readonly #store: Pick<Store, "findClaim">;
  /** Those that act. Each resolves with nothing, so that what a Map has outgrown keeps nothing (see `InFlight`). */
  readonly #acting = new Map<string, Promise<void>>();

  constructor(store: Pick<Store, "findClaim">) {
    this.#store = store;
  }

  /** Acts, unless an equal request has acted: then resolves with what that has made, whose fields are to be compared. */
  async once<Done extends object>(
    claim: IdempotencyClaim | undefined,
    act: () => Promise<Done | Claimed>,
  ): Promise<Done | Claimed> {
    if (!claim) return act();
    const name = JSON.stringify([claim.owner, claim.endUser, claim.path, claim.key]);
    for (;;) {
      const made = await this.#store.findClaim(claim);
      if (made) return { claim: made };
      const before = this.#acting.get(name);
      if (!before) break;
      await before;
    }
    let end = () => {};
    const acting = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#acting.set(name, acting);
    try {
      return await act();
    } finally {
      this.#acting.delete(name);
      end();
    }
  }
}
