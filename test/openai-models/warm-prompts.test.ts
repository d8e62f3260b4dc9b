/** How much of a request is the beginning of the next one, which is what a model's cache saves, and what the model still knows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAIEngine, type ModelTransport } from "../../adapters/openai-models/mod.ts";
import { createTwinList } from "../../core/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { openChat } from "../support/chat.ts";
import { dataOf, inProcess } from "../support/harness.ts";
import { inPieces } from "./fixture.ts";
import * as model from "./model-server.ts";

/** 200 sections of 130 characters behind a persona of 9,000: an owner's text as it may be. */
const persona =
  `You are Ada, keeper of a lighthouse. ${"Be kind, and keep to what you know. ".repeat(250)}`.slice(
    0,
    9_000,
  );
const sections = Array.from({ length: 200 }, (_, at) => {
  const text = `Lamp number ${at} was lit by keeper K${at} in the year ${1_700 + at}. It shines over the sea, every night of the year.`;
  return `## Lamp ${at}\n\n${text.padEnd(130 - `## Lamp ${at}\n\n`.length, ".")}`;
});
const instructions = [persona, ...sections].join("\n\n");

/** A model that quotes the first section that it was given with the question, in the whole of a completion. */
const quoting: ModelTransport = (url, request, listener) => {
  const { messages } = JSON.parse(request.body) as { messages: { content: string }[] };
  const [, quote = "nothing"] = /## .+\n\n(.+)/.exec(messages.at(-1)?.content ?? "") ?? [];
  return inPieces(model.completion(quote))(url, request, listener);
};

/** A conversation of so many questions, each about another lamp. Returns the requests' bodies. */
async function converse(turns: number) {
  const bodies: string[] = [];
  const transport: ModelTransport = (url, request, listener) => {
    bodies.push(request.body);
    return quoting(url, request, listener);
  };
  const scripted = createOpenAIEngine({ baseUrl: "http://127.0.0.1:1/v1", transport });
  const twins = createTwinList([{ id: "scripted", name: "Ada", engine: "scripted", instructions }]);
  await using chat = await openChat(inProcess, { engines: { scripted }, twins });
  for (let turn = 0; turn < turns; turn++) {
    const lamp = (turn * 37) % 200;
    const question = `Who lit lamp ${lamp}, and when was that?`;
    const { content, inReplyTo } = await dataOf<MessageResource>(await chat.send(question));
    assert.ok(content.startsWith(`Lamp number ${lamp} was lit by keeper K${lamp}`), content);
    if (turn === 0) assert.equal((await chat.message(inReplyTo ?? "")).content, question);
  }
  return bodies;
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

test("from the tenth question on, 75 % of a request begin the next one, and 40 % where the window moves", async () => {
  const bodies = await converse(100);
  const shares = bodies
    .slice(1)
    .map((next, at) => sharedLength(bodies[at] ?? "", next) / (bodies[at]?.length ?? 1));
  for (const [at, share] of shares.entries()) {
    const turn = at + 1; // counted from 1
    const moves = turn === 50 || turn === 75;
    if (turn >= 10) assert.ok(share >= (moves ? 0.4 : 0.75), `turn ${turn}: ${share}`);
  }
});
