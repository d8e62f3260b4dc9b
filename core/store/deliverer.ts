/**
 * The port of what delivers to webhooks: an adapter, as it opens connections of its own.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Observer } from "../base/observe.ts";
import type { Store } from "./store.ts";
import type { Telling } from "./webhooks.ts";

/** For whom, and by which time, an address is checked. */
export interface CheckedBy {
  readonly owner: string;
  readonly clock: Clock;
}

/** Delivers to webhooks, in every service that is given it. */
export interface WebhookDelivery {
  /** Resolves with what is accepted, such as "must be …", if an address cannot be told for an owner. Undefined: it can. */
  check(url: string, by: CheckedBy): Promise<string | undefined>;
  /** Begins to work for a service. */
  open(parts: DeliveryParts): Deliverer;
}

/** What delivering needs of a service. */
export interface DeliveryParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly observe: Observer;
  /** What the leases of this process are held by. */
  readonly holder: string;
}

/** Delivers what the store has, for one service. */
export interface Deliverer extends Pick<Telling, "told"> {
  /** Delivers what an earlier process has left. */
  start(): Promise<void>;
  /** Delivers what is due, also what other processes have left. */
  deliverDue(): Promise<void>;
  /** Breaks off what is being tried, and leaves it to others. Waits for no receiver. */
  close(): Promise<void>;
}
