/**
 * Users that the host of a service knows by itself, by a session for example, so that they need no API key.
 *
 * @module
 */

import {
  oneOf,
  optional,
  orNull,
  type Rule,
  type RulesFor,
  requireOptions,
  wholeNumber,
} from "../base/rules.ts";
import { type Scope, scopes } from "../store/records.ts";
import type { IncomingRequest } from "../wire/request.ts";
import { endUserRule } from "../wire/schemas.ts";
import { isOwnerName } from "./credentials.ts";

/** A user known to the host. */
export interface HostUser {
  /** The owner of the objects that the user may see, 1 to 255 printable characters: an account, a tenant, or the user. */
  readonly owner: string;
  /** The user, where an owner has several: then the user sees only conversations of their own. Default: none. */
  readonly endUser?: string | null | undefined;
  /** What the user may do. Default `full_access`. */
  readonly scope?: Scope | undefined;
  /** The size of the user's bucket, 1 to 1,000,000. Default: that of a key with this scope. */
  readonly requestsPerHour?: number | undefined;
  /** Whether the user may make, change and delete the owner's twins, if the service has `ownTwins`. Default false. */
  readonly manages?: boolean | undefined;
}

/** Finds out which user a request comes from. Null: none that may use the service. */
export type AuthenticateUser = (request: IncomingRequest) => HostUser | null | Promise<HostUser | null>;

/** The sizes that a bucket may have. */
export const capacityRange = [1, 1_000_000] as const;

const ownerRule: Rule = { expected: "1 to 255 printable characters", accepts: isOwnerName };

const rules: RulesFor<HostUser> = {
  owner: ownerRule,
  endUser: optional(orNull(endUserRule)),
  scope: optional(oneOf(scopes)),
  requestsPerHour: optional(wholeNumber(capacityRange)),
  manages: optional({ expected: "true or false", accepts: (value) => typeof value === "boolean" }),
};

/** @throws {TypeError} for what is no user: a host's mistake must not make one user of all. */
export function requireHostUser(user: HostUser): void {
  requireOptions("authenticate", user, rules);
}
