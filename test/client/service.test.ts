/**
 * The client against what the service does besides: replies that another process takes over, client tokens, the data of
 * end users, and usage.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  PermissionDeniedError,
  TwinClient,
} from "../../client/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { openChat, withOutages } from "../support/chat.ts";
import { inProcess, openFixture, overSocket } from "../support/harness.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";
import { allOf, collect, textIn } from "./collect.ts";

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

/** A client of a service on which two end users have talked to a twin. */
async function openTalkedTo() {
  const fixture = await openFixture(overSocket);
  const client = new TwinClient({ baseUrl: fixture.url, apiKey: await fixture.key() });
  for (const endUser of ["user-1", "user/2"]) {
    const { id } = await client.conversations.create({ twinId: "echo", endUser });
    await client.messages.send(id, { content: `Hello from ${endUser}` });
  }
  return { client, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() };
}

describe("the data of an end user", () => {
  test("is exported line by line: what twins know of them, then each conversation, followed by its messages", async () => {
    await using talked = await openTalkedTo();
    await talked.client.memories.set("user/2", "echo", "Likes tea.");
    const lines = await allOf(talked.client.endUsers.export("user/2"));
    assert.deepEqual(
      lines.map((line) => {
        if ("memory" in line) return line.memory.content;
        return "message" in line ? line.message.content : line.conversation.endUser;
      }),
      ["Likes tea.", "user/2", "Hello from user/2", "Hello from user/2"],
    );
    await talked.client.memories.delete("user/2", "echo");
    await assert.rejects(talked.client.memories.get("user/2", "echo"), { code: "memory_not_found" });
  });

  test("is erased, and that of others is not", async () => {
    await using talked = await openTalkedTo();
    const { client } = talked;
    assert.deepEqual(await client.endUsers.erase("user/2"), {
      endUser: "user/2",
      conversations: 1,
      messages: 2,
      clientTokens: 0,
    });
    assert.deepEqual(await allOf(client.endUsers.export("user/2")), []);
    assert.equal((await allOf(client.endUsers.export("user-1"))).length, 3);
  });

  test("that nobody has is an empty export, and a name that is too long is refused", async () => {
    await using talked = await openTalkedTo();
    assert.deepEqual(await allOf(talked.client.endUsers.export("stranger")), []);
    await assert.rejects(allOf(talked.client.endUsers.export("x".repeat(300))), BadRequestError);
  });
});

describe("usage", () => {
  test("is what is left of the credential's limit, and what replies have used by group", async () => {
    await using talked = await openTalkedTo();
    const { client } = talked;
    const { limit, remaining, scope } = await client.usage.get();
    assert.deepEqual([scope, remaining < limit], ["full_access", true]);
    const groups = await allOf(client.usage.history({ groupBy: "endUser", limit: 1 }));
    assert.deepEqual(
      groups.map(({ group, replies }) => [group, replies]),
      [
        ["user-1", 1],
        ["user/2", 1],
      ],
    );
    assert.equal((await client.usage.history({ from: "2020-01-01", to: "2020-01-02" })).data.length, 0);
  });
});
