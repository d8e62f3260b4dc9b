/**
 * Deliveries to webhooks, as the package `openai` verifies them by Standard Webhooks.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type * as Package from "openai";
import { createWebhooks } from "../../adapters/webhooks/mod.ts";
import { createManualClock } from "../support/clock.ts";
import { dataOf, inProcess, openFixture } from "../support/harness.ts";
import { startReceiver } from "../webhooks/receiver.ts";
import { skip } from "./packages.ts";

describe("deliveries, verified by the package openai", { skip }, () => {
  let openai: typeof Package;
  before(async () => {
    openai = await import("openai");
  });

  test("each is verified by the webhook's secret, during a rotation by both, and by no other", async () => {
    const receiver = await startReceiver();
    const webhooks = createWebhooks({ hosts: [receiver.host] });
    await using fixture = await openFixture(inProcess, { webhooks }, createManualClock(Date.now()));
    const { call } = fixture;
    const token = await fixture.token();
    const made = await call("POST", "/webhooks", token, { url: receiver.url });
    const { id, secret } = await dataOf<{ id: string; secret: string }>(made);
    const key = await fixture.key();
    const conversation = await fixture.conversation(key);
    const send = () => call("POST", `/conversations/${conversation}/messages`, key, { content: "Hello" });
    await send();
    await receiver.has(1);
    const rotated = await dataOf<{ secret: string }>(await call("POST", `/webhooks/${id}/rotate`, token));
    await send();
    await receiver.has(2);
    const client = new openai.OpenAI({ apiKey: "none" });
    const unwrap = async (index: number, by: string) => {
      const { headers, body } = receiver.arrived[index] ?? assert.fail("it has arrived");
      const fields = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
      return (await client.webhooks.unwrap(body, fields, by)) as { readonly type: string };
    };
    for (const [index, by] of [
      [0, secret],
      [1, secret],
      [1, rotated.secret],
    ] as const)
      assert.equal((await unwrap(index, by)).type, "reply.completed");
    const { InvalidWebhookSignatureError } = openai;
    await assert.rejects(unwrap(0, rotated.secret), InvalidWebhookSignatureError);
  });
});
