/**
 * API keys: creating them, and checking their form.
 *
 * @module
 */

import { type RandomBytes, systemRandom } from "../base/crypto.ts";
import { createSecretKind, type SecretKind } from "./secrets.ts";

const prefixLength = 12;

/** The form of API keys. */
export const apiKeys: SecretKind = createSecretKind("twin_");

/** A new API key: the secret, which is shown once, and what is stored of it. */
export interface NewApiKey {
  /** The secret: `twin_`, 43 random base62 characters, 6 of checksum. */
  readonly key: string;
  /** Its first 12 characters, for recognizing it. */
  readonly prefix: string;
  /** Its SHA-256, in lower-case hexadecimal, which it is stored and looked up by. */
  readonly hash: string;
}

/** Creates an API key of 256 random bits. */
export function createApiKey(random: RandomBytes = systemRandom): NewApiKey {
  const { secret, hash } = apiKeys.create(random);
  return { key: secret, prefix: secret.slice(0, prefixLength), hash };
}
