/** Owners whose documents are read in the same thread. */

import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { test } from "node:test";
import { createTwinReader } from "../../adapters/twin-files/mod.ts";
import type { TwinReader } from "../../core/twins/reader.ts";
import { createGate } from "../support/gate.ts";
import { type Fixture, openFixture, transports } from "../support/harness.ts";
import { runtime } from "../support/runtime.ts";
import { docx, paragraph } from "./fixture.ts";

const tooDeep = `<p>${"<div>".repeat(20_000)}`;

/** Puts a document of a twin of one's own. Resolves with the status of the answer. */
async function put({ send, token }: Fixture, owner: string, path: string, body: string | Uint8Array) {
  const headers = { authorization: `Bearer ${await token(owner)}`, "content-type": "text/markdown" };
  const init = { method: "PUT", headers, body: body as BodyInit };
  return (await send(`/api/v1/twins/own/${path}`, init)).status;
}

/** A reader that begins once so many documents have arrived, in their order, and tells whose it has read. */
function beginningWith(count: number) {
  const reader = createTwinReader();
  const [others, all] = [createGate(), createGate()];
  const readOf: string[] = [];
  let arrived = 0;
  const readDocument: TwinReader["readDocument"] = async (...given) => {
    arrived++;
    if (arrived === count - 1) others.open();
    if (arrived === count) all.open();
    await all.opened;
    const read = await reader.readDocument(...given);
    readOf.push(given[2]);
    return read;
  };
  return { reader: { ...reader, readDocument }, allButOne: others.opened, readOf };
}

for (const transport of transports) {
  test(`an owner does not wait for the many documents of another, ${transport.name}`, async () => {
    const { reader, allButOne, readOf } = beginningWith(13);
    await using fixture = await openFixture(transport, { ownTwins: { reader } });
    for (const owner of ["greedy", "other"])
      assert.equal(await put(fixture, owner, "file", "---\nname: Own\n---\n\nYou help.\n"), 201);
    const many = Array.from({ length: 12 }, (_, n) => put(fixture, "greedy", `documents/${n}.html`, tooDeep));
    await allButOne;
    assert.equal(await put(fixture, "other", "documents/short.html", "<h1>Hours</h1><p>We open."), 201);
    assert.deepEqual(await Promise.all(many), Array(12).fill(400));
    assert.deepEqual(readOf, ["greedy", "greedy", "other", ...Array(10).fill("greedy")]);
  });
}

test("a thread whose documents are faults, but read to their ends, reads the next one", {
  skip: runtime !== "node" && `${runtime} does not tell of its threads`,
}, async () => {
  const { readDocument } = createTwinReader();
  const texts = async (path: string, bytes: string | Uint8Array) => {
    return readDocument(path, Buffer.from(bytes), "ada");
  };
  await texts("a.html", "<p>Hello"); // the thread is there
  let started = 0;
  const count = () => void started++;
  subscribe("worker_threads", count);
  for (const [path, bytes] of [
    ["deep.html", tooDeep],
    ["odd.docx", "PK"],
    ["binary.html", Uint8Array.of(0xff, 0xfe, 0x00)],
  ] as const)
    assert.ok("fault" in (await texts(path, bytes)), path);
  assert.deepEqual(await texts("good.docx", docx(paragraph("Good."))), { text: "Good." });
  assert.equal(started, 0);
  // PDFium may keep what it had.
  assert.ok("fault" in (await texts("odd.pdf", "no")));
  assert.deepEqual(await texts("good.docx", docx(paragraph("Good."))), { text: "Good." });
  assert.equal(started, 1);
  unsubscribe("worker_threads", count);
});
