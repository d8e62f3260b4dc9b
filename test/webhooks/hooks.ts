/**
 * What the tests of webhooks share: a service that tells receivers of this machine, and what it says of its deliveries.
 */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createWebhooks, type WebhookOptions } from "../../adapters/webhooks/mod.ts";
import type { ServiceOptions } from "../../core/mod.ts";
import type { CreatedWebhookResource, DeliveryResource, WebhookResource } from "../../core/wire/schemas.ts";
import { dataOf, type Fixture, inProcess, openFixture } from "../support/harness.ts";
import { until } from "../support/until.ts";
import type { Arrived, Receiver } from "./receiver.ts";

/** A service that may tell a receiver. */
export async function open(
  receiver: Pick<Receiver, "host">,
  options: Partial<ServiceOptions> = {},
  how: WebhookOptions = {},
): Promise<Fixture> {
  return openFixture(inProcess, {
    webhooks: createWebhooks({ hosts: [receiver.host], ...how }),
    ...options,
  });
}

export async function hook(
  { call, token }: Fixture,
  url: string,
  more: object = {},
): Promise<CreatedWebhookResource> {
  return dataOf(await call("POST", "/webhooks", await token(), { url, ...more }));
}

export async function deliveriesTo({ call, token }: Fixture, id: string): Promise<DeliveryResource[]> {
  return dataOf(await call("GET", `/webhooks/${id}/deliveries?limit=100`, await token()));
}

export async function webhookOf({ call, token }: Fixture, id: string): Promise<WebhookResource> {
  return dataOf(await call("GET", `/webhooks/${id}`, await token()));
}

/** Waits until the newest delivery is as a test says. */
export async function untilNewest(
  fixture: Fixture,
  id: string,
  is: (delivery: DeliveryResource) => boolean | Promise<boolean>,
) {
  let newest: DeliveryResource | undefined;
  await until("the newest delivery is as expected", 5_000, async () => {
    [newest] = await deliveriesTo(fixture, id);
    return newest !== undefined && (await is(newest));
  });
  assert.ok(newest);
  return newest;
}

export async function say({ call }: Fixture, key: string, conversation: string, body: object = {}) {
  return dataOf<{ id: string }>(
    await call("POST", `/conversations/${conversation}/messages`, key, { content: "Hello", ...body }),
  );
}

/** Fails unless a request is signed with exactly these secrets, in this order. */
export function assertSigned({ headers, body }: Arrived, ...secrets: readonly string[]): void {
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const expected = secrets.map((secret) => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  });
  assert.equal(headers["webhook-signature"], expected.join(" "));
}
