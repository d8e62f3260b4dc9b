/**
 * Key pairs that can be exported without hanging: on Node 20, exporting a key as a JWK locks it while memory is
 * allocated, and a garbage collection that then finds what generated the key waits for this lock forever.
 */

import { createPrivateKey, createPublicKey, type KeyPairKeyObjectResult } from "node:crypto";

/** The same keys, read anew, so that they do not share a lock with what generated them. */
export function reread({ publicKey, privateKey }: KeyPairKeyObjectResult): KeyPairKeyObjectResult {
  return {
    publicKey: createPublicKey(publicKey.export({ type: "spki", format: "pem" })),
    privateKey: createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}
