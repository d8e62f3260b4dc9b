/**
 * Who a request comes from, and whether they may use its route.
 *
 * @module
 */

import {
  type CredentialFields,
  insufficientScope,
  isOwnerName,
  keyRequired,
  readToken,
  scopePermits,
} from "../auth/credentials.ts";
import type { Authenticated, KeyLookup } from "../auth/key-lookup.ts";
import type { RequestsPerHour } from "./rate-limit.ts";
import type { Caller, Route } from "./route.ts";

/** What authentication needs. */
export interface AuthenticationOptions {
  readonly keys: KeyLookup;
  readonly requestsPerHour: RequestsPerHour;
  /** The owner that a JWT speaks for. */
  readonly verifyToken: (token: string) => Promise<string>;
}

/** Finds out who a request comes from. Rejects with the error that refuses its credential. */
export type Authenticate = (route: Route, fields: CredentialFields) => Promise<Caller>;

const nobody: Caller = { owner: "", reach: { owner: "" }, key: undefined, bucket: undefined };

export function createAuthentication(options: AuthenticationOptions): Authenticate {
  const { keys, requestsPerHour, verifyToken } = options;
  return async ({ credential, ownerPolicy: policy }, fields) => {
    switch (credential) {
      case "none":
        return nobody;
      case "token": {
        const owner = requireOwnerName(await verifyToken(readToken(fields)));
        return {
          owner,
          reach: { owner },
          key: undefined,
          bucket: policy && { id: `owner:${owner}`, policy },
        };
      }
      case "api_key":
        return callerOf(await keys.authenticate(fields), requestsPerHour);
    }
  };
}

function callerOf({ key, clientToken }: Authenticated, requestsPerHour: RequestsPerHour): Caller {
  const { owner } = key;
  const bucket = { id: key.id, policy: { capacity: requestsPerHour[key.scope] } };
  if (!clientToken) return { owner, reach: { owner }, key, bucket };
  const { endUser, twinIds } = clientToken;
  return {
    owner,
    reach: { owner, endUser, twinIds: twinIds ?? undefined },
    key,
    clientToken,
    bucket: { id: bucketOf(key.id, endUser), policy: { capacity: clientToken.requestsPerHour } },
    keyBucket: bucket,
  };
}

/** The id of an end user's bucket, which is taken from together with its key's. */
export function bucketOf(keyId: string, endUser: string): string {
  return `${keyId}/${endUser}`;
}

/** Refuses a caller whose credential does not permit a route. */
export function requireScope({ scope, keysOnly }: Route, { key, clientToken }: Caller): void {
  if (keysOnly && clientToken) throw keyRequired();
  const held = clientToken?.scope ?? key?.scope;
  if (scope && held && !scopePermits(held, scope)) throw insufficientScope(scope);
}

/** A host's mistake must not make one owner of all users whose token it could not read: they would share their keys. */
function requireOwnerName(value: unknown): string {
  if (isOwnerName(value)) return value;
  throw new TypeError("verifyToken must resolve with the owner, 1 to 255 printable characters, or reject.");
}
