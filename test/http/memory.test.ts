/**
 * What requests hold in memory together: bodies that arrive, replies that run, answers that are not read.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { TwinClient } from "../../client/mod.ts";
import { createTwinList } from "../../core/mod.ts";
import { newMessages } from "../../core/replies/send.ts";
import { createMemoryStore } from "../../core/store/memory.ts";
import { newConversation } from "../../core/store/records.ts";
import { settle } from "../support/clock.ts";
import {
  assertErrorAnswer,
  closingInTime,
  type Fixture,
  inProcess,
  newTwin,
  openFixture,
  startOfTests,
  unlimited,
} from "../support/harness.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";

/** A completion whose history is as long as a body may be, about 4 MB. */
const longCompletion = {
  model: "ada",
  messages: [
    { role: "user", content: "x".repeat(4_100_000) },
    { role: "assistant", content: "yes" },
    { role: "user", content: "Go on." },
  ],
};

async function openSilent(): Promise<Fixture> {
  const fixture = await openFixture(inProcess, {
    twins: createTwinList([newTwin({ id: "ada", engine: "silent" })]),
    engines: { silent: createScriptedEngine() },
    openaiApi: createOpenAIApi(),
    limiter: unlimited,
  });
  return closingInTime(fixture);
}

function complete(fixture: Fixture, key: string, body: object = longCompletion): Promise<Response> {
  return fixture.service.fetch(
    new Request("http://twins.test/v1/chat/completions", {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

test("long bodies that wait for a model are refused from 64 MB of an owner on, and others are served", async () => {
  await using fixture = await openSilent();
  const [alice, bob] = [await fixture.key("full_access", "alice"), await fixture.key("full_access", "bob")];
  const refused: Response[] = [];
  for (let count = 0; count < 20; count++) void complete(fixture, alice).then((one) => refused.push(one));
  await settle();
  const first = refused[0] ?? assert.fail("nothing was refused");
  assert.equal(first.status, 503);
  assert.equal(first.headers.get("Retry-After"), "5");
  assert.ok(refused.length >= 15, `${refused.length} of 20 were refused`); // about 12 MB each while they arrive
  let answered = false;
  void complete(fixture, bob).then(() => {
    answered = true;
  });
  await settle();
  assert.ok(!answered); // it waits for the model
});

test("streamed or not, what a model was asked counts until its reply has ended", async () => {
  await using fixture = await openSilent();
  const key = await fixture.key("full_access");
  const streams: Response[] = [];
  for (let count = 0; count < 8; count++) {
    streams.push(await complete(fixture, key, { ...longCompletion, stream: true }));
  }
  const statuses = streams.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 5, statuses.join()); // about 12 MB each
  await Promise.all(streams.map((stream) => stream.body?.cancel()));
  await settle();
  const again = await complete(fixture, key, { ...longCompletion, stream: true });
  assert.equal(again.status, 200);
  await again.body?.cancel();
});

test("bodies that are on their way count as they arrive, and not as they are announced", async () => {
  await using fixture = await openFixture(inProcess, { openaiApi: createOpenAIApi(), limiter: unlimited });
  const key = await fixture.key("full_access");
  const begin = (bytes: number, headers: Record<string, string>) => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(bytes)) });
    const init = {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
      body,
      duplex: "half",
    };
    return fixture.service.fetch(new Request("http://twins.test/v1/chat/completions", init as RequestInit));
  };
  const refused: number[] = [];
  const note = ({ status }: Response) => refused.push(status);
  const announced: Promise<unknown>[] = [];
  for (let count = 0; count < 100; count++)
    announced.push(begin(1, { "Content-Length": "4000000" }).then(note));
  await settle();
  for (let count = 0; count < 20; count++) announced.push(begin(4_000_000, {}).then(note));
  await settle();
  assert.deepEqual(refused, Array(4).fill(503)); // 4 MB each
  await fixture.clock.advance(5_000);
  await settle();
  assert.equal(refused.filter((status) => status === 408).length, 100);
  await fixture.clock.advance(62_000);
  await Promise.all(announced);
  assert.equal(refused.filter((status) => status === 408).length, 116);
});

/** A service with a conversation of two messages of this length. */
async function openLong(length: number) {
  const store = createMemoryStore();
  const owner = "alice";
  const conversation = newConversation(
    { id: "conv_long", owner, twinId: "echo", endUser: null, title: null },
    startOfTests,
  );
  await store.createConversation(conversation);
  const { question, reply } = newMessages(
    { conversationId: conversation.id, content: "x".repeat(length), twinRevision: null, seq: 0, after: null },
    { question: "msg_question", reply: "msg_reply" },
    startOfTests,
  );
  await store.beginReply({ owner, question, reply, lease: { holder: "test", until: startOfTests } });
  await store.endReply({
    owner,
    conversationId: conversation.id,
    id: reply.id,
    status: "completed",
    finishReason: "stop",
    usage: null,
    error: null,
    completedAt: startOfTests,
    content: "y".repeat(length),
  });
  return closingInTime(await openFixture(inProcess, { store, limiter: unlimited }));
}

test("answers that are not read count, until they are read or given up", async () => {
  await using fixture = await openLong(4_000_000);
  const key = await fixture.key("read_only");
  const get = () =>
    fixture.service.fetch(
      new Request("http://twins.test/api/v1/conversations/conv_long/messages?limit=2", {
        headers: { Authorization: `Bearer ${key}` },
      }),
    );
  const unread: Response[] = [];
  for (let count = 0; count < 8; count++) unread.push(await get());
  const statuses = unread.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 3, statuses.join()); // 24 MB each
  const whole = await unread[0]?.json();
  assert.equal(whole.data[1].content, "y".repeat(4_000_000));
  const again = await get();
  assert.equal(again.status, 200);
  await assertErrorAnswer(await get(), 503, "unavailable");
  await Promise.all([...unread.slice(1), again].map((one) => one.body?.cancel()));
  assert.equal((await get()).status, 200);
});

test("followers of an ended reply share its text", async () => {
  await using fixture = await openLong(4_000_000);
  const key = await fixture.key("read_only");
  const streams: Response[] = [];
  for (let count = 0; count < 60; count++) {
    streams.push(
      await fixture.service.fetch(
        new Request("http://twins.test/api/v1/conversations/conv_long/messages/msg_reply/stream", {
          headers: { Authorization: `Bearer ${key}` },
        }),
      ),
    );
  }
  assert.ok(streams.every(({ status }) => status === 200));
  await Promise.all(streams.map((one) => one.body?.cancel()));
});

test("a page of long messages ends earlier, and says how many there are", async () => {
  await using fixture = await openLong(5_000_000);
  const key = await fixture.key("read_only");
  const get = async (query: string) =>
    (await fixture.call("GET", `/conversations/conv_long/messages?${query}`, key)).json();
  const first = await get("limit=100");
  assert.deepEqual(first.data.length, 1);
  assert.deepEqual(first.pagination, { page: 1, limit: 1, total: 2, totalPages: 1, hasMore: true });
  const rest = await get(`limit=100&after=${first.data[0].id}`);
  assert.equal(rest.data[0].content, "y".repeat(5_000_000));
  assert.deepEqual(rest.pagination, { page: 1, limit: 100, total: 1, totalPages: 1, hasMore: false });
});

test("the client goes on behind a page that ended earlier", async () => {
  await using fixture = await openLong(5_000_000);
  const client = new TwinClient({
    baseUrl: "http://twins.test",
    apiKey: await fixture.key("read_only"),
    fetch: (input, init) => fixture.service.fetch(new Request(input, init)),
  });
  const ids: string[] = [];
  for await (const { id } of client.messages.list("conv_long")) ids.push(id);
  assert.deepEqual(ids, ["msg_question", "msg_reply"]);
});
