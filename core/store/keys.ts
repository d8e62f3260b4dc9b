/**
 * API keys and client tokens: as they are stored, and the store's methods about them.
 *
 * @module
 */

import type { Listing, Slice } from "./slices.ts";

/** Whether a key can be used at a moment, being neither revoked nor expired. */
export function isLiveKey({ revokedAt, expiresAt }: ApiKeyRecord, at: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > at);
}

/** What a caller may do, from the least to the most: `full_access` includes all that `read_only` may. */
export const scopes = ["read_only", "full_access"] as const;

/** What a caller may do. */
export type Scope = (typeof scopes)[number];

/** An API key as it is stored: never the secret itself, only its SHA-256. */
export interface ApiKeyRecord {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly scope: Scope;
  /** The first 12 characters of the secret, for recognizing the key. */
  readonly prefix: string;
  /** SHA-256 of the secret, in lower-case hexadecimal. Unique. */
  readonly hash: string;
  /** The size of its bucket. Null: its scope's. */
  readonly requestsPerHour: number | null;
  /** How many tokens its replies may take in a day and a month of UTC. Null: as many as others allow. */
  readonly tokensPerDay: number | null;
  readonly tokensPerMonth: number | null;
  /** How many tokens all replies of its owner may take in a day, while it is live, where that is limited. Null: it says nothing. */
  readonly ownerTokensPerDay: number | null;
  readonly createdAt: number;
  /** When the key expires. Null: never. */
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
  /** The hash of the secret before the last rotation. Null: the key was never rotated. */
  readonly previousHash: string | null;
  /** Until when that secret works as well. Null if there is none. */
  readonly previousUntil: number | null;
}

/** What a rotation changes in a key: its secret, and nothing else. */
export interface KeyRotation extends Pick<ApiKeyRecord, "prefix" | "hash"> {
  /** Until when the secret before this one works as well. */
  readonly previousUntil: number;
}

/** A client token as it is stored: for one end user's device, made with a key. Never the secret itself, only its hash. */
export interface ClientTokenRecord {
  /** SHA-256 of the secret, in lower-case hexadecimal. Unique. */
  readonly hash: string;
  readonly owner: string;
  /** The key that it was made with, and ends with. */
  readonly keyId: string;
  /** The key's hash when the token was made. Processes before version 104 of the tables find the key by it. */
  readonly keyHash: string;
  readonly endUser: string;
  /** The twins that it may use. Null: all that the owner may use. */
  readonly twinIds: readonly string[] | null;
  readonly scope: Scope;
  /** The capacity of the end user's bucket, in requests per hour: what the latest token of this key and end user was given. */
  readonly requestsPerHour: number;
  /** How many tokens the end user's replies may take in a day and a month of UTC: as the latest token says. Null: no limit. */
  readonly tokensPerDay: number | null;
  readonly tokensPerMonth: number | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** What changes in a key. Each happens once: an earlier `revokedAt` and a later `lastUsedAt` stay. */
export type KeyChange = { readonly revokedAt: number } | { readonly lastUsedAt: number };

/** The store's methods about keys. */
export interface KeyStore {
  /** Stores a key unless its owner has `maxLive` that are neither revoked nor expired at `key.createdAt`. */
  createKey(key: ApiKeyRecord, maxLive: number): Promise<"created" | "limit_reached">;
  /** The owner's keys, including revoked and expired ones, newest first. */
  listKeys(owner: string, slice: Slice): Promise<Listing<ApiKeyRecord>>;
  /** Revokes a key, or notes its use, and returns the key as it is then, or undefined if there is none. */
  updateKey(owner: string, id: string, change: KeyChange): Promise<ApiKeyRecord | undefined>;
  /**
   * Gives a key that is live at `at` another secret, and returns it as it is then, or undefined if there is none. The secret
   * that it had is the previous one, in place of the one before.
   */
  rotateKey(owner: string, id: string, rotation: KeyRotation, at: number): Promise<ApiKeyRecord | undefined>;
  /** The owner's key, revoked or not. */
  getKey(owner: string, id: string): Promise<ApiKeyRecord | undefined>;
  /** The key with this hash, or whose previous secret has it, of any owner, revoked or not. */
  findKey(hash: string): Promise<ApiKeyRecord | undefined>;
  /** The keys with this id, or with this prefix, of any owner, revoked or not: for operators. */
  findKeys(by: Pick<ApiKeyRecord, "id"> | Pick<ApiKeyRecord, "prefix">): Promise<readonly ApiKeyRecord[]>;
}

/** The store's methods about client tokens. */
export interface ClientTokenStore {
  /** Stores a client token. Others of its key and end user get its `requestsPerHour`. */
  createClientToken(token: ClientTokenRecord): Promise<void>;
  /** The client token with this hash, expired or not. */
  findClientToken(hash: string): Promise<ClientTokenRecord | undefined>;
  /** Deletes an end user's client tokens, and returns how many had not expired at `at`. */
  deleteClientTokens(owner: string, endUser: string, at: number): Promise<number>;
}
