import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createWebhooks } from "../../adapters/webhooks/mod.ts";
import { webhookEvents } from "../../core/store/webhooks.ts";
import type { CreatedWebhookResource, WebhookResource } from "../../core/wire/schemas.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  type Fixture,
  listIds,
  openFixture,
  transports,
} from "../support/harness.ts";

const url = "https://app.example.com/hooks";

async function create({ call, token }: Fixture, body: object = { url }): Promise<CreatedWebhookResource> {
  return dataOf(await call("POST", "/webhooks", await token(), body));
}

for (const transport of transports) {
  describe(`webhooks, ${transport.name}`, () => {
    test("a webhook is created with a secret, which is shown once", async () => {
      await using fixture = await openFixture(transport);
      const { call, token, clock } = fixture;
      const body = {
        url,
        events: ["reply.completed", "message.said", "reply.completed"],
        description: "Ops",
      };
      const response = await call("POST", "/webhooks", await token(), body);
      assert.equal(response.status, 201);
      const location = response.headers.get("location");
      const { secret, ...webhook } = await dataOf<CreatedWebhookResource>(response);
      assert.equal(location, `/api/v1/webhooks/${webhook.id}`);
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      assert.deepEqual(webhook, {
        id: webhook.id,
        url,
        events: ["reply.completed", "message.said"],
        description: "Ops",
        status: "active",
        createdAt: new Date(clock.now()).toISOString(),
        lastDelivery: null,
      });
      assert.deepEqual(await dataOf(await call("GET", `/webhooks/${webhook.id}`, await token())), webhook);
      assert.deepEqual(await dataOf(await call("GET", "/webhooks", await token())), [webhook]);
    });

    test("events that are none are refused, with those there are", async () => {
      await using fixture = await openFixture(transport);
      for (const events of [[], ["reply.ended"], "message.said"]) {
        const refused = await fixture.call("POST", "/webhooks", await fixture.token(), { url, events });
        const { error } = await refused.json();
        assert.match(
          error.message,
          /^events must be a list of at least 1, each "reply.completed" or .*"budget.reached"\.$/,
        );
      }
    });

    test("without events, a webhook is told of everything", async () => {
      await using fixture = await openFixture(transport);
      const { events, description } = await create(fixture, { url, description: null });
      assert.deepEqual([events, description], [[...webhookEvents], null]);
    });

    test("fields that cannot be are refused", async () => {
      await using fixture = await openFixture(transport);
      const { call, token } = fixture;
      const jwt = await token();
      for (const [field, body] of [
        ["url", {}],
        ["url", { url: "" }],
        ["url", { url: 1 }],
        ["url", { url: `https://example.com/${"a".repeat(2048)}` }],
        ["url", { url: "https://example.com/a b" }],
        ["events", { url, events: [] }],
        ["events", { url, events: null }],
        ["events", { url, events: "reply.completed" }],
        ["events", { url, events: ["reply.begun"] }],
        ["description", { url, description: " " }],
        ["description", { url, description: "d".repeat(201) }],
      ] as const)
        await assertRefusedField(await call("POST", "/webhooks", jwt, body), field, JSON.stringify(body));
      const headers = { "Idempotency-Key": "1" };
      const response = await call("POST", "/webhooks", jwt, { url }, headers);
      await assertErrorAnswer(response, 400, "idempotency_not_supported");
      assert.deepEqual(await listIds(fixture, jwt, "/webhooks"), []);
    });

    test("an address that cannot be told is refused, in the same words whatever is wrong", async () => {
      const lookUp = async (name: string) => {
        if (name === "private.test") return ["10.0.0.1"];
        throw new Error("ENOTFOUND");
      };
      await using fixture = await openFixture(transport, { webhooks: createWebhooks({ lookUp }) });
      const { call, token } = fixture;
      const said = new Set<string>();
      for (const url of ["https://private.test/", "https://nobody.test/", "http://93.184.215.14/"])
        said.add(await assertRefusedField(await call("POST", "/webhooks", await token(), { url }), "url"));
      assert.equal(said.size, 1);
      assert.doesNotMatch([...said].join(), /10\.0|ENOTFOUND/);
    });

    test("an owner has at most 10", async () => {
      await using fixture = await openFixture(transport);
      const { call, token } = fixture;
      for (let n = 0; n < 10; n++) await create(fixture);
      const refused = await call("POST", "/webhooks", await token(), { url });
      await assertErrorAnswer(refused, 409, "webhook_limit_reached");
      const ids = await listIds(fixture, await token(), "/webhooks?limit=100");
      assert.equal((await call("DELETE", `/webhooks/${ids[0]}`, await token())).status, 204);
      await create(fixture);
    });

    test("deleting is idempotent, and a webhook that is not there is not found", async () => {
      await using fixture = await openFixture(transport);
      const { call, token } = fixture;
      const { id } = await create(fixture);
      const stranger = await token("bob");
      assert.equal((await call("DELETE", `/webhooks/${id}`, stranger)).status, 204);
      assert.equal((await call("GET", `/webhooks/${id}`, await token())).status, 200);
      for (const _ of [1, 2])
        assert.equal((await call("DELETE", `/webhooks/${id}`, await token())).status, 204);
      for (const jwt of [await token(), stranger]) {
        for (const [method, path] of [
          ["GET", ""],
          ["POST", "/rotate"],
          ["GET", "/deliveries"],
          ["POST", "/deliveries/dlv_none/retry"],
        ] as const) {
          const response = await call(method, `/webhooks/${id}${path}`, jwt);
          await assertErrorAnswer(response, 404, "webhook_not_found", `${method} ${path}`);
        }
      }
      const other = await create(fixture);
      const retry = `/webhooks/${other.id}/deliveries/dlv_none/retry`;
      await assertErrorAnswer(await call("POST", retry, await token()), 404, "delivery_not_found");
    });

    test("a rotation gives another secret, and is not repeated by a key", async () => {
      await using fixture = await openFixture(transport);
      const { call, token } = fixture;
      const { secret, ...webhook } = await create(fixture);
      const response = await call("POST", `/webhooks/${webhook.id}/rotate`, await token());
      const { secret: next, ...rotated } = await dataOf<CreatedWebhookResource>(response);
      assert.deepEqual(rotated, webhook);
      assert.match(next, /^whsec_/);
      assert.notEqual(next, secret);
      const headers = { "Idempotency-Key": "1" };
      const refused = await call("POST", `/webhooks/${webhook.id}/rotate`, await token(), undefined, headers);
      await assertErrorAnswer(refused, 400, "idempotency_not_supported");
    });

    test("deliveries are listed newest first, and tried again when that is asked for", async () => {
      await using fixture = await openFixture(transport);
      const { call, token, clock } = fixture;
      const { id } = await create(fixture);
      const key = await fixture.key();
      const conversation = await fixture.conversation(key);
      for (const content of ["One", "Two"])
        await call("POST", `/conversations/${conversation}/messages`, key, { content });
      const path = `/webhooks/${id}/deliveries`;
      const [newest, ...others] = await listIds(fixture, await token(), path);
      assert.equal(others.length, 1);
      assert.deepEqual(await listIds(fixture, await token(), `${path}?page=2&limit=1`), others);
      await clock.advance(1000);
      const response = await call("POST", `${path}/${newest}/retry`, await token());
      assert.equal(response.status, 202);
      const { nextAttemptAt, status } = await dataOf<{ nextAttemptAt: string; status: string }>(response);
      assert.deepEqual([nextAttemptAt, status], [new Date(clock.now()).toISOString(), "pending"]);
    });

    test("they take a JWT, and a service without webhooks has none", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      await assertErrorAnswer(await fixture.call("GET", "/webhooks", key), 401, "invalid_token");
      await using without = await openFixture(transport, { webhooks: undefined });
      const response = await without.service.fetch(
        new Request("http://twins.test/api/v1/webhooks", {
          headers: { authorization: `Bearer ${await without.token()}` },
        }),
      );
      assert.equal(response.status, 404);
      const document = await (await without.send("/api/v1/openapi.json")).text();
      assert.doesNotMatch(document, /\/webhooks/);
      const mounted = await without.service.handlers.listWebhooks(
        new Request("http://twins.test/hooks", {
          headers: { authorization: `Bearer ${await without.token()}` },
        }),
      );
      assert.equal(mounted.status, 404);
    });

    test("a webhook's page says how many there are", async () => {
      await using fixture = await openFixture(transport);
      const { call, token } = fixture;
      const [first, second] = [await create(fixture), await create(fixture)];
      const response = await call("GET", "/webhooks?limit=1&page=2", await token());
      const { data, pagination } = (await response.json()) as {
        data: WebhookResource[];
        pagination: { total: number };
      };
      assert.deepEqual([data.map(({ id }) => id), pagination.total], [[first.id], 2]);
      assert.notEqual(first.secret, second.secret);
    });
  });
}
