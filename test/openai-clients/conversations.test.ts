/**
 * `/v1/conversations`, the input of responses, responses that are deleted or not stored.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { IdempotencyClaim } from "../../core/store/records.ts";
import type { Store } from "../../core/store/store.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { readConversation } from "../support/event-reader.ts";
import { dataOf, inProcess, jsonRequest } from "../support/harness.ts";
import { assertParam, type OpenAIFixture, openOpenAI, readData, startSeconds } from "./fixture.ts";

interface Item {
  readonly id: string;
  readonly role: string;
  readonly status: string;
  readonly content: readonly { readonly type: string; readonly text: string }[];
}

interface ItemList {
  readonly object: string;
  readonly data: readonly Item[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

interface Conversation {
  readonly id: string;
  readonly metadata: unknown;
}

interface ResponseBody {
  readonly id: string;
  readonly store: boolean;
  readonly conversation: { readonly id: string } | null;
  readonly output: readonly Item[];
}

async function read<Body>(answered: Promise<Response>, status = 200): Promise<Body> {
  const response = await answered;
  assert.equal(response.status, status);
  return (await response.json()) as Body;
}

const begin = (api: OpenAIFixture, body: object = {}, headers?: HeadersInit) =>
  read<Conversation>(api.send("POST", "/conversations", body, headers));
const respond = (api: OpenAIFixture, body: object = {}) =>
  api.send("POST", "/responses", { model: "echo", input: "Hello?", ...body });
const itemsOf = (api: OpenAIFixture, id: string, query = "") =>
  read<ItemList>(api.send("GET", `/conversations/${id}/items${query}`));
const textsOf = ({ data }: ItemList) => data.map(({ role, content }) => [role, content[0]?.text]);
const conversation = async (api: OpenAIFixture, id: string) =>
  dataOf<ConversationResource>(await api.fixture.call("GET", `/conversations/${id}`, api.key));

const user = (content: unknown) => ({ type: "message", role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });

describe("/v1/conversations", { timeout: 300_000 }, () => {
  test("a conversation is begun, with and without a body, read, changed and deleted", async () => {
    await using api = await openOpenAI(inProcess);
    const { authorization } = jsonRequest(api.key).headers as { authorization: string };
    const bare = new Request("http://twins.test/v1/conversations", {
      method: "POST",
      headers: { authorization },
    });
    const empty = (await (await api.fixture.service.fetch(bare)).json()) as Conversation;
    assert.deepEqual(empty.metadata, {});
    const metadata = { topic: "boats" };
    const begun = await begin(api, { metadata, unknown: 1, items: null });
    assert.deepEqual(begun, { id: begun.id, object: "conversation", created_at: startSeconds, metadata });
    assert.match(begun.id, /^conv_/);
    const path = `/conversations/${begun.id}`;
    assert.deepEqual(await read(api.send("GET", path)), begun);
    const changed = { ...begun, metadata: { topic: "tents" } };
    assert.deepEqual(await read(api.send("POST", path, { metadata: changed.metadata })), changed);
    assert.deepEqual((await conversation(api, begun.id)).metadata, changed.metadata);
    assert.deepEqual(await read(api.send("POST", path, { metadata: null })), { ...begun, metadata: {} });
    const deleted = { id: begun.id, object: "conversation.deleted", deleted: true };
    assert.deepEqual(await read(api.send("DELETE", path)), deleted);
    for (const method of ["GET", "DELETE"]) await assertParam(api.send(method, path), 404, null);
    await assertParam(api.send("POST", path, { metadata }), 404, null);
  });

  test("a conversation has no twin until its first response, and then no other", async () => {
    await using api = await openOpenAI(inProcess);
    const { id } = await begin(api);
    assert.equal((await conversation(api, id)).twinId, null);
    const send = (content: string) =>
      api.fixture.call("POST", `/conversations/${id}/messages`, api.key, { content });
    assert.equal((await send("Hello?")).status, 404);
    await read(respond(api, { conversation: id }));
    assert.equal((await conversation(api, id)).twinId, "echo");
    await assertParam(respond(api, { conversation: { id }, model: "ada" }), 400, "conversation");
    await read(respond(api, { conversation: { id }, input: "And?" }));
    assert.equal((await send("Here, too?")).status, 200);
    const of = (query: string) =>
      api.fixture.call("GET", `/conversations?${query}`, api.key).then((list) => dataOf<object[]>(list));
    assert.equal((await of("twinId=echo")).length, 1);
    const texts = ["Hello?", "And?", "Here, too?"].flatMap((text) => [
      ["user", text],
      ["assistant", text],
    ]);
    assert.deepEqual(textsOf(await itemsOf(api, id, "?order=asc")), texts);
  });

  test("a first response that is refused chooses no twin", async () => {
    await using api = await openOpenAI(inProcess, { maxRunningReplies: 1 });
    const { id } = await begin(api);
    const running = api.chat();
    const run = await api.engine.next();
    assert.equal((await respond(api, { conversation: id, model: "ada" })).status, 429);
    run.finish();
    await running;
    const path = `/conversations/${id}`;
    await api.fixture.call("PATCH", path, api.key, { answeredBy: "person" });
    assert.equal((await respond(api, { conversation: id, model: "ada" })).status, 409);
    await api.fixture.call("PATCH", path, api.key, { answeredBy: "twin" });
    assert.equal((await conversation(api, id)).twinId, null);
    await read(respond(api, { conversation: id }));
    assert.equal((await conversation(api, id)).twinId, "echo");
  });

  test("two first responses at once, by two models, choose one twin", async () => {
    await using api = await openOpenAI(inProcess);
    const { id } = await begin(api);
    const both = ["echo", "ada"].map((model) => respond(api, { model, conversation: id, background: true }));
    const statuses = (await Promise.all(both)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [200, 400]);
  });

  test("items are what is said, and questions without a reply, which the twin then knows", async () => {
    await using api = await openOpenAI(inProcess);
    const { id } = await begin(api, { items: [user("I am Ada."), assistant("Hello, Ada.")] });
    const posted = await read<ItemList>(
      api.send("POST", `/conversations/${id}/items?include=file_search_call.results`, {
        items: [
          { role: "developer", content: "Be a pirate." },
          user([
            { type: "input_text", text: "I have " },
            { type: "input_text", text: "a boat." },
          ]),
          { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
          assistant([{ type: "output_text", text: "Noted.", annotations: [] }]),
        ],
      }),
    );
    assert.deepEqual(textsOf(posted), [
      ["user", "I have a boat."],
      ["assistant", "Noted."],
    ]);
    const [question, said] = posted.data;
    assert.deepEqual([posted.first_id, posted.last_id, posted.has_more], [question?.id, said?.id, false]);
    assert.deepEqual(question, {
      id: question?.id,
      type: "message",
      status: "completed",
      role: "user",
      content: [{ type: "input_text", text: "I have a boat." }],
    });
    assert.deepEqual(said?.content, [{ type: "output_text", text: "Noted.", annotations: [], logprobs: [] }]);
    const asked = respond(api, { model: "ada", conversation: id, input: "Who am I?" });
    const run = await api.engine.next();
    assert.deepEqual(
      run.turn.history.map(({ content }) => content),
      ["I am Ada.", "Hello, Ada.", "I have a boat.", "Noted."],
    );
    run.finish();
    await asked;
    const path = `/conversations/${id}/items/${said?.id}`;
    assert.deepEqual(await read(api.send("GET", path)), said);
    await assertParam(api.send("DELETE", path), 400, "item_id");
    assert.deepEqual(await read(api.send("GET", path)), said);
    for (const method of ["GET", "DELETE"]) {
      await assertParam(api.send(method, `/conversations/${id}/items/msg_0`), 404, null);
      await assertParam(api.send(method, `/conversations/conv_0/items/${said?.id}`), 404, null);
    }
    const [, message] = await api.messages();
    assert.equal(message?.finishReason, "stop");
    const { items } = { items: [user("?")] };
    await assertParam(api.send("POST", "/conversations/conv_0/items", { items }), 404, null);
  });

  test("items are listed newest first, a page at a time, from behind any of them", async () => {
    await using api = await openOpenAI(inProcess);
    const words = Array.from({ length: 20 }, (_, n) => `${n}`);
    const { id } = await begin(api, { items: words.map(user) });
    await api.send("POST", `/conversations/${id}/items`, { items: [user("20"), user("21")] });
    const list = async (query: string) => {
      const { data, first_id: first, last_id: last, has_more: more, object } = await itemsOf(api, id, query);
      assert.deepEqual([object, first, last], ["list", data[0]?.id ?? null, data.at(-1)?.id ?? null]);
      return { texts: data.map(({ content }) => content[0]?.text), last, more };
    };
    const newest = await list("");
    assert.deepEqual(newest.texts, [...words, "20", "21"].reverse().slice(0, 20));
    assert.equal(newest.more, true);
    const rest = await list(`?after=${newest.last}`);
    assert.deepEqual([rest.texts, rest.more], [["1", "0"], false]);
    const two = await list("?order=asc&limit=2");
    assert.deepEqual([two.texts, two.more], [["0", "1"], true]);
    assert.deepEqual((await list(`?order=asc&limit=100&after=${two.last}`)).texts.length, 20);
    assert.deepEqual(await list(`?after=${rest.last}`), { texts: [], last: null, more: false });
    for (const query of ["limit=0", "limit=101", "limit=1&limit=2", "order=up", "after="]) {
      const [param = null] = query.split("=");
      await assertParam(api.send("GET", `/conversations/${id}/items?${query}`), 400, param);
    }
    await assertParam(api.send("GET", `/conversations/${id}/items?after=msg_0`), 404, null);
    await assertParam(api.send("GET", "/conversations/conv_0/items"), 404, null);
  });

  test("what is no item in text, too much, or no metadata, is refused, and nothing is stored", async () => {
    await using api = await openOpenAI(inProcess, {}, { maxMessageCharacters: 10 });
    const refused: readonly [object, string][] = [
      [{ items: "text" }, "items"],
      [{ items: Array.from({ length: 21 }, () => user("1")) }, "items"],
      [{ items: [user("1"), "text"] }, "items[1]"],
      [{ items: [user("1"), { role: "critic", content: "1" }] }, "items[1].role"],
      [{ items: [user([{ type: "input_image" }])] }, "items[0].content[0]"],
      [
        { items: [assistant([{ type: "output_text", text: "1" }, { type: "output_audio" }])] },
        "items[0].content[1]",
      ],
      [{ items: [user(" ")] }, "items[0].content"],
      [{ items: [user("12345678901")] }, "items[0].content"],
      [{ items: [{ type: "item_reference", id: "msg_1" }] }, "items[0]"],
      [{ metadata: { topic: 1 } }, "metadata"],
      [{ metadata: "topic" }, "metadata"],
    ];
    for (const [body, param] of refused)
      await assertParam(api.send("POST", "/conversations", body), 400, param);
    assert.deepEqual(await api.conversations(), []);
    const { id } = await begin(api);
    await assertParam(api.send("POST", `/conversations/${id}`, {}), 400, "metadata");
    for (const items of [undefined, [], [{ role: "system", content: "Be brief." }]])
      await assertParam(api.send("POST", `/conversations/${id}/items`, { items }), 400, "items");
    assert.deepEqual((await itemsOf(api, id)).data, []);
    const text = { method: "POST", headers: { authorization: `Bearer ${api.key}` }, body: "{}" };
    const untyped = new Request("http://twins.test/v1/conversations", text);
    untyped.headers.delete("content-type");
    assert.equal((await api.fixture.service.fetch(untyped)).status, 415);
  });

  test("what repeats items by an Idempotency-Key is forgotten with their conversation", async () => {
    const store = createMemoryStore();
    const claims: IdempotencyClaim[] = [];
    await using api = await openOpenAI(inProcess, {
      store: {
        ...store,
        addMessage(add) {
          if (add.claim) claims.push(add.claim);
          return store.addMessage(add);
        },
      },
    });
    const { id } = await begin(api, {}, { "x-end-user": "ann" });
    const body = { items: [user("One."), assistant("Two.")] };
    await read(api.send("POST", `/conversations/${id}/items`, body, { "idempotency-key": "ann 1" }));
    const made = async () => {
      const found = await Promise.all(claims.map((claim) => store.findClaim(claim)));
      return new Set(found.map((claim) => claim?.resourceId));
    };
    assert.equal((await made()).size, 2);
    await api.fixture.call("DELETE", "/end-users/ann", api.key);
    assert.deepEqual(await made(), new Set([undefined]));
  });

  test("of a conversation whose items are refused, as while the service closes, nothing is stored", async () => {
    await using api = await openOpenAI(inProcess);
    const running = api.chat();
    const run = await api.engine.next();
    const closing = api.fixture.service.close({ graceMs: 10_000 });
    const body = { items: [user("One."), assistant("Two.")] };
    assert.equal((await api.send("POST", "/conversations", body)).status, 503);
    assert.deepEqual(await api.conversations(), []);
    run.finish();
    await Promise.all([running, closing]);
  });

  test("a repeated request with an Idempotency-Key has one effect", async () => {
    await using api = await openOpenAI(inProcess);
    const once = { "Idempotency-Key": "once" };
    const body = { items: [user("One."), assistant("Two.")] };
    const metadata = { a: "1", b: "2" };
    const first = await begin(api, { ...body, metadata }, once);
    assert.deepEqual(await begin(api, { metadata: { b: "2", a: "1" }, other: 1, ...body }, once), first);
    await assertParam(api.send("POST", "/conversations", { items: [user("Three.")] }, once), 422, null);
    const path = `/conversations/${first.id}/items`;
    const more = { items: [user("Three.")] };
    const added = await read(api.send("POST", path, more, { "Idempotency-Key": "more" }));
    assert.deepEqual(await read(api.send("POST", path, more, { "Idempotency-Key": "more" })), added);
    assert.deepEqual(textsOf(await itemsOf(api, first.id, "?order=asc")), [
      ["user", "One."],
      ["assistant", "Two."],
      ["user", "Three."],
    ]);
    assert.equal((await api.conversations()).length, 1);
  });

  test("an end user has conversations of its own, and stores nothing without a reply", async () => {
    await using api = await openOpenAI(inProcess);
    const body = { endUser: "zoe", twinIds: ["echo"] };
    const made = await api.fixture.call("POST", "/client-tokens", api.key, body);
    const zoe = { authorization: `Bearer ${(await dataOf<{ token: string }>(made)).token}` };
    const { id } = await begin(api, {}, zoe);
    assert.equal((await conversation(api, id)).endUser, "zoe");
    const own = await read<{ data: { id: string }[] }>(
      api.fixture.call("GET", "/conversations", zoe.authorization.slice(7)),
    );
    assert.deepEqual(
      own.data.map((one) => one.id),
      [id],
    );
    for (const path of ["/conversations", `/conversations/${id}/items`])
      await assertParam(api.send("POST", path, { items: [user("Hello?")] }, zoe), 403, null);
    await read(api.send("POST", "/responses", { model: "echo", input: "Hello?", conversation: id }, zoe));
    const ann = await begin(api, {}, { "X-End-User": "ann" });
    assert.equal((await conversation(api, ann.id)).endUser, "ann");
    await assertParam(api.send("GET", `/conversations/${ann.id}`, undefined, zoe), 404, null);
    const reader = { authorization: `Bearer ${await api.fixture.key("read_only")}` };
    await read(api.send("GET", `/conversations/${ann.id}/items`, undefined, reader));
    await assertParam(api.send("POST", "/conversations", {}, reader), 403, null);
  });
});

test("a client token's stream ends where the conversation's first response has a twin that is not the token's", async () => {
  await using api = await openOpenAI(inProcess);
  const body = { endUser: "zoe", twinIds: ["ada"] };
  const made = await api.fixture.call("POST", "/client-tokens", api.key, body);
  const { token } = await dataOf<{ token: string }>(made);
  for (const [model, told] of [
    ["ada", ["conversation", "message", "message", "delta", "complete"]],
    ["echo", ["conversation"]],
  ] as const) {
    const { id } = await begin(api, {}, { "X-End-User": "zoe" });
    const path = `/conversations/${id}/stream`;
    const stream = readConversation(await api.fixture.call("GET", path, token));
    const asked = api.send("POST", "/responses", { model, input: "Hello?", conversation: id, user: "zoe" });
    if (model === "ada") {
      const run = await api.engine.next();
      run.write("Hello!");
      run.finish();
    }
    await read(asked);
    const events = model === "ada" ? await stream.until("complete") : await stream.rest();
    assert.deepEqual(
      events.map(({ data }) => data.type),
      told,
    );
    await stream.leave();
  }
});

/** A store that deletes a conversation once something else was done. */
function deletingAfter(meanwhile: () => unknown): Store {
  const store = createMemoryStore();
  const { deleteConversation } = store;
  store.deleteConversation = async (...given) => {
    await meanwhile();
    return deleteConversation(...given);
  };
  return store;
}

describe("a response", { timeout: 300_000 }, () => {
  test("lists what it was asked", async () => {
    await using api = await openOpenAI(inProcess);
    const { id } = await read<ResponseBody>(
      respond(api, { input: [user("One?"), assistant("One."), user("Two?")] }),
    );
    const list = await read<ItemList>(api.send("GET", `/responses/${id}/input_items`));
    assert.deepEqual(textsOf(list), [["user", "Two?"]]);
    assert.deepEqual(
      [list.first_id, list.last_id, list.has_more],
      [list.data[0]?.id, list.data[0]?.id, false],
    );
    const behind = await read<ItemList>(
      api.send("GET", `/responses/${id}/input_items?after=${list.last_id}&order=asc`),
    );
    assert.deepEqual(behind.data, []);
    for (const path of ["resp_0/input_items", `${id}/input_items?after=msg_0`])
      await assertParam(api.send("GET", `/responses/${path}`), 404, null);
  });

  test("is deleted with its conversation, but not from among others", async () => {
    await using api = await openOpenAI(inProcess);
    const { id } = await read<ResponseBody>(respond(api));
    const deleted = { id, object: "response", deleted: true };
    assert.deepEqual(await read(api.send("DELETE", `/responses/${id}`)), deleted);
    for (const method of ["GET", "DELETE"])
      await assertParam(api.send(method, `/responses/${id}`), 404, null);
    assert.deepEqual(await api.conversations(), []);
    const first = await read<ResponseBody>(respond(api));
    const second = await read<ResponseBody>(respond(api, { previous_response_id: first.id }));
    for (const one of [first, second])
      await assertParam(api.send("DELETE", `/responses/${one.id}`), 400, "response_id");
    assert.equal((await api.messages()).length, 4);
  });

  test("stays where something is said behind it while it is deleted", async () => {
    let meanwhile: () => unknown = () => {};
    await using api = await openOpenAI(inProcess, { store: deletingAfter(() => meanwhile()) });
    const first = await read<ResponseBody>(respond(api));
    await api.fixture.clock.advance(1);
    meanwhile = () => read(respond(api, { previous_response_id: first.id }));
    await assertParam(api.send("DELETE", `/responses/${first.id}`), 400, "response_id");
    assert.equal((await api.messages()).length, 4);
  });

  test("that ran stays where it has ended, and something is said behind it, while it is deleted", async () => {
    let meanwhile: () => unknown = () => {};
    await using api = await openOpenAI(inProcess, { store: deletingAfter(() => meanwhile()) });
    const first = await read<ResponseBody>(respond(api, { model: "ada", background: true }));
    const run = await api.engine.next();
    meanwhile = async () => {
      run.finish();
      await (await api.send("GET", `/responses/${first.id}?stream=true`)).text();
      await read(respond(api, { model: "ada", previous_response_id: first.id, background: true }));
    };
    await assertParam(api.send("DELETE", `/responses/${first.id}`), 400, "response_id");
    assert.equal((await api.messages()).length, 4);
  });

  test("that runs is stopped where it is deleted", async () => {
    await using api = await openOpenAI(inProcess);
    const { id } = await read<ResponseBody>(respond(api, { model: "ada", background: true }));
    const run = await api.engine.next();
    await read(api.send("DELETE", `/responses/${id}`));
    await run.aborted;
  });

  test("is not stored where store is false, and counts nevertheless", async () => {
    await using api = await openOpenAI(inProcess);
    const whole = await read<ResponseBody>(
      respond(api, { store: false, input: [user("One?"), assistant("One."), user("Two?")] }),
    );
    assert.deepEqual([whole.store, whole.conversation], [false, null]);
    assert.equal(whole.output[0]?.content[0]?.text, "Two?");
    await assertParam(respond(api, { previous_response_id: whole.id }), 400, "previous_response_id");
    await assertParam(api.send("GET", `/responses/${whole.id}`), 404, null);
    const streamed = await (await respond(api, { store: false, stream: true })).text();
    const last = readData(streamed).at(-1) as { type: string; response: ResponseBody };
    assert.deepEqual([last.type, last.response.store], ["response.completed", false]);
    await assertParam(respond(api, { store: false, background: true }), 400, "background");
    assert.deepEqual(await api.conversations(), []);
    const [sum] = await dataOf<{ replies: number }[]>(
      await api.fixture.call("GET", "/usage/history", api.key),
    );
    assert.equal(sum?.replies, 2);
  });

  test("that is not stored is for the person whose conversation it goes on with", async () => {
    await using api = await openOpenAI(inProcess);
    const memory = { content: "Likes tea." };
    await api.fixture.call("PUT", "/end-users/ann/memory/ada", api.key, memory);
    const { id } = await begin(api, { items: [user("I am Ann.")] }, { "x-end-user": "ann" });
    const asked = respond(api, { model: "ada", conversation: id, store: false });
    const run = await api.engine.next();
    assert.deepEqual([run.turn.memory, run.turn.origin?.endUser], ["Likes tea.", "ann"]);
    await api.fixture.call("DELETE", "/end-users/ann", api.key);
    await run.aborted;
    await asked;
  });

  test("that is not stored goes on from what is", async () => {
    await using api = await openOpenAI(inProcess);
    const ask = async (body: object) => {
      const asked = respond(api, { model: "ada", ...body });
      const run = await api.engine.next();
      run.write(`Re: ${run.turn.content}`);
      run.finish();
      return {
        answer: await read<ResponseBody>(asked),
        history: run.turn.history.map(({ content }) => content),
      };
    };
    const first = (await ask({ input: "One" })).answer;
    await ask({ input: "Two", previous_response_id: first.id });
    const { answer } = await ask({ input: "Three", previous_response_id: first.id });
    const conversation = answer.conversation?.id;
    const unstored = { store: false, input: "Four" };
    const end = await ask({ ...unstored, conversation });
    assert.deepEqual(end.history, ["One", "Re: One", "Three", "Re: Three"]);
    assert.equal(end.answer.conversation?.id, conversation);
    const early = await ask({ ...unstored, previous_response_id: first.id });
    assert.deepEqual(early.history, ["One", "Re: One"]);
    await assertParam(respond(api, { ...unstored, conversation }), 400, "conversation");
    await assertParam(
      respond(api, { ...unstored, previous_response_id: "resp_0" }),
      400,
      "previous_response_id",
    );
    await assertParam(respond(api, { ...unstored, conversation: "conv_0" }), 404, null);
    const answeredBy = (who: string) =>
      api.fixture.call("PATCH", `/conversations/${conversation}`, api.key, { answeredBy: who });
    await answeredBy("person");
    await assertParam(respond(api, { ...unstored, model: "ada", conversation }), 409, null);
    await answeredBy("twin");
    const { id } = await begin(api, { items: [user("I am Ada.")] });
    assert.deepEqual((await ask({ ...unstored, conversation: id })).history, ["I am Ada."]);
    assert.equal((await api.conversations()).find((one) => one.id === id)?.twinId, null);
    assert.equal(
      (await api.messages()).filter(({ content }: MessageResource) => content === "Four").length,
      0,
    );
  });
});
