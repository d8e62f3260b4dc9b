/**
 * Secrets that the service makes, API keys and client tokens: a marker, 256 random bits, a checksum.
 *
 * @module
 */

import { type RandomBytes, sha256, systemRandom } from "../base/ids.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomLength = 43; // 62^43 > 2^256
const checksumLength = 6; // 62^6 > 2^32

/** How many characters of an API key are stored, for recognizing it. */
export const prefixLength = 12;

/** A new secret, and what is stored of it. */
export interface NewSecret {
  /** The marker, 43 random base62 characters, 6 of checksum. */
  readonly secret: string;
  /** Its SHA-256, in lower-case hexadecimal: it is stored and looked up by this. */
  readonly hash: string;
}

/** A kind of secrets. */
export interface SecretKind {
  /** What each of them begins with. */
  readonly marker: string;
  /** How many characters each of them has. */
  readonly length: number;
  create(random: RandomBytes): NewSecret;
  /** Whether a text has the form of one: its length, characters and checksum. */
  isWellFormed(text: string): boolean;
}

/** The form of API keys. */
export const apiKeys: SecretKind = createSecretKind("twin_");

/** The form of client tokens: what an app's server hands to one end user's browser instead of its key. */
export const clientTokens: SecretKind = createSecretKind("twinct_");

/** A new API key: the secret, which is shown once, and what is stored of it. */
export interface NewApiKey {
  /** The secret: `twin_`, 43 random base62 characters, 6 of checksum. */
  readonly key: string;
  /** Its first 12 characters, for recognizing it. */
  readonly prefix: string;
  /** Its SHA-256, in lower-case hexadecimal: it is stored and looked up by this. */
  readonly hash: string;
}

/** Creates an API key of 256 random bits. */
export function createApiKey(random: RandomBytes = systemRandom): NewApiKey {
  const { secret, hash } = apiKeys.create(random);
  return { key: secret, prefix: secret.slice(0, prefixLength), hash };
}

function createSecretKind(marker: string): SecretKind {
  const pattern = new RegExp(`^${marker}[0-9A-Za-z]{${randomLength + checksumLength}}$`);
  return {
    marker,
    length: marker.length + randomLength + checksumLength,
    create(random) {
      const body = marker + randomText(random, randomLength);
      const secret = body + checksum(body);
      return { secret, hash: sha256(secret) };
    },
    isWellFormed: (text) =>
      pattern.test(text) && text.slice(-checksumLength) === checksum(text.slice(0, -checksumLength)),
  };
}

function randomText(random: RandomBytes, length: number): string {
  const bytes = new Uint8Array(64);
  let text = "";
  while (text.length < length) {
    for (const byte of random(bytes)) {
      // 248 is the largest multiple of 62 in a byte: with larger bytes, some characters would be more frequent.
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let count = 0; count < checksumLength; count++) {
    digits = alphabet.charAt(rest % alphabet.length) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

/** The CRC-32 (IEEE 802.3) of an ASCII text, as an unsigned number. */
function crc32(text: string): number {
  let crc = -1;
  for (let index = 0; index < text.length; index++) {
    crc = (crc >>> 8) ^ (crcTable[(crc ^ text.charCodeAt(index)) & 255] ?? 0);
  }
  return ~crc >>> 0;
}

const crcTable = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});
