/**
 * Who may use a route, and what it costs: first the credential, then the rate limit, then the scope.
 *
 * @module
 */

import { insufficientScope, isOwnerName, readToken, scopePermits } from "../auth/credentials.ts";
import type { Keyring } from "../auth/key-lookup.ts";
import type { Clock } from "../base/clock.ts";
import type { RateLimiter } from "../limits/token-bucket.ts";
import type { IncomingRequest } from "../wire/request.ts";
import { policyOf, rateHeaders, rateLimited } from "./rate-limit.ts";
import type { Call, Route } from "./route.ts";

/** What admission needs. */
export interface AdmissionOptions {
  readonly keyring: Keyring;
  readonly limiter: RateLimiter;
  /** The owner that a JWT speaks for. */
  readonly verifyToken: (token: string) => Promise<string>;
  readonly clock: Clock;
}

/** A request that is yet to be admitted. What is learned about it is noted here, as a refusal needs it, too. */
export interface PendingRequest {
  readonly request: IncomingRequest;
  /** The header fields of its answer, whatever that will be. The key's budget is added to them. */
  readonly headers: Record<string, string>;
  owner?: string;
  keyId?: string;
}

/** Who a request comes from. */
export type Admitted = Pick<Call, "owner" | "reach" | "key" | "rate">;

/** Admits a request to a route, or rejects with the error that refuses it. */
export type Admit = (pending: PendingRequest, route: Route) => Promise<Admitted>;

export function createAdmission({ keyring, limiter, verifyToken, clock }: AdmissionOptions): Admit {
  return async (pending, route) => {
    switch (route.credential) {
      case "none":
        return { owner: "", reach: { owner: "" }, key: undefined, rate: undefined };
      case "token": {
        const owner = requireOwnerName(await verifyToken(readToken(pending.request.headers)));
        pending.owner = owner;
        if (route.ownerPolicy) {
          const rate = await limiter.take(`owner:${owner}`, route.ownerPolicy);
          if (!rate.allowed) throw rateLimited(rate, route.ownerPolicy);
        }
        return { owner, reach: { owner }, key: undefined, rate: undefined };
      }
      case "api_key": {
        const key = await keyring.authenticate(pending.request.headers);
        pending.owner = key.owner;
        pending.keyId = key.id;
        const policy = policyOf(key.scope);
        const rate = await (route.free ? limiter.peek(key.id, policy) : limiter.take(key.id, policy));
        Object.assign(pending.headers, rateHeaders(rate, policy, clock.now()));
        if (!rate.allowed && !route.free) throw rateLimited(rate, policy);
        if (route.scope && !scopePermits(key.scope, route.scope)) throw insufficientScope(route.scope);
        return { owner: key.owner, reach: { owner: key.owner }, key, rate };
      }
    }
  };
}

/** A host's mistake must not make one owner of all users whose token it could not read: they would share their keys. */
function requireOwnerName(value: unknown): string {
  if (isOwnerName(value)) return value;
  throw new TypeError("verifyToken must resolve with the owner, 1 to 255 printable characters, or reject.");
}
