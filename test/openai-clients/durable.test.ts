import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ModelError } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import { settle } from "../support/clock.ts";
import { inProcess } from "../support/harness.ts";
import { assertParam, named, openOpenAI, readData, retried } from "./fixture.ts";

async function contentOf(response: Response): Promise<string | undefined> {
  const body = (await response.json()) as { choices?: { message: { content: string } }[] };
  return body.choices?.[0]?.message.content;
}

describe("chat completions in a named conversation", { timeout: 120_000 }, () => {
  test("only the last message is sent; the conversation has the history", async () => {
    await using api = await openOpenAI(inProcess);
    const first = api.chat({}, named);
    const run = await api.engine.next();
    run.write("Hi!");
    run.finish();
    assert.equal(await contentOf(await first), "Hi!");

    const messages = [
      { role: "user", content: "Something else?" },
      { role: "assistant", content: "Something else." },
      { role: "user", content: "And?" },
    ];
    const second = api.chat({ messages, stream: true }, named);
    const { turn, write, finish } = await api.engine.next();
    assert.deepEqual(turn.history, [
      { role: "user", content: "Hello?" },
      { role: "assistant", content: "Hi!" },
    ]);
    write("And.");
    finish();
    const events = readData(await (await second).text());
    assert.equal(events.at(-1), "[DONE]");
    const stored = await api.messages();
    assert.deepEqual(
      stored.map(({ content }) => content),
      ["Hello?", "Hi!", "And?", "And."],
    );
    const { id } = events[0] as { id: string };
    assert.equal(id.replace("chatcmpl-", "msg_"), stored[3]?.id);
  });

  test("conversations are apart by name, twin and end user", async () => {
    await using api = await openOpenAI(inProcess);
    const others: readonly [object, HeadersInit][] = [
      [{ model: "echo" }, named],
      [{ model: "echo" }, { "x-conversation-id": "chat 2" }],
      [{ model: "echo", user: "zoe" }, named],
      [{ model: "echo", user: "zoe", safety_identifier: "yan" }, named],
      [{ model: "echo", safety_identifier: "yan" }, named],
    ];
    for (const [body, headers] of others) assert.equal((await api.chat(body, headers)).status, 200);
    assert.equal((await api.messages()).length, 10); // the last question is its conversation's first one again
    assert.deepEqual(
      (await api.conversations()).map(({ endUser, messageCount }) => [endUser, messageCount]),
      [
        ["yan", 2],
        ["zoe", 2],
        [null, 2],
        [null, 2],
      ],
    );
  });

  describe("goes on where the client does", () => {
    const said = (...contents: string[]) =>
      contents.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }));
    for (const { what, messages, path } of [
      { what: "behind the last reply", messages: said("1", "1", "2", "2", "3"), path: ["1", "2", "3"] },
      { what: "behind an earlier reply", messages: said("1", "1", "2, edited"), path: ["1", "2, edited"] },
      { what: "behind the newest of equal replies", messages: said("x", "2", "3"), path: ["1", "2", "3"] },
      { what: "at the beginning, with the same first question", messages: said("1"), path: ["1"] },
      { what: "at the end, with another question alone", messages: said("3"), path: ["1", "2", "3"] },
      { what: "at the end, where no reply equals", messages: said("1", "none", "3"), path: ["1", "2", "3"] },
    ]) {
      test(what, async () => {
        await using api = await openOpenAI(inProcess);
        for (const before of [said("1"), said("1", "1", "2"), messages]) {
          assert.equal((await api.chat({ model: "echo", messages: before }, named)).status, 200);
        }
        const current = (await api.messages("current")).filter(({ role }) => role === "user");
        assert.deepEqual(
          current.map(({ content }) => content),
          path,
        );
        assert.equal((await api.messages()).length, 6);
      });
    }

    test("an only question is edited by another one alone", async () => {
      await using api = await openOpenAI(inProcess);
      for (const question of ["1", "2"]) await api.chat({ model: "echo", messages: said(question) }, named);
      const current = (await api.messages("current")).map(({ content }) => content);
      assert.deepEqual(current, ["2", "2"]);
    });
  });

  test("of ten requests that name a conversation first, at once, one makes it, and one is answered", async () => {
    await using api = await openOpenAI(inProcess);
    const asked = Array.from({ length: 10 }, (_, index) =>
      api
        .chat({ messages: [{ role: "user", content: `Hello ${index}?` }] }, named)
        .then(({ status }) => status),
    );
    const run = await api.engine.next();
    let open = asked.length;
    await new Promise<void>((resolve) => {
      for (const answered of asked) void answered.then(() => --open === 1 && resolve());
    });
    run.finish();
    assert.deepEqual((await Promise.all(asked)).sort(), [200, ...Array.from({ length: 9 }, () => 409)]);
    assert.equal((await api.conversations()).length, 1);
    assert.deepEqual([(await api.messages()).length, api.engine.asked], [2, 1]);
  });

  test("a conversation that was deleted is begun anew", async () => {
    await using api = await openOpenAI(inProcess);
    for (let time = 0; time < 3; time++) {
      assert.equal((await api.chat({ model: "echo" }, named)).status, 200);
      const [conversation] = await api.conversations();
      assert.equal((await api.messages()).length, 2);
      await api.fixture.call("DELETE", `/conversations/${conversation?.id}`, api.key);
    }
  });

  test("a client that leaves loses nothing", async () => {
    await using api = await openOpenAI(inProcess);
    const response = await api.chat({ stream: true }, named);
    const run = await api.engine.next();
    run.write("Once");
    await response.body?.cancel();
    run.write(" upon a time");
    run.finish();
    await api.fixture.clock.advance(1_000);
    const [, reply] = await api.messages();
    assert.deepEqual([reply?.status, reply?.content], ["completed", "Once upon a time"]);
  });

  test("while a reply runs, the conversation is busy", async () => {
    await using api = await openOpenAI(inProcess);
    const first = api.chat({}, named);
    const run = await api.engine.next();
    const response = await api.chat({ messages: [{ role: "user", content: "And?" }] }, named);
    assert.equal(response.status, 409);
    assert.equal(response.headers.get("retry-after"), "1");
    const { error } = (await response.json()) as { error: { code: string } };
    assert.equal(error.code, "conversation_busy");
    run.finish();
    await first;
  });

  for (const name of ["", "x".repeat(129)]) {
    test(`a name of ${name.length} characters is refused`, async () => {
      await using api = await openOpenAI(inProcess);
      await assertParam(api.chat({}, { "x-conversation-id": name }), 400, "X-Conversation-Id");
    });
  }

  test("a name's length is looked at before what it says, which would take the square of it", async () => {
    await using api = await openOpenAI(inProcess);
    const response = await api.chat({}, { "x-conversation-id": "{{".repeat(10_000) });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /must be 1 to 128 characters/);
  });

  for (const user of ["", ".", "a\u0000", "x".repeat(129), 7]) {
    test(`the end user ${JSON.stringify(user)} is refused`, async () => {
      await using api = await openOpenAI(inProcess);
      await assertParam(api.chat({ user }, named), 400, "user");
    });
  }

  test("a wrong end user is refused by the name of its parameter, before the model is looked for", async () => {
    await using api = await openOpenAI(inProcess, {}, { endUserHeader: "X-End-User" });
    const cases: readonly [object, HeadersInit, string][] = [
      [{ safety_identifier: ".", user: "zoe" }, {}, "safety_identifier"],
      [{ user: "zoe" }, { "x-end-user": "." }, "X-End-User"],
    ];
    for (const [body, headers, param] of cases) {
      const input = { model: "nobody", input: "Hello?", ...body };
      await assertParam(api.chat(input, headers), 400, param);
      await assertParam(api.send("POST", "/responses", input, headers), 400, param);
    }
  });

  test("a retry joins the reply that the first try began, on another process, too", async () => {
    await using api = await openOpenAI(inProcess, { store: { ...createMemoryStore(), exclusive: false } });
    await using other = await api.another();
    const first = api.chat({}, named);
    const run = await api.engine.next();
    const second = api.chat({}, { ...named, ...retried });
    const third = other.chat({ stream: true }, { ...named, ...retried });
    await settle();
    run.write("Hi!");
    run.finish();
    assert.equal(await contentOf(await first), "Hi!");
    assert.equal(await contentOf(await second), "Hi!");
    await api.fixture.clock.advance(2_000);
    assert.match(await (await third).text(), /"content":"Hi!"/);
    assert.equal((await api.messages()).length, 2);
    assert.equal(api.engine.asked, 1);
  });

  test("a stream of a process that stops ends with an error, while another process has the reply", async () => {
    await using api = await openOpenAI(inProcess, { store: { ...createMemoryStore(), exclusive: false } });
    await using other = await api.another();
    const first = api.chat({}, named);
    const run = await api.engine.next();
    run.write("Once");
    await api.fixture.clock.advance(1_000);
    const followed = await other.chat({ stream: true }, { ...named, ...retried });
    const closed = other.fixture.service.close({ graceMs: 0 });
    await api.fixture.clock.advance(1_000);
    const events = readData(await followed.text());
    await closed;
    assert.deepEqual(Object.keys(events.at(-1) as object), ["error"]);
    run.write(" upon a time");
    run.finish();
    assert.equal(await contentOf(await first), "Once upon a time");
  });

  test("a message that was answered is another one when it comes again, also as a retry", async () => {
    await using api = await openOpenAI(inProcess);
    for (let time = 1; time <= 3; time++) {
      assert.equal((await api.chat({ model: "echo" }, named)).status, 200);
      assert.equal((await api.chat({ model: "echo" }, { ...named, ...retried })).status, 200);
      assert.equal((await api.messages()).length, 4 * time);
    }
  });

  test("of equal messages, a retry joins the newest, if that still runs", async () => {
    await using api = await openOpenAI(inProcess);
    const first = api.chat({}, named);
    (await api.engine.next()).finish();
    await first;
    const second = api.chat({}, named);
    const run = await api.engine.next();
    const again = api.chat({}, { ...named, ...retried });
    await settle();
    run.write("Hi!");
    run.finish();
    assert.deepEqual(await contentOf(await again), "Hi!");
    assert.deepEqual(await contentOf(await second), "Hi!");
    assert.equal((await api.messages()).length, 4);
  });

  test("a retry with another body joins nothing, although its last message is the same", async () => {
    await using api = await openOpenAI(inProcess);
    const first = api.chat({ messages: [{ role: "user", content: "yes" }] }, named);
    const run = await api.engine.next();
    const messages = [
      { role: "user", content: "yes" },
      { role: "assistant", content: "Sure?" },
      { role: "user", content: "yes" },
    ];
    assert.equal((await api.chat({ messages }, { ...named, ...retried })).status, 409);
    run.finish();
    await first;
    assert.equal((await api.chat({ model: "echo", messages }, { ...named, ...retried })).status, 200);
    assert.equal(api.engine.asked, 1);
  });

  test("after a minute, or under another name, nothing is a retry", async () => {
    await using api = await openOpenAI(inProcess);
    const first = api.chat({}, named);
    const run = await api.engine.next();
    const other = api.chat({}, { "x-conversation-id": "chat 2", ...retried });
    (await api.engine.next()).finish();
    assert.equal((await other).status, 200);
    await api.fixture.clock.advance(60_000);
    assert.equal((await api.chat({}, { ...named, ...retried })).status, 409);
    run.finish();
    await first;
  });

  test("an Idempotency-Key repeats a reply that failed, and says so", async () => {
    await using api = await openOpenAI(inProcess);
    const once = { ...named, "idempotency-key": "once" };
    const asked = api.chat({}, once);
    (await api.engine.next()).fail(new ModelError("model_error", "secret"));
    assert.equal((await asked).status, 502);
    const again = await api.chat({}, once);
    assert.deepEqual([again.status, again.headers.get("idempotency-replayed")], [502, "true"]);
  });

  test("an Idempotency-Key repeats the reply; under another name or with another message it is 422", async () => {
    await using api = await openOpenAI(inProcess);
    const once = { ...named, "idempotency-key": "once" };
    const first = await contentOf(await api.chat({ model: "echo" }, once));
    const again = await api.chat({ model: "echo", stream: true }, once);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.match(await again.text(), new RegExp(`"content":"${first?.replace("?", "\\?")}"`));
    assert.equal((await api.messages()).length, 2);
    for (const [body, headers] of [
      [{ model: "echo" }, { ...once, "x-conversation-id": "chat 2" }],
      [{ model: "echo", messages: [{ role: "user", content: "And?" }] }, once],
    ] as const) {
      assert.equal((await api.chat(body, headers)).status, 422);
    }
  });
});
