/**
 * What a reply's record says about how it was made.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTwinList, type Twin } from "../../core/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";
import { openChat } from "../support/chat.ts";
import { dataOf, inProcess, newTwin, openFixture } from "../support/harness.ts";

for (const { what, named, stored } of [
  {
    what: "the sections that the engine named",
    named: { sources: [{ heading: "Fares", document: "prices/2026.pdf", score: 0.5, line: 12 }] },
    stored: [{ heading: "Fares", document: "prices/2026.pdf", score: 0.5 }],
  },
  {
    what: "of the twin's own text where the engine names no document, or what is none",
    named: {
      sources: [
        { heading: "Fares", score: 0.5 },
        { heading: "Fares", document: null, score: 0.4 },
        { heading: "Fares", document: { path: "a.md" }, score: 0.3 },
      ],
    },
    stored: [0.5, 0.4, 0.3].map((score) => ({ heading: "Fares", document: null, score })),
  },
  { what: "an empty list, if nothing fitted", named: { sources: [] }, stored: [] },
  { what: "null, if the engine names none", named: undefined, stored: null },
  {
    what: "no sections without a heading or a score",
    named: { sources: ["Fares", { heading: "Fares" }, { heading: "F", score: Number.NaN }] },
    stored: [],
  },
  { what: "null, if the engine's sources are no list", named: { sources: "Fares" }, stored: null },
]) {
  test(`a reply's sources are ${what}`, async () => {
    await using chat = await openChat(inProcess);
    const sending = chat.send();
    const run = await chat.engine.next();
    if (named) run.progress({ stage: "sources", ...named });
    run.finish();
    const message = await dataOf<MessageResource>(await sending);
    assert.deepEqual(message.sources, stored);
    assert.deepEqual((await chat.message(message.id)).sources, stored);
    assert.equal((await chat.message(message.inReplyTo ?? "")).sources, null);
  });
}

test("a reply in progress has its sources once they are saved, and keeps them if it fails", async () => {
  await using chat = await openChat(inProcess);
  const { stream, messageId: id, run } = await chat.begin();
  run.progress({ stage: "sources", sources: [{ heading: "Fares", score: 1 }] });
  run.write("Two");
  await chat.clock.advance(1000);
  assert.deepEqual((await chat.message(id)).sources, [{ heading: "Fares", document: null, score: 1 }]);
  run.fail(new Error("away"));
  await stream.rest();
  assert.deepEqual((await chat.message(id)).sources, [{ heading: "Fares", document: null, score: 1 }]);
});

async function revisionOf(twin: Partial<Twin>): Promise<string | null> {
  const twins = createTwinList([newTwin({ id: "ada", engine: "knowledge", ...twin })]);
  await using fixture = await openFixture(inProcess, {
    twins,
    engines: { knowledge: createKnowledgeEngine() },
  });
  const key = await fixture.key();
  const path = `/conversations/${await fixture.conversation(key, "ada")}/messages`;
  const response = await fixture.call("POST", path, key, { content: "Hello" });
  return (await dataOf<MessageResource>(response)).twinRevision;
}

test("a reply has its twin's revision, which changes with the twin's content and with nothing else", async () => {
  const revision = await revisionOf({});
  assert.match(revision ?? "", /^[0-9a-f]{16}$/);
  assert.equal(await revisionOf({ updatedAt: 7, createdAt: 6 }), revision);
  assert.equal(await revisionOf({ access: ["alice"] }), revision);
  const document = { path: "engine.md", text: "It weaves." };
  const changes = [
    { instructions: "Other." },
    { name: "Ada L." },
    { tags: ["a"] },
    { temperature: 1 },
    { documents: [document] },
    { documents: [{ ...document, text: "It wove." }] },
    { documents: [{ ...document, path: "loom.md" }] },
  ];
  const others = await Promise.all(changes.map(revisionOf));
  assert.equal(new Set([revision, ...others]).size, 8);
});

test("a reply has its twin's revision from its beginning, and its question has none", async () => {
  await using chat = await openChat(inProcess);
  const { messageId } = await chat.begin();
  const { twinRevision, attempt, inReplyTo } = await chat.message(messageId);
  assert.match(twinRevision ?? "", /^[0-9a-f]{16}$/);
  assert.equal(attempt, 1);
  const question = await chat.message(inReplyTo ?? "");
  assert.deepEqual([question.twinRevision, question.sources, question.attempt], [null, null, 1]);
});
