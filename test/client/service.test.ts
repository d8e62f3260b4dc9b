/**
 * The client against what the service does besides: replies that another process takes over, and client tokens.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AuthenticationError, NotFoundError, PermissionDeniedError, TwinClient } from "../../client/mod.ts";
import { createMemoryStore, type Store } from "../../core/mod.ts";
import { openChat, withOutages } from "../support/chat.ts";
import { inProcess, openFixture, overSocket } from "../support/harness.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";
import { collect, textIn } from "./collect.ts";

describe("a stream of the client", () => {
  test("goes on where another process takes the reply over, without what was sent but never saved", async () => {
    const store: Store = { ...createMemoryStore(), exclusive: false };
    const engine = Object.defineProperty(createScriptedEngine(), "continues", { value: "partial" });
    let away = false;
    await using first = await openChat(inProcess, { store: withOutages(store, () => away), engine });
    await using other = await first.another({ store });
    await other.service.ready();
    const fetch: typeof globalThis.fetch = (input, init) =>
      (away ? other : first).service.fetch(new Request(input, init));
    const client = new TwinClient({ baseUrl: "http://twins.test", apiKey: first.key, fetch, silenceMs: 100 });

    const reply = client.messages.stream(first.conversationId, { content: "Hello?" });
    const reading = collect(reply);
    const run = await engine.next();
    run.write("Hello ");
    await reading.reach(6);
    await first.clock.advance(1000);
    run.write("you");
    await reading.reach(9);
    away = true;
    await first.clock.advance(35_000);
    const second = await engine.next();
    assert.equal(second.turn.partial, "Hello ");
    second.write("everybody");
    second.finish();
    await first.clock.advance(1000);
    const message = await reply.final();
    await reading.end;
    assert.deepEqual([message.content, message.attempt], ["Hello everybody", 2]);
    assert.equal(textIn(reading.events), "Hello everybody");
    away = false;
  });
});

describe("client tokens", () => {
  test("let an end user talk to some twins, and end when they are revoked", async () => {
    await using fixture = await openFixture(overSocket);
    const backend = new TwinClient({ baseUrl: fixture.url, apiKey: await fixture.key() });
    const { token, endUser, requestsPerHour } = await backend.clientTokens.create({
      endUser: "user-1",
      twinIds: ["echo"],
    });
    assert.deepEqual([endUser, requestsPerHour], ["user-1", 100]);
    const page = new TwinClient({ baseUrl: fixture.url, getToken: () => token });
    const conversation = await page.conversations.create({ twinId: "echo" });
    assert.equal(
      (await page.messages.stream(conversation.id, { content: "Hello" }).final()).content,
      "Hello",
    );
    await assert.rejects(page.twins.get("private"), NotFoundError);
    await assert.rejects(page.clientTokens.create({ endUser: "user-2" }), PermissionDeniedError);
    assert.deepEqual((await backend.conversations.list({ endUser: "user-1" })).data.length, 1);
    await backend.clientTokens.revoke("user-1");
    await assert.rejects(page.twins.list(), AuthenticationError);
  });
});
