import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ModelError } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { inProcess, newTwin, removable } from "../support/harness.ts";
import { assertParam, named, openOpenAI, readData, retried } from "./fixture.ts";

async function contentOf(response: Response): Promise<string | undefined> {
  const body = (await response.json()) as { choices?: { message: { content: string } }[] };
  return body.choices?.[0]?.message.content;
}

/** Contents as the messages of a chat that the user begins. */
const said = (...contents: readonly string[]) =>
  contents.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }));

describe("chat completions in a named conversation", { timeout: 120_000 }, () => {
  test("where the last reply is not stored, only the question is, and the twin is told what the client says", async () => {
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
    assert.deepEqual(turn.history, messages.slice(0, -1));
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
    for (const { what, messages, path } of [
      { what: "behind the last reply", messages: said("1", "1", "2", "2", "3"), path: ["1", "2", "3"] },
      { what: "behind an earlier reply", messages: said("1", "1", "2, edited"), path: ["1", "2, edited"] },
      { what: "behind the newest of equal replies", messages: said("x", "2", "3"), path: ["1", "2", "3"] },
      { what: "at the beginning, with the same first question", messages: said("1"), path: ["1"] },
      { what: "at the end, with another question alone", messages: said("3"), path: ["1", "2", "3"] },
      {
        what: "at the end, where the last reply equals none",
        messages: said("1", "none", "3"),
        path: ["1", "2", "3"],
      },
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
  });

  describe("compares what the client says with what is stored:", () => {
    /** Stores exchanges by sending each with all before it, then sends messages. Returns what the twin is told. */
    async function told(stored: readonly (readonly string[])[], messages: readonly string[]) {
      await using api = await openOpenAI(inProcess);
      const send = async (contents: readonly string[], reply: string) => {
        const answered = api.chat({ messages: said(...contents) }, named);
        const run = await api.engine.next();
        run.write(reply);
        run.finish();
        assert.equal((await answered).status, 200);
        return run.turn.history.map(({ content }) => content);
      };
      for (const contents of stored) await send(contents.slice(0, -1), contents.at(-1) ?? "");
      return await send(messages, "Right.");
    }
    for (const { what, stored, messages, history } of [
      {
        what: "of two equal replies, the one whose questions agree",
        stored: [
          ["Tents?", "No."],
          ["Tents?", "No.", "1234.", "No."],
        ],
        messages: ["Tents?", "No.", "Boats?"],
        history: ["Tents?", "No."],
      },
      {
        what: "of equal exchanges, as many as the client has",
        stored: [
          ["Go on.", "Done."],
          ["Go on.", "Done.", "Go on.", "Done."],
          ["Go on.", "Done.", "Go on.", "Done.", "Go on.", "Done."],
        ],
        messages: ["Go on.", "Done.", "Go on.", "Done.", "Stop."],
        history: ["Go on.", "Done.", "Go on.", "Done."],
      },
      {
        what: "of equal replies on two branches, the one whose question agrees, on the other branch, too",
        stored: [
          ["Hi.", "Fine."],
          ["Hi.", "Fine.", "Red.", "Noted."],
          ["Hi.", "Fine.", "Blue.", "Noted."],
        ],
        messages: ["Hi.", "Fine.", "Red.", "Noted.", "Which?"],
        history: ["Hi.", "Fine.", "Red.", "Noted."],
      },
      {
        what: "without the white space around it",
        stored: [
          ["One?", "Answer.\n"],
          ["One?", "Answer.", "My PIN is 99.", "Oh."],
        ],
        messages: [" One? ", "Answer.", "Two?"],
        history: ["One?", "Answer.\n"],
      },
      {
        what: "with CRLF as LF",
        stored: [
          ["One?", "A line.\nAnother."],
          ["One?", "A line.\nAnother.", "My PIN is 99.", "Oh."],
        ],
        messages: ["One?", "A line.\r\nAnother.", "Two?"],
        history: ["One?", "A line.\nAnother."],
      },
      {
        what: "the last messages are enough",
        stored: [
          ["One?", "1"],
          ["One?", "1", "Two?", "2"],
        ],
        messages: ["Two?", "2", "Three?"],
        history: ["One?", "1", "Two?", "2"],
      },
      {
        what: "replies without words are left out, and so are questions that had none",
        stored: [
          ["One?", "1"],
          ["One?", "1", "Two?", ""],
        ],
        messages: ["One?", "1", "Two?", "", "Three?"],
        history: ["One?", "1"],
      },
      {
        what: "another reply before the last one is not told",
        stored: [
          ["One?", "1"],
          ["One?", "1", "Two?", "2"],
        ],
        messages: ["One?", "one", "Two?", "2", "Three?"],
        history: ["One?", "1", "Two?", "2"],
      },
      {
        what: "where nothing is stored, the client's messages are told",
        stored: [],
        messages: ["I am Ada.", "Hello Ada.", "Who am I?"],
        history: ["I am Ada.", "Hello Ada."],
      },
      {
        what: "a client that sends only what is new goes on at the end, each time",
        stored: [
          ["I am Ada.", "Hello."],
          ["Second.", "Yes."],
        ],
        messages: ["Who am I?"],
        history: ["I am Ada.", "Hello.", "Second.", "Yes."],
      },
      {
        what: "the first question, trimmed, begins anew",
        stored: [["Hello?\n", "Hi."]],
        messages: ["Hello?"],
        history: [],
      },
    ]) {
      test(what, async () => {
        assert.deepEqual(await told(stored, messages), history);
      });
    }

    test("what a person has said counts as a reply", async () => {
      await using api = await openOpenAI(inProcess);
      await api.chat({ model: "echo" }, named);
      const [conversation] = await api.conversations();
      const say = { role: "assistant", content: "I am Eve.", author: "Eve" };
      const target = `/conversations/${conversation?.id}/messages`;
      assert.equal((await api.fixture.call("POST", target, api.key, say)).status, 201);
      const before = ["Hello?", "Hello?", "And?"];
      await api.chat({ model: "echo", messages: said(...before) }, named); // away from there
      const messages = [
        ...said("Hello?", "Hello?"),
        { role: "assistant", content: "I am Eve." },
        { role: "user", content: "Really?" },
      ];
      await api.chat({ model: "echo", messages }, named);
      const current = (await api.messages("current")).map(({ content }) => content);
      assert.deepEqual(current, ["Hello?", "Hello?", "I am Eve.", "Really?", "Really?"]);
    });

    test("the last 500 replies", { timeout: 100_000 }, async () => {
      await using api = await openOpenAI(inProcess, { requestsPerHour: { full_access: 10_000 } });
      for (let count = 1; count <= 501; count++) {
        await api.chat({ model: "echo", messages: [{ role: "user", content: `${count}` }] }, named);
      }
      const go = async (reply: number) => {
        const messages = said(`${reply}`, `${reply}`, "And?");
        await api.chat({ model: "echo", messages }, named);
        const [conversation] = await api.conversations();
        return conversation?.messageCount;
      };
      assert.equal(await go(1), 1004); // at the end
      assert.equal(await go(3), 8); // of 502 replies, the first of the last 500
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

  test("a first message that is refused leaves no conversation, and a later one leaves what there is", async () => {
    await using api = await openOpenAI(inProcess, { maxRunningReplies: 1 });
    const first = api.chat({}, named);
    const run = await api.engine.next();
    assert.equal((await api.chat({}, { "x-conversation-id": "chat 2" })).status, 429);
    assert.equal((await api.chat({}, named)).status, 409);
    assert.deepEqual(
      (await api.conversations()).map(({ status }) => status),
      ["busy"],
    );
    run.finish();
    assert.equal((await first).status, 200);
  });

  for (const { what, sees } of [
    { what: "finds the conversation that the first one has made", sees: true },
    { what: "makes it with the first one", sees: false },
  ]) {
    test(`of two refused first messages at once, the second ${what}, and is refused as the first`, async () => {
      const memory = createMemoryStore();
      const [looked, deleted] = [createGate(), createGate()];
      let looks = 0;
      const store: Store = {
        ...memory,
        async getConversation(reach, which) {
          const found = await memory.getConversation(reach, which);
          if (typeof which !== "string" && ++looks === 2) {
            looked.open();
            if (found) await deleted.opened;
          }
          return found;
        },
        async createConversation(conversation, ...others) {
          const made = await memory.createConversation(conversation, ...others);
          if (!sees && conversation.name === "chat 1") await looked.opened;
          if (made) await deleted.opened;
          return made;
        },
        async deleteConversation(...which) {
          await looked.opened;
          const gone = await memory.deleteConversation(...which);
          deleted.open();
          return gone;
        },
      };
      await using api = await openOpenAI(inProcess, { store, maxRunningReplies: 1 });
      const running = api.chat({}, { "x-conversation-id": "another" });
      const run = await api.engine.next();
      looks = 0;
      const first = api.chat({}, named);
      if (sees) await settle();
      const second = api.chat({}, named);
      assert.deepEqual([(await first).status, (await second).status], [429, 429]);
      assert.equal((await api.conversations()).length, 1);
      run.finish();
      await running;
    });
  }

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

  test("an empty name is none", async () => {
    await using api = await openOpenAI(inProcess);
    assert.equal((await api.chat({ model: "echo" }, { "x-conversation-id": "" })).status, 200);
    assert.deepEqual(await api.conversations(), []);
  });

  for (const name of ["x".repeat(129), "new", "null", "undefined", "None", "PENDING", "[object Object]"]) {
    test(`the name ${name} is refused`, async () => {
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
    await using api = await openOpenAI(inProcess);
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

  for (const { path, body } of [
    { path: "/chat/completions", body: { messages: [{ role: "user", content: "Hello?" }] } },
    { path: "/responses", body: { input: "Hello?" } },
  ]) {
    test(`an Idempotency-Key repeats the reply of a twin that is gone since (${path})`, async () => {
      const { twins, remove } = removable(newTwin({ id: "echo" }));
      await using api = await openOpenAI(inProcess, { twins });
      const send = (key: string) =>
        api.send("POST", path, { model: "echo", ...body }, { ...named, "idempotency-key": key });
      const first = await send("once");
      assert.equal(first.status, 200);
      remove();
      const again = await send("once");
      assert.deepEqual([again.status, await again.text()], [200, await first.text()]);
      assert.equal((await send("another")).status, 404);
    });
  }
});
