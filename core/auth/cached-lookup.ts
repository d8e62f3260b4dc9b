/**
 * Looks up what a credential stands for, and remembers it for a moment.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { type Clock, isWithin } from "../base/clock.ts";

/** How long a look-up is cached: within this time, other processes notice a revocation. */
const maxAgeMs = 5_000;
/** How many records are remembered between requests. */
const maxRecords = 10_000;

interface Lookup<Found> {
  readonly record: Found;
  /** When the look-up began: its result may have changed since. */
  readonly at: number;
}

/**
 * Records by the hash of their secret, cached for 5 seconds. Unknown ones are not cached: the checksum already keeps
 * typing errors from the store, and an attacker can invent ever new ones.
 */
export class CachedLookup<Found extends object> {
  readonly #find: (hash: string) => Promise<Found | undefined>;
  readonly #clock: Clock;
  // Bounded by size, not by `max`, which would allocate memory for all records at once.
  readonly #lookups = new LRUCache<string, Lookup<Found>>({ maxSize: maxRecords, sizeCalculation: () => 1 });
  readonly #flights = new Map<string, Promise<Found | undefined>>();

  constructor(find: (hash: string) => Promise<Found | undefined>, clock: Clock) {
    this.#find = find;
    this.#clock = clock;
  }

  /** The record, if it is cached. */
  cached(hash: string): Found | undefined {
    const known = this.#lookups.get(hash);
    return known && isWithin(maxAgeMs, known.at, this.#clock.now()) ? known.record : undefined;
  }

  /** The record, from the store unless it is cached. Undefined: there is none. */
  find(hash: string): Found | undefined | Promise<Found | undefined> {
    return this.cached(hash) ?? this.#flights.get(hash) ?? this.#lookUp(hash);
  }

  /** Makes the next use of a record ask the store. To be called once the store has recorded a change. */
  forget(hash: string): void {
    this.#lookups.delete(hash);
    this.#flights.delete(hash);
  }

  /** Like {@link CachedLookup.forget}, for all such records, and all that are being looked up. */
  forgetWhere(isMeant: (record: Found) => boolean): void {
    for (const [hash, { record }] of [...this.#lookups.entries()]) {
      if (isMeant(record)) this.#lookups.delete(hash);
    }
    this.#flights.clear();
  }

  #lookUp(hash: string): Promise<Found | undefined> {
    const at = this.#clock.now();
    const flight = this.#find(hash)
      .then((record) => {
        // A look-up that was forgotten while it ran may have seen the record as it was before the change.
        if (record && this.#flights.get(hash) === flight) this.#lookups.set(hash, { record, at });
        return record;
      })
      .finally(() => {
        if (this.#flights.get(hash) === flight) this.#flights.delete(hash);
      });
    this.#flights.set(hash, flight);
    return flight;
  }
}
