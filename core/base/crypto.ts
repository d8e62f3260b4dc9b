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
