/**
 * Calls that run only once the person has allowed them.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMcpApi } from "../../adapters/mcp-clients/mod.ts";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { createOpenAIEngine } from "../../adapters/openai-models/mod.ts";
import {
  createTwinList,
  type ServiceOptions,
  type Tool,
  type ToolContext,
  type ToolSource,
} from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { Device, hurry } from "../client/device.ts";
import { type Chat, openChat, withOutages } from "../support/chat.ts";
import { createManualClock, settle } from "../support/clock.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  eventsOf,
  inProcess,
  jsonRequest,
  newTwin,
  startOfTests,
} from "../support/harness.ts";
import * as model from "./model-server.ts";
import { type Body, called, orders, parts, serverThat } from "./tools-fixture.ts";

/** A tool that must be allowed. */
function cancels(run: Tool["run"] = () => "cancelled") {
  const inputs: object[] = [];
  const tool: Tool = {
    name: "orders/cancel",
    description: "Cancels an order.",
    inputSchema: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
    run(input, context) {
      inputs.push(input);
      return run(input, context);
    },
  };
  return { tool, inputs };
}

const asksToCancel =
  called({ number: 7 }, { function: { name: "orders_cancel", arguments: '{"number": 7}' } }) +
  model.finish("tool_calls") +
  model.endMarker;

const calls = { call_1: "approve" } as const;

const takesSecrets = (text: string) => (text.includes("secret") ? { replace: "" } : undefined);

const clerk = {
  id: "scripted",
  engine: "openai",
  instructions: "You take orders.",
  tools: ["orders"],
  confirm: ["orders/cancel"],
};

interface Opened extends AsyncDisposable {
  readonly chat: Chat;
  readonly asked: Body[];
  readonly inputs: readonly object[];
  /** Asks for what needs a yes, and resolves with the reply. */
  begin(): Promise<MessageResource>;
}

/** A conversation with a twin whose model says these bodies, one after the other, and then that it is done. */
async function open(
  bodies: readonly string[] = [asksToCancel],
  {
    run,
    tools,
    ...more
  }: Partial<ServiceOptions> & { run?: Tool["run"]; tools?: ToolSource; handover?: boolean } = {},
): Promise<Opened> {
  const left = [...bodies];
  const transport = serverThat(() => left.shift() ?? model.completion("Done."));
  const { tool, inputs } = cancels(run);
  const openai = createOpenAIEngine({
    baseUrl: "http://127.0.0.1:1/v1",
    transport,
    tools: tools ?? [tool, orders().tool],
    log: () => {},
  });
  const { handover = false, clock: _, ...options } = more;
  const all = { twins: createTwinList([newTwin({ ...clerk, handover })]), engines: { openai }, ...options };
  const chat = await openChat(inProcess, all);
  return {
    chat,
    asked: transport.asked,
    inputs,
    begin: async () => dataOf<MessageResource>(await chat.send("Cancel it.")),
    [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose](),
  };
}

const decide = async (chat: Chat, body: object, headers?: HeadersInit) =>
  dataOf<MessageResource>(await chat.post("/messages", body, headers));

describe("calls that wait for a person", { timeout: 300_000 }, () => {
  test("a reply ends with them, once its other calls have run", async () => {
    const both =
      parts({ index: 0, id: "a", function: { name: "orders_find", arguments: '{"number": 7}' } }) +
      parts({ index: 1, id: "b", function: { name: "orders_cancel", arguments: '{"number": 7}' } }) +
      model.finish("tool_calls");
    await using opened = await open([model.delta("Let me see.") + both]);
    const { chat, inputs, asked } = opened;
    const reply = await opened.begin();
    assert.deepEqual(
      [reply.status, reply.finishReason, reply.content, reply.error],
      ["completed", "tool_calls", "Let me see.", null],
    );
    const pending = [{ callId: "b", name: "orders/cancel", arguments: { number: 7 } }];
    assert.deepEqual(reply.pendingCalls, pending);
    assert.deepEqual((await chat.message(reply.id)).pendingCalls, pending);
    assert.deepEqual(inputs, []);
    const done = await decide(chat, { calls: { b: "approve" }, content: "Yes, please." });
    assert.equal(done.content, "Done.");
    assert.deepEqual(inputs, [{ number: 7 }]);
    assert.equal((await chat.message(reply.id)).pendingCalls, null);
    const [, ...told] = asked[1]?.messages ?? [];
    assert.deepEqual(
      told.map(({ role, content, tool_call_id: id }) => [role, content, id]),
      [
        ["user", "Cancel it.\n\nYes, please.", undefined], // behind results, some models' templates refuse it
        ["assistant", "Let me see.", undefined],
        ["tool", '{"number":7,"state":"sent"}', "a"],
        ["tool", "cancelled", "b"],
      ],
    );
    assert.deepEqual(
      told[1]?.tool_calls?.map(({ id }) => id),
      ["a", "b"],
    );
  });

  test("a yes alone is enough: the model goes on behind the result, of a reply without words, too", async () => {
    await using opened = await open();
    const { chat, asked, inputs } = opened;
    await opened.begin();
    const events = await eventsOf(await chat.post("/messages/stream", { calls }));
    const stages = events.flatMap(({ data }) => (data.type === "progress" ? [data.progress] : []));
    assert.deepEqual(
      stages.slice(1).map(({ stage, name, callId, state }) => [stage, name, callId, state]),
      [
        ["tool", "orders/cancel", "call_1", "called"],
        ["tool", "orders/cancel", "call_1", "done"],
      ],
    );
    assert.deepEqual(inputs, [{ number: 7 }]);
    const [, ...told] = asked[1]?.messages ?? [];
    assert.deepEqual(
      told.map(({ role, content }) => [role, content]),
      [
        ["user", "Cancel it."],
        ["assistant", null],
        ["tool", "cancelled"],
      ],
    );
    const [, , question] = await dataOf<MessageResource[]>(await chat.get("/messages"));
    assert.equal(question?.content, "");
    await chat.send("And now?");
    assert.deepEqual(
      asked
        .at(-1)
        ?.messages.slice(1)
        .map(({ role, content }) => [role, content]),
      [
        ["assistant", "Done."],
        ["user", "And now?"],
      ],
    );
  });

  test("a model that asks again without words is told the question, and all that it has called behind it", async () => {
    const asksAgain = asksToCancel.replace("call_1", "call_2").replace("7", "8");
    const asksLast = asksToCancel.replace("call_1", "call_3").replace("7", "9");
    await using opened = await open([asksToCancel, asksAgain, model.delta("And this?") + asksLast]);
    const { chat, asked, inputs } = opened;
    await opened.begin();
    await decide(chat, { calls });
    await decide(chat, { calls: { call_2: "approve" }, content: "That one, too." });
    await decide(chat, { calls: { call_3: "approve" } });
    assert.deepEqual(inputs, [{ number: 7 }, { number: 8 }, { number: 9 }]);
    const toldIn = (at: number) =>
      asked[at]?.messages.slice(1).map(({ role, content, tool_calls: called, tool_call_id: id }) => {
        return [role, content, called?.[0]?.id ?? id];
      });
    const round = (id: string) => [
      ["assistant", null, id],
      ["tool", "cancelled", id],
    ];
    const before = [
      ["user", "Cancel it.\n\nThat one, too.", undefined],
      ...round("call_1"),
      ...round("call_2"),
    ];
    assert.deepEqual(toldIn(2), before);
    const last = [
      ["assistant", "And this?", "call_3"],
      ["tool", "cancelled", "call_3"],
    ];
    assert.deepEqual(toldIn(3), [...before, ...last]);
  });

  test("what a model has called before is told with a call that is decided, also behind words of its own", async () => {
    const finds =
      called({ number: 7 }, { id: "found", function: { name: "orders_find", arguments: '{"number": 7}' } }) +
      model.finish("tool_calls");
    const asksAgain = asksToCancel.replace("call_1", "call_2");
    await using opened = await open([
      finds,
      model.delta("Shall I?") + asksToCancel,
      asksAgain,
      model.completion("Both are gone."),
    ]);
    const { chat, asked } = opened;
    await opened.begin();
    await decide(chat, { calls });
    await decide(chat, { calls: { call_2: "approve" } });
    const toldIn = (at: number) =>
      asked[at]?.messages.slice(1).map(({ role, content, tool_calls: called, tool_call_id: id }) => {
        return [role, content, called?.[0]?.id ?? id];
      });
    assert.deepEqual(toldIn(2), [
      ["user", "Cancel it.", undefined],
      ["assistant", null, "found"],
      ["tool", '{"number":7,"state":"sent"}', "found"],
      ["assistant", "Shall I?", "call_1"],
      ["tool", "cancelled", "call_1"],
    ]);
    assert.deepEqual(toldIn(3), [
      ["user", "Cancel it.", undefined],
      ["assistant", "Shall I?", "call_1"],
      ["tool", "cancelled", "call_1"],
      ["assistant", null, "call_2"],
      ["tool", "cancelled", "call_2"],
    ]);
  });

  test("words that a guard has replaced are not kept with them", async () => {
    const store = createMemoryStore();
    const kept: string[] = [];
    const noting = {
      ...store,
      endReply(end: Parameters<Store["endReply"]>[0]) {
        kept.push(JSON.stringify(end));
        return store.endReply(end);
      },
    };
    const guard = { output: (text: string) => (text.includes("secret") ? { replace: "…" } : undefined) };
    await using opened = await open([model.delta("The secret is 42.") + asksToCancel], {
      store: noting,
      guard,
    });
    const reply = await opened.begin();
    assert.deepEqual([reply.content, reply.finishReason], ["…", "tool_calls"]);
    await decide(opened.chat, { calls });
    assert.ok(kept.some((end) => end.includes("call_1")));
    assert.doesNotMatch(kept.join(), /secret/u);
    assert.match(JSON.stringify(opened.asked[1]?.messages), /"content":"…"/u);
    assert.doesNotMatch(JSON.stringify(opened.asked[1]?.messages), /secret/u);
  });

  for (const [what, words, guard] of [
    ["are white space alone", "\n\n", undefined],
    ["a guard has taken", "The secret is 42.", { output: takesSecrets }],
  ] as const) {
    test(`words before a call that ${what} leave the exchange before as it was said`, async () => {
      await using opened = await open([model.completion("At noon."), model.delta(words) + asksToCancel], {
        guard,
      });
      const { chat, asked } = opened;
      await chat.send("When?");
      await opened.begin();
      await decide(chat, { calls });
      const told = asked[2]?.messages.slice(1).map(({ role, content }) => [role, content]);
      assert.deepEqual(told, [
        ["user", "When?"],
        ["assistant", "At noon."],
        ["user", "Cancel it."],
        ["assistant", null],
        ["tool", "cancelled"],
      ]);
    });
  }

  test("a model whose tools are away is told the question of the calls that are decided", async () => {
    let tools: Tool[] = [cancels().tool];
    await using opened = await open([model.completion("At noon."), asksToCancel], {
      tools: { list: () => tools },
    });
    const { chat, asked } = opened;
    await chat.send("When?");
    await opened.begin();
    tools = [];
    await decide(chat, { calls });
    const told = asked[2]?.messages.slice(1, 4).map(({ content }) => content);
    assert.deepEqual(told, ["When?", "At noon.", "Cancel it."]);
  });

  for (const [what, body, told] of [
    ["denied", { calls: { call_1: "deny" } }, /denied by the person/],
    ["left unanswered", { content: "How is the weather?" }, /has not said/],
    ["left unanswered with an empty object", { content: "Well?", calls: {} }, /has not said/],
  ] as const) {
    test(`a call that is ${what} does not run, the model is told so, and it cannot be decided again`, async () => {
      await using opened = await open();
      const { chat, asked, inputs } = opened;
      const { id } = await opened.begin();
      await decide(chat, body);
      assert.deepEqual(inputs, []);
      const result = asked[1]?.messages.find(({ role }) => role === "tool");
      assert.match(result?.content ?? "", told);
      assert.equal((await chat.message(id)).pendingCalls, null);
      await assertRefusedField(await chat.post("/messages", { calls, after: id }), "calls.call_1");
      assert.deepEqual(inputs, []);
    });
  }

  test("a call whose tool takes other arguments by the time it is allowed does not run, and the model is told why", async () => {
    const { tool, inputs } = cancels();
    let tools: readonly Tool[] = [tool];
    await using opened = await open([asksToCancel], { tools: { list: () => tools } });
    const { chat, asked } = opened;
    await opened.begin();
    tools = [{ ...tool, inputSchema: { type: "object", required: ["number", "reason"] } }];
    assert.equal((await decide(chat, { calls })).content, "Done.");
    assert.deepEqual(inputs, []);
    const result = asked[1]?.messages.find(({ role }) => role === "tool");
    assert.match(result?.content ?? "", /^The arguments were refused: .*reason/);
  });

  test("a tool learns that its call was allowed, and of others that nobody was asked", async () => {
    const allowed: unknown[] = [];
    const note = (_: object, { isAllowed }: ToolContext) => void allowed.push(isAllowed);
    const { tool } = cancels(note);
    const found = called({ number: 7 }) + model.finish("tool_calls") + model.endMarker;
    await using opened = await open([found, asksToCancel], {
      tools: { list: () => [tool, orders(note).tool] },
    });
    const [call] = (await opened.begin()).pendingCalls ?? [];
    await decide(opened.chat, { calls: { [call?.callId ?? ""]: "approve" } });
    assert.deepEqual(allowed, [undefined, true]);
  });

  test("a message that goes on denies it also once the twin asks for no yes any more", async () => {
    let twins = createTwinList([newTwin(clerk)]);
    await using opened = await open([asksToCancel], {
      twins: { list: (...given) => twins.list(...given), get: (...given) => twins.get(...given) },
    });
    const { chat, asked, inputs } = opened;
    const { id } = await opened.begin();
    twins = createTwinList([newTwin({ ...clerk, confirm: [] })]);
    await decide(chat, { content: "Never mind." });
    const result = asked[1]?.messages.find(({ role }) => role === "tool");
    assert.match(result?.content ?? "", /has not said/);
    assert.equal((await chat.message(id)).pendingCalls, null);
    await assertRefusedField(await chat.post("/messages", { calls, after: id }), "calls.call_1");
    assert.deepEqual(inputs, []);
  });

  test("the empty words of a yes alone are as none", async () => {
    await using opened = await open();
    const { chat, inputs } = opened;
    await opened.begin();
    const key = { "Idempotency-Key": "a yes" };
    const { id } = await decide(chat, { calls, content: "" }, key);
    assert.equal((await decide(chat, { calls }, key)).id, id);
    assert.deepEqual(inputs, [{ number: 7 }]);
  });

  test("what is refused decides nothing", async () => {
    await using opened = await open();
    const { chat, inputs } = opened;
    const { id } = await opened.begin();
    for (const [body, path] of [
      [{ calls: { other: "approve" } }, "calls.other"],
      [{ calls: { ...calls, other: "deny" } }, "calls.other"],
      [{ calls, after: null }, "calls.call_1"],
      [{ calls: {} }, "content"],
      [{ calls: {}, content: "" }, "content"],
      [{ calls, content: " " }, "content"],
      [{}, "content"],
      [{ calls: { call_1: "yes" } }, "calls"],
      [{ calls, content: "So.", reply: false }, "calls"],
      [{ calls, content: "So.", role: "assistant" }, "calls"],
    ] as const) {
      await assertRefusedField(await chat.post("/messages", body), path, JSON.stringify(body));
    }
    assert.equal((await chat.message(id)).pendingCalls?.length, 1);
    await decide(chat, { calls });
    assert.deepEqual(inputs, [{ number: 7 }]);
  });

  test("a say, or a send elsewhere on the tree, leaves them waiting", async () => {
    await using opened = await open();
    const { chat, inputs } = opened;
    const { id } = await opened.begin();
    await decide(chat, { role: "assistant", content: "One moment." });
    await decide(chat, { content: "Another beginning.", after: null });
    assert.equal((await chat.message(id)).pendingCalls?.length, 1);
    await decide(chat, { calls, after: id });
    assert.deepEqual(inputs, [{ number: 7 }]);
  });

  test("a yes runs a call once: from two devices, and however often it is sent again", async () => {
    await using opened = await open();
    const { chat, inputs } = opened;
    const { id } = await opened.begin();
    const send = (headers: HeadersInit) => chat.post("/messages", { calls }, headers);
    const same = { "Idempotency-Key": "tap" };
    const answers = await Promise.all([
      send(same),
      send(same),
      send({}),
      send({ "Idempotency-Key": "other" }),
    ]);
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual(statuses.slice().sort().slice(0, 1), [200], JSON.stringify(statuses));
    assert.ok(statuses.every((status) => status === 200 || status === 409 || status === 400));
    assert.deepEqual(inputs, [{ number: 7 }]);
    await assertRefusedField(await chat.post("/messages", { calls, after: id }), "calls.call_1");
    assert.deepEqual(inputs, [{ number: 7 }]);
  });

  test("calls are among the fields of an Idempotency-Key", async () => {
    await using opened = await open();
    const { chat, inputs } = opened;
    await opened.begin();
    const key = { "Idempotency-Key": "tap" };
    const send = (body: object) => chat.post("/messages", body, key);
    const done = await dataOf<MessageResource>(await send({ calls }));
    const again = await send({ calls });
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.equal((await dataOf<MessageResource>(again)).id, done.id);
    await assertErrorAnswer(await send({ calls: { call_1: "deny" } }), 422, "idempotency_key_reused");
    assert.deepEqual(inputs, [{ number: 7 }]);
  });

  test("another process runs it, with exactly the arguments that were stored", async () => {
    const { tool, inputs } = cancels();
    await using opened = await open();
    const { chat } = opened;
    await opened.begin();
    const openai = createOpenAIEngine({
      baseUrl: "http://127.0.0.1:1/v1",
      transport: serverThat(() => model.completion("Done elsewhere.")),
      tools: [tool],
      log: () => {},
    });
    const other = await chat.another({ engines: { openai } });
    assert.equal((await decide(other, { calls })).content, "Done elsewhere.");
    assert.deepEqual(inputs, [{ number: 7 }]);
    assert.deepEqual(opened.inputs, []);
    await other.service.close({ graceMs: 0 });
  });

  for (const [when, ended, ran] of [
    ["before the call has begun", ["completed", "Done elsewhere.", undefined], ["second"]],
    ["once the call has begun", ["failed", "", "interrupted"], ["first"]],
  ] as const) {
    test(`a process that dies ${when}: its call runs once, or the reply was interrupted`, async () => {
      const clock = createManualClock(startOfTests);
      const store: Store = { ...createMemoryStore(), exclusive: false };
      const calledBy: string[] = [];
      let isAway = false;
      const engineOf = (process: string, bodies: string[], run: Tool["run"]) => {
        const { tool } = cancels((input, context) => {
          calledBy.push(process);
          return run(input, context);
        });
        const transport = serverThat(() => bodies.shift() ?? model.completion(""));
        return createOpenAIEngine({ baseUrl: "http://127.0.0.1:1/v1", transport, tools: [tool], log() {} });
      };
      const begins: Store["beginReply"] = async (asked) => {
        const begun = await store.beginReply(asked);
        isAway ||= asked.decides !== undefined && ran[0] === "second";
        return begun;
      };
      const dying = withOutages({ ...store, beginReply: begins }, () => isAway);
      const hangs = () => {
        isAway = true;
        return new Promise<never>(() => {});
      };
      const twin = newTwin({
        id: "scripted",
        engine: "openai",
        instructions: "You take orders.",
        tools: ["orders"],
        confirm: ["orders/cancel"],
      });
      await using first = await openChat(inProcess, {
        clock,
        store: dying,
        twins: createTwinList([twin]),
        engines: { openai: engineOf("first", [asksToCancel], hangs) },
      });
      await first.send("Cancel it.");
      const openai = engineOf("second", [model.completion("Done elsewhere.")], () => "cancelled");
      const second = await first.another({ store, engines: { openai } });
      await second.service.ready();
      const deciding = first.post("/messages", { calls }, { "Idempotency-Key": "tap" });
      while (!isAway) await settle();
      await clock.advance(40_000);
      const again = await second.post("/messages", { calls }, { "Idempotency-Key": "tap" });
      const listed = await dataOf<MessageResource[]>(await second.get("/messages?order=desc&limit=1"));
      const [reply] = listed;
      assert.deepEqual([reply?.status, reply?.content, reply?.error?.code], ended);
      assert.deepEqual(calledBy, ran);
      assert.equal(again.status, reply?.status === "completed" ? 200 : 503);
      isAway = false;
      await clock.advance(40_000);
      await deciding;
      assert.deepEqual(calledBy, ran);
      await second.service.close({ graceMs: 0 });
    });
  }

  test("a client token may decide, and a person who answers leaves nothing to decide", async () => {
    await using opened = await open();
    const { chat, inputs } = opened;
    const { call } = chat.fixture;
    const made = await call("POST", "/client-tokens", chat.key, { endUser: "ann" });
    const { token } = await dataOf<{ token: string }>(made);
    const begun = await call("POST", "/conversations", token, { twinId: "scripted" });
    const path = `/conversations/${(await dataOf<ConversationResource>(begun)).id}`;
    await call("POST", `${path}/messages`, token, { content: "Cancel it." });
    await call("PATCH", path, chat.key, { answeredBy: "person" });
    await assertRefusedField(await call("POST", `${path}/messages`, token, { calls }), "calls");
    await call("PATCH", path, chat.key, { answeredBy: "twin" });
    assert.equal((await call("POST", `${path}/messages`, token, { calls })).status, 200);
    assert.deepEqual(inputs, [{ number: 7 }]);
  });

  test("arguments that do not fit are refused as any other's, and those too long to be shown are denied", async () => {
    const asks = (given: object) =>
      called({}, { function: { name: "orders_cancel", arguments: JSON.stringify(given) } }) +
      model.finish("tool_calls");
    await using opened = await open([asks({}), asks({ number: 1, why: "x".repeat(20_000) })]);
    const reply = await opened.begin();
    assert.deepEqual([reply.content, reply.pendingCalls], ["Done.", null]);
    const results = opened.asked.at(-1)?.messages.filter(({ role }) => role === "tool");
    assert.match(results?.[0]?.content ?? "", /refused/);
    assert.match(results?.[1]?.content ?? "", /too long/);
    assert.deepEqual(opened.inputs, []);
  });

  test("a reply may hand over to a person and have calls that wait", async () => {
    const both =
      parts({ index: 0, id: "a", function: { name: "hand_over_to_person", arguments: "{}" } }) +
      parts({ index: 1, id: "b", function: { name: "orders_cancel", arguments: '{"number": 7}' } }) +
      model.finish("tool_calls");
    await using opened = await open([both], { handover: true });
    const reply = await opened.begin();
    assert.equal(reply.pendingCalls?.length, 1);
    const { answeredBy } = await dataOf<ConversationResource>(await opened.chat.get(""));
    assert.equal(answeredBy, "person");
  });

  test("an open conversation decides of them, once, though the answer was lost", async () => {
    await using opened = await open();
    await opened.begin();
    const device = new Device(opened.chat);
    const conversation = await device.open(opened.chat.conversationId);
    device.hinder = (what) => {
      if (what.endsWith("/messages/stream")) device.lose();
      device.hinder = () => {};
    };
    using _ = hurry();
    const reply = await conversation.send("", { calls });
    assert.deepEqual([reply.content, opened.inputs], ["Done.", [{ number: 7 }]]);
    assert.deepEqual(
      conversation.path.map(({ content }) => content),
      ["Cancel it.", "", "", "Done."],
    );
    await assert.rejects(conversation.send("", { calls }), { code: "validation_error" });
    assert.equal(conversation.unsent?.content, "");
    conversation.close();
  });

  test("an open conversation shows them as long as they wait, whoever has decided, or gone on", async () => {
    await using opened = await open([asksToCancel, asksToCancel, asksToCancel]);
    const { chat } = opened;
    await opened.begin();
    const [here, there] = [new Device(chat), new Device(chat)];
    const conversation = await here.open(chat.conversationId);
    await here.sees(() => here.streams === 1);
    using _ = hurry();
    const waiting = () => conversation.path.map(({ pendingCalls }) => pendingCalls?.length ?? 0);
    assert.deepEqual(waiting(), [0, 1]);
    await conversation.send("", { calls });
    assert.deepEqual(waiting(), [0, 0, 0, 1]);
    await there.client.messages.send(chat.conversationId, { content: "Never mind." });
    await here.sees(() => conversation.path.length === 6 && !conversation.running);
    assert.deepEqual(waiting(), [0, 0, 0, 0, 0, 1]);
    conversation.close();
  });

  test("what was said behind a yes alone is told, also to a response that is not stored", async () => {
    const bodies = [asksToCancel, model.completion("It is cancelled.")];
    await using opened = await open(bodies, { openaiApi: createOpenAIApi() });
    const { chat } = opened;
    await opened.begin();
    await decide(chat, { calls });
    const conversation = chat.conversationId;
    const body = { model: "scripted", conversation, store: false, input: "Is it?" };
    const request = { method: "POST", ...jsonRequest(chat.key, body) };
    await chat.fixture.service.fetch(new Request("http://twins.test/v1/responses", request));
    const [, ...told] = opened.asked.at(-1)?.messages ?? [];
    assert.deepEqual(
      told.map(({ content }) => content),
      ["It is cancelled.", "Is it?"],
    );
  });

  test("through /v1 and /mcp a call is denied, and the model told that nobody can be asked", async () => {
    await using opened = await open([asksToCancel, model.completion("I can't."), asksToCancel], {
      openaiApi: createOpenAIApi(),
      mcpApi: createMcpApi(),
    });
    const { service } = opened.chat.fixture;
    const post = (path: string, body: object) =>
      service.fetch(
        new Request(`http://twins.test${path}`, { method: "POST", ...jsonRequest(opened.chat.key, body) }),
      );
    const messages = [{ role: "user", content: "Cancel it." }];
    const answer = await post("/v1/chat/completions", { model: "scripted", messages });
    const { choices } = (await answer.json()) as { choices: { finish_reason: string }[] };
    assert.equal(choices[0]?.finish_reason, "stop");
    await post("/mcp", {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "ask_twin", arguments: { twin: "scripted", question: "Cancel it." } },
    });
    for (const at of [1, 3]) {
      const result = opened.asked[at]?.messages.find(({ role }) => role === "tool");
      assert.match(result?.content ?? "", /nobody can be asked here/, String(at));
    }
    assert.deepEqual(opened.inputs, []);
  });
});
