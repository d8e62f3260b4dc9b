/**
 * How many replies a credential may have running at once.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMcpApi } from "../../adapters/mcp-clients/mod.ts";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { createTwinList } from "../../core/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { settle } from "../support/clock.ts";
import {
  assertErrorAnswer,
  closingInTime,
  dataOf,
  inProcess,
  newTwin,
  openFixture,
} from "../support/harness.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";

const askAda = (given: object) => ({
  ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
  params: { name: "ask_twin", arguments: given },
});

async function openSilent(maxRunningReplies?: number) {
  const engine = createScriptedEngine();
  const opened = await openFixture(inProcess, {
    twins: createTwinList([newTwin({ id: "ada", engine: "silent" })]),
    engines: { silent: engine },
    maxRunningReplies,
    openaiApi: createOpenAIApi(),
    mcpApi: createMcpApi(),
  });
  const fixture = closingInTime(opened);
  /** Sends a message into a new conversation, and resolves with the answer's head. */
  async function begin(credential: string): Promise<Response> {
    const id = await fixture.conversation(credential, "ada");
    const path = `/api/v1/conversations/${id}/messages/stream`;
    const headers = { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" };
    return fixture.service.fetch(
      new Request(`http://twins.test${path}`, { method: "POST", headers, body: '{"content":"hi"}' }),
    );
  }
  return { fixture, engine, begin };
}

test("a key that has as many replies running as it may is refused one more, and served once one has ended", async () => {
  const { fixture, engine, begin } = await openSilent(2);
  await using _ = fixture;
  const key = await fixture.key("full_access");
  for (let count = 0; count < 2; count++) assert.equal((await begin(key)).status, 200);
  const refused = await begin(key);
  assert.equal(refused.headers.get("Retry-After"), "5");
  const { details } = await assertErrorAnswer(refused, 429, "too_many_running");
  assert.deepEqual(details, { limit: 2 });
  assert.equal((await begin(await fixture.key("full_access", "alice"))).status, 200); // another key
  (await engine.next()).finish();
  await settle();
  assert.equal((await begin(key)).status, 200);
});

test("an end user's tokens have ten replies running together, and count towards their key", async () => {
  const { fixture, begin } = await openSilent(12);
  await using _ = fixture;
  const key = await fixture.key("full_access");
  const tokenOf = async (endUser: string) =>
    (await dataOf<{ token: string }>(await fixture.call("POST", "/client-tokens", key, { endUser }))).token;
  const tokens = [await tokenOf("u1"), await tokenOf("u1")];
  for (let count = 0; count < 10; count++) {
    assert.equal((await begin(tokens[count % 2] ?? "")).status, 200);
  }
  await assertErrorAnswer(await begin(tokens[0] ?? ""), 429, "too_many_running");
  const other = await tokenOf("u2");
  for (let count = 0; count < 2; count++) assert.equal((await begin(other)).status, 200);
  await assertErrorAnswer(await begin(other), 429, "too_many_running");
  await assertErrorAnswer(await begin(key), 429, "too_many_running");
});

test("at the limit, a conversation that is busy, gone, or a person's is so first, and a replacement is not one more", async () => {
  const { fixture, engine, begin } = await openSilent(2);
  await using _ = fixture;
  const key = await fixture.key("full_access");
  const id = await fixture.conversation(key, "ada");
  const post = (body: object, conversation = id) =>
    fixture.call("POST", `/conversations/${conversation}/messages`, key, body, { Prefer: "respond-async" });
  const first = await dataOf<MessageResource>(await post({ content: "1" }));
  assert.equal((await begin(key)).status, 200);
  const idle = await fixture.conversation(key, "ada");
  await assertErrorAnswer(await post({ content: "no" }, idle), 429, "too_many_running");
  await assertErrorAnswer(await post({ content: "no", whenBusy: "replace" }, idle), 429, "too_many_running");
  const { details } = await assertErrorAnswer(await post({ content: "no" }), 409, "conversation_busy");
  assert.deepEqual(details, { messageId: first.id });
  await assertErrorAnswer(await post({ content: "no" }, "conv_none"), 404, "conversation_not_found");
  for (const content of ["2", "3", "4"]) {
    const { status, finishReason } = await dataOf<MessageResource>(
      await post({ content, whenBusy: "replace" }),
    );
    assert.deepEqual([status, finishReason], ["in_progress", null]);
  }
  const stored = await fixture.call("GET", `/conversations/${id}/messages`, key);
  assert.equal((await dataOf<MessageResource[]>(stored)).length, 8);
  await assertErrorAnswer(await post({ content: "no" }, idle), 429, "too_many_running");
  await fixture.call("PATCH", `/conversations/${idle}`, key, { answeredBy: "person" });
  assert.equal((await post({ content: "waits" }, idle)).status, 202);
  await fixture.call("PATCH", `/conversations/${idle}`, key, { answeredBy: "twin" });
  for (let count = 0; count < 5; count++) (await engine.next()).finish();
  await settle();
  assert.equal((await begin(key)).status, 200);
  assert.equal((await begin(key)).status, 200);
  await assertErrorAnswer(await begin(key), 429, "too_many_running");
});

for (const [door, path, body] of [
  ["/api/v1", (id: string) => `/api/v1/conversations/${id}/messages`, { content: "hi" }],
  ["/v1", () => "/v1/responses", { model: "ada", input: "hi" }],
  ["/mcp", () => "/mcp", askAda({ twin: "ada", question: "hi", requestKey: "k" })],
] as const) {
  test(`equal requests with a key that come at once count as one, and have one reply, at ${door}`, async () => {
    const { fixture, engine } = await openSilent();
    await using _ = fixture;
    const issued = await fixture.call("POST", "/client-tokens", await fixture.key(), { endUser: "ann" });
    const { token } = await dataOf<{ token: string }>(issued);
    const url = `http://twins.test${path(await fixture.conversation(token, "ada"))}`;
    const headers = {
      Authorization: `Bearer ${token}`,
      "Content-Type": "application/json",
      ...(door !== "/mcp" && { "Idempotency-Key": "k" }),
    };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const answers = Array.from({ length: 20 }, () => fixture.service.fetch(new Request(url, init)));
    (await engine.next()).finish();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(engine.asked, 1);
  });
}

test("what is refused before a reply begins does not count", async () => {
  const { fixture, begin } = await openSilent(2);
  await using _ = fixture;
  const key = await fixture.key("full_access");
  const id = await fixture.conversation(key, "ada");
  const send = () => fixture.call("POST", `/conversations/${id}/messages/stream`, key, { content: "hi" });
  const first = send();
  await settle();
  for (let count = 0; count < 5; count++) {
    await assertErrorAnswer(await send(), 409, "conversation_busy");
    await assertErrorAnswer(
      await fixture.call("POST", "/conversations/conv_none/messages", key, { content: "hi" }),
      404,
      "conversation_not_found",
    );
  }
  assert.equal((await begin(key)).status, 200);
  void first;
});
