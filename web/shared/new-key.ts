/**
 * The name of what is sent, so that it is stored once.
 *
 * @module
 */

/** An `Idempotency-Key` that nothing else has: `crypto.randomUUID` is missing where pages come over plain HTTP. */
export function newKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
