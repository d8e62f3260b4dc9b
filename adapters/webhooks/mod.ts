/**
 * Webhooks: tells addresses of what happens, signed as Standard Webhooks have it (https://www.standardwebhooks.com).
 *
 * @module
 */

import { isString } from "../../core/base/json.ts";
import { functionThat, optional, requireOptions } from "../../core/base/rules.ts";
import type { WebhookDelivery } from "../../core/store/deliverer.ts";
import { expectedAddress, findTarget, parseHost, RefusedAddress, systemLookUp } from "./addresses.ts";
import { openDeliverer } from "./deliverer.ts";
import { LookUps } from "./look-ups.ts";
import { post } from "./post.ts";

export type { CheckedBy, Deliverer, DeliveryParts, WebhookDelivery } from "../../core/store/deliverer.ts";

/** Options of {@link createWebhooks}. */
export interface WebhookOptions {
  /**
   * Hosts that may be told although they are not public, also over `http:`: `hooks.internal` with any port, or
   * `127.0.0.1:9000`. Default: none.
   */
  readonly hosts?: readonly string[] | undefined;
  /** Finds all IP addresses of a name; rejects if there are none. Default: the system's own look-up. */
  readonly lookUp?: ((name: string) => Promise<readonly string[]>) | undefined;
}

/** For how long a name may wait for its turn and be looked up before its webhook is refused, in milliseconds. */
const checkMs = 5000;

/**
 * Creates what delivers to webhooks, on Node, Deno and Bun. Each process of a service may have it: what one leaves, another
 * delivers.
 *
 * @example
 * ```ts
 * import { createService } from "twin-service";
 * import { createWebhooks } from "twin-service/webhooks";
 *
 * const service = createService({ ...options, webhooks: createWebhooks() });
 * ```
 *
 * @throws {TypeError} for an invalid option; the message says what is accepted.
 */
export function createWebhooks(options: WebhookOptions = {}): WebhookDelivery {
  requireOptions<WebhookOptions>("createWebhooks", options, {
    hosts: optional({
      expected: "a list of hosts such as hooks.internal or 127.0.0.1:9000",
      accepts: (hosts) => Array.isArray(hosts) && hosts.every((host) => isString(host) && parseHost(host)),
    }),
    lookUp: optional(functionThat("resolves with a name's IP addresses")),
  });
  const hosts = (options.hosts ?? []).flatMap((host) => parseHost(host) ?? []);
  const lookUps = new LookUps(options.lookUp ?? systemLookUp);
  return {
    async check(url, { owner, clock }) {
      const ending = new AbortController();
      const callOff = clock.after(checkMs, () => ending.abort());
      const asking = { owner, clock, signal: ending.signal };
      try {
        await findTarget(url, hosts, (name) => lookUps.find(name, asking));
        return undefined;
      } catch (error) {
        if (!(error instanceof RefusedAddress)) throw error;
        // The same words whatever is wrong: nobody learns here which names there are that only the server resolves.
        return expectedAddress;
      } finally {
        callOff();
      }
    },
    open: (parts) => openDeliverer(parts, { hosts, lookUps, post }),
  };
}
