/**
 * A conversation over connections that break, whatever the client runs on.
 */

import assert from "node:assert/strict";
import type { Message, StreamEvent } from "../../client/mod.ts";
import { openChat } from "../support/chat.ts";
import { dataOf, overSocket } from "../support/harness.ts";
import { type Break, type Fault, openBreakingProxy } from "./breaking-proxy.ts";
import { textIn } from "./collect.ts";

/** Where a connection breaks, and what that place is called. */
export type Position = Omit<Fault, "how"> & { readonly name: string };

/** What a client needs to send the message. */
export interface Connection {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly conversationId: string;
}

/** A client that has sent the message, and reads the reply. */
export interface Reading {
  /** Resolves once the client has this many characters. */
  reach(length: number): Promise<void>;
  /** Resolves with all that the client got, once the reply has ended. */
  end(): Promise<{ readonly final: Message; readonly events: StreamEvent[]; readonly text: string }>;
}

/** Characters of one, two, three and four bytes of UTF-8, and of one and two code units. */
export const pieces = ["Hello, ", "café", " 世界", " and 👋🏽", "!"];
export const whole = pieces.join("");

const complete = '{"type":"complete"';

/** Where connections break. */
export const positions: readonly Position[] = [
  { name: "before the head", after: [] },
  { name: "inside the status", after: ["HTTP/1.1 2"] },
  { name: "behind the status", after: ["HTTP/1.1 200"] },
  { name: "inside the head's fields", after: ["HTTP/1.1 200", "\r\nCo"] },
  { name: "between head and body", after: ["\r\n\r\n"] },
  { name: "inside the first event", after: ['{"type":"progress"'] },
  { name: "behind the first event", after: ['"stage":"accepted"', "\n\n"] },
  { name: "inside a delta", after: ['"content":"Hel'] },
  { name: "inside a character of two bytes", after: ["caf"], plus: 1 },
  { name: "inside a character of four bytes", after: [" and "], plus: 2 },
  { name: "behind a delta", after: ["café", "\n\n"] },
  { name: "behind the last delta", after: ['"content":"!"', "\n\n"] },
  { name: "inside the last event", after: [complete] },
  { name: "inside the last event's text", after: [complete, "世"], plus: -1 },
  { name: "inside the blank line of the last event", after: [complete, "\n"] },
  { name: "between the last event and the end", after: [complete, "\n\n"] },
];

export const ways: readonly Break[] = ["end", "reset", "stall"];

/** Many faults in one reply. */
export const everywhere: readonly Fault[] = [
  ["HTTP/1.1 200"],
  ['"stage":"accepted"', "\n\n"],
  ["café"],
  [" and "],
  ['"!"', "\n\n"],
  [complete],
].map((after, index) => ({ after, how: ways[index % ways.length] ?? "end" }));

/** Sends a message through a proxy with faults. The engine writes a piece once the client has those before it. */
export async function converse(faults: readonly Fault[], read: (to: Connection) => Promise<Reading>) {
  await using chat = await openChat(overSocket);
  await using proxy = await openBreakingProxy(chat.fixture.url, faults);
  const { key: apiKey, conversationId } = chat;
  const reading = await read({ baseUrl: proxy.url, apiKey, conversationId });
  const run = await chat.engine.next();
  let written = "";
  for (const piece of pieces) {
    run.write(piece);
    written += piece;
    await reading.reach(written.length);
  }
  run.finish();
  return {
    ...(await reading.end()),
    unused: proxy.faults.length,
    requests: proxy.requests,
    stored: await dataOf<Message[]>(await chat.get("/messages")),
    asked: chat.engine.asked,
  };
}

/** Fails unless all faults happened, the text is exact, and the reply was stored once and asked for once. */
export function assertWhole(conversation: Awaited<ReturnType<typeof converse>>): void {
  const { final, events, text, unused, stored, asked } = conversation;
  assert.equal(unused, 0, "the connection broke");
  assert.equal(textIn(events), whole);
  assert.equal(text, whole);
  assert.deepEqual([final.content, final.status], [whole, "completed"]);
  assert.deepEqual(
    stored.map(({ content }) => content),
    ["Hello?", whole],
  );
  assert.equal(asked, 1);
}
