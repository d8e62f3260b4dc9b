/**
 * Authentication by API key or client token: looking up what a request carries.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { type Clock, isWithin } from "../base/clock.ts";
import type { Sha256 } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { type ApiKeyRecord, type ClientTokenRecord, isLiveKey } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { ApiError, type CredentialRefusal } from "../wire/errors.ts";
import { type CredentialFields, readApiKey } from "./credentials.ts";
import { apiKeys, clientTokens, type SecretKind } from "./secrets.ts";

/** What a {@link KeyLookup} needs. */
export interface KeyLookupOptions {
  readonly store: Pick<Store, "findKey" | "getKey" | "updateKey" | "findClientToken">;
  readonly clock: Clock;
  readonly log: Log;
  readonly sha256: Sha256;
}

/** What a request carries: a key, or a client token that was made with it. */
export interface Authenticated {
  readonly key: ApiKeyRecord;
  readonly clientToken: ClientTokenRecord | undefined;
}

/** The shortest time between two notes in the store that a key was used. */
const touchIntervalMs = 60_000;
/** How many keys' notes are remembered. */
const maxTouches = 10_000;
/** The shortest time between two lines in the log that a key's previous secret was used. */
const warnIntervalMs = 3_600_000;

/** Authenticates requests by API key or client token. A look-up is cached for 5 seconds. */
export class KeyLookup {
  readonly #options: KeyLookupOptions;
  readonly #keys: CachedLookup<ApiKeyRecord>;
  readonly #tokens: CachedLookup<ClientTokenRecord>;
  /** The keys of client tokens, by {@link ofOwner}: a token outlives its key's secrets. */
  readonly #keysById: CachedLookup<ApiKeyRecord>;
  readonly #touches = new LRUCache<string, number>({ maxSize: maxTouches, sizeCalculation: () => 1 });
  readonly #warnings = new LRUCache<string, number>({ maxSize: maxTouches, sizeCalculation: () => 1 });

  constructor(options: KeyLookupOptions) {
    const { store, clock } = options;
    this.#options = options;
    this.#keys = new CachedLookup((hash) => store.findKey(hash), clock);
    this.#tokens = new CachedLookup((hash) => store.findClientToken(hash), clock);
    this.#keysById = new CachedLookup((name) => {
      const { owner, id } = JSON.parse(name) as Pick<ApiKeyRecord, "owner" | "id">;
      return store.getKey(owner, id);
    }, clock);
  }

  /**
   * The key that a request carries, or the client token and the key that it was made with.
   *
   * @throws {ApiError} as {@link readApiKey}, or `invalid_api_key` for a key or token that is malformed, unknown, expired
   * or revoked. Errors of the store are passed on.
   */
  async authenticate(fields: CredentialFields, maxAgeMs = cachedMs): Promise<Authenticated> {
    const secret = readApiKey(fields);
    const now = this.#options.clock.now();
    if (secret.startsWith(clientTokens.marker)) {
      const clientToken = await this.#find(this.#tokens, clientTokens, secret, maxAgeMs);
      if (!clientToken) throw invalidApiKey({ reason: "unknown" });
      const { expiresAt, owner, keyId } = clientToken;
      if (expiresAt <= now) throw invalidApiKey({ reason: "expired", owner, keyId });
      const key = await this.#keysById.find(ofOwner(owner, keyId), maxAgeMs);
      return { key: requireLive(key, now), clientToken };
    }
    const key = requireLive(await this.#find(this.#keys, apiKeys, secret, maxAgeMs), now);
    if (key.previousUntil !== null) this.#checkRotated(key, this.#options.sha256(secret), now);
    this.#touch(key, now);
    return { key, clientToken: undefined };
  }

  /** Makes the next use of a key ask the store. To be called once the store has recorded its revocation or rotation. */
  forget(id: string): void {
    for (const lookup of [this.#keys, this.#keysById]) lookup.forgetWhere((key) => key.id === id);
  }

  /** Makes the next use of an end user's client tokens ask the store. To be called once they have changed there. */
  forgetClientTokens(owner: string, endUser: string): void {
    this.#tokens.forgetWhere((token) => token.owner === owner && token.endUser === endUser);
  }

  /** A record, synchronously if it is cached. Undefined: there is none. Throws for a secret that none can have. */
  #find<Found extends object>(
    lookup: CachedLookup<Found>,
    kind: SecretKind,
    secret: string,
    maxAgeMs: number,
  ): Found | undefined | Promise<Found | undefined> {
    if (secret.length !== kind.length) throw invalidApiKey({ reason: "malformed" }); // not worth a digest
    const hash = this.#options.sha256(secret);
    const known = lookup.cached(hash, maxAgeMs); // before the checksum, which costs more: what is cached was well-formed
    if (known) return known;
    if (!kind.isWellFormed(secret)) throw invalidApiKey({ reason: "malformed" });
    return lookup.find(hash, maxAgeMs);
  }

  /** Refuses a key's previous secret once its time is over, and until then says in the log that it is still in use. */
  #checkRotated(key: ApiKeyRecord, hash: string, now: number): void {
    const { id: keyId, owner, previousUntil } = key;
    if (hash === key.hash) return;
    if (hash !== key.previousHash || previousUntil === null || previousUntil <= now)
      throw invalidApiKey({ reason: "expired", owner, keyId });
    const name = ofOwner(owner, keyId);
    if (isWithin(warnIntervalMs, this.#warnings.get(name) ?? -Infinity, now)) return;
    this.#warnings.set(name, now);
    const until = new Date(previousUntil).toISOString();
    this.#options.log("warn", "a key's previous secret is still used", { owner, keyId, until });
  }

  /** Notes in the store that a key was used, at most once a minute. */
  #touch(record: ApiKeyRecord, now: number): void {
    // The record has what other processes noted; our own time also covers a store that failed to note it.
    if (isWithin(touchIntervalMs, record.lastUsedAt ?? -Infinity, now)) return;
    if (isWithin(touchIntervalMs, this.#touches.get(record.hash) ?? -Infinity, now)) return;
    this.#touches.set(record.hash, now);
    const { store, log } = this.#options;
    store.updateKey(record.owner, record.id, { lastUsedAt: now }).catch((error: unknown) => {
      log("warn", "noting the use of an API key failed", { keyId: record.id, error });
    });
  }
}

/** Names a key, whose id is unique among its owner's. */
function ofOwner(owner: string, id: string): string {
  return JSON.stringify({ owner, id });
}

function requireLive(record: ApiKeyRecord | undefined, now: number): ApiKeyRecord {
  if (!record) throw invalidApiKey({ reason: "unknown" });
  if (isLiveKey(record, now)) return record;
  const reason = record.revokedAt === null ? "expired" : "revoked";
  throw invalidApiKey({ reason, owner: record.owner, keyId: record.id });
}

/** 401: the credential is malformed, unknown, expired or revoked. The client does not learn which. */
export function invalidApiKey(refusal: CredentialRefusal): ApiError {
  return new ApiError(
    "invalid_api_key",
    "The API key or client token is not valid. Keys begin with twin_; a JWT creates them.",
    { refusal },
  );
}

/** How long a look-up is cached: within this time, other processes notice a revocation or a rotation. */
export const cachedMs = 5_000;
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
class CachedLookup<Found extends object> {
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
  cached(hash: string, maxAgeMs: number): Found | undefined {
    const known = this.#lookups.get(hash);
    return known && isWithin(maxAgeMs, known.at, this.#clock.now()) ? known.record : undefined;
  }

  /** The record, from the store unless it is cached. Undefined: there is none. */
  find(hash: string, maxAgeMs: number): Found | undefined | Promise<Found | undefined> {
    return this.cached(hash, maxAgeMs) ?? this.#flights.get(hash) ?? this.#lookUp(hash);
  }

  /**
   * Makes the next use of such records, and of all that are being looked up, ask the store. To be called once the store has
   * recorded a change.
   */
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
