/**
 * What one has alone: a request its `Idempotency-Key`, a process the work that it does.
 *
 * @module
 */

/** A claim that several equal requests have at most one effect (the `Idempotency-Key` header). */
export interface IdempotencyClaim {
  readonly owner: string;
  /** Whose request it is, as equal keys of different end users are different claims. Null: none was named. */
  readonly endUser: string | null;
  /** What the key is for, such as `/conversations`. */
  readonly path: string;
  readonly key: string;
  /** A digest of the request's fields: equal fields, equal fingerprint. */
  readonly fingerprint: string;
  readonly createdAt: number;
  /** When the claim expires: then a new one can be made. */
  readonly expiresAt: number;
  /** Whether it takes the place of an equal one, so that the newest request is found. Default: the first one is. */
  readonly replaces?: true;
}

/** The `path` of claims on a conversation's messages. */
export function messagesPath(conversationId: string): string {
  return `/conversations/${conversationId}/messages`;
}

/** A claim that an earlier request made: its fields, and what it created. */
export interface MadeClaim {
  readonly fingerprint: string;
  /** The conversation or reply that the first request created. It may have been deleted since. */
  readonly resourceId: string;
}

/** Who produces a reply, and until when no other process may end it or take it over. */
export interface Lease {
  /** The producer: an id of its own for each attempt at each reply. */
  readonly holder: string;
  /** Moment of expiry, milliseconds since the epoch. Renewed by each save. */
  readonly until: number;
}
