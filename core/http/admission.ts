/**
 * Who a request comes from, and whether they may use its route.
 *
 * @module
 */

import {
  carriesOwnKey,
  insufficientScope,
  isOwnerName,
  keyRequired,
  missingCredentials,
  readToken,
  scopePermits,
} from "../auth/credentials.ts";
import { type AuthenticateUser, type HostUser, requireHostUser } from "../auth/host-users.ts";
import type { VerifiedToken, VerifyToken } from "../auth/jwt.ts";
import type { Authenticated, KeyLookup } from "../auth/key-lookup.ts";
import type { ApiKeyRecord } from "../store/records.ts";
import type { TokenBudget } from "../store/token-budgets.ts";
import { ApiError } from "../wire/errors.ts";
import type { HeaderFields, IncomingRequest } from "../wire/request.ts";
import type { RequestsPerHour } from "./rate-limit.ts";
import type { Caller, Route } from "./route.ts";

/** What authentication needs. */
export interface AuthenticationOptions {
  readonly keys: KeyLookup;
  readonly requestsPerHour: RequestsPerHour;
  /** How many replies a key, or a host's user, may have running at once. */
  readonly maxRunningReplies: number;
  /** What a JWT says. Undefined: none is accepted, so there are no keys. */
  readonly verifyToken: VerifyToken | undefined;
  /** Origins of pages that may call the API. */
  readonly corsOrigins: readonly string[];
  /** How many tokens a day the replies of each owner may take. Undefined: as many as others allow. */
  readonly ownerTokensPerDay: number | undefined;
  /** The user that a request without one of our keys comes from. Undefined: only keys are accepted. */
  readonly authenticate: AuthenticateUser | undefined;
  /** Whether owners make twins. Default: there is nothing to manage. */
  readonly managesTwins: boolean;
}

/** Finds out who a request comes from. Rejects with the error that refuses its credential. */
export type IdentifyCaller = (
  route: Route,
  request: IncomingRequest,
  fields: HeaderFields,
  /** How old what is known of a key may be, in milliseconds. Default: as long as look-ups are cached. */
  maxAgeMs?: number,
) => Promise<Caller>;

export function createAuthentication(options: AuthenticationOptions): IdentifyCaller {
  const { keys, verifyToken, authenticate, corsOrigins } = options;
  return async (route, request, fields, maxAgeMs) => {
    const { credential, ownerPolicy } = route;
    if (credential === "none") return anonymous;
    if (credential === "token") {
      if (!verifyToken) throw new ApiError("not_found", "There is nothing at this path.");
      return fromToken(await verifyToken(readToken(fields)), ownerPolicy);
    }
    if (credential === "manager") return identifyManager(request, fields, route, options);
    if (authenticate && !(verifyToken && carriesOwnKey(fields))) {
      const caller = fromHost(await authenticate(request), options);
      if (route.method !== "GET") refuseOtherSites(request, fields, corsOrigins);
      return caller;
    }
    return fromKey(await keys.authenticate(fields, maxAgeMs), options);
  };
}

/** Who may manage an owner's twins: a user of the host's who does, or else the bearer of a JWT. */
async function identifyManager(
  request: IncomingRequest,
  fields: HeaderFields,
  { method }: Pick<Route, "method">,
  { managesTwins, verifyToken, authenticate, corsOrigins }: AuthenticationOptions,
): Promise<Caller> {
  if (!managesTwins) throw new ApiError("not_found", "There is nothing at this path.");
  const user = authenticate && !carriesOwnKey(fields) ? await authenticate(request) : null;
  if (user === null) {
    if (!verifyToken && !carriesOwnKey(fields))
      throw missingCredentials("This request comes from no user who is known here: sign in.");
    const token = readToken(fields); // which refuses keys
    if (!verifyToken) throw new ApiError("not_found", "There is nothing at this path.");
    return fromToken(await verifyToken(token), undefined);
  }
  if (method !== "GET") refuseOtherSites(request, fields, corsOrigins);
  requireHostUser(user);
  const { owner, manages = false } = user;
  if (!manages) throw keyRequired("the host does not say that this user manages twins");
  return { ...anonymous, owner, reach: { owner } };
}

/**
 * Refuses what a page of another origin sent. Cookies of a host may come along with it, such as with a form. A page can set
 * neither `Sec-Fetch-Site` (Fetch Metadata, which old browsers and some plain-HTTP pages do not send) nor `Origin`; clients
 * that are no browsers send neither. No page of another origin makes a browser send a Bearer token without asking.
 */
function refuseOtherSites(
  { url }: IncomingRequest,
  { origin, host, fetchSite, authorization }: HeaderFields,
  corsOrigins: readonly string[],
): void {
  if (authorization !== null && /^bearer[ \t]/i.test(authorization)) return;
  if (origin !== null && corsOrigins.includes(origin)) return;
  const isOther =
    origin !== null && !isOwnOrigin(origin, host ?? (URL.canParse(url) ? new URL(url).host : ""));
  if (fetchSite !== "cross-site" && !isOther) return;
  const accepted = "list its origin, or have the proxy in front pass the client's Host";
  throw new ApiError(
    "cross_site_request",
    `A page of another site sent this, and its origin is not listed here: ${accepted}.`,
  );
}

/** Whether an origin, which is `null` for some pages, is that of the host that was asked. */
function isOwnOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  const asked = `${page.protocol}//${host}`;
  return URL.canParse(asked) && new URL(asked).host === page.host;
}

const anonymous: Caller = {
  owner: "",
  reach: { owner: "" },
  scope: undefined,
  key: undefined,
  bucket: undefined,
  limits: [],
  budgets: [],
};

function fromToken(verified: VerifiedToken | string, policy: Route["ownerPolicy"]): Caller {
  const {
    owner,
    requestsPerHour: grantsPerHour,
    tokensPerDay: ownerTokensPerDay,
  }: Partial<VerifiedToken> = typeof verified === "object" && verified !== null
    ? verified
    : { owner: verified };
  // If a host takes all tokens that it cannot read for one owner, their users would share keys.
  if (!isOwnerName(owner)) {
    throw new TypeError("verifyToken must resolve with the owner, 1 to 255 printable characters, or reject.");
  }
  const bucket = policy && { id: `${policy.bucket}:${owner}`, policy };
  const grants = { grantsPerHour, ownerTokensPerDay };
  return { ...anonymous, owner, reach: { owner }, bucket, ...grants };
}

/** What a caller may have, as far as its credential does not say so. */
type Allowances = Pick<AuthenticationOptions, "requestsPerHour" | "maxRunningReplies" | "ownerTokensPerDay">;

/** How many replies an end user's client tokens may have running at once, if their key may have as many. */
const mostOfEndUser = 10;

function fromKey(
  { key, clientToken }: Authenticated,
  { requestsPerHour, maxRunningReplies: most, ownerTokensPerDay }: Allowances,
): Caller {
  const { owner, scope } = key;
  const ofKey = limitedBudgets({ scope: "key", owner, of: key.id, endUser: null }, key);
  const ofOwner = ownerBudgets(owner, ownerTokensPerDay);
  const limits = [{ id: key.id, most }];
  const bucket = { id: key.id, policy: { capacity: key.requestsPerHour ?? requestsPerHour[scope] } };
  if (!clientToken) {
    const budgets = joined(ofKey, ofOwner);
    return { owner, reach: { owner }, scope, key, bucket, limits, budgets, ownBudgets: budgets };
  }
  const { endUser, twinIds } = clientToken;
  const ownBudgets = limitedBudgets({ scope: "endUser", owner, of: key.id, endUser }, clientToken);
  return {
    owner,
    reach: { owner, endUser, twinIds: twinIds ?? undefined, clientToken: clientToken.hash },
    scope: clientToken.scope,
    key,
    bucket: { id: bucketOf(key.id, endUser), policy: { capacity: clientToken.requestsPerHour } },
    keyBucket: bucket,
    limits: [{ id: bucketOf(key.id, endUser), most: Math.min(mostOfEndUser, most) }, ...limits],
    budgets: joined(ownBudgets, joined(ofKey, ofOwner)),
    ownBudgets,
  };
}

const none: readonly TokenBudget[] = [];

/** Those of the budgets of a day and a month that have a limit. */
function limitedBudgets(
  whose: Omit<TokenBudget, "period" | "limit">,
  { tokensPerDay, tokensPerMonth }: Pick<ApiKeyRecord, "tokensPerDay" | "tokensPerMonth">,
): readonly TokenBudget[] {
  if (tokensPerDay === null && tokensPerMonth === null) return none;
  return [
    ...(tokensPerDay === null ? none : [{ ...whose, period: "day" as const, limit: tokensPerDay }]),
    ...(tokensPerMonth === null ? none : [{ ...whose, period: "month" as const, limit: tokensPerMonth }]),
  ];
}

function ownerBudgets(owner: string, ownerTokensPerDay: number | undefined): readonly TokenBudget[] {
  const limits = { tokensPerDay: ownerTokensPerDay ?? null, tokensPerMonth: null };
  return limitedBudgets({ scope: "owner", owner, of: "", endUser: null }, limits);
}

function joined(some: readonly TokenBudget[], more: readonly TokenBudget[]): readonly TokenBudget[] {
  return some.length === 0 ? more : more.length === 0 ? some : [...some, ...more];
}

/** The id of an end user's bucket. A request takes from this one and the key's. */
export function bucketOf(keyId: string, endUser: string): string {
  return `${keyId}/${endUser}`;
}

function fromHost(
  user: HostUser | null,
  { requestsPerHour, maxRunningReplies: most, ownerTokensPerDay }: Allowances,
): Caller {
  if (user === null) throw missingCredentials("This request comes from no user who is known here: sign in.");
  requireHostUser(user);
  const { owner, endUser, scope = "full_access" } = user;
  const policy = { capacity: user.requestsPerHour ?? requestsPerHour[scope] };
  const reach = { owner, endUser: endUser ?? undefined };
  const id = bucketOfUser(owner, endUser);
  const budgets = ownerBudgets(owner, ownerTokensPerDay);
  const ownBudgets = endUser ? none : budgets;
  return {
    ...{ owner, reach, scope, key: undefined, bucket: { id, policy } },
    ...{ limits: [{ id, most }], budgets, ownBudgets },
  };
}

/** The id of the bucket of a host's user. Neither name contains a line end. */
export function bucketOfUser(owner: string, endUser: string | null | undefined): string {
  return endUser ? `user:${owner}\n${endUser}` : `user:${owner}`;
}

/** Refuses a caller if its credential does not permit the route. */
export function requireScope(
  { scope: needed, ownersOnly }: Pick<Route, "scope" | "ownersOnly">,
  { scope, reach }: Caller,
): void {
  if (ownersOnly && reach.endUser !== undefined) throw keyRequired("no end user may do it");
  if (needed && scope && !scopePermits(scope, needed)) throw insufficientScope(needed);
}
