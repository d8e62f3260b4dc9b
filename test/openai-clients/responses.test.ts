import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { ModelError, type ServiceOptions } from "../../core/mod.ts";
import { createMemoryStore, type Store, StoreUnavailable } from "../../core/store/mod.ts";
import { countCalls } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { inProcess, overSocket } from "../support/harness.ts";
import {
  assertParam,
  named,
  type OpenAIFixture,
  openOpenAI,
  readData,
  retried,
  startSeconds,
} from "./fixture.ts";

interface ResponseBody {
  readonly id: string;
  readonly status: string;
  readonly output: readonly { readonly id: string; readonly content: readonly { readonly text: string }[] }[];
  readonly conversation: { readonly id: string };
  readonly error: unknown;
  readonly incomplete_details: unknown;
}

interface ResponseEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly delta?: string;
  readonly text?: string;
  readonly response?: ResponseBody;
}

const respond = (api: OpenAIFixture, body: object = {}, headers?: HeadersInit) =>
  api.send("POST", "/responses", { model: "ada", input: "Hello?", ...body }, headers);

async function bodyOf(response: Response): Promise<ResponseBody> {
  assert.equal(response.status, 200);
  return (await response.json()) as ResponseBody;
}

async function eventsOf(response: Response): Promise<ResponseEvent[]> {
  assert.equal(response.status, 200);
  const text = await response.text();
  const events = readData(text) as ResponseEvent[];
  const names = [...text.matchAll(/^event: (.+)$/gm)].map(([, name]) => name);
  assert.deepEqual(
    names,
    events.map(({ type }) => type),
  );
  return events;
}

const textOf = ({ output }: ResponseBody) => output[0]?.content[0]?.text;

/** A response with the text "Hi 👋!", and its events. */
async function completed(api: OpenAIFixture) {
  const answered = respond(api, { stream: true });
  const run = await api.engine.next();
  run.write("Hi ");
  await settle();
  run.write("\u{1f44b}!");
  run.finish();
  const events = await eventsOf(await answered);
  return { id: events[0]?.response?.id ?? "", events };
}

describe("/v1/responses", { timeout: 120_000 }, () => {
  test("a response has all members that OpenAI's types and Open Responses require, and is stored", async () => {
    await using api = await openOpenAI(inProcess);
    const answered = respond(api);
    const run = await api.engine.next();
    run.write("Hi!");
    run.finish({ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7, cachedInputTokens: 2 } });
    const body = await bodyOf(await answered);
    const [, reply] = await api.messages();
    const { id, conversation, ...rest } = body;
    assert.equal(id.replace("resp_", "msg_"), reply?.id);
    assert.equal(conversation.id, reply?.conversationId);
    assert.deepEqual(rest, {
      object: "response",
      created_at: startSeconds,
      status: "completed",
      access_programs: null,
      background: false,
      completed_at: startSeconds,
      error: null,
      frequency_penalty: 0,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: {},
      model: "ada",
      output: [
        {
          id: reply?.id,
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: "Hi!", annotations: [], logprobs: [] }],
        },
      ],
      parallel_tool_calls: false,
      presence_penalty: 0,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: null,
      safety_identifier: null,
      service_tier: "default",
      store: true,
      temperature: 1,
      text: { format: { type: "text" } },
      tool_choice: "none",
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: "disabled",
      usage: {
        input_tokens: 3,
        input_tokens_details: { cached_tokens: 2, cache_write_tokens: 0 },
        output_tokens: 4,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 7,
      },
      user: null,
    });
    assert.deepEqual(await bodyOf(await api.send("GET", `/responses/${id}`)), body);
  });

  // The requests of openresponses.org/compliance but for those with tools of the client's, and with a picture.
  for (const [name, before, question] of [
    ["basic-response", [], "Say hello in exactly 3 words."],
    ["streaming-response", [], "Count from 1 to 5."],
    [
      "system-prompt",
      [{ role: "system", content: "You are a pirate. Always respond in pirate speak." }],
      "Say hello.",
    ],
    [
      "multi-turn",
      [
        { role: "user", content: "My name is Alice." },
        { role: "assistant", content: "Hello Alice! Nice to meet you. How can I help you today?" },
      ],
      "What is my name?",
    ],
  ] as const) {
    test(`Open Responses' ${name} is completed, streamed or not`, async () => {
      await using api = await openOpenAI(inProcess);
      const input = [...before, { role: "user", content: question }].map((item) => ({
        type: "message",
        ...item,
      }));
      for (const stream of [false, true]) {
        const answered = respond(api, { input, stream });
        const run = await api.engine.next();
        run.write("Hello!");
        run.finish();
        const response = stream
          ? (await eventsOf(await answered)).at(-1)?.response
          : await bodyOf(await answered);
        assert.equal(response?.status, "completed");
        assert.equal(response && textOf(response), "Hello!");
      }
    });
  }

  test("the events' numbers follow the text", async () => {
    await using api = await openOpenAI(inProcess);
    const { events } = await completed(api);
    const texts = events.filter(({ type }) => type === "response.output_text.delta");
    let sent = 0;
    for (const { delta = "", sequence_number: number } of texts) {
      sent += delta.length;
      assert.equal(number, 3 + sent);
    }
    assert.equal(texts.map(({ delta }) => delta).join(""), "Hi \u{1f44b}!");
    const others = events.filter((event) => !texts.includes(event));
    assert.deepEqual(
      others.map(({ type, sequence_number: number }) => [type, number]),
      [
        ["response.created", 0],
        ["response.in_progress", 1],
        ["response.output_item.added", 2],
        ["response.content_part.added", 3],
        ["response.output_text.done", 10],
        ["response.content_part.done", 11],
        ["response.output_item.done", 12],
        ["response.completed", 13],
      ],
    );
    assert.deepEqual([others[0]?.response?.status, others[0]?.response?.output], ["in_progress", []]);
    assert.equal(others.at(-1)?.response && textOf(others.at(-1)?.response as ResponseBody), "Hi \u{1f44b}!");
  });

  test("a response is followed after any of its events, later and on another process", async () => {
    await using api = await openOpenAI(inProcess);
    await using other = await api.another();
    const { id, events } = await completed(api);
    const whole = events.at(-1);
    for (let after = -1; after <= 13; after++) {
      const query = after < 0 ? "stream=true" : `stream=true&starting_after=${after}`;
      if (after === 7) {
        await assertParam(other.send("GET", `/responses/${id}?${query}`), 400, "starting_after");
        continue; // between the halves of a surrogate pair
      }
      const rest = await eventsOf(await other.send("GET", `/responses/${id}?${query}`));
      const numbers = rest.map(({ sequence_number: number }) => number);
      assert.ok(numbers.every((number) => number > after));
      assert.equal(
        rest.map(({ delta = "" }) => delta).join(""),
        "Hi \u{1f44b}!".slice(Math.max(0, after - 3)),
      );
      assert.deepEqual(rest.at(-1), after < 13 ? whole : undefined);
      const tail = events.filter(
        ({ sequence_number: number, delta }) => number > after && delta === undefined,
      );
      assert.deepEqual(
        rest.filter(({ delta }) => delta === undefined),
        tail,
      );
    }
    for (const after of ["14", "x", "-1", "1.5"]) {
      const answered = other.send("GET", `/responses/${id}?stream=true&starting_after=${after}`);
      await assertParam(answered, 400, "starting_after");
    }
  });

  test("a running response is followed from where the reader was cut off", async () => {
    await using api = await openOpenAI(inProcess);
    const answered = await respond(api, { stream: true });
    const run = await api.engine.next();
    run.write("Once upon");
    const reader = answered.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("delta")) text += (await reader?.read())?.value ?? "";
    await reader?.cancel();
    const { response, sequence_number: last } = {
      ...(readData(text)[0] as ResponseEvent),
      sequence_number: (readData(text).at(-1) as ResponseEvent).sequence_number,
    };
    assert.equal(last, 12);
    const resumed = api.send("GET", `/responses/${response?.id}?stream=true&starting_after=${last}`);
    await assertParam(
      api.send("GET", `/responses/${response?.id}?stream=true&starting_after=13`),
      400,
      "starting_after",
    );
    run.write(" a time");
    run.finish();
    const events = await eventsOf(await resumed);
    assert.equal(events[0]?.delta, " a time");
    assert.equal(events.at(-1)?.sequence_number, 7 + "Once upon a time".length);
    assert.equal(api.engine.asked, 1);
  });

  for (const [finishReason, reason] of [
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ] as const) {
    test(`a reply that ends with ${finishReason} is incomplete`, async () => {
      await using api = await openOpenAI(inProcess);
      const answered = respond(api, { stream: true });
      const run = await api.engine.next();
      run.write("Hi");
      run.finish({ finishReason });
      const last = (await eventsOf(await answered)).at(-1);
      assert.equal(last?.type, "response.incomplete");
      assert.deepEqual(
        [last?.response?.status, last?.response?.incomplete_details],
        ["incomplete", { reason }],
      );
    });
  }

  test("a cancelled response keeps its text", async () => {
    await using api = await openOpenAI(inProcess);
    const answered = respond(api, { stream: true });
    const run = await api.engine.next();
    run.write("Hi");
    const [, reply] = await api.messages();
    const path = `/responses/${reply?.id.replace("msg_", "resp_")}/cancel`;
    const cancelled = await bodyOf(await api.send("POST", path, {}));
    assert.deepEqual([cancelled.status, cancelled.incomplete_details], ["cancelled", null]);
    assert.equal(textOf(cancelled), "Hi");
    const last = (await eventsOf(await answered)).at(-1);
    assert.deepEqual([last?.type, last?.response], ["response.incomplete", cancelled]);
    assert.deepEqual(await bodyOf(await api.send("POST", path, {})), cancelled);
  });

  test("a failed response is its stream's last event, and an error if it is waited for", async () => {
    await using api = await openOpenAI(inProcess);
    const stream = respond(api, { stream: true });
    (await api.engine.next()).fail(new ModelError("model_error", "secret"));
    const last = (await eventsOf(await stream)).at(-1);
    assert.deepEqual([last?.type, last?.response?.status], ["response.failed", "failed"]);
    assert.equal((last?.response?.error as { code: string } | undefined)?.code, "server_error");
    const failed = await bodyOf(await api.send("GET", `/responses/${last?.response?.id}`));
    assert.deepEqual(failed, last?.response);

    const waited = respond(api);
    (await api.engine.next()).fail(new ModelError("model_timeout", "secret"));
    assert.equal((await waited).status, 504);
  });

  test("a response that is refused leaves no conversation", async () => {
    await using api = await openOpenAI(inProcess, { maxRunningReplies: 1 });
    await respond(api, { background: true });
    assert.equal((await respond(api)).status, 429);
    const unknown = [
      { type: "item_reference", id: "msg_0" },
      { role: "user", content: "Hi" },
    ];
    await assertParam(respond(api, { input: unknown }), 400, "input[0]");
    assert.equal((await api.conversations()).length, 1);
    (await api.engine.next()).finish();
  });

  test("a response with a key makes one conversation, however often it fails, and none once it is refused", async () => {
    const store = createMemoryStore();
    let isAway = true;
    const { beginReply } = store;
    store.beginReply = async (begin) => {
      if (isAway) throw new StoreUnavailable("away");
      return beginReply(begin);
    };
    await using api = await openOpenAI(inProcess, { store, maxRunningReplies: 1 });
    const keyed = () => respond(api, { background: true }, { "idempotency-key": "a key" });
    const ask = async () => (await keyed()).status;
    assert.deepEqual([await ask(), await ask()], [503, 503]);
    assert.equal((await api.conversations()).length, 1);
    isAway = false;
    const other = await bodyOf(await respond(api, { background: true }));
    assert.equal(await ask(), 429);
    assert.equal((await api.conversations()).length, 1);
    (await api.engine.next()).finish();
    await api.send("POST", `/responses/${other.id}/cancel`);
    assert.equal(await ask(), 200);
    (await api.engine.next()).finish();
    assert.equal((await api.conversations()).length, 2);
    assert.equal((await keyed()).headers.get("idempotency-replayed"), "true");
  });

  test("of equal responses with a key, on two processes, the one that is later leaves no conversation", async () => {
    const store = createMemoryStore();
    const [reached, gate] = [createGate(), createGate()];
    const late: Store = {
      ...store,
      async createConversation(...made) {
        reached.open();
        await gate.opened;
        return store.createConversation(...made);
      },
    };
    await using api = await openOpenAI(inProcess, { store });
    await using other = await api.another({ store: late });
    const keyed = { "idempotency-key": "a key" };
    const second = respond(other, { model: "echo" }, keyed);
    await reached.opened;
    const first = await bodyOf(await respond(api, { model: "echo" }, keyed));
    gate.open();
    assert.equal((await bodyOf(await second)).id, first.id);
    assert.equal((await api.conversations()).length, 1);
  });

  test("in the background, the answer comes at once", async () => {
    await using api = await openOpenAI(inProcess);
    const { id, status, output } = await bodyOf(await respond(api, { background: true }));
    assert.deepEqual([status, output], ["in_progress", []]);
    assert.equal((await bodyOf(await api.send("GET", `/responses/${id}`))).status, "in_progress");
    const run = await api.engine.next();
    run.write("Hi");
    run.finish();
    const events = await eventsOf(await api.send("GET", `/responses/${id}?stream=true`));
    assert.equal(events.at(-1)?.type, "response.completed");
  });

  test("a response continues a conversation, or any ended response of one", async () => {
    await using api = await openOpenAI(inProcess);
    const first = await bodyOf(await respond(api, { model: "echo", input: "One" }));
    const second = await bodyOf(
      await respond(api, { model: "echo", input: "Two", previous_response_id: first.id }),
    );
    assert.deepEqual(second.conversation, first.conversation);
    const third = respond(api, { model: "echo", input: "Three", conversation: first.conversation.id });
    assert.deepEqual((await bodyOf(await third)).conversation, first.conversation);
    const fourth = respond(api, { model: "echo", input: "Four", conversation: first.conversation });
    assert.deepEqual((await bodyOf(await fourth)).conversation, first.conversation);
    const contents = (await api.messages()).map(({ content }) => content);
    assert.deepEqual(contents, ["One", "One", "Two", "Two", "Three", "Three", "Four", "Four"]);
    const other = respond(api, { model: "echo", input: "Five", previous_response_id: first.id });
    assert.deepEqual((await bodyOf(await other)).conversation, first.conversation);
    const path = (await api.messages("current")).map(({ content }) => content);
    assert.deepEqual(path, ["One", "One", "Five", "Five"]);

    const { id } = first.conversation;
    const reference = (id: string) => ({ type: "item_reference", id });
    const question = { role: "user", content: "And?" };
    const refused: readonly [object, number, string | null][] = [
      [{ model: "echo", previous_response_id: "resp_0" }, 400, "previous_response_id"],
      [{ model: "echo", previous_response_id: "x" }, 400, "previous_response_id"],
      [{ model: "echo", conversation: "conv_0" }, 404, null],
      [{ model: "echo", conversation: "conv_\0" }, 400, "conversation"],
      [{ model: "echo", conversation: { id: "\ud800" } }, 400, "conversation"],
      [{ input: [reference("msg_\0"), question] }, 400, "input[0]"],
      [{ model: "ada", conversation: id }, 400, "conversation"],
      [{ model: "echo", conversation: id, previous_response_id: first.id }, 400, "previous_response_id"],
      [{ model: "nobody" }, 404, null],
      [{ input: "" }, 400, "input"],
      [{ input: [] }, 400, "input"],
      [{ input: [{ role: "user", content: [{ type: "input_image" }] }] }, 400, "input[0].content[0]"],
      [{ stream: "true" }, 400, "stream"],
      [{ store: "false" }, 400, "store"],
    ];
    for (const [body, status, param] of refused) await assertParam(respond(api, body), status, param);
  });

  test("earlier messages in the input are for this turn, and not stored", async () => {
    await using api = await openOpenAI(inProcess);
    const input = [
      { role: "developer", content: "Be a pirate." },
      { role: "user", content: [{ type: "input_text", text: "One?" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "One." }] },
      { type: "reasoning", summary: [] },
      { role: "user", content: "Two?" },
    ];
    const answered = respond(api, { input });
    const { turn, finish } = await api.engine.next();
    assert.deepEqual(turn.history, [
      { role: "user", content: "One?" },
      { role: "assistant", content: "One." },
    ]);
    finish();
    const { conversation } = await bodyOf(await answered);
    assert.equal((await api.messages()).length, 2);
    const next = respond(api, { input, conversation });
    const later = await api.engine.next();
    assert.deepEqual(
      later.turn.history.map(({ content }) => content),
      [], // the reply before was without a word
    );
    later.finish();
    await next;
  });

  test("the input's last user message counts, whatever comes after it", async () => {
    await using api = await openOpenAI(inProcess);
    const input = [
      { role: "user", content: "One?" },
      { role: "user", content: "Two?" },
      { role: "assistant", content: "Three." },
    ];
    const { output } = await bodyOf(await respond(api, { model: "echo", input }));
    assert.equal(output[0]?.content[0]?.text, "Two?");
    await assertParam(respond(api, { input: [{ role: "assistant", content: "One." }] }), 400, "input");
  });

  test("the input may name the messages of responses instead of repeating them", async () => {
    await using api = await openOpenAI(inProcess);
    const { output } = await bodyOf(await respond(api, { model: "echo", input: "One." }));
    const item = (id: unknown) => ({ type: "item_reference", id });
    const ask = (reference: object, headers?: HeadersInit) =>
      respond(
        api,
        { input: [{ role: "user", content: "One?" }, reference, { role: "user", content: "Two?" }] },
        headers,
      );
    const answered = ask(item(output[0]?.id));
    const { turn, finish } = await api.engine.next();
    assert.deepEqual(turn.history, [
      { role: "user", content: "One?" },
      { role: "assistant", content: "One." },
    ]);
    finish();
    await answered;
    await assertParam(ask(item("msg_0")), 400, "input[1]");
    const bob = { authorization: `Bearer ${await api.fixture.key("full_access", "bob")}` };
    assert.equal((await ask(item(output[0]?.id), bob)).status, 400);
    const reasoned = ask(item("rs_1"));
    (await api.engine.next()).finish();
    assert.equal((await reasoned).status, 200);
  });

  test("the input may name up to 100 messages, each of which is read once", async () => {
    const { store, calls } = countCalls(createMemoryStore());
    await using api = await openOpenAI(inProcess, { store });
    const { output } = await bodyOf(await respond(api, { model: "echo", input: "x".repeat(30_000) }));
    const ask = (references: number) => {
      const named = Array.from({ length: references }, () => ({ type: "item_reference", id: output[0]?.id }));
      return respond(api, { model: "ada", input: [...named, { role: "user", content: "And?" }] });
    };
    await assertParam(ask(101), 400, "input");
    await assertParam(ask(100), 400, "input"); // 3,000,000 characters
    const before = calls.get("getMessage") ?? 0;
    const answered = ask(69);
    const { turn, finish } = await api.engine.next();
    assert.equal(turn.history.length, 69);
    assert.equal(calls.get("getMessage"), before + 1);
    finish();
    assert.equal((await answered).status, 200);
  });

  test("an Idempotency-Key repeats the response, whether it is streamed or not", async () => {
    await using api = await openOpenAI(inProcess);
    const once = { "idempotency-key": "once" };
    const first = await bodyOf(await respond(api, { model: "echo" }, once));
    const again = await respond(api, { model: "echo", stream: true }, once);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.deepEqual((await eventsOf(again)).at(-1)?.response, first);
    assert.equal((await respond(api, { model: "echo", input: "Else" }, once)).status, 422);
  });

  test("an Idempotency-Key repeats a response that failed, and says so", async () => {
    await using api = await openOpenAI(inProcess);
    const once = { "idempotency-key": "once" };
    const asked = respond(api, {}, once);
    (await api.engine.next()).fail(new ModelError("model_error", "secret"));
    const answers = [await asked, await respond(api, {}, once)];
    const replayed = answers.map(({ headers }) => headers.get("idempotency-replayed"));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [502, 502],
    );
    assert.deepEqual(replayed, [null, "true"]);
  });

  test("a retry joins the reply that the first try began, in a conversation or without one", async () => {
    await using api = await openOpenAI(inProcess);
    const conversation = await api.fixture.conversation(api.key, "ada");
    for (const body of [{}, { conversation }]) {
      const first = respond(api, body);
      const run = await api.engine.next();
      const again = respond(api, body, { "x-stainless-retry-count": "1" });
      await settle();
      run.write("Hi!");
      run.finish();
      assert.deepEqual(await bodyOf(await again), await bodyOf(await first));
    }
    assert.equal((await api.messages()).length, 4);
  });

  test("a retry does not join what was answered", async () => {
    await using api = await openOpenAI(inProcess);
    const first = await bodyOf(await respond(api, { model: "echo" }));
    const second = await bodyOf(await respond(api, { model: "echo" }, { "x-stainless-retry-count": "1" }));
    assert.notEqual(second.id, first.id);
  });

  test("responses are seen within reach only", async () => {
    await using api = await openOpenAI(inProcess);
    const { id } = await bodyOf(await respond(api, { model: "echo", user: "zoe" }));
    const bob = { authorization: `Bearer ${await api.fixture.key("full_access", "bob")}` };
    assert.equal((await api.send("GET", `/responses/${id}`, undefined, bob)).status, 404);
    assert.equal((await api.send("GET", "/responses/resp_0")).status, 404);
    const [question] = await api.messages();
    const notReply = question?.id.replace("msg_", "resp_");
    assert.equal((await api.send("GET", `/responses/${notReply}`)).status, 404);
  });
});

const ways: readonly (readonly [path: string, body: object, headers: Readonly<Record<string, string>>])[] = [
  ["/responses", { model: "ada", input: "Hello?" }, {}],
  ["/chat/completions", { model: "ada", messages: [{ role: "user", content: "Hello?" }] }, named],
];

for (const [path, body, headers] of ways) {
  for (const [stream, again] of [
    [true, { "x-stainless-retry-count": "0" }],
    [true, retried],
    [false, { "x-stainless-retry-count": "0" }],
    [false, retried],
  ] as const) {
    test(`${path}: a request whose connection broke is joined by an equal one (${JSON.stringify({ stream, ...again })})`, async () => {
      const heard = new EventTarget();
      const tell = () => void heard.dispatchEvent(new Event("cut"));
      const observe: ServiceOptions["observe"] = stream
        ? { streamClosed: tell }
        : { requestEnded: ({ route }) => route === `/v1${path}` && tell() };
      await using api = await openOpenAI(overSocket, { observe });
      const controller = new AbortController();
      const cut = once(heard, "cut");
      const first = fetch(`${api.fixture.url}/v1${path}`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${api.key}`, "content-type": "application/json" },
        body: JSON.stringify({ ...body, stream }),
        signal: controller.signal,
      });
      const run = await api.engine.next();
      if (stream) await first;
      controller.abort();
      await first.then((response) => response.text()).catch(() => undefined);
      await cut;
      const last = api.send("POST", path, { ...body, stream }, { ...headers, ...again });
      run.write("Hi!");
      run.finish();
      assert.match(await (await last).text(), /Hi!/);
      assert.equal((await api.messages()).length, 2);
      assert.equal(api.engine.asked, 1);
    });
  }
}
