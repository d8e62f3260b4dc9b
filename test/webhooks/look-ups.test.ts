/**
 * Names of webhooks whose server does not answer. The system looks up four names at the same time, each until it is answered.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createWebhooks } from "../../adapters/webhooks/mod.ts";
import type { CreatedWebhookResource, DeliveryResource } from "../../core/wire/schemas.ts";
import { settle } from "../support/clock.ts";
import { createGate, type Gate } from "../support/gate.ts";
import { assertRefusedField, closingInTime, dataOf, openFixture, transports } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { say } from "./hooks.ts";
import { startReceiver } from "./receiver.ts";

/** A system whose names are at this machine; those that begin with "silent" are not answered until a test says so. */
function createSystem() {
  const asked: string[] = [];
  let free = 4;
  let waiting: (() => void)[] = [];
  let unanswered: Gate[] = [];
  const isSilent = { now: true };
  return {
    /** The names that are asked for, or were. */
    asked,
    isSilent,
    /** Answers what is asked for. */
    answer() {
      for (const { open } of unanswered) open();
      unanswered = [];
    },
    async lookUp(name: string) {
      while (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      free--;
      asked.push(name);
      if (name.startsWith("silent") && isSilent.now) {
        const gate = createGate();
        unanswered.push(gate);
        await gate.opened;
      }
      free++;
      for (const next of waiting) next();
      waiting = [];
      return ["127.0.0.1"];
    },
  };
}

/** Requests that are sent at once may arrive in any order. */
const withoutNumber = (name: string) => name.replace(/\d\.test$/, "");

for (const transport of transports) {
  describe(`names that are not answered, ${transport.name}`, () => {
    const names = ["silent1.test", "silent2.test", "silent3.test", "silent4.test", "silent5.test"];

    async function open() {
      const system = createSystem();
      const receiver = await startReceiver();
      const hosts = [...names, "app.test"];
      const webhooks = createWebhooks({ hosts, lookUp: system.lookUp });
      const fixture = closingInTime(await openFixture(transport, { webhooks }));
      const { port } = new URL(receiver.url);
      const urlOf = (name: string) => `http://${name}:${port}/${name}`;
      const create = async (owner: string, name: string) =>
        fixture.call("POST", "/webhooks", await fixture.token(owner), { url: urlOf(name) });
      /** Creates webhooks, each at a name that is not answered, until they wait. */
      const createSilent = async (owner: string, count: number, asked: number) => {
        const { pending } = fixture.clock;
        const creating = names.slice(0, count).map((name) => create(owner, name));
        // Each has a timer: what it is measured by must not come after the time that a test lets pass.
        const wait = () => system.asked.length >= asked && fixture.clock.pending >= pending + count;
        await until("names are asked for", 5_000, wait);
        await settle();
        return creating;
      };
      const refuse = async (creating: readonly Promise<Response>[]) => {
        for (const response of await Promise.all(creating)) await assertRefusedField(response, "url");
      };
      return { ...fixture, system, receiver, create, createSilent, refuse };
    }

    test("who creates webhooks there makes nobody else wait", async () => {
      await using service = await open();
      const { system, clock, create, createSilent, refuse } = service;
      const creating = await createSilent("ada", 5, 1);
      assert.equal((await create("ben", "app.test")).status, 201);
      assert.deepEqual(system.asked.map(withoutNumber), ["silent", "app.test"]);
      await clock.advance(5_000);
      await refuse(creating);
      // The first is still asked for.
      const next = create("ada", "app.test");
      assert.equal((await create("ben", "app.test")).status, 201);
      system.answer();
      assert.equal((await next).status, 201);
      assert.deepEqual(system.asked.map(withoutNumber), ["silent", "app.test", "app.test", "app.test"]);
    });

    test("owners whose names were slow share one turn for ten minutes, so that others have theirs", async () => {
      await using service = await open();
      const { system, clock, create, createSilent, refuse } = service;
      const both = async (asked: number) => {
        const creating = [await createSilent("ada", 1, 1), await createSilent("ben", 1, asked)].flat();
        assert.equal(system.asked.splice(0).length, asked);
        return creating;
      };
      const first = await both(2);
      await clock.advance(5_000);
      await refuse(first);
      system.answer();
      await settle();
      const second = await both(1);
      assert.equal((await create("eve", "app.test")).status, 201);
      await clock.advance(5_000);
      await refuse(second);
      system.answer();
      await settle();
      assert.deepEqual(system.asked.splice(0), ["app.test"]);
      await clock.advance(600_000);
      const third = await both(2);
      system.answer();
      for (const response of await Promise.all(third)) assert.equal(response.status, 201);
    });

    test("deliveries there, also those tried by hand, keep nobody else from being told", async () => {
      await using service = await open();
      const { system, receiver, clock, call, token, key, conversation, create } = service;
      system.isSilent.now = false;
      const { id } = await dataOf<CreatedWebhookResource>(await create("ada", "silent1.test"));
      assert.equal((await create("ben", "app.test")).status, 201);
      system.isSilent.now = true;
      system.asked.length = 0;
      const [ada, ben] = [await key("full_access", "ada"), await key("full_access", "ben")];
      const talk = { ada: await conversation(ada), ben: await conversation(ben) };
      for (let n = 0; n < 4; n++) await say(service, ada, talk.ada);
      await say(service, ben, talk.ben);
      await receiver.has(1);
      assert.deepEqual(system.asked, ["silent1.test", "app.test"]);
      await clock.advance(10_000);
      const path = `/webhooks/${id}/deliveries`;
      const deliveries = async () => dataOf<DeliveryResource[]>(await call("GET", path, await token("ada")));
      await until("all tries have failed", 5_000, async () =>
        (await deliveries()).every(({ nextAttemptAt }) => Date.parse(nextAttemptAt ?? "") > clock.now()),
      );
      const tried = await deliveries();
      assert.deepEqual(
        tried.map(({ status, attempts, lastStatus }) => [status, attempts, lastStatus]),
        Array(4).fill(["pending", 1, null]),
      );
      for (const { id } of tried)
        assert.equal((await call("POST", `${path}/${id}/retry`, await token("ada"))).status, 202);
      await say(service, ben, talk.ben);
      await receiver.has(2);
      assert.deepEqual(system.asked, ["silent1.test", "app.test", "app.test"]);
      system.isSilent.now = false;
      system.answer();
      await receiver.has(6);
      const paths = receiver.arrived.map(({ path }) => path).sort();
      assert.deepEqual(paths, [...Array(2).fill("/app.test"), ...Array(4).fill("/silent1.test")]);
    });
  });
}
