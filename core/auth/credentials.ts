/**
 * The credentials of a request, what they permit, and the errors for missing or invalid ones.
 *
 * @module
 */

import type { Scope } from "../store/records.ts";
import { ApiError, type CredentialProblem, challenge } from "../wire/errors.ts";
import { type HeaderFields, headerNames, trimBlanks } from "../wire/request.ts";
import { apiKeys, clientTokens } from "./secrets.ts";

/** The header fields that a credential can be in. */
export type CredentialFields = Pick<HeaderFields, "authorization" | "apiKey">;

/**
 * The API key of a request, from `Authorization: Bearer <key>` or `X-API-Key: <key>`. Does not check whether it is
 * valid.
 *
 * @throws {ApiError} `missing_credentials` if there is none, `invalid_request` if a header was sent twice or the two
 * name different keys.
 */
export function readApiKey(fields: CredentialFields): string {
  const { bearer, apiKey } = readCredentials(fields);
  const key = bearer ?? apiKey;
  if (key !== undefined) return key;
  throw missingCredentials('Send an API key, as "Authorization: Bearer <key>" or as "X-API-Key: <key>".');
}

/**
 * The JWT of a request, from `Authorization: Bearer <token>`. Does not check whether it is valid.
 *
 * @throws {ApiError} `missing_credentials` if there is none, `invalid_token` if there is an API key instead,
 * `invalid_request` if a header was sent twice or an API key contradicts the token.
 */
export function readToken(fields: CredentialFields): string {
  const { bearer, apiKey } = readCredentials(fields);
  const isKey = [apiKeys, clientTokens].some((kind) => kind.isWellFormed(bearer ?? ""));
  if (bearer === undefined ? apiKey !== undefined : isKey) {
    throw invalidToken("An API key is not accepted here, and no client token: send a JWT as a Bearer token.");
  }
  if (bearer !== undefined) return bearer;
  throw missingCredentials('Send a JWT, as "Authorization: Bearer <token>".');
}

/** Whether a request carries what may be one of this service's own keys, well-formed or not. */
export function carriesOwnKey({ authorization, apiKey }: CredentialFields): boolean {
  return [authorization, apiKey].some((value) => value !== null && ownKey.test(value));
}

const ownKey = /^[ \t]*(?:bearer[ \t]+)?twin(?:ct)?_/i;

function readCredentials(fields: CredentialFields) {
  const authorization = readSingle(fields, "authorization");
  const apiKey = readSingle(fields, "apiKey");
  // Another scheme than Bearer is no credential for this service (RFC 6750 section 3.1).
  const token = /^bearer(?=[ \t]|$)(.*)$/is.exec(authorization ?? "")?.[1] ?? "";
  const bearer = trimBlanks(token) || undefined;
  if (bearer && apiKey && bearer !== apiKey) {
    throw new ApiError("invalid_request", "Authorization and X-API-Key differ: send one of them.");
  }
  return { bearer, apiKey };
}

/** A field's value, or undefined if it is absent or empty. */
function readSingle(fields: CredentialFields, name: keyof CredentialFields): string | undefined {
  const value = fields[name];
  if (value === null) return undefined;
  // No credential that is accepted here contains a comma, so one means that several values were joined.
  if (value.includes(",")) {
    throw new ApiError("invalid_request", `Send one credential in one ${headerNames[name]} header.`);
  }
  return trimBlanks(value) || undefined;
}

/** 401: the request carries no credential. */
export function missingCredentials(message: string): ApiError {
  return new ApiError("missing_credentials", message);
}

/** 401: the JWT is not accepted. */
export function invalidToken(message: string, reason: CredentialProblem = "malformed"): ApiError {
  return new ApiError("invalid_token", message, { refusal: { reason } });
}

/** 403: the credential's scope does not permit this. */
export function insufficientScope(needed: Scope): ApiError {
  return new ApiError("insufficient_scope", `This needs an API key with the scope ${needed}.`, {
    headers: { "WWW-Authenticate": `${challenge}, error="insufficient_scope", scope="${needed}"` },
  });
}

/** 403: the caller has no key, and another scope would not help. */
export function keyRequired(reason: string): ApiError {
  return new ApiError("insufficient_scope", `This needs an API key: ${reason}.`, {
    headers: { "WWW-Authenticate": `${challenge}, error="insufficient_scope"` },
  });
}

/** Whether a key of scope `held` may do what needs `needed`. */
export function scopePermits(held: Scope, needed: Scope): boolean {
  return held === "full_access" || held === needed;
}

/** Whether a value can name an owner: 1 to 255 characters, all printable, not only white space. */
export function isOwnerName(value: unknown): value is string {
  return (
    typeof value === "string" &&
    /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,255}$/u.test(value) &&
    value.trim() !== ""
  );
}
