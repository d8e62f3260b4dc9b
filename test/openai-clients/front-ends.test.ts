/**
 * What Open WebUI and LibreChat send, written down from their public sources: `backend/open_webui/routers/openai.py`,
 * `routers/tasks.py` and `utils/headers.py` of Open WebUI 0.6 to 0.9; `packages/api/src/utils/env.ts`,
 * `packages/data-provider/src/config.ts` and `@librechat/agents` of LibreChat 0.8.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inProcess } from "../support/harness.ts";
import { type OpenAIFixture, openOpenAI, readData } from "./fixture.ts";

const chatId = "5f2c1f0e-6a35-4f0d-9d3c-0a8a6a1f7c11";

/** `ENABLE_FORWARD_USER_INFO_HEADERS=true`; names are percent-encoded. */
const openWebUIUser = {
  "X-OpenWebUI-User-Name": "Zo%C3%AB Smith",
  "X-OpenWebUI-User-Id": "c7b5d6a0-0f0b-4d55-8c2e-3b1b6a5d1e0f",
  "X-OpenWebUI-User-Email": "zoe@example.com",
  "X-OpenWebUI-User-Role": "user",
};

const openWebUI = {
  headers: {
    ...openWebUIUser,
    "X-OpenWebUI-Chat-Id": chatId,
    "X-OpenWebUI-Message-Id": "0d8f1f5e-7a3b-4a0e-8c59-5d1e2f3a4b5c",
  },
  chat: (...contents: readonly string[]) => ({
    stream: true,
    model: "ada",
    messages: [{ role: "system", content: "User Context:\n\n" }, ...alternate(contents)],
    stream_options: { include_usage: true },
  }),
  /** What it asks beside the reply, in the name of the same chat. */
  tasks: [
    "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n",
    "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history",
    "### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next",
    "### Task:\nAnalyze the chat history to determine the necessity of generating search queries",
  ].map((prompt) => ({
    model: "echo",
    messages: [{ role: "user", content: `${prompt}\n<chat_history>\nUSER: Hello?\n</chat_history>` }],
    stream: false,
    max_tokens: 1000,
  })),
};

/** `headers` of an endpoint in `librechat.yaml` are templates; `user` is the id of the person. */
const libreChat = {
  headers: {
    "User-Agent": "OpenAI/JS 5.23.2",
    "X-Stainless-Lang": "js",
    "X-Stainless-Retry-Count": "0",
    "X-Conversation-Id": chatId, // {{LIBRECHAT_BODY_CONVERSATIONID}}
  },
  chat: (...contents: readonly string[]) => ({
    model: "ada",
    user: "68f0c1d2e3b4a5968778695a",
    stream: true,
    stream_options: { include_usage: true },
    messages: alternate(contents).map(({ role, content }) =>
      role === "user" ? { role, content: [{ type: "text", text: content }] } : { role, content },
    ),
  }),
  /** Of an endpoint without the header, which `titleEndpoint` names; by default while the reply runs. */
  title: {
    model: "echo",
    user: "68f0c1d2e3b4a5968778695a",
    messages: [
      {
        role: "user",
        content:
          "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.\n\nConversation:\nUser: Hello?\nAI: ",
      },
    ],
  },
};

/**
 * LobeChat names no conversation: it sends all of a chat, and asks for topics in the same way. From its `@lobechat/model-runtime`
 * of 1.130 to 2.0.
 */
const lobeChat = {
  headers: { "User-Agent": "OpenAI/JS 4.104.0", "X-Stainless-Lang": "js", "X-Stainless-Retry-Count": "0" },
  chat: (...contents: readonly string[]) => ({
    messages: [{ role: "system", content: "You are helpful." }, ...alternate(contents)],
    model: "ada",
    frequency_penalty: 0,
    presence_penalty: 0,
    temperature: 1,
    top_p: 1,
    stream: true,
    stream_options: { include_usage: true },
    user: "user_2xKd",
  }),
};

/** n8n's *OpenAI Chat Model* of 1.120, by LangChain: its memory node has the history, and its operator names a conversation. */
const n8n = {
  headers: {
    "User-Agent": "OpenAI/JS 5.12.2",
    "X-Stainless-Lang": "js",
    "X-Stainless-Retry-Count": "0",
    "X-Conversation-Id": "telegram 81023", // in the credential's "Add Custom Header"
  },
  chat: (...contents: readonly string[]) => ({
    model: "ada",
    temperature: 0.7,
    n: 1,
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: "function", function: { name: "Calculator", parameters: { type: "object" } } }],
    messages: [{ role: "system", content: "You are a helpful assistant" }, ...alternate(contents)],
  }),
};

/** Home Assistant's *Extended OpenAI Conversation* 2.0: all of a conversation, whose id is `user`, in one answer. */
const homeAssistant = {
  headers: { "User-Agent": "AsyncOpenAI/Python 2.8.0", "X-Stainless-Retry-Count": "0" },
  chat: (...contents: readonly string[]) => ({
    model: "ada",
    messages: [{ role: "system", content: "Act as smart home manager." }, ...alternate(contents)],
    max_tokens: 150,
    top_p: 1,
    temperature: 0.5,
    user: "01JDX9Q3Y4KZ6",
    functions: [{ name: "execute_services", parameters: { type: "object" } }],
    function_call: "auto",
  }),
};

/** Contents as the messages of a chat that the user begins. */
function alternate(contents: readonly string[]) {
  return contents.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }));
}

interface Chunk {
  readonly choices: readonly {
    readonly finish_reason: string | null;
    readonly delta: { content?: string };
  }[];
}

/** Streams a chat, whose reply the engine writes once `meanwhile` is over. Returns the reply as the front end reads it. */
async function talk(
  api: OpenAIFixture,
  body: object,
  headers: HeadersInit,
  meanwhile = async () => {},
  end = "there!",
): Promise<string> {
  const response = await api.send("POST", "/chat/completions", body, headers);
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const run = await api.engine.next();
  run.write("Hi ");
  await meanwhile();
  run.write(end);
  run.finish();
  const events = readData(await response.text());
  assert.equal(events.pop(), "[DONE]");
  const choices = (events as Chunk[]).flatMap(({ choices: [choice] }) => choice ?? []);
  assert.deepEqual(
    choices.map(({ finish_reason: reason }) => reason),
    [...choices.slice(1).map(() => null), "stop"],
  );
  return choices.map(({ delta }) => delta.content ?? "").join("");
}

/** The end user of each conversation, and its contents. */
async function stored(api: OpenAIFixture): Promise<readonly unknown[]> {
  const messages = await api.messages();
  return (await api.conversations()).map(({ id, endUser }) => [
    endUser,
    messages.filter(({ conversationId }) => conversationId === id).map(({ content }) => content),
  ]);
}

const open = () => openOpenAI(inProcess);

describe("Open WebUI", { timeout: 300_000 }, () => {
  test("asks for title, tags, questions and queries beside the reply, none of which is stored", async () => {
    await using api = await open();
    const { headers, tasks, chat } = openWebUI;
    const text = await talk(api, chat("Hello?"), headers, async () => {
      for (const task of tasks) {
        const response = await api.send("POST", "/chat/completions", task, headers);
        const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
        assert.equal(choices[0]?.message.content, task.messages[0]?.content);
      }
    });
    assert.equal(text, "Hi there!");
    const endUser = openWebUIUser["X-OpenWebUI-User-Id"];
    assert.deepEqual(await stored(api), [[endUser, ["Hello?", "Hi there!"]]]);
  });

  test("keeps no temporary chats, whose id is that of their socket", async () => {
    await using api = await open();
    const headers = { ...openWebUI.headers, "X-OpenWebUI-Chat-Id": "local:v1nBhzOWQ8cUcMRDAAAB" };
    assert.equal(await talk(api, openWebUI.chat("Hello?", "Hi there!", "And?"), headers), "Hi there!");
    assert.deepEqual(await stored(api), []);
  });

  test("that does not forward who talks, is answered, and nothing is stored", async () => {
    await using api = await open();
    assert.equal(await talk(api, openWebUI.chat("Hello?"), {}), "Hi there!");
    assert.deepEqual(await stored(api), []);
  });

  test("asks for titles and emojis in the operator's words, which are not stored and take no history away", async () => {
    await using api = await open();
    const { headers, chat } = openWebUI;
    await talk(api, chat("Hello?"), headers);
    for (const question of [
      "A short title for USER: Hello?",
      "Your task is to find an emoji for ```Hi there!```",
    ]) {
      const task = { model: "ada", stream: false, messages: [{ role: "user", content: question }] };
      const answered = api.send("POST", "/chat/completions", task, headers);
      (await api.engine.next()).finish();
      assert.equal((await answered).status, 200);
    }
    await talk(api, chat("Hello?", "Hi there!", "And?"), headers);
    await talk(api, chat("Hello?", "Hi there!", "And?", "Hi there!", "### Task: mend my bicycle."), headers);
    const [[, contents] = []] = (await stored(api)) as [unknown, string[]][];
    const questions = ["Hello?", "And?", "### Task: mend my bicycle."];
    assert.deepEqual(
      contents,
      questions.flatMap((question) => [question, "Hi there!"]),
    );
  });

  test("edits its first question, which begins anew, and the branch before can be gone on with", async () => {
    await using api = await open();
    const { headers, chat } = openWebUI;
    const path = async () => (await api.messages("current")).map(({ content }) => content);
    const get = (reply: string, ...contents: readonly string[]) =>
      talk(api, chat(...contents), headers, undefined, reply);
    await get("one!", "My card is 1234.");
    await get("two!", "My card is 1234.", "Hi one!", "And?");
    await get("three!", "Hello?");
    assert.deepEqual(await path(), ["Hello?", "Hi three!"]);
    await get("four!", "Hello?", "Hi three!", "And?");
    assert.deepEqual(await path(), ["Hello?", "Hi three!", "And?", "Hi four!"]);
    await get("five!", "My card is 1234.", "Hi one!", "Or?");
    assert.deepEqual(await path(), ["My card is 1234.", "Hi one!", "Or?", "Hi five!"]);
    assert.equal((await api.conversations()).length, 1);
  });

  test("edits its first question where its operator has turned streaming off, too", async () => {
    await using api = await open();
    const { headers, chat } = openWebUI;
    const path = async () => (await api.messages("current")).map(({ content }) => content);
    const get = async (reply: string, ...contents: readonly string[]) => {
      const body = { ...chat(...contents), stream: false, stream_options: undefined };
      const answered = api.send("POST", "/chat/completions", body, headers);
      const run = await api.engine.next();
      run.write(reply);
      run.finish();
      assert.equal((await answered).status, 200);
    };
    await get("Of oak.", "What is a hull?");
    await get("Of sails.", "What is a mast for?");
    assert.deepEqual(await path(), ["What is a mast for?", "Of sails."]);
    await get("For wind.", "What is a mast for? In a word.");
    assert.deepEqual(await path(), ["What is a mast for? In a word.", "For wind."]);
    await get("Of wind.", "What is a mast for? In a word.", "For wind.", "And?");
    assert.deepEqual(await path(), ["What is a mast for? In a word.", "For wind.", "And?", "Of wind."]);
    await get("Ships", "A title for: USER: And?");
    await get("Ships", "What do we speak of?\n\nASSISTANT: Of wind.");
    assert.deepEqual(await path(), ["What is a mast for? In a word.", "For wind.", "And?", "Of wind."]);
    await get("Of pine.", "And?!");
    assert.deepEqual(await path(), ["And?!", "Of pine."]);
    await get("Why not?", "I am in a hurry. And?!");
    assert.deepEqual(await path(), ["I am in a hurry. And?!", "Why not?"]);
    await get("Because.", "I sail at noon.\n\nI am in a hurry. And?!");
    const edited = ["I sail at noon.\n\nI am in a hurry. And?!", "Because."];
    assert.deepEqual(await path(), edited);
    for (const quoted of [
      `Message: \`\`\`${edited[0]}\`\`\``,
      `# Title\n${edited[0]}`,
      `<chat>${edited[0]}</chat>`,
    ])
      await get("Ships", quoted);
    assert.deepEqual(await path(), edited);
  });

  test("repeats its question at each letter, which is looked at up to a limit", async () => {
    await using api = await open();
    const { headers, chat } = openWebUI;
    const question = "\u6f22".repeat(50);
    await talk(api, chat(question), headers);
    const ask = async (before: number) => {
      const content = `${"\u6f22".repeat(before)}: ${question}`;
      const body = { model: "ada", messages: [{ role: "user", content }] };
      const answered = api.send("POST", "/chat/completions", body, headers);
      (await api.engine.next()).finish();
      assert.equal((await answered).status, 200);
    };
    await ask(100); // it quotes the question, as front ends do that ask for themselves
    assert.equal((await api.messages()).length, 2);
    await ask(200);
    assert.equal((await api.messages()).length, 4);
  });

  test("goes on behind a question whose reply failed", async () => {
    await using api = await open();
    const { headers, chat } = openWebUI;
    const response = await api.send("POST", "/chat/completions", chat("Hello?"), headers);
    (await api.engine.next()).fail(new Error("The model is away."));
    await response.text();
    const twice = { ...chat(), messages: alternate(["Hello?", "", "And?"]) };
    await talk(api, twice, headers);
    const path = (await api.messages("current")).map(({ content }) => content);
    assert.deepEqual(path, ["Hello?", "", "And?", "Hi there!"]);
  });
});

describe("LibreChat", { timeout: 300_000 }, () => {
  test("names the conversation in a templated header, and the person in user", async () => {
    await using api = await open();
    const { headers, chat } = libreChat;
    await talk(api, chat("Hello?"), headers);
    await talk(api, chat("Hello?", "Hi there!", "And?"), headers);
    const contents = ["Hello?", "Hi there!", "And?", "Hi there!"];
    assert.deepEqual(await stored(api), [["68f0c1d2e3b4a5968778695a", contents]]);
  });

  test("may name the person in a templated header, too", async () => {
    await using api = await open();
    const headers = { ...libreChat.headers, "X-End-User": "zoe@example.com" }; // {{LIBRECHAT_USER_EMAIL}}
    await talk(api, libreChat.chat("Hello?"), headers);
    assert.deepEqual(await stored(api), [["zoe@example.com", ["Hello?", "Hi there!"]]]);
  });

  test("asks for a title beside the reply, which is not stored", async () => {
    await using api = await open();
    const { headers, chat, title } = libreChat;
    await talk(api, chat("Hello?"), headers, async () => {
      assert.equal((await api.send("POST", "/chat/completions", title)).status, 200);
    });
    assert.deepEqual(await stored(api), [["68f0c1d2e3b4a5968778695a", ["Hello?", "Hi there!"]]]);
  });
});

describe("LobeChat", { timeout: 300_000 }, () => {
  test("names no conversation: the twin knows all of the chat, and nothing is stored", async () => {
    await using api = await open();
    const { headers, chat } = lobeChat;
    await talk(api, chat("I am Ada.", "Hi there!", "Who am I?"), headers);
    const [turn] = api.engine.turns;
    assert.deepEqual(turn?.history, alternate(["I am Ada.", "Hi there!"]));
    assert.equal(turn?.origin?.endUser, "user_2xKd");
    assert.deepEqual(await stored(api), []);
  });
});

describe("n8n", { timeout: 300_000 }, () => {
  test("goes on in the conversation that its operator names, with or without a memory", async () => {
    await using api = await open();
    const { headers, chat } = n8n;
    await talk(api, chat("I am Ada."), headers);
    await talk(api, chat("Who am I?"), headers);
    await talk(api, chat("I am Ada.", "Hi there!", "Who am I?", "Hi there!", "And you?"), headers);
    const said = ["I am Ada.", "Hi there!", "Who am I?", "Hi there!"];
    assert.deepEqual(
      api.engine.turns.map(({ history }) => history),
      [[], alternate(said.slice(0, 2)), alternate(said)],
    );
    assert.deepEqual(await stored(api), [[null, [...said, "And you?", "Hi there!"]]]);
  });
});

describe("Home Assistant", { timeout: 300_000 }, () => {
  test("sends all of a conversation, and is answered in one piece", async () => {
    await using api = await open();
    const { headers, chat } = homeAssistant;
    const body = chat("Turn on the light.", "Done.", "And off again.");
    const response = api.send("POST", "/chat/completions", body, headers);
    const run = await api.engine.next();
    run.write("Done, too.");
    run.finish();
    const { choices } = (await (await response).json()) as { choices: { message: { content: string } }[] };
    assert.equal(choices[0]?.message.content, "Done, too.");
    assert.deepEqual(api.engine.turns[0]?.history, alternate(["Turn on the light.", "Done."]));
    assert.deepEqual(await stored(api), []);
  });
});

describe("responses that are not stored", { timeout: 300_000 }, () => {
  /** Home Assistant's own *OpenAI* integration of 2026.8, and LobeChat's providers with the Responses API. */
  const bodies = {
    "Home Assistant": {
      input: [
        { type: "message", role: "developer", content: "You are a voice assistant." },
        { type: "message", role: "user", content: "Turn on the light." },
        { type: "message", role: "assistant", content: "Done." },
        { type: "message", role: "user", content: "And off again." },
      ],
      user: "01JDX9Q3Y4KZ6",
      max_output_tokens: 3000,
      top_p: 1,
      temperature: 1,
      include: ["reasoning.encrypted_content"],
    },
    LobeChat: {
      input: [
        { role: "user", content: "Turn on the light." },
        { role: "assistant", content: "Done." },
        { role: "user", content: [{ type: "input_text", text: "And off again." }] },
      ],
      reasoning: { summary: "auto" },
      instructions: "You are helpful.",
      moderation: { model: "omni-moderation-latest" },
    },
  };
  for (const [name, body] of Object.entries(bodies)) {
    test(`are what ${name} asks for, with all of the chat`, async () => {
      await using api = await open();
      const asked = { model: "ada", stream: true, store: false, ...body };
      const response = await api.send("POST", "/responses", asked);
      const run = await api.engine.next();
      run.write("It is off.");
      run.finish();
      const last = readData(await response.text()).at(-1) as { type: string };
      assert.equal(last.type, "response.completed");
      assert.deepEqual(run.turn.history, alternate(["Turn on the light.", "Done."]));
      assert.equal(run.turn.content, "And off again.");
      assert.deepEqual(await stored(api), []);
    });
  }
});

describe("another reply, and an edited question,", { timeout: 300_000 }, () => {
  for (const [name, { headers, chat }] of Object.entries({ openWebUI, libreChat })) {
    test(`are branches, on which no question is doubled (${name})`, async () => {
      await using api = await open();
      const path = async () => (await api.messages("current")).map(({ content }) => content);
      const get = (reply: string, ...contents: readonly string[]) =>
        talk(api, chat(...contents), headers, undefined, reply);
      await get("one!", "Hello?");
      await get("two!", "Hello?");
      assert.deepEqual(await path(), ["Hello?", "Hi two!"]);
      await get("three!", "Hello?", "Hi two!", "And?");
      await get("four!", "Hello?", "Hi two!", "And?");
      assert.deepEqual(await path(), ["Hello?", "Hi two!", "And?", "Hi four!"]);
      await get("five!", "Hello?", "Hi two!", "But?");
      assert.deepEqual(await path(), ["Hello?", "Hi two!", "But?", "Hi five!"]);
      assert.equal((await api.conversations()).length, 1);
    });
  }
});
