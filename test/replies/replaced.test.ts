/**
 * A message that comes in the place of a reply of another process, which leaves that with all that was told of it.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { openChat, withOutages } from "../support/chat.ts";
import { assertErrorAnswer, dataOf, inProcess, textOf } from "../support/harness.ts";

const said = { role: "assistant", content: "I am Eva.", author: "Eva" };

/** A store of several processes. */
function shared() {
  return { store: { ...createMemoryStore(), exclusive: false } };
}

for (const kind of ["what a person says", "a send"]) {
  test(`${kind} takes the place of a reply of another process, too, and all that was told of that is kept`, async () => {
    await using chat = await openChat(inProcess, shared());
    const { call, token } = chat.fixture;
    const hook = await dataOf<{ id: string }>(
      await call("POST", "/webhooks", await token(), {
        url: "https://example.com/",
        events: ["reply.cancelled"],
      }),
    );
    const first = await chat.begin("1");
    first.run.write("half");
    await chat.clock.advance(1000);
    first.run.write(" a rep"); // told, and not saved yet
    await using other = await chat.another();
    const body = kind === "a send" ? { content: "2" } : said;
    const answer = other.post("/messages", { ...body, whenBusy: "replace" });
    await chat.clock.advance(1000);
    assert.equal(first.run.signal.aborted, true);
    first.run.write("ly");
    await chat.clock.advance(250);
    if (kind === "a send") (await chat.engine.next()).finish();
    assert.equal((await answer).status, kind === "a send" ? 200 : 201);
    const messages = await dataOf<MessageResource[]>(await chat.get("/messages"));
    const [, reply, next] = messages;
    assert.deepEqual([reply?.content, reply?.status, reply?.attempt], ["half a rep", "cancelled", 1]);
    assert.deepEqual([next?.content, next?.after], [body.content, first.messageId]);
    await chat.clock.advance(250);
    const events = await first.stream.rest();
    assert.equal(textOf(events), "half a rep");
    assert.deepEqual(events.at(-1)?.data, { type: "complete", message: reply });
    assert.ok(events.every(({ data }) => data.type !== "progress"));
    assert.equal(await chat.status(), "idle");
    const deliveries = await call("GET", `/webhooks/${hook.id}/deliveries`, await token());
    assert.equal((await dataOf<object[]>(deliveries)).length, 1, "webhooks are told that it was cancelled");
  });
}

test("a process that does not answer keeps no one from its reply's place, and what it had saved is kept", async () => {
  const { store } = shared();
  let isDown = false;
  await using chat = await openChat(inProcess, { store: withOutages(store, () => isDown) });
  const first = await chat.begin("1");
  first.run.write("half");
  await chat.clock.advance(1000);
  first.run.write(" a rep");
  isDown = true;
  await using other = await chat.another({ store });
  const answer = other.post("/messages", { ...said, whenBusy: "replace" });
  await chat.clock.advance(5250);
  assert.equal((await answer).status, 201);
  isDown = false;
  await chat.clock.advance(10_000);
  assert.equal(first.run.signal.aborted, true);
  const messages = await dataOf<MessageResource[]>(await chat.get("/messages"));
  assert.deepEqual(
    messages.map(({ content }) => content),
    ["1", "half", said.content],
  );
  assert.equal(await chat.status(), "idle");
});

test("of two processes that take the place of a reply at once, neither loses a message", async () => {
  await using chat = await openChat(inProcess, shared());
  const first = await chat.begin("1");
  first.run.write("half");
  const others = await Promise.all([chat.another(), chat.another()]);
  const answers = others.map((other, at) =>
    other.post("/messages", { ...said, content: `said ${at}`, whenBusy: "replace" }),
  );
  await chat.clock.advance(2000);
  for (const answer of answers) assert.equal((await answer).status, 201);
  const messages = await dataOf<MessageResource[]>(await chat.get("/messages"));
  const [asked, reply, ...rest] = messages.map(({ content }) => content);
  assert.deepEqual([asked, reply, rest.sort()], ["1", "half", ["said 0", "said 1"]]);
  for (const other of others) await other[Symbol.asyncDispose]();
});

for (const body of [said, { content: "2" }]) {
  test(`what is sent to two processes at once in the place of a reply is stored once: ${JSON.stringify(body)}`, async () => {
    await using chat = await openChat(inProcess, shared());
    const { messageId } = await chat.begin("1");
    await using other = await chat.another();
    const headers = { "Idempotency-Key": "once", Prefer: "respond-async" };
    const answers = Promise.all(
      [chat, other].map(({ post }) =>
        post("/messages", { ...body, whenBusy: "replace", after: messageId }, headers),
      ),
    );
    await chat.clock.advance(2000);
    const sent = await Promise.all((await answers).map((answer) => dataOf<{ id: string }>(answer)));
    assert.equal(new Set(sent.map(({ id }) => id)).size, 1);
  });
}

test("a reply that was stopped for a message that is refused then ends as cancelled", async () => {
  const { store } = shared();
  await using chat = await openChat(inProcess, { store });
  const first = await chat.begin("1");
  first.run.write("half");
  const addMessage: Store["addMessage"] = async (add) =>
    add.replaces ? { result: "too_many_branches" } : store.addMessage(add);
  await using other = await chat.another({ store: { ...store, addMessage } });
  const answer = other.post("/messages", { ...said, whenBusy: "replace" });
  await chat.clock.advance(1250);
  await assertErrorAnswer(await answer, 409, "too_many_branches");
  await chat.clock.advance(250);
  const { status, content } = await chat.message(first.messageId);
  assert.deepEqual([status, content], ["cancelled", "half"]);
  assert.equal(await chat.status(), "idle");
});

test("a message in the place of a reply is told that another process has deleted its conversation", async () => {
  await using chat = await openChat(inProcess);
  const other = await chat.another();
  const sending = other.send();
  (await chat.engine.next()).finish();
  const { id } = await dataOf<MessageResource>(await sending);
  await chat.remove();
  for (const after of [id, null, "msg_none"]) {
    const answer = await other.post("/messages", { content: "?", after, whenBusy: "replace" });
    await assertErrorAnswer(answer, 404, "conversation_not_found", String(after));
  }
});

test("a message that decides of calls which do not wait leaves a running reply alone", async () => {
  await using chat = await openChat(inProcess);
  const { run, messageId } = await chat.begin("1");
  const refused = await chat.post("/messages", { calls: { none: "approve" }, whenBusy: "replace" });
  await assertErrorAnswer(refused, 400, "validation_error");
  assert.equal((await chat.message(messageId)).status, "in_progress");
  run.finish();
});
