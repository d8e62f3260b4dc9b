/**
 * SHA-256 (FIPS 180-4) of texts.
 *
 * @module
 */

import { sha256 as digest } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** The SHA-256 of a text's UTF-8 bytes, in lower-case hexadecimal. */
export type Sha256 = (text: string) => string;

/** SHA-256 in JavaScript: for every runtime, and synchronous, unlike Web Crypto's. */
export const sha256: Sha256 = (text) => bytesToHex(digest(utf8ToBytes(text)));

/**
 * Fills `bytes` with cryptographically strong random values and returns it, or as many others. Must not throw. Called
 * without `this`, which `crypto.getRandomValues` needs.
 */
export type RandomBytes = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;

/** The runtime's own source of randomness (Web Crypto). */
export const systemRandom: RandomBytes = (bytes) => crypto.getRandomValues(bytes);
