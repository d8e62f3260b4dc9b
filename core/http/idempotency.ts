/**
 * `Idempotency-Key`: a request that is repeated has no second effect.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../base/json.ts";
import { compareTexts } from "../base/order.ts";
import type { IdempotencyClaim, MadeClaim } from "../store/records.ts";
import type { Reach } from "../store/store.ts";
import { ApiError, validationError } from "../wire/errors.ts";
import { headerNames } from "../wire/request.ts";
import type { Call, HandlerContext, Route } from "./route.ts";

/** How long a key is remembered, in milliseconds. */
const claimMs = 24 * 3600 * 1000;

// A header that was sent twice becomes one value, joined by a comma and a space, so no key may contain these.
export const keyPattern = /^(?!.*, )[\x20-\x7e]{1,255}$/;

/** Refuses a key where none is supported, and an invalid one. */
export function requireIdempotencyKey(
  idempotency: NonNullable<Route["idempotency"]>,
  key: string | null,
): void {
  if (key === null) return;
  if (idempotency === "refused") {
    throw new ApiError(
      "idempotency_not_supported",
      "A secret cannot be shown twice; send the request without Idempotency-Key.",
    );
  }
  if (!keyPattern.test(key)) {
    throw validationError([
      {
        path: headerNames.idempotencyKey,
        message: "must be given once, as 1 to 255 printable ASCII characters, with no space after a comma",
      },
    ]);
  }
}

/** The request's claim on its key, or undefined if it has none. A key applies to one owner, end user and path. */
export function claimOf(
  {
    fields,
    reach,
    body,
  }: Pick<Call, "fields" | "body"> & { readonly reach: Pick<Reach, "owner" | "endUser"> },
  path: string,
  { clock, sha256 }: Pick<HandlerContext, "clock" | "sha256">,
): IdempotencyClaim | undefined {
  const key = fields.idempotencyKey;
  if (key === null) return undefined;
  // Null means no value, but for `after` the beginning of the conversation.
  const content = JSON.stringify(withPairsInOrder(body), (name, value: unknown) =>
    name === "after" ? value : (value ?? undefined),
  );
  const { owner, endUser = null } = reach;
  const createdAt = clock.now();
  return {
    owner,
    endUser,
    path,
    key,
    fingerprint: sha256(content),
    createdAt,
    expiresAt: createdAt + claimMs,
  };
}

/**
 * A body with the pairs of its members, such as metadata, in an order that does not depend on its client. Its own members are in
 * its schema's order, and lists, which may be long, as they are.
 */
function withPairsInOrder(body: unknown): unknown {
  if (!isJsonObject(body)) return body;
  const inOrder = (pairs: JsonObject) =>
    Object.fromEntries(Object.entries(pairs).sort(([one], [other]) => compareTexts(one, other)));
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, isJsonObject(value) ? inOrder(value) : value]),
  );
}

/** Refuses a request if its key was used with other fields before. */
export function requireSameFields(claim: IdempotencyClaim | undefined, made: MadeClaim): void {
  if (claim?.fingerprint === made.fingerprint) return;
  throw new ApiError(
    "idempotency_key_reused",
    "This Idempotency-Key was used with other fields; send the same fields, or another key.",
  );
}

/** Tells the client that its request had no new effect. */
export const replayedHeaders = { "Idempotency-Replayed": "true" } as const;
