/**
 * What identifies things: new ones, by time and randomness; texts, by their digest.
 *
 * @module
 */

import { sha256 as digest } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Clock } from "./clock.ts";

/** The kinds of identifiers that the service creates: for its resources, for a request, for a running service. */
export type IdPrefix = "conv" | "msg" | "key" | "req" | "run" | "hook" | "dlv";

/** Creates the next identifier of a kind, such as `msg_06f1c2k8w1v3x5z7a9b2d4e6g8`. */
export type NewId = (prefix: IdPrefix) => string;

// Crockford's base32 in ASCII order, so that text order is number order.
const digits = "0123456789abcdefghjkmnpqrstvwxyz";
const timeDigits = 10; // 50 bits of milliseconds
const randomDigits = 16; // 80 bits, like ULID

/** For how many identifiers randomness is drawn at once: it costs no more than for one. */
const drawn = 64;

/**
 * Creates a generator of identifiers: a prefix, 50 bits of time and 80 of randomness. Those of one generator always
 * ascend: within one millisecond, or after the clock was set back, the random part counts up instead. Not those of requests:
 * each is drawn, so that no client can tell from its own what others do.
 */
export function createIds(clock: Clock, random: RandomBytes): NewId {
  const ascending = createSource(clock, random, true);
  const drawn = createSource(clock, random, false);
  return (prefix) => (prefix === "req" ? drawn(prefix) : ascending(prefix));
}

function createSource(clock: Clock, random: RandomBytes, ascends: boolean): NewId {
  const tail = new Uint8Array(randomDigits);
  let pool = new Uint8Array(drawn * randomDigits);
  let used = pool.length;
  const codes: number[] = []; // characters joined one by one would stay in memory as many parts
  let time = -1;
  let head = "";

  return (prefix) => {
    const now = clock.now();
    if (now > time || !ascends) {
      time = now;
      head = encodeTime(now);
      if (used >= pool.length) {
        pool = random(pool) ?? pool;
        used = 0;
      }
      for (let index = 0; index < randomDigits; index++) tail[index] = (pool[used++] ?? 0) & 31;
      tail[0] = (tail[0] ?? 0) & 15; // room to count up without overflow
    } else {
      increment(tail);
    }
    for (let index = 0; index < randomDigits; index++) codes[index] = digits.charCodeAt(tail[index] ?? 0);
    return `${prefix}_${head}${String.fromCharCode(...codes)}`;
  };
}

function encodeTime(milliseconds: number): string {
  let text = "";
  let rest = milliseconds;
  for (let index = 0; index < timeDigits; index++) {
    text = digits[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Adds one to a big-endian base-32 number. */
function increment(number: Uint8Array): void {
  for (let index = number.length - 1; index >= 0; index--) {
    const digit = ((number[index] ?? 0) + 1) & 31;
    number[index] = digit;
    if (digit !== 0) return;
  }
}

/** The SHA-256 (FIPS 180-4) of a text's UTF-8 bytes, in lower-case hexadecimal. */
export type Sha256 = (text: string) => string;

/** SHA-256 in JavaScript: for every runtime, and synchronous, unlike Web Crypto's. */
export const sha256: Sha256 = (text) => bytesToHex(digest(utf8ToBytes(text)));

/** The SHA-256 of bytes, in lower-case hexadecimal, computed beside this thread. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  return bytesToHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>)));
}

/**
 * Fills `bytes` with cryptographically strong random values and returns it, or as many others. Must not throw. Called
 * without `this`, which `crypto.getRandomValues` needs.
 */
export type RandomBytes = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;

/** The runtime's own source of randomness (Web Crypto). */
export const systemRandom: RandomBytes = (bytes) => crypto.getRandomValues(bytes);
