/**
 * What the settings say of replies and limits: for the server, and for commands that answer in its place.
 *
 * @module
 */

import type { ServiceOptions } from "../core/service-options.ts";
import type { Settings } from "./settings.ts";

/** The options of a service that hold whichever process answers. */
export function rulesOf(settings: Settings) {
  return {
    keyMaxDays: settings.keyMaxDays,
    maxRequestsPerHour: settings.maxPerHour,
    requestsPerHour: { read_only: settings.readOnlyPerHour, full_access: settings.fullAccessPerHour },
    ownerTokensPerDay: settings.ownerTokensPerDay,
    maxRunningReplies: settings.maxRunningReplies,
    maxReplyMs: settings.maxReplyMs,
    leaseMs: settings.leaseMs,
  } satisfies Partial<ServiceOptions>;
}
