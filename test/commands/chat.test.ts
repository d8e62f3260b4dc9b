/**
 * A conversation in the terminal, with a twin whose calls wait for a yes, or which hands over to a person.
 */

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { TwinClient } from "../../client/mod.ts";
import { createTwinList, type TwinEngine } from "../../core/mod.ts";
import { chat } from "../../server/commands/chat.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { inProcess, newTwin } from "../support/harness.ts";
import { until } from "../support/until.ts";

function clientOf({ key, service }: Chat): TwinClient {
  return new TwinClient({
    baseUrl: "http://twins.test",
    apiKey: key,
    fetch: (input, init) => service.fetch(new Request(input, init)),
  });
}

test("calls that wait are shown, and run where the next line is a yes", async () => {
  await using there = await openChat(inProcess, {
    twins: createTwinList([
      newTwin({ id: "scripted", name: "Clerk", engine: "scripted", confirm: ["orders/cancel"] }),
    ]),
  });
  const [input, output] = [new PassThrough(), new PassThrough()];
  input.end("Cancel order 7\nYes\nAnd order 8\nNo, wait\n");
  const talked = chat(clientOf(there), "scripted", { input, output });
  const told: [content: string, decisions: unknown][] = [];
  for (const number of [7, undefined, 8, undefined]) {
    const { turn, write, finish } = await there.engine.next();
    told.push([turn.content, turn.decided?.calls.map(({ decision }) => decision)]);
    const call = { callId: "a", name: "orders/cancel", arguments: { number } };
    if (number === undefined) write("Well.");
    finish(number === undefined ? {} : { finishReason: "tool_calls", pending: { calls: [call], state: "" } });
  }
  await talked;
  output.end();
  assert.deepEqual(told, [
    ["Cancel order 7", undefined],
    ["", ["approve"]],
    ["And order 8", undefined],
    ["No, wait", [undefined]],
  ]);
  assert.equal(
    await text(output),
    [
      "Clerk: Hello!",
      'Clerk: (wants to run orders/cancel {"number":7}; y allows that)',
      "Clerk: Well.",
      'Clerk: (wants to run orders/cancel {"number":8}; y allows that)',
      "Clerk: Well.\n",
    ].join("\n"),
  );
});

test("what is said to a person waits, and the terminal says so", async () => {
  const engine: TwinEngine = {
    async reply(_, output) {
      output.write("I ask Eva.");
      output.handOver();
      return { finishReason: "stop", usage: null };
    },
  };
  await using there = await openChat(inProcess, { engines: { scripted: engine } });
  const [input, output] = [new PassThrough(), new PassThrough()];
  input.end("A person, please\nAre you there?\n");
  await chat(clientOf(there), "scripted", { input, output });
  output.end();
  assert.equal(
    await text(output),
    "scripted: Hello!\nscripted: I ask Eva.\nscripted: (a person answers here; what you said waits)\n",
  );
});

test("what a person says is shown, under that person's name, to who waits for it", async () => {
  await using there = await openChat(inProcess);
  const client = clientOf(there);
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = "";
  output.on("data", (piece) => {
    shown += piece;
  });
  const shows = (words: string) => until(`${words} is shown`, 10_000, () => shown.includes(words));
  const talked = chat(client, "scripted", { input, output });
  await shows("Hello!");
  const [{ id } = { id: "" }] = (await client.conversations.list()).data;
  await client.conversations.update(id, { answeredBy: "person" });
  input.write("Anybody?\n");
  await shows("waits");
  await client.messages.say(id, { content: "I am\u001b[2J here.", author: "Eva" });
  await shows("here.");
  input.end();
  await talked;
  assert.ok(shown.endsWith("what you said waits)\nEva: I am\\u001b[2J here.\n"), shown);
});

test("the terminal says why what a person says cannot be shown any more", async () => {
  await using there = await openChat(inProcess);
  const client = new TwinClient({
    baseUrl: "http://twins.test",
    apiKey: there.key,
    fetch: (input, init) => {
      const request = new Request(input, init);
      const headers = { authorization: "Bearer revoked" };
      return there.service.fetch(
        request.url.endsWith("/stream") ? new Request(request, { headers }) : request,
      );
    },
  });
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = "";
  output.on("data", (piece) => {
    shown += piece;
  });
  const talked = chat(client, "scripted", { input, output });
  await until("the end is told", 10_000, () => shown.includes("any more: "));
  input.end();
  await talked;
  assert.match(
    shown,
    /\(what a person says is not shown any more: The API key or client token is not valid\..*\)\n$/,
  );
});
