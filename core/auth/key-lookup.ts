/**
 * Authentication by API key: looking up the key that a request carries.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { type Clock, isWithin } from "../base/clock.ts";
import type { Sha256 } from "../base/crypto.ts";
import type { Log } from "../base/log.ts";
import type { ApiKeyRecord } from "../store/records.ts";
import { isLiveKey } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { ApiError } from "../wire/errors.ts";
import { apiKeyLength, isWellFormedApiKey } from "./api-keys.ts";
import { type CredentialFields, readApiKey } from "./credentials.ts";

/** What a {@link KeyLookup} needs. */
export interface KeyLookupOptions {
  readonly store: Pick<Store, "findKey" | "touchKey">;
  readonly clock: Clock;
  readonly log: Log;
  readonly sha256: Sha256;
}

/** How long a look-up is cached: within this time, other processes notice a revocation. */
const maxAgeMs = 5_000;
/** The shortest time between two notes in the store that a key was used. */
const touchIntervalMs = 60_000;
/** How many keys are remembered between requests. */
const maxKeys = 10_000;

interface Lookup {
  readonly record: ApiKeyRecord;
  /** When the look-up began: its result may have changed since. */
  readonly at: number;
}

// Bounded by size, not by `max`, which would allocate memory for all keys at once.
const bound = { maxSize: maxKeys, sizeCalculation: () => 1 };

/**
 * Authenticates requests by API key: looks keys up and caches them for 5 seconds. Unknown keys are not cached: the
 * checksum already keeps typing errors from the store, and an attacker can invent ever new ones.
 */
export class KeyLookup {
  readonly #options: KeyLookupOptions;
  readonly #lookups = new LRUCache<string, Lookup>(bound);
  readonly #touches = new LRUCache<string, number>(bound);
  readonly #flights = new Map<string, Promise<ApiKeyRecord | undefined>>();

  constructor(options: KeyLookupOptions) {
    this.#options = options;
  }

  /**
   * The record of the key that a request carries.
   *
   * @throws {ApiError} as {@link readApiKey}, or `invalid_api_key` for a key that is malformed, unknown, expired or
   * revoked. Errors of the store are passed on.
   */
  async authenticate(fields: CredentialFields): Promise<ApiKeyRecord> {
    const record = await this.#find(readApiKey(fields));
    const now = this.#options.clock.now();
    if (!record || !isLiveKey(record, now)) throw invalidApiKey();
    this.#touch(record, now);
    return record;
  }

  /** Makes the next use of a key ask the store. To be called once the store has recorded its revocation. */
  forget(hash: string): void {
    this.#lookups.delete(hash);
    this.#flights.delete(hash);
  }

  /** The record of a key, synchronously if it is cached. Undefined: nobody has such a key. */
  #find(key: string): ApiKeyRecord | undefined | Promise<ApiKeyRecord | undefined> {
    const { clock, sha256 } = this.#options;
    if (key.length !== apiKeyLength) return undefined; // not worth a digest
    const hash = sha256(key);
    const known = this.#lookups.get(hash);
    if (known && isWithin(maxAgeMs, known.at, clock.now())) return known.record; // of a key that was well-formed
    return isWellFormedApiKey(key) ? (this.#flights.get(hash) ?? this.#lookUp(hash)) : undefined;
  }

  #lookUp(hash: string): Promise<ApiKeyRecord | undefined> {
    const at = this.#options.clock.now();
    const flight = this.#options.store
      .findKey(hash)
      .then((record) => {
        // A look-up that was forgotten while it ran may have seen the key as it was before its revocation.
        if (record && this.#flights.get(hash) === flight) this.#lookups.set(hash, { record, at });
        return record;
      })
      .finally(() => {
        if (this.#flights.get(hash) === flight) this.#flights.delete(hash);
      });
    this.#flights.set(hash, flight);
    return flight;
  }

  /** Notes in the store that a key was used, at most once a minute. */
  #touch(record: ApiKeyRecord, now: number): void {
    // The record has what other processes noted; our own time also covers a store that failed to note it.
    if (isWithin(touchIntervalMs, record.lastUsedAt ?? -Infinity, now)) return;
    if (isWithin(touchIntervalMs, this.#touches.get(record.hash) ?? -Infinity, now)) return;
    this.#touches.set(record.hash, now);
    const { store, log } = this.#options;
    store.touchKey(record.owner, record.id, now).catch((error: unknown) => {
      log("warn", "noting the use of an API key failed", { keyId: record.id, error });
    });
  }
}

/** 401: the key is malformed, unknown, expired or revoked. The client does not learn which. */
function invalidApiKey(): ApiError {
  return new ApiError(
    "invalid_api_key",
    "The API key is not valid. Keys begin with twin_; a JWT creates them.",
  );
}
