/**
 * Reads an event stream while it runs: a reply's, or a conversation's.
 */

import type { ConversationEventData } from "../../core/wire/schemas.ts";
import { assertConversationEvent } from "./conformance.ts";
import { parseEvents, type StreamEvent } from "./harness.ts";

export interface EventReader {
  /** The next event. Rejects if the body ends first. */
  next(): Promise<StreamEvent>;
  /** All events up to the body's end. */
  rest(): Promise<StreamEvent[]>;
  /** Leaves, like a client that closes its connection. */
  leave(): Promise<void>;
}

export function readEvents(response: Response): EventReader {
  if (!response.ok || !response.body) throw new Error(`Not a stream: ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events: StreamEvent[] = [];
  let text = "";

  /** Reads once more. False: the body has ended. */
  async function readMore(): Promise<boolean> {
    const { value, done } = await reader.read();
    if (done) {
      if (text !== "") throw new Error(`The body ends inside an event: ${JSON.stringify(text)}`);
      return false;
    }
    text += value;
    const end = text.lastIndexOf("\n\n") + 2;
    if (end === 1) return true;
    events.push(...parseEvents(text.slice(0, end)));
    text = text.slice(end);
    return true;
  }

  return {
    async next() {
      for (;;) {
        const event = events.shift();
        if (event) return event;
        if (!(await readMore())) throw new Error("The stream has ended.");
      }
    },
    async rest() {
      while (await readMore());
      return events.splice(0);
    },
    leave: () => reader.cancel(),
  };
}

/** One event of a conversation's stream. */
export interface ConversationEvent {
  /** Undefined: the conversation has no message yet. */
  readonly id: string | undefined;
  readonly data: ConversationEventData;
}

export interface ConversationReader {
  /** The next event. Rejects if the body ends first. */
  next(): Promise<ConversationEvent>;
  /** The next events up to the first of this type. */
  until(type: ConversationEventData["type"]): Promise<ConversationEvent[]>;
  /** All events up to the body's end. */
  rest(): Promise<ConversationEvent[]>;
  /** Leaves, like a client that closes its connection. */
  leave(): Promise<void>;
}

/** Reads whole events strictly: an `id` line unless there is no message yet, a `data` line, a blank line. */
export function readConversation(response: Response): ConversationReader {
  if (response.status !== 200 || !response.body) throw new Error(`Not a stream: ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events: ConversationEvent[] = [];
  let text = "";

  async function readMore(): Promise<boolean> {
    const { value, done } = await reader.read();
    if (done) return false;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      if (block.startsWith(":")) continue;
      const [, id, json = ""] = /^(?:id: (\d+\.\d+)\n)?data: (.+)$/.exec(block) ?? [];
      if (json === "") throw new Error(`Not an event: ${JSON.stringify(block)}`);
      const data = JSON.parse(json);
      assertConversationEvent(data);
      events.push({ id, data });
    }
    return true;
  }

  const conversation: ConversationReader = {
    async next() {
      for (;;) {
        const event = events.shift();
        if (event) return event;
        if (!(await readMore())) throw new Error("The stream has ended.");
      }
    },
    async until(type) {
      const read: ConversationEvent[] = [];
      do read.push(await conversation.next());
      while (read.at(-1)?.data.type !== type);
      return read;
    },
    async rest() {
      while (await readMore());
      return events.splice(0);
    },
    leave: () => reader.cancel(),
  };
  return conversation;
}

/** Events as short texts: the id, the type, and what is told. Deltas that follow each other are one. */
export function inShort(events: readonly ConversationEvent[]): string[] {
  const lines: string[] = [];
  let delta: { id: string | undefined; text: string } | undefined;
  const flush = () => {
    if (delta) lines.push(`${delta.id} delta ${delta.text}`);
    delta = undefined;
  };
  for (const { id = "-", data } of events) {
    if (data.type === "delta") {
      delta = { id, text: (delta?.text ?? "") + data.content };
      continue;
    }
    flush();
    if ("message" in data) lines.push(`${id} ${data.type} ${data.message.status} ${data.message.content}`);
    else if (data.type === "conversation") lines.push(`${id} conversation ${data.conversation.title}`);
    else if (data.type === "progress") lines.push(`${id} progress ${data.progress.stage}`);
    else lines.push(`${id} ${data.type}`);
  }
  flush();
  return lines;
}
