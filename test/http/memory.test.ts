/**
 * What requests hold in memory together: bodies that arrive, replies that run, answers that are not read.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMcpApi } from "../../adapters/mcp-clients/mod.ts";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { TwinClient } from "../../client/mod.ts";
import { createTwinList, type TwinEngine } from "../../core/mod.ts";
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
import { until } from "../support/until.ts";

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
  await until("15 of 20 were refused", 60_000, () => refused.length >= 15); // about 12 MB each while they arrive
  const first = refused[0] ?? assert.fail("nothing was refused");
  assert.equal(first.status, 503);
  assert.equal(first.headers.get("Retry-After"), "5");
  const served = await complete(fixture, bob, { ...longCompletion, stream: true });
  assert.equal(served.status, 200);
  await served.body?.cancel();
});

for (const [name, length] of [
  ["64 KiB", 64 * 1024],
  ["4 MB", 4_100_000],
] as const) {
  test(`bodies of ${name} are read one at a time, and owners take turns`, async () => {
    await using fixture = await openSilent();
    const [alice, bob] = [await fixture.key("full_access", "alice"), await fixture.key("full_access", "bob")];
    const answered: string[] = [];
    const keys = [alice, alice, alice, alice, bob];
    const messages = [{ role: "user", content: "x".repeat(length) }, ...longCompletion.messages.slice(1)];
    const statuses = await Promise.all(
      keys.map(async (key) => {
        const { status } = await complete(fixture, key, { model: "nobody", messages });
        answered.push(key === bob ? "bob" : "alice");
        return status;
      }),
    );
    assert.deepEqual(statuses, Array(5).fill(404));
    assert.deepEqual(answered, ["alice", "alice", "bob", "alice", "alice"]);
  });
}

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

/** A credential of a person behind a key. */
async function tokenOf(fixture: Fixture, key: string, endUser: string): Promise<string> {
  const answer = await fixture.call("POST", "/client-tokens", key, { endUser });
  return (await answer.json()).data.token;
}

test("an end user has 16 MB of the owner's 64, enough for the longest body, and the others are served", async () => {
  await using fixture = await openSilent();
  const key = await fixture.key("full_access");
  const [eve, ann] = [await tokenOf(fixture, key, "eve"), await tokenOf(fixture, key, "ann")];
  const streamed = { ...longCompletion, stream: true };
  const first = await complete(fixture, eve, streamed);
  assert.equal(first.status, 200);
  assert.equal((await complete(fixture, eve, streamed)).status, 503);
  const others = [await complete(fixture, ann, streamed), await complete(fixture, key, streamed)];
  assert.deepEqual(
    others.map(({ status }) => status),
    [200, 200],
  );
  await Promise.all([first, ...others].map((one) => one.body?.cancel()));
  await settle();
  const again = await complete(fixture, eve, streamed);
  assert.equal(again.status, 200);
  await again.body?.cancel();
});

test("what an engine holds counts until it gives it back, or its reply ends", async () => {
  const mebi = 1024 * 1024;
  let held: boolean[] = [];
  const engine: TwinEngine = {
    async reply(_, output) {
      held = [10, 10, -5, 10, 60].map((mebis) => output.hold(mebis * mebi));
      return { finishReason: "stop", usage: null };
    },
  };
  await using fixture = await openFixture(inProcess, {
    twins: createTwinList([newTwin({ id: "ada", engine: "holding" })]),
    engines: { holding: engine },
  });
  const token = await tokenOf(fixture, await fixture.key("full_access"), "ann");
  const id = await fixture.conversation(token, "ada");
  for (let sent = 0; sent < 2; sent++) {
    const answer = await fixture.call("POST", `/conversations/${id}/messages`, token, { content: "Hi" });
    assert.equal(answer.status, 200);
    assert.deepEqual(held, [true, false, true, true, false]);
  }
});

test("a reply that becomes too long ends there, with what was written", async () => {
  const written = "x".repeat(1024 * 1024);
  const engine: TwinEngine = {
    async reply(_, output) {
      for (let count = 0; count < 10; count++) output.write(written);
      return { finishReason: "stop", usage: null };
    },
  };
  await using fixture = await openFixture(inProcess, {
    twins: createTwinList([newTwin({ id: "ada", engine: "endless" })]),
    engines: { endless: engine },
  });
  const key = await fixture.key("full_access");
  const id = await fixture.conversation(key, "ada");
  const answer = await fixture.call("POST", `/conversations/${id}/messages`, key, { content: "Hi" });
  const { data } = await answer.json();
  assert.deepEqual(
    [data.status, data.finishReason, data.content.length],
    ["completed", "length", 4 * 1024 * 1024],
  );
});

test("streams of a conversation that nobody reads count, and those of others go on", async () => {
  await using fixture = await openFixture(inProcess, { limiter: unlimited, openaiApi: createOpenAIApi() });
  const key = await fixture.key("full_access");
  const [eve, ann] = [await tokenOf(fixture, key, "eve"), await tokenOf(fixture, key, "ann")];
  const get = (token: string, path: string) =>
    fixture.service.fetch(
      new Request(`http://twins.test/api/v1/conversations${path}`, {
        headers: { Authorization: `Bearer ${token}` },
      }),
    );
  const talk = async (token: string) => {
    const body = { model: "echo", messages: [{ role: "user", content: "\u0001".repeat(131_072) }] };
    const request = new Request("http://twins.test/v1/chat/completions", {
      method: "POST",
      headers: {
        Authorization: `Bearer ${token}`,
        "Content-Type": "application/json",
        "X-Conversation-Id": "a",
      },
      body: JSON.stringify(body),
    });
    assert.equal((await fixture.service.fetch(request)).status, 200);
    const { data } = await (await get(token, "")).json();
    return String(data[0].id);
  };
  const [evil, good] = [await talk(eve), await talk(ann)];
  const unread: Response[] = [];
  for (let count = 0; count < 30; count++) {
    const stream = await get(eve, `/${evil}/stream?after=0.0`);
    unread.push(stream);
    if (stream.status !== 200) continue;
    const reader = stream.body?.getReader();
    for (let piece = 0; piece < 2; piece++) await reader?.read(); // the second one is a message
  }
  const statuses = unread.map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)], [200, 503]);
  const isOpen = statuses.filter((status) => status === 200).length;
  assert.equal(isOpen, 9); // 1.8 MB each, of 16 MiB: a text of 0.26, and 0.39 of JSON as a text, a chunk, and bytes
  assert.equal((await get(eve, `/${evil}/messages`)).status, 503);
  assert.equal((await get(ann, `/${good}/messages`)).status, 200);
  await fixture.clock.advance(60_000); // who takes nothing is cut
  await settle();
  const again = await get(eve, `/${evil}/messages`);
  assert.equal((await again.json()).data.length, 2);
});

/** A service with a conversation of two messages of this length. */
async function openLong(length: number, endUser: string | null = null) {
  const store = createMemoryStore();
  const owner = "alice";
  const conversation = newConversation(
    { id: "conv_long", owner, twinId: "echo", endUser, title: null },
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
  return closingInTime(
    await openFixture(inProcess, { store, limiter: unlimited, openaiApi: createOpenAIApi() }),
  );
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
  assert.equal(statuses.filter((status) => status === 200).length, 4, statuses.join()); // 16 MB each
  const whole = await unread[0]?.json();
  assert.equal(whole.data[1].content, "y".repeat(4_000_000));
  const again = await get();
  assert.equal(again.status, 200);
  await assertErrorAnswer(await get(), 503, "unavailable");
  await Promise.all([...unread.slice(1), again].map((one) => one.body?.cancel()));
  assert.equal((await get()).status, 200);
});

test("lists of conversations that are not read count with their metadata", async () => {
  const store = createMemoryStore();
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`${n}`, "𠀋".repeat(512)]));
  for (let count = 0; count < 100; count++) {
    const fields = { id: `conv_${count}`, owner: "alice", twinId: "echo", endUser: "ann", title: null };
    await store.createConversation(newConversation({ ...fields, metadata }, startOfTests), undefined);
  }
  await using fixture = await openFixture(inProcess, { store, limiter: unlimited });
  const token = await tokenOf(fixture, await fixture.key("full_access"), "ann");
  const headers = { Authorization: `Bearer ${token}` };
  const list = new Request("http://twins.test/api/v1/conversations?limit=100", { headers });
  const get = () => fixture.service.fetch(list.clone());
  const unread: Response[] = [];
  for (let count = 0; count < 6; count++) unread.push(await get());
  const statuses = unread.map(({ status }) => status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 503]); // 3.3 MB each, of 16 MiB
  await Promise.all(unread.map((one) => one.body?.cancel()));
  assert.equal((await get()).status, 200);
});

for (const [what, path] of [
  ["of an ended reply that is cancelled", "/api/v1/conversations/conv_long/messages/msg_reply/cancel"],
  ["of an ended response that is cancelled", "/v1/responses/resp_reply/cancel"],
] as const) {
  test(`answers ${what} and are not read count, and are refused beyond`, async () => {
    await using fixture = await openLong(4_000_000);
    const key = await fixture.key("full_access");
    const statuses: number[] = [];
    for (let count = 0; count < 12; count++) {
      const { status } = await fixture.service.fetch(
        new Request(`http://twins.test${path}`, {
          method: "POST",
          headers: { Authorization: `Bearer ${key}` },
        }),
      );
      statuses.push(status);
    }
    assert.deepEqual([...new Set(statuses)], [200, 503], statuses.join());
  });
}

test("exports that are not read count what they have read, and each is whole in the end", async () => {
  await using fixture = await openLong(2_000_000, "ann");
  const key = await fixture.key("full_access");
  const get = (path: string) =>
    fixture.service.fetch(
      new Request(`http://twins.test/api/v1${path}`, { headers: { Authorization: `Bearer ${key}` } }),
    );
  const decoder = new TextDecoder();
  const readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
  for (let count = 0; count < 20; count++)
    readers.push((await get("/end-users/ann/export")).body?.getReader() ?? assert.fail());
  const begun = readers.map((reader) => reader.read());
  const list = () => get("/conversations/conv_long/messages");
  let answer = await list();
  for (let turn = 0; turn < 1_000 && answer.status === 200; turn++) {
    await answer.body?.cancel();
    await settle();
    answer = await list();
  }
  await assertErrorAnswer(answer, 503, "unavailable");
  let isRead = false;
  const reading = readers.map(async (reader, at) => {
    let text = "";
    for (let next = await begun[at]; next && !next.done; next = await reader.read())
      text += decoder.decode(next.value);
    assert.equal(text.trimEnd().split("\n").length, 3);
  });
  const all = Promise.all(reading).finally(() => {
    isRead = true;
  });
  while (!isRead) {
    await settle();
    await fixture.clock.advance(500); // those that wait look again whether there is memory for them
  }
  await all;
  assert.equal((await list()).status, 200);
});

test("exports that are not read hold what they have read and no more, which leaves room for others", async () => {
  await using fixture = await openLong(400_000, "ann");
  const key = await fixture.key("full_access");
  const get = (path: string) =>
    fixture.service.fetch(
      new Request(`http://twins.test/api/v1${path}`, { headers: { Authorization: `Bearer ${key}` } }),
    );
  const exports = await Promise.all(Array.from({ length: 20 }, () => get("/end-users/ann/export")));
  const begun = exports.map(({ body }) => body?.getReader().read());
  for (let turn = 0; turn < 20; turn++) {
    await settle();
    await fixture.clock.advance(500);
  }
  await Promise.all(begun);
  assert.equal((await get("/conversations/conv_long/messages")).status, 200);
});

test("a long list of twins is made as its client takes it, or counts", async () => {
  const description = "Much is said in few words. ".repeat(40);
  const twins = Array.from({ length: 1_000 }, (_, n) => newTwin({ id: `twin-${n}`, description }));
  await using fixture = await closingInTime(
    await openFixture(inProcess, {
      twins: createTwinList(twins),
      openaiApi: createOpenAIApi(),
      mcpApi: createMcpApi(),
      limiter: unlimited,
    }),
  );
  const key = await fixture.key("full_access");
  const ask = (path: string, body?: object) =>
    fixture.service.fetch(
      new Request(`http://twins.test${path}`, {
        method: body ? "POST" : "GET",
        headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
  const unread: Response[] = [];
  for (let count = 0; count < 100; count++) unread.push(await ask("/v1/models"));
  assert.deepEqual([...new Set(unread.map(({ status }) => status))], [200]);
  const { data } = await (unread[99] as Response).json();
  assert.deepEqual([data.length, data[0].description], [1_000, description]);
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_twins" } };
  for (let count = 0; count < 40; count++) unread.push(await ask("/mcp", call));
  const last = await (await ask("/mcp", call)).text();
  assert.match(last, /Too much is being sent and read at once/);
});

test("who reads the OpenAPI document shares its bytes, and holds nothing", async () => {
  await using fixture = await openFixture(inProcess);
  const get = () => fixture.service.fetch(new Request("http://twins.test/api/v1/openapi.json"));
  const unread = await Promise.all(Array.from({ length: 200 }, get));
  assert.deepEqual([...new Set(unread.map(({ status }) => status))], [200]);
  assert.equal((await unread[0]?.json())?.openapi, "3.1.0");
  await Promise.all(unread.slice(1).map((one) => one.body?.cancel()));
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
  assert.deepEqual(first.pagination, { page: 1, limit: 1, total: 2, totalPages: 2, hasMore: true });
  const rest = await get(`limit=100&after=${first.data[0].id}`);
  assert.equal(rest.data[0].content, "y".repeat(5_000_000));
  assert.deepEqual(rest.pagination, { page: 1, limit: 100, total: 1, totalPages: 1, hasMore: false });
});

test("pages that ended earlier say which they are, so that the ones behind them have the rest", async () => {
  const store = createMemoryStore();
  const owner = "alice";
  const made = { id: "conv_long", owner, twinId: "echo", endUser: null, title: null };
  await store.createConversation(newConversation(made, startOfTests));
  const content = "x".repeat(3_000_000); // two are a page
  for (let seq = 0, after: string | null = null; seq < 6; seq++) {
    const fields = { conversationId: made.id, content, twinRevision: null, seq, after };
    const { question } = newMessages(fields, { question: `msg_${seq}`, reply: "" }, startOfTests);
    await store.addMessage({ owner, message: { ...question, alone: true } });
    after = question.id;
  }
  await using fixture = closingInTime(await openFixture(inProcess, { store, limiter: unlimited }));
  const key = await fixture.key("read_only");
  for (const [first, ids, pages] of [
    [
      "",
      "012345",
      [
        [1, 2, 3],
        [2, 2, 3],
        [3, 2, 3],
      ],
    ],
    [
      "page=2&limit=3",
      "345",
      [
        [4, 1, 6],
        [5, 1, 6],
        [6, 1, 6],
      ],
    ],
    ["page=2", "", [[2, 20, 1]]],
  ] as const) {
    const seen: number[][] = [];
    let read = "";
    for (let query = first as string, hasMore = true; hasMore; ) {
      const answer = await fixture.call("GET", `/conversations/conv_long/messages?${query}`, key);
      const { data, pagination } = await answer.json();
      const { page, limit, totalPages } = pagination;
      read += data.map(({ id }: { id: string }) => id.slice(-1)).join("");
      seen.push([page, limit, totalPages]);
      query = `page=${page + 1}&limit=${limit}`;
      hasMore = pagination.hasMore;
    }
    assert.deepEqual([read, seen], [ids, pages], first);
  }
});

test("a page ends where its end user may hold no more, and goes on behind that", async () => {
  await using fixture = await openLong(4_194_304, "eve");
  const key = await fixture.key("full_access");
  const { data } = await (await fixture.call("POST", "/client-tokens", key, { endUser: "eve" })).json();
  const get = async (query: string) =>
    (await fixture.call("GET", `/conversations/conv_long/messages?${query}`, data.token)).json();
  const first = await get("limit=100");
  assert.deepEqual([first.data.length, first.pagination.hasMore], [1, true]);
  const rest = await get(`limit=100&after=${first.data[0].id}`);
  assert.deepEqual([rest.data.length, rest.pagination.hasMore], [1, false]);
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
