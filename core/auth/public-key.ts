/**
 * Public keys that tokens are verified with, and the signature algorithms that each of them admits.
 *
 * @module
 */

import { exportJWK, importJWK, importSPKI, type JWK } from "jose";
import { isString } from "../base/json.ts";

/** A public key, and the values of `alg` that it can verify. */
export interface PublicKey {
  readonly jwk: JWK;
  readonly algorithms: readonly string[];
}

const algorithmsByCurve: Readonly<Record<string, readonly string[]>> = {
  "P-256": ["ES256"],
  "P-384": ["ES384"],
  "P-521": ["ES512"],
  Ed25519: ["Ed25519", "EdDSA"],
};
const rsaAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];

/** Every `alg` that a public key can verify. */
export const asymmetricAlgorithms: readonly string[] = [
  ...rsaAlgorithms,
  ...Object.values(algorithmsByCurve).flat(),
];

/**
 * A JSON Web Key as a key to verify signatures with. Undefined for any other key: a symmetric key, one for encryption,
 * an RSA key of less than 2048 bits (RFC 7518 section 3.3), or an unknown kind.
 */
export function toPublicKey(jwk: JWK): PublicKey | undefined {
  if (jwk.use !== undefined && jwk.use !== "sig") return undefined;
  if (jwk.key_ops !== undefined && !(Array.isArray(jwk.key_ops) && jwk.key_ops.includes("verify"))) {
    return undefined;
  }
  const possible = possibleAlgorithms(jwk);
  const algorithms = jwk.alg === undefined ? possible : possible.filter((name) => name === jwk.alg);
  return algorithms.length > 0 ? { jwk: publicPart(jwk), algorithms } : undefined;
}

// The algorithms follow from the key, never from the token, so that no token can make an RSA key be used as a secret.
function possibleAlgorithms({ kty, crv, n, e, x, y }: JWK): readonly string[] {
  if (kty === "RSA" && isString(n) && isString(e)) return modulusBits(n) >= 2048 ? rsaAlgorithms : [];
  if (kty === "EC" && isString(crv) && isString(x) && isString(y) && crv.startsWith("P-")) {
    return algorithmsByCurve[crv] ?? [];
  }
  if (kty === "OKP" && crv === "Ed25519" && isString(x)) return algorithmsByCurve[crv] ?? [];
  return [];
}

/** The size of a base64url number in bits, rounded down to whole bytes. */
function modulusBits(modulus: string): number {
  return Math.floor((modulus.replace(/^A+/, "").length * 6) / 8) * 8;
}

function publicPart({ kty, crv, n, e, x, y, kid }: JWK): JWK {
  return Object.fromEntries(
    Object.entries({ kty, crv, n, e, x, y, kid }).filter(([, value]) => isString(value)),
  );
}

/**
 * Reads a public key from PEM text (`-----BEGIN PUBLIC KEY-----`, line ends may be written as `\n`) or from a JSON Web
 * Key. If it is neither, or of another kind, rejects with a message that says what is accepted. So it does for a damaged
 * key, as far as the runtime notices: Deno does not with EC.
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
  const key = toPublicKey(jwk);
  // Imported only to find out whether it is damaged: each token would fail because of that.
  if (!key || !(await importJWK(key.jwk, key.algorithms[0]).catch(() => null))) {
    throw new Error(`the key must be ${acceptedKeys}, for signatures`);
  }
  return key;
}

const acceptedKeys = "RSA of 2048 bits or more, EC on P-256, P-384 or P-521, or Ed25519";

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
