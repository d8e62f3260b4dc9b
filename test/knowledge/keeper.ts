/**
 * What the tests of the knowledge engine share: a twin, and conversations with it.
 */

import assert from "node:assert/strict";
import type { EngineProgress, HistoryMessage, TwinEngine } from "../../core/twins/engine.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { createKnowledgeEngine, createKnowledgeIndex } from "../../knowledge/mod.ts";
import { newTwin } from "../support/harness.ts";

export const keeper = `
You are Odd, the lighthouse keeper. Never mention the SMUGGLERS of the cove.

## Voice

Odd is short of words.

- answer: Well now.
- unknown: The sea keeps that to itself.
- topics: Ask about {topics}.
- thanks: Nothing to thank for.
- Mood: salty

## The lamp

The lamp turns once every twelve seconds. It burned oil until 1921.

## Opening hours
<!-- asked as: When can I visit?; tickets, price -->

Visitors may climb the tower from May to September.
A ticket costs 7 euros.

## Storms

### The storm of 1962

The waves broke the kitchen window.

### Storm signals

Two black balls mean a storm from the south.

## Persona

Odd hates GULLS above all.
`;

export function createTwin(instructions: string, fields: Partial<Twin> = {}): Twin {
  const description = "Keeps the lighthouse.";
  return newTwin({ id: "odd", name: "Odd", description, engine: "knowledge", instructions, ...fields });
}

/** The passages that a text is cut into, without those of single items and rows. */
export async function passagesOf(instructions: string, name = "Odd") {
  const { passages } = await createKnowledgeIndex({ name, instructions });
  return passages.filter(({ title }) => title === undefined);
}

/** The words of a question that say something. */
export async function wordsOf(question: string): Promise<string[]> {
  const index = await createKnowledgeIndex({ name: "Odd", instructions: "", language: "en" });
  return [...index.read(question).words.keys()];
}

interface Reply {
  readonly text: string;
  readonly writes: readonly string[];
  readonly events: readonly EngineProgress[];
  /** Headings of the sections that the answer is from. */
  readonly sources: readonly string[];
  readonly isHandedOver: boolean;
}

const origin = { owner: "anna", endUser: null, conversationId: "conv_1", messageId: "msg_1" };

interface Asked {
  readonly twin?: Twin;
  readonly history?: readonly HistoryMessage[];
  readonly engine?: TwinEngine;
}

export async function ask(
  content: string,
  { twin = createTwin(keeper), history = [], engine = createKnowledgeEngine() }: Asked = {},
): Promise<Reply> {
  const writes: string[] = [];
  const events: EngineProgress[] = [];
  let isHandedOver = false;
  const result = await engine.reply(
    { twin, history, content, origin },
    {
      write: (text) => writes.push(text),
      progress: (progress) => {
        assert.equal(writes.length, 0, "sources come before the text");
        events.push(progress);
      },
      beginActing: async () => {},
      handOver: () => {
        isHandedOver = true;
      },
      hold: () => true,
      signal: new AbortController().signal,
    },
  );
  assert.deepEqual(result, { finishReason: "stop", usage: null });
  const [{ sources } = { sources: [] }] = events;
  assert.ok(Array.isArray(sources));
  const headings = sources.map((source) => source.heading);
  return { text: writes.join(""), writes, events, sources: headings, isHandedOver };
}

/** Asks one question after another, and returns the last answer. */
export async function talk(questions: readonly string[], twin = createTwin(keeper)): Promise<Reply> {
  const history: HistoryMessage[] = [];
  let last: Reply | undefined;
  for (const content of questions) {
    last = await ask(content, { twin, history });
    history.push({ role: "user", content }, { role: "assistant", content: last.text });
  }
  if (!last) throw new Error("Nothing was asked.");
  return last;
}
