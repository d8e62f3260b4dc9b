import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ContinuationMode, createOpenAIEngine } from "../../adapters/openai-models/mod.ts";
import { fetchTransport } from "../../adapters/openai-models/transport.ts";
import { start, turn } from "./fixture.ts";
import * as model from "./model-server.ts";

const partial = "Once upon a time there was a";
const asked = [
  { role: "system", content: "You are Ada." },
  { role: "user", content: "Hi?" },
];

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly [member: string]: unknown;
}

describe("going on with a reply", { timeout: 300_000 }, () => {
  for (const { mode, last, members } of [
    { mode: "prefix", last: { role: "assistant", content: partial, prefix: true }, members: {} },
    {
      mode: "continue_final_message",
      last: { role: "assistant", content: partial },
      members: { continue_final_message: true, add_generation_prompt: false },
    },
  ] as const) {
    test(`with ${mode}, the text so far is the last message, and what is written is added as it is`, async (t) => {
      const scripts = [model.reply(" there was a", " dog")];
      const { server, out, reply } = await start(t, fetchTransport, scripts, { continueReplies: mode });
      assert.equal((await reply(turn({ partial }))).finishReason, "stop");
      assert.equal(out.text(), " there was a dog");
      const { messages, model: _, stream, stream_options, ...rest } = (await server.received(0)).body as Body;
      assert.deepEqual(messages, [...asked, last]);
      assert.deepEqual(rest, members);
    });
  }

  test("with prompt, the text so far is followed by a message that asks to go on", async (t) => {
    const options = { continueReplies: "prompt" } as const;
    const { server, out, reply } = await start(t, fetchTransport, [model.reply(" dog")], options);
    await reply(turn({ partial }));
    assert.equal(out.text(), " dog");
    const { messages } = (await server.received(0)).body as Body;
    assert.deepEqual(messages.slice(0, -1), [...asked, { role: "assistant", content: partial }]);
    const request = messages.at(-1);
    assert.equal(request?.role, "user");
    assert.match(request?.content ?? "", /continue it exactly where it ends/i);
  });

  for (const { what, before = partial, pieces, added } of [
    { what: "a repeated end", pieces: ["there was", " a dog"], added: " dog" },
    { what: "a repeated end in small pieces", pieces: [..." time there was a dog"], added: " dog" },
    { what: "the last word, if it ends there", pieces: ["a", " dog"], added: " dog" },
    { what: "the last word at the end of the answer", pieces: ["a"], added: "" },
    { what: "a space", before: "Once ", pieces: [" upon"], added: "upon" },
    {
      what: "eight characters inside a word",
      before: "It was abcdefgh",
      pieces: ["abcdefghi"],
      added: "i",
    },
    {
      what: "a repetition of 200 characters",
      before: `x${"ab".repeat(150)}`,
      pieces: [`${"ab".repeat(100)}.`],
      added: ".",
    },
  ]) {
    test(`with prompt, ${what} is dropped`, async (t) => {
      const scripts = [model.reply(...pieces)];
      const { out, reply } = await start(t, fetchTransport, scripts, { continueReplies: "prompt" });
      await reply(turn({ partial: before }));
      assert.equal(out.text(), added);
    });
  }

  for (const { what, before = partial, text } of [
    { what: "a few letters of a longer word", before: "a b", text: "banana" },
    { what: "a text that has nothing of it", text: "The end" },
    { what: "a text that is repeated from earlier", text: "Once upon a time" },
  ]) {
    test(`with prompt, ${what} stays`, async (t) => {
      const { out, reply } = await start(t, fetchTransport, [model.reply(...text)], {
        continueReplies: "prompt",
      });
      await reply(turn({ partial: before }));
      assert.equal(out.text(), text);
    });
  }

  test("a model that has nothing to add ends the reply", async (t) => {
    for (const continueReplies of ["prefix", "prompt"] as const) {
      const scripts = [model.send(model.finish("stop") + model.endMarker)];
      const { out, reply } = await start(t, fetchTransport, scripts, { continueReplies });
      assert.equal((await reply(turn({ partial }))).finishReason, "stop");
      assert.equal(out.text(), "");
    }
  });

  test("what was held back is part of a reply whose model fails", async (t) => {
    const scripts = [model.send(model.delta("upon a"))];
    const { out, reply } = await start(t, fetchTransport, scripts, { continueReplies: "prompt" });
    await assert.rejects(reply(turn({ partial })), { name: "ModelError" });
    assert.equal(out.text(), "upon a");
  });
});

test("an engine continues partially, unless it never does", () => {
  const baseUrl = "http://127.0.0.1:9/v1";
  assert.equal(createOpenAIEngine({ baseUrl }).continues, undefined);
  assert.equal(createOpenAIEngine({ baseUrl, continueReplies: "never" }).continues, undefined);
  for (const continueReplies of ["prefix", "continue_final_message", "prompt"] as const) {
    assert.equal(createOpenAIEngine({ baseUrl, continueReplies }).continues, "partial");
  }
});

test("another way to continue is refused", () => {
  const continueReplies = "always" as ContinuationMode;
  assert.throws(
    () => createOpenAIEngine({ baseUrl: "http://127.0.0.1:9/v1", continueReplies }),
    /continueReplies must be one of never, prefix, continue_final_message, prompt, not "always"/,
  );
});
