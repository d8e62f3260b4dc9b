/**
 * What a twin knows of a person.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createEchoEngine, createTwinList } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { ClientTokenResource, MemoryResource } from "../../core/wire/schemas.ts";
import { openChat, withOutages } from "../support/chat.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  type Fixture,
  inProcess,
  newTwin,
  openFixture,
  transports,
} from "../support/harness.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";

const path = (endUser: string, twinId = "echo") => `/end-users/${endUser}/memory/${twinId}`;

async function tokenOf(fixture: Fixture, key: string, endUser: string, fields: object = {}) {
  const made = await fixture.call("POST", "/client-tokens", key, { endUser, ...fields });
  return (await dataOf<ClientTokenResource>(made)).token;
}

for (const transport of transports) {
  describe(`what a twin knows of a person, ${transport.name}`, () => {
    test("is written, replaced, read and deleted", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      await assertErrorAnswer(await fixture.call("GET", path("ann"), key), 404, "memory_not_found");
      for (const content of ["Likes tea.", "x".repeat(4_000), "\u{1F375}".repeat(4_000)]) {
        const written = await fixture.call("PUT", path("ann"), key, { content });
        assert.equal(written.status, 200);
        const memory = await dataOf<MemoryResource>(written);
        const updatedAt = new Date(fixture.clock.now()).toISOString();
        assert.deepEqual(memory, { endUser: "ann", twinId: "echo", content, updatedAt });
        const reader = await fixture.key("read_only");
        assert.deepEqual(await dataOf(await fixture.call("GET", path("ann"), reader)), memory);
        await fixture.clock.advance(10);
      }
      for (let time = 0; time < 2; time++)
        assert.equal((await fixture.call("DELETE", path("ann"), key)).status, 204);
      await assertErrorAnswer(await fixture.call("GET", path("ann"), key), 404, "memory_not_found");
    });

    test("is refused with the field that is wrong, for an unknown twin, and with too little scope", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      for (const content of [undefined, null, 7, "", " \n", "x".repeat(4_001), "a\u0000b", "\ud800"])
        await assertRefusedField(await fixture.call("PUT", path("ann"), key, { content }), "content");
      const put = (place: string, credential = key) =>
        fixture.call("PUT", place, credential, { content: "x" });
      await assertErrorAnswer(await put(path("ann", "nobody")), 404, "twin_not_found");
      await assertErrorAnswer(await put(path("%00")), 400, "validation_error");
      const reader = await fixture.key("read_only");
      await assertErrorAnswer(await put(path("ann"), reader), 403, "insufficient_scope");
      await assertErrorAnswer(await fixture.call("DELETE", path("ann"), reader), 403, "insufficient_scope");
    });

    test("is another owner's and another person's own", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      await fixture.call("PUT", path("ann"), key, { content: "Likes tea." });
      const others = await fixture.key("full_access", "carol");
      for (const [credential, place] of [
        [others, path("ann")],
        [key, path("bob")],
        [key, path("ann", "private")],
      ] as const) {
        await assertErrorAnswer(await fixture.call("GET", place, credential), 404, "memory_not_found");
        assert.equal((await fixture.call("DELETE", place, credential)).status, 204);
      }
      assert.equal((await fixture.call("GET", path("ann"), key)).status, 200);
    });

    test("a client token reads and deletes what is known of its own end user, and writes nothing", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      for (const endUser of ["ann", "bob"])
        await fixture.call("PUT", path(endUser), key, { content: `${endUser} likes tea.` });
      const token = await tokenOf(fixture, key, "ann");
      const read = await dataOf<MemoryResource>(await fixture.call("GET", path("ann"), token));
      assert.equal(read.content, "ann likes tea.");
      const written = await fixture.call("PUT", path("ann"), token, { content: "x" });
      await assertErrorAnswer(written, 403, "insufficient_scope");
      for (const endUser of ["bob", "nobody"])
        for (const method of ["GET", "DELETE"] as const) {
          const refused = await fixture.call(method, path(endUser), token);
          await assertErrorAnswer(refused, 403, "insufficient_scope", endUser);
        }
      const reader = await tokenOf(fixture, key, "ann", { scope: "read_only" });
      await assertErrorAnswer(await fixture.call("DELETE", path("ann"), reader), 403, "insufficient_scope");
      assert.equal((await fixture.call("DELETE", path("ann"), token)).status, 204);
      await assertErrorAnswer(await fixture.call("GET", path("ann"), token), 404, "memory_not_found");
      assert.equal((await fixture.call("GET", path("bob"), key)).status, 200);
    });

    test("a client token whose twins are others reads and deletes nothing of a twin", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      for (const twinId of ["echo", "private"])
        await fixture.call("PUT", path("ann", twinId), key, { content: `For ${twinId}.` });
      const token = await tokenOf(fixture, key, "ann", { twinIds: ["echo"] });
      const place = path("ann", "private");
      await assertErrorAnswer(await fixture.call("GET", place, token), 404, "memory_not_found");
      assert.equal((await fixture.call("DELETE", place, token)).status, 204);
      assert.equal((await fixture.call("GET", place, key)).status, 200, "it is kept");
      assert.equal((await fixture.call("GET", path("ann"), token)).status, 200);
    });

    test("is the first of an export, and erased with the person", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      await fixture.call("POST", "/conversations", key, { twinId: "echo", endUser: "ann" });
      for (const twinId of ["private", "echo"])
        await fixture.call("PUT", path("ann", twinId), key, { content: `For ${twinId}.` });
      await fixture.call("PUT", path("bob"), key, { content: "Stays." });
      const exported = async () => {
        const text = await (await fixture.call("GET", "/end-users/ann/export", key)).text();
        return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
      };
      const lines = await exported();
      assert.deepEqual(
        lines.map((line) => line.memory?.content ?? Object.keys(line)),
        ["For echo.", "For private.", ["conversation"]],
      );
      await fixture.call("DELETE", "/end-users/ann", key);
      assert.deepEqual(await exported(), []);
      await assertErrorAnswer(await fixture.call("GET", path("ann"), key), 404, "memory_not_found");
      assert.equal((await fixture.call("GET", path("bob"), key)).status, 200);
    });
  });
}

describe("an engine", () => {
  const open = () => {
    const engine = createScriptedEngine();
    const twins = createTwinList([newTwin({ id: "scripted", engine: "scripted" }), newTwin({ id: "echo" })]);
    return openChat(inProcess, { engine, twins, engines: { scripted: engine, echo: createEchoEngine() } });
  };

  test("is told what its twin knows of the conversation's person, from the next reply on, in every process", async () => {
    await using chat = await open();
    await using other = await chat.another();
    const { fixture, key } = chat;
    const converse = async (endUser?: string) => {
      const body = { twinId: "scripted", ...(endUser && { endUser }) };
      const made = await fixture.call("POST", "/conversations", key, body);
      return (await dataOf<{ id: string }>(made)).id;
    };
    const told = async (id: string, asked = chat) => {
      const sent = asked.fixture.call("POST", `/conversations/${id}/messages`, key, { content: "Hello?" });
      const run = await chat.engine.next();
      run.finish();
      await sent;
      return run.turn.memory;
    };
    const [ann, bob, nobody] = [await converse("ann"), await converse("bob"), await converse()];
    assert.equal(await told(ann), null);
    const write = (content: string) => fixture.call("PUT", path("ann", "scripted"), key, { content });
    await write("Likes tea.");
    await fixture.call("PUT", path("bob", "echo"), key, { content: "Is of another twin." });
    for (const each of [chat, other]) assert.equal(await told(ann, each), "Likes tea.");
    for (const id of [bob, nobody]) assert.equal(await told(id), null);
    await write("Likes coffee.");
    for (const each of [other, chat]) assert.equal(await told(ann, each), "Likes coffee.");
    await fixture.call("DELETE", path("ann", "scripted"), key);
    assert.equal(await told(ann, other), null);
  });

  test("is told so, too, by the process that takes a reply over", async () => {
    const store = { ...createMemoryStore(), exclusive: false };
    let away = false;
    await using chat = await openChat(inProcess, { store: withOutages(store, () => away) });
    await using other = await chat.another({ store });
    await other.service.ready();
    const { fixture, key, engine } = chat;
    const made = await fixture.call("POST", "/conversations", key, { twinId: "scripted", endUser: "ann" });
    const { id } = await dataOf<{ id: string }>(made);
    await fixture.call("PUT", path("ann", "scripted"), key, { content: "Likes tea." });
    await fixture.call("POST", `/conversations/${id}/messages/stream`, key, { content: "Hello?" });
    await engine.next();
    away = true;
    await chat.clock.advance(35_000);
    const run = await engine.next();
    assert.equal(run.turn.memory, "Likes tea.");
    run.finish();
    away = false;
  });
});
