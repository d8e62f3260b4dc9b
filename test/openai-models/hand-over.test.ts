import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAIEngine } from "../../adapters/openai-models/mod.ts";
import { createTwinList, type Tool } from "../../core/mod.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { openChat } from "../support/chat.ts";
import { dataOf, inProcess, newTwin } from "../support/harness.ts";
import * as model from "./model-server.ts";
import { parts, serverThat } from "./tools-fixture.ts";

/** A conversation with a twin whose model hands over where it is offered that. */
async function open(handover: boolean, tools: readonly Tool[] = []) {
  const transport = serverThat(({ tools: offered = [], messages }) => {
    const name = offered[0]?.function.name;
    const isTold = messages.some(({ role }) => role === "tool");
    if (name === undefined || isTold) return model.completion("Somebody will answer.");
    return parts({ index: 0, id: "c", function: { name, arguments: "{}" } }) + model.finish("tool_calls");
  });
  const engine = createOpenAIEngine({
    baseUrl: "http://127.0.0.1:1/v1",
    transport,
    tools,
    log: () => {},
  });
  const scripted = newTwin({
    id: "scripted",
    engine: "openai",
    handover,
    tools: tools.map(({ name }) => name),
  });
  const chat = await openChat(inProcess, { twins: createTwinList([scripted]), engines: { openai: engine } });
  return { chat, asked: transport.asked };
}

test("the model of a twin that hands over may do so, and tells the person in its reply", async () => {
  const { chat, asked } = await open(true);
  await using _ = chat;
  const reply = await dataOf<MessageResource>(await chat.send("A person, please."));
  assert.equal(reply.content, "Somebody will answer.");
  assert.equal(asked.length, 2);
  const conversation = await dataOf<ConversationResource>(await chat.get(""));
  assert.deepEqual([conversation.answeredBy, conversation.waitingSince], ["person", reply.createdAt]);
});

test("the model of another twin is not offered it, and neither is one without a conversation", async () => {
  const { chat, asked } = await open(false);
  await using _ = chat;
  await chat.send("A person, please.");
  assert.deepEqual([asked.length, asked[0]?.tools], [1, undefined]);
  const conversation = await dataOf<ConversationResource>(await chat.get(""));
  assert.equal(conversation.answeredBy, "twin");
});

test("it keeps its name beside a tool that has the same one", async () => {
  const tool = { name: "hand_over_to_person", description: "", inputSchema: {}, run: () => "" };
  const { chat, asked } = await open(true, [tool]);
  await using _ = chat;
  await chat.send("Hi");
  const names = asked[0]?.tools?.map((each) => each.function.name);
  assert.deepEqual(names, ["hand_over_to_person", "hand_over_to_person_2"]);
  assert.equal((await dataOf<ConversationResource>(await chat.get(""))).answeredBy, "person");
});
