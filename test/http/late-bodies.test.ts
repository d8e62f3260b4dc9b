/**
 * Credentials that end while a request's body is on its way.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createEchoEngine, createService, createTwinList } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { type Fixture, inProcess, newTwin, openFixture } from "../support/harness.ts";

const encoder = new TextEncoder();

/** A body that has arrived in part; `finish` sends the rest. */
function createLateBody(value: unknown, before = "") {
  const text = JSON.stringify(value);
  let rest = () => {};
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(before + text.slice(0, 5)));
      rest = () => {
        controller.enqueue(encoder.encode(text.slice(5)));
        controller.close();
      };
    },
  });
  return { body, finish: () => rest() };
}

/** Sends a request, does something before the rest of its body is sent, and returns its answer. */
async function sendLate(
  fixture: Fixture,
  path: string,
  credential: string,
  value: unknown,
  meanwhile: () => Promise<unknown>,
): Promise<Response> {
  const { body, finish } = createLateBody(value);
  const answer = fixture.send(path, {
    method: "POST",
    headers: { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" },
    body,
    duplex: "half",
  } as RequestInit);
  await settle();
  await meanwhile();
  finish();
  return answer;
}

async function assertRefused(answer: Response): Promise<void> {
  assert.equal(answer.status, 401);
  assert.equal((await answer.json()).error.code, "invalid_api_key");
}

async function clientToken(fixture: Fixture, key: string): Promise<string> {
  const answer = await fixture.call("POST", "/client-tokens", key, { endUser: "u1" });
  return (await answer.json()).data.token;
}

test("what arrives after its key was revoked is not carried out", async () => {
  await using fixture = await openFixture(inProcess);
  const key = await fixture.key("full_access");
  const token = await fixture.token();
  const { data } = await (await fixture.call("GET", "/auth/api-keys", token)).json();
  const answer = await sendLate(fixture, "/api/v1/conversations", key, { twinId: "echo" }, () =>
    fixture.call("DELETE", `/auth/api-keys/${data[0].id}`, token),
  );
  await assertRefused(answer);
  const other = await fixture.key("read_only");
  const list = await (await fixture.call("GET", "/conversations", other)).json();
  assert.deepEqual(list.data, []);
});

test("what arrives after its client token was ended, or its end user erased, is not carried out", async () => {
  await using fixture = await openFixture(inProcess);
  const key = await fixture.key("full_access");
  for (const path of ["/client-tokens?endUser=u1", "/end-users/u1"]) {
    const ended = await sendLate(
      fixture,
      "/api/v1/conversations",
      await clientToken(fixture, key),
      { twinId: "echo" },
      () => fixture.call("DELETE", path, key),
    );
    await assertRefused(ended);
  }
  const list = await (await fixture.call("GET", "/conversations?endUser=u1", key)).json();
  assert.deepEqual(list.data, []);
});

test("what arrives after its client token has expired is not carried out", async () => {
  await using fixture = await openFixture(inProcess);
  const key = await fixture.key("full_access");
  const created = await fixture.call("POST", "/client-tokens", key, {
    endUser: "u1",
    expiresInSeconds: 60,
  });
  const { token } = (await created.json()).data;
  await fixture.clock.advance(57_000);
  const answer = await sendLate(fixture, "/api/v1/conversations", token, { twinId: "echo" }, () =>
    fixture.clock.advance(4_000),
  );
  await assertRefused(answer);
});

test("a host is asked again about the user of a body that took longer than five seconds", async () => {
  const clock = createManualClock(0);
  let isSignedIn = true;
  let asked = 0;
  const service = createService({
    twins: createTwinList([newTwin({ id: "echo" })]),
    engines: { echo: createEchoEngine() },
    authenticate() {
      asked++;
      return isSignedIn ? { owner: "alice" } : null;
    },
    log: () => {},
    clock,
  });

  async function send(meanwhile: () => Promise<unknown>): Promise<number> {
    const { body, finish } = createLateBody({ twinId: "echo" }, " ".repeat(128 * 1024)); // fast enough for 7 seconds
    const init = { method: "POST", headers: { "Content-Type": "application/json" }, body, duplex: "half" };
    const answer = service.fetch(new Request("http://twins.test/api/v1/conversations", init as RequestInit));
    await settle();
    await meanwhile();
    finish();
    return (await answer).status;
  }

  assert.equal(await send(async () => {}), 201);
  assert.equal(asked, 1); // some hosts accept what proves a user just once
  const status = await send(async () => {
    isSignedIn = false;
    await clock.advance(5_001);
  });
  assert.equal(status, 401);
  await service.close({ graceMs: 0 });
});

test("what reaches the store only after the erasure of its end user is not stored", async () => {
  const memory = createMemoryStore();
  const gate = createGate();
  const store: Store = {
    ...memory,
    async createConversation(...parameters) {
      await gate.opened;
      return memory.createConversation(...parameters);
    },
  };
  await using fixture = await openFixture(inProcess, { store });
  const key = await fixture.key("full_access");
  const token = await clientToken(fixture, key);
  const answers = [undefined, { "Idempotency-Key": "one" }].map((headers) =>
    fixture.call("POST", "/conversations", token, { twinId: "echo" }, headers),
  );
  await settle();
  assert.equal((await fixture.call("DELETE", "/end-users/u1", key)).status, 200);
  gate.open();
  for (const answer of answers) assert.equal((await answer).status, 401);
  const list = await (await fixture.call("GET", "/conversations?endUser=u1", key)).json();
  assert.deepEqual(list.data, []);
});
