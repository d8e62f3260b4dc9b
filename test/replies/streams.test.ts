/**
 * A reply's stream as its client reads it: whole characters, unbroken lines, keep-alives during silence.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { EventSender } from "../../core/wire/event-sender.ts";
import { isEventStream } from "../../core/wire/request.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { inProcess, openFixture, parseEvents, textOf } from "../support/harness.ts";

test("lone surrogates and NUL become replacement characters, in the stream as in the store", async () => {
  await using chat = await openChat(inProcess);
  const { stream, run } = await chat.begin();
  run.write("a\0b\ud83d");
  run.write("\ude00 \udc00 \ud800");
  run.finish();
  const events = await stream.rest();
  const expected = "a\ufffdb😀 \ufffd \ufffd";
  assert.equal(textOf(events), expected);
  const last = events.at(-1);
  assert.ok(last?.data.type === "complete" && last.data.message.content === expected);
});

test("deltas never contain half a surrogate pair, however it was written", async () => {
  await using chat = await openChat(inProcess);
  const { stream, run } = await chat.begin();
  const text = "😀".repeat(20_000);
  for (const half of text.split("")) run.write(half);
  run.finish();
  const events = await stream.rest();
  assert.equal(textOf(events), text);
  for (const { data } of events) assert.ok(data.type !== "delta" || data.content.isWellFormed());
});

test("U+2028, U+2029 and U+0085 are escaped, whichever of them a text has", async () => {
  await using fixture = await openFixture(inProcess);
  const key = await fixture.key();
  const path = `/conversations/${await fixture.conversation(key)}/messages/stream`;
  for (const content of ["a\u2028b", "a\u2029b", "a\u0085b", "\u2028b\u2029c\u0085"]) {
    const text = await (await fixture.call("POST", path, key, { content })).text();
    assert.ok(!/[\u2028\u2029\u0085]/.test(text));
    assert.equal(textOf(parseEvents(text)), content);
  }
});

test("U+2028, U+2029 and U+0085 are escaped in an engine's progress, too", async () => {
  await using chat = await openChat(inProcess);
  const sending = chat.post("/messages/stream", { content: "Hi" });
  const run = await chat.engine.next();
  const progress = { stage: "a\u2028b", sources: ["\u2029", "\u0085"] };
  run.progress(progress);
  run.finish();
  const text = await (await sending).text();
  assert.ok(!/[\u2028\u2029\u0085]/.test(text));
  assert.deepEqual(parseEvents(text)[1]?.data, { type: "progress", progress });
});

/** A stream that has sent the acceptance, to be read as raw text; its engine writes nothing by itself. */
async function openSilentStream(chat: Chat) {
  const response = await chat.post("/messages/stream", { content: "Hi" });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(reader);
  const run = await chat.engine.next();
  assert.match(String((await reader.read()).value), /^id: 0\ndata: .*"accepted"/);
  return { reader, run };
}

test("a silent stream is kept alive every 5 s, before the first token too", async () => {
  await using chat = await openChat(inProcess);
  const { reader, run } = await openSilentStream(chat);
  for (const _ of [1, 2]) {
    const next = reader.read();
    await chat.clock.advance(5000);
    assert.equal((await next).value, ": keep-alive\n\n");
  }
  run.finish();
  assert.match(String((await reader.read()).value), /"complete"/);
  assert.equal((await reader.read()).done, true);
});

test("of reads that wait at the same time, each gets its piece", async () => {
  await using chat = await openChat(inProcess);
  const response = await chat.post("/messages/stream", { content: "Hi" });
  const run = await chat.engine.next();
  const reader = response.body?.getReader();
  assert.ok(reader);
  const reads = [reader.read(), reader.read(), reader.read()];
  const read = async () => new TextDecoder().decode((await reads.shift())?.value);
  assert.match(await read(), /"accepted"/);
  for (const word of ["first", "second"]) {
    run.write(word);
    assert.match(await read(), new RegExp(word));
  }
  run.finish();
});

test("silence is counted from the last text", async () => {
  await using chat = await openChat(inProcess);
  const { reader, run } = await openSilentStream(chat);
  await chat.clock.advance(3000);
  run.write("word");
  assert.match(String((await reader.read()).value), /"word"/);
  const next = reader.read();
  await chat.clock.advance(4999);
  run.write("another word");
  assert.match(String((await next).value), /^id: .*\n.*"another word"/);
  run.finish();
  assert.match(String((await reader.read()).value), /"complete"/);
});

test("a silent stream is kept alive when the machine's clock is set back", async () => {
  await using chat = await openChat(inProcess);
  const { reader, run } = await openSilentStream(chat);
  chat.clock.step(-3_600_000);
  for (const _ of [1, 2]) {
    const next = reader.read();
    await chat.clock.advance(5000);
    const late = new Promise<string>((resolve) => setImmediate(() => resolve("nothing")));
    assert.equal(await Promise.race([next.then(({ value }) => value), late]), ": keep-alive\n\n");
  }
  run.finish();
  assert.match(String((await reader.read()).value), /"complete"/);
});

test("a join that is never called back, as its worker has ended, is not the last one", async () => {
  await using chat = await openChat(inProcess);
  const { messageId, run } = await chat.begin();
  const url = `/api/v1/conversations/${chat.conversationId}/messages/${messageId}/stream`;
  const headers = new Headers({ "X-API-Key": chat.key });
  const { body } = await chat.service.answer({ method: "GET", url, headers, body: null });
  assert.ok(isEventStream(body));
  let joins = 0;
  const timers = { join: () => void joins++, watch: () => () => {} };
  const sender = new EventSender(body, () => ({ write: () => true, end() {}, cut() {} }), timers);
  for (let turn = 0; joins < 2 && turn < 100_000; turn++) {
    run.write("x");
    await new Promise(setImmediate);
  }
  assert.equal(joins, 2);
  sender.leave();
});

test("a sender that is notified of a keep-alive and leaves then and there leaves no timer behind", async () => {
  await using chat = await openChat(inProcess);
  const { messageId } = await chat.begin();
  const url = `/api/v1/conversations/${chat.conversationId}/messages/${messageId}/stream`;
  const headers = new Headers({ "X-API-Key": chat.key });
  const { body } = await chat.service.answer({ method: "GET", url, headers, body: null });
  assert.ok(isEventStream(body));
  const before = chat.clock.pending;
  new EventSender(body, (sender) => ({
    write(text) {
      if (text.startsWith(":")) sender.leave();
      return true;
    },
    end() {},
    cut() {},
  }));
  await chat.clock.advance(5000);
  assert.equal(chat.clock.pending, before);
});
