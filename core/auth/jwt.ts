/**
 * JSON Web Tokens: verifying them, and signing one to try things out.
 *
 * @module
 */

import { type CryptoKey, decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { type Clock, systemClock } from "../base/clock.ts";
import { isJsonObject, isString } from "../base/json.ts";
import { type Log, noLog } from "../base/log.ts";
import {
  clockRule,
  functionThat,
  logRule,
  optional,
  type RulesFor,
  requireOptions,
  textRule,
} from "../base/rules.ts";
import type { ApiError } from "../wire/errors.ts";
import { invalidToken, isOwnerName } from "./credentials.ts";
import { isJwksUrl, JwksSource } from "./jwks.ts";
import { createKeyFinder, type KeyHint, type PublicKey, reportKey } from "./public-key.ts";

/** What a token that is accepted says. */
export interface VerifiedToken {
  /** Whose keys its holder may create, list and revoke: 1 to 255 printable characters. */
  readonly owner: string;
  /** The greatest limit of its own that its holder may give a key, in requests an hour. Default: none. */
  readonly requestsPerHour?: number | undefined;
  /** How many tokens a day the replies of its owner may take while a key lives that is made with it, where that is limited. */
  readonly tokensPerDay?: number | undefined;
}

/**
 * Resolves with what a token says, or with the owner that it is for. Rejects with an {@link ApiError} if the token is not
 * accepted.
 */
export type VerifyToken = (token: string) => Promise<VerifiedToken | string>;

/** The minimum length of a secret in bytes: that of HS256's output (RFC 7518 section 3.2). */
export const minSecretBytes = 32;

/** Options of {@link createJwtVerifier}: exactly one of `secret`, `publicKey` and `jwksUrl`, and any of the others. */
export interface JwtVerifierOptions {
  /** A secret of at least 32 bytes, for HS256. */
  readonly secret?: string | undefined;
  /** A public key, from `readPublicKey`. */
  readonly publicKey?: PublicKey | undefined;
  /** The address of a JWKS document, `http:` or `https:`, without a user or password. */
  readonly jwksUrl?: string | undefined;
  /** The `iss` that a token must have. Default: any or none. */
  readonly issuer?: string | undefined;
  /** The `aud` that a token must have, possibly among others. Default: any or none. */
  readonly audience?: string | undefined;
  /** A claim that a token must have, with this value, or with a list that has it. Default: none. */
  readonly requiredClaim?: readonly [name: string, value: string] | undefined;
  /** The clock that tokens expire by. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Where a JWKS document that cannot be fetched or used is reported. Default: nowhere. */
  readonly log?: Log | undefined;
  /** What fetches the JWKS document. Default: the runtime's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

const rules: RulesFor<JwtVerifierOptions> = {
  secret: optional(textRule),
  publicKey: optional({
    expected: "a key that readPublicKey() returned",
    accepts: (key) => isJsonObject(key) && "algorithms" in key, // a promise of one, for example, is an object, too
  }),
  jwksUrl: optional(textRule),
  issuer: optional(textRule),
  audience: optional(textRule),
  requiredClaim: optional({
    expected: "a claim's name and its value",
    accepts: (value) => Array.isArray(value) && value.length === 2 && value.every(isString),
  }),
  clock: optional(clockRule),
  log: optional(logRule),
  fetch: optional(functionThat("fetches an address")),
};

const maxTokenBytes = 8 * 1024;
const toleranceSeconds = 30;
const maxTime = 253_402_300_799; // the last second of the year 9999

/** A key as jose takes it: a secret's bytes, or a public key. */
type Key = Uint8Array | CryptoKey;

interface KeySource {
  /** The accepted values of `alg`. */
  readonly algorithms: readonly string[];
  find(hint: KeyHint): Promise<readonly Key[]>;
  findNewer(hint: KeyHint): Promise<readonly Key[]>;
}

/**
 * Creates a function that verifies a token and resolves with its owner, and with its claim `requests_per_hour`, if that is a
 * whole number from 1 on.
 *
 * A token is accepted if its signature is valid for the configured key and algorithms, it has not expired (`exp`,
 * required) and is already valid (`nbf`, `iat`), with a tolerance of 30 seconds, it names an owner (`sub`, 1 to 255
 * printable characters), and it has the configured `iss` and `aud`. Keys in the token's own header (`jwk`, `jku`,
 * `x5u`, `x5c`) are never used.
 *
 * The function rejects with `invalid_token`, or with `unavailable` while the JWKS address cannot be reached.
 *
 * @example
 * ```ts
 * import { createJwtVerifier } from "twin-service";
 *
 * const verifyToken = createJwtVerifier({
 *   jwksUrl: "https://id.example.com/.well-known/jwks.json",
 *   issuer: "https://id.example.com",
 *   audience: "twins",
 * });
 * const { owner } = await verifyToken(token);
 * ```
 *
 * @throws {TypeError} if not exactly one kind of key is given, the secret is too short, or an option is invalid or
 * unknown: a misspelt `audience` would let every token in.
 */
export function createJwtVerifier(options: JwtVerifierOptions): (token: string) => Promise<VerifiedToken> {
  requireOptions("createJwtVerifier", options, rules);
  const { issuer, audience, requiredClaim, clock = systemClock, log = noLog } = options;
  const source = keySource(options, clock, log);

  async function verifyWith(
    keys: readonly Key[],
    token: string,
    alg: string,
  ): Promise<JWTPayload | undefined> {
    const checks = {
      algorithms: [alg],
      requiredClaims: ["exp", "sub"],
      clockTolerance: toleranceSeconds,
      currentDate: new Date(clock.now()),
      ...(issuer !== undefined && { issuer }),
      ...(audience !== undefined && { audience }),
    };
    for (const key of keys) {
      try {
        return (await jwtVerify(token, key, checks)).payload;
      } catch (error) {
        if (error instanceof errors.JWSSignatureVerificationFailed) continue;
        if (error instanceof errors.JOSEError) throw toApiError(error);
        reportKey(log, error);
      }
    }
    return undefined;
  }

  return async (token) => {
    const hint = readHint(token, source.algorithms);
    const payload =
      (await verifyWith(await source.find(hint), token, hint.alg)) ??
      (await verifyWith(await source.findNewer(hint), token, hint.alg));
    if (!payload) throw invalidToken(notSignedForUs, "signature");
    const [name, value] = requiredClaim ?? [];
    if (name !== undefined && ![payload[name]].flat().includes(value)) {
      throw invalidToken(`The token's "${name}" claim is missing or not accepted here.`, "claim");
    }
    const owner = readOwner(payload, Math.floor(clock.now() / 1000));
    const [requestsPerHour, tokensPerDay] = [payload.requests_per_hour, payload.tokens_per_day].map(countOf);
    return {
      owner,
      ...(requestsPerHour !== undefined && { requestsPerHour }),
      ...(tokensPerDay !== undefined && { tokensPerDay }),
    };
  };
}

function countOf(claim: unknown): number | undefined {
  return Number.isSafeInteger(claim) && Number(claim) > 0 ? Number(claim) : undefined;
}

function keySource(options: JwtVerifierOptions, clock: Clock, log: Log): KeySource {
  const { secret, publicKey, jwksUrl } = options;
  const given = Object.entries({ secret, publicKey, jwksUrl }).flatMap(([name, source]) =>
    source ? name : [],
  );
  if (given.length !== 1) {
    const found = given.join(" and ") || "none, or an empty one; is the variable it comes from set?";
    throw new TypeError(`Exactly one of secret, publicKey and jwksUrl must be given, not ${found}`);
  }
  if (secret) {
    const keys = [secretBytes(secret)];
    return { algorithms: ["HS256"], find: async () => keys, findNewer: async () => [] };
  }
  if (publicKey) {
    const find = createKeyFinder([publicKey.jwk], log);
    const { algorithms } = publicKey;
    return { algorithms, find: ({ alg }) => find({ alg }), findNewer: async () => [] }; // for any kid that a token names
  }
  const url = jwksUrl ?? "";
  if (!isJwksUrl(url)) {
    throw new TypeError("jwksUrl must be an http: or https: address without a user or password");
  }

  // Looked up at each call, so that a `fetch` that is replaced later is used, too.
  const fetch = options.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init));
  return new JwksSource({ url, clock, log, fetch });
}

function secretBytes(secret: string): Uint8Array {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.byteLength < minSecretBytes) {
    throw new TypeError(`The secret must have at least ${minSecretBytes} bytes.`);
  }
  return bytes;
}

const notSignedForUs = "The token is not valid: it must be a JWT signed with a key that is accepted here.";

/** What a token's header says, if the token is well-formed and its algorithm is accepted. */
function readHint(token: string, algorithms: readonly string[]): KeyHint {
  if (token.length > maxTokenBytes) throw invalidToken(`The token is longer than ${maxTokenBytes} bytes.`);
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw invalidToken("The token is not a signed JWT.");
  let header: ReturnType<typeof decodeProtectedHeader>;
  try {
    header = decodeProtectedHeader(token);
  } catch {
    throw invalidToken("The token is not a signed JWT.");
  }
  const { alg, kid, crit } = header;
  // Extensions that must be understood, and none is.
  if (crit !== undefined) throw invalidToken('The token has a "crit" header, which is not accepted here.');
  if (!isString(alg) || !algorithms.includes(alg)) throw invalidToken(notSignedForUs, "signature");
  return { alg, ...(isString(kid) && { kid }) };
}

// The signature is checked before the claims, so only the holder of a genuine token learns what is wrong with it.
function toApiError(error: errors.JOSEError): ApiError {
  if (error instanceof errors.JWTExpired) return invalidToken("The token has expired.", "expired");
  if (error instanceof errors.JWTClaimValidationFailed) {
    return invalidToken(`The token's "${error.claim}" claim is missing or not accepted here.`, "claim");
  }
  return invalidToken(notSignedForUs, "signature");
}

function readOwner({ sub, exp = 0, iat = 0 }: JWTPayload, nowSeconds: number): string {
  if (exp > maxTime) throw invalidToken('The token\'s "exp" claim is not a date.', "claim");
  if (iat > nowSeconds + toleranceSeconds) throw invalidToken("The token was issued in the future.", "claim");
  if (!isOwnerName(sub)) {
    throw invalidToken(
      'The token\'s "sub" claim must be a string of 1 to 255 printable characters.',
      "claim",
    );
  }
  return sub;
}

/** Options of {@link signToken}. */
export interface SignTokenOptions {
  /** At least 32 bytes. */
  readonly secret: string;
  /** The owner that the token is for. */
  readonly sub: string;
  readonly expiresInSeconds: number;
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  /** The claim `requests_per_hour`. */
  readonly requestsPerHour?: number | undefined;
  /** The claim `tokens_per_day`. */
  readonly tokensPerDay?: number | undefined;
  /** A further claim and its value. */
  readonly requiredClaim?: readonly [name: string, value: string] | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Signs a token with HS256.
 *
 * @throws {TypeError} if the secret is too short or `sub` cannot name an owner.
 */
export async function signToken(options: SignTokenOptions): Promise<string> {
  const { secret, sub, expiresInSeconds, issuer, audience, requestsPerHour, requiredClaim } = options;
  const { tokensPerDay } = options;
  const { clock = systemClock } = options;
  if (!isOwnerName(sub)) throw new TypeError("sub must have 1 to 255 printable characters.");
  const now = Math.floor(clock.now() / 1000);
  const token = new SignJWT({
    ...(requiredClaim && { [requiredClaim[0]]: requiredClaim[1] }),
    sub,
    ...(issuer !== undefined && { iss: issuer }),
    ...(audience !== undefined && { aud: audience }),
    ...(requestsPerHour !== undefined && { requests_per_hour: requestsPerHour }),
    ...(tokensPerDay !== undefined && { tokens_per_day: tokensPerDay }),
    iat: now,
    exp: now + expiresInSeconds,
  });
  return await token.setProtectedHeader({ alg: "HS256", typ: "JWT" }).sign(secretBytes(secret));
}
