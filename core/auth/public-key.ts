/**
 * Public keys that tokens are verified with, and the signature algorithms that each of them admits.
 *
 * @module
 */

import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  exportJWK,
  importSPKI,
  type JWK,
  type JWTHeaderParameters,
} from "jose";
import { type Log, noLog } from "../base/log.ts";

/** A public key, and the values of `alg` that it can verify. */
export interface PublicKey {
  readonly jwk: JWK;
  readonly algorithms: readonly string[];
}

/** The values of `alg` that a key can verify, by its `kty` and `crv` (RFC 7518 section 3.1, RFC 9864 section 2.2). */
const algorithmsByKind = new Map<string | undefined, readonly string[]>([
  ["RSA", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]],
  ["EC P-256", ["ES256"]],
  ["EC P-384", ["ES384"]],
  ["EC P-521", ["ES512"]],
  ["OKP Ed25519", ["Ed25519", "EdDSA"]],
]);

/** Every `alg` that a public key can verify. */
export const asymmetricAlgorithms: readonly string[] = [...algorithmsByKind.values()].flat();

/** What a token's header says about its key. */
export type KeyHint = Pick<JWTHeaderParameters, "alg" | "kid">;

/** Finds the keys that may have signed a token: those with its `kid`, or else those without one; all if it has none. */
export type KeyFinder = (hint: KeyHint) => Promise<readonly CryptoKey[]>;

/**
 * Finds keys in a set as jose does: by their type, curve, `alg`, `use` and `key_ops`, never by what the token says
 * alone. Keys that cannot be used are reported and left out.
 */
export function createKeyFinder(keys: readonly JWK[], log: Log): KeyFinder {
  const all = createLocalJWKSet({ keys: [...keys] });
  const nameless = createLocalJWKSet({ keys: keys.filter(({ kid }) => kid === undefined) });
  return async (hint) => {
    const found = await keysIn(all, hint, log);
    return found.length > 0 || hint.kid === undefined ? found : keysIn(nameless, { alg: hint.alg }, log);
  };
}

/** How many keys are tried for one token: who sends it need not have a right one. */
const mostTried = 100;

async function keysIn(
  keySet: ReturnType<typeof createLocalJWKSet>,
  hint: KeyHint,
  log: Log,
): Promise<CryptoKey[]> {
  try {
    return [await keySet(hint)];
  } catch (error) {
    const keys: CryptoKey[] = [];
    if (error instanceof errors.JWKSMultipleMatchingKeys) {
      for await (const key of error) if (keys.push(key) === mostTried) break;
    } else if (!(error instanceof errors.JWKSNoMatchingKey)) reportKey(log, error);
    return keys;
  }
}

/** One broken key must not block the others, but its operator learns of it. */
export function reportKey(log: Log, error: unknown): void {
  log("warn", "a key for tokens cannot be used", { error });
}

/**
 * Reads a public key from PEM text (`-----BEGIN PUBLIC KEY-----`, line ends may be written as `\n`) or from a JSON Web
 * Key. If it is neither, of another kind, too short or damaged, rejects with a message that says what is accepted.
 *
 * @example
 * ```ts
 * import { createJwtVerifier, readPublicKey } from "twin-service";
 *
 * const publicKey = await readPublicKey(pem);
 * const verifyToken = createJwtVerifier({ publicKey, issuer: "https://id.example.com" });
 * ```
 */
export async function readPublicKey(text: string): Promise<PublicKey> {
  const trimmed = text.trim();
  const jwk = trimmed.startsWith("{") ? parseJwk(trimmed) : await readPem(trimmed.replaceAll("\\n", "\n"));
  if (jwk.d !== undefined) throw new Error("a private key was given; the public one is needed");
  const algorithms = await algorithmsOf(jwk);
  if (algorithms.length === 0) throw new Error(`the key must be ${acceptedKeys}, for signatures`);
  return { jwk, algorithms };
}

const acceptedKeys = "RSA of 2048 bits or more, EC on P-256, P-384 or P-521, or Ed25519";

/** The algorithms of a key's kind; without those that its `alg`, `use` or `key_ops` rules out, and none if it is damaged. */
async function algorithmsOf(jwk: JWK): Promise<string[]> {
  const kind = jwk.crv === undefined ? jwk.kty : `${jwk.kty} ${jwk.crv}`;
  const find = createKeyFinder([jwk], noLog);
  const usable: string[] = [];
  for (const alg of algorithmsByKind.get(kind) ?? []) {
    // Deno's types do not know what jose's keys are.
    const [key] = (await find({ alg })) as readonly Pick<CryptoKey, "algorithm">[];
    if (!key) continue;
    // jose would refuse a shorter RSA key at each use (RFC 7518 section 3.3).
    const { modulusLength = 2048 } = key.algorithm as Partial<RsaKeyAlgorithm>;
    if (modulusLength >= 2048) usable.push(alg);
  }
  return usable;
}

function parseJwk(text: string): JWK {
  try {
    return JSON.parse(text) as JWK;
  } catch (cause) {
    throw new Error("the JSON Web Key is not valid JSON", { cause });
  }
}

async function readPem(pem: string): Promise<JWK> {
  if (!pem.startsWith("-----BEGIN PUBLIC KEY-----")) {
    throw new Error("neither a PEM public key (-----BEGIN PUBLIC KEY-----) nor a JSON Web Key was given");
  }
  // PEM does not name a signature algorithm, but the import needs one: the first that fits the key will do.
  const attempts = ["RS256", "ES256", "ES384", "ES512", "EdDSA"].map((algorithm) =>
    importSPKI(pem, algorithm, { extractable: true }),
  );
  try {
    return await exportJWK(await Promise.any(attempts));
  } catch (cause) {
    throw new Error(`the PEM text cannot be read as a public key: it must be ${acceptedKeys}`, { cause });
  }
}
