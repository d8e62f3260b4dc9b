/**
 * Judges an event stream, event by event.
 */

import assert from "node:assert/strict";
import type { EventStream, MessageResource } from "../../core/mod.ts";
import { messageResource } from "../../core/wire/resources.ts";
import { parseEvents, type StreamEvent } from "../support/harness.ts";
import type { Process } from "./processes.ts";
import type { Ledger, StoredReply } from "./store.ts";
import type { World } from "./world.ts";

/** A stream that a client reads. */
export interface Reading {
  readonly process: Process;
  /** Or all of its text. */
  readonly stream: EventStream | string;
  /** The offset that it was resumed from; 0 for a new one. */
  readonly from: number;
  /** The reply that it must belong to, if that is known in advance. */
  readonly replyId?: string | undefined;
  /** Milliseconds after which the client leaves. */
  readonly patience: number;
}

/** The text that a client has, from an offset of the reply on. */
interface Shown {
  readonly from: number;
  readonly text: string;
}

/** What a client learned from a stream. */
export interface Read {
  replyId: string | undefined;
  /** The ids of its events: where it can be resumed. */
  readonly ids: number[];
  ended: boolean;
}

export interface Reader {
  /** Reads until the stream ends, the client leaves, or the process dies. */
  read(reading: Reading): Promise<Read>;
  /** Checks that a message that was handed out equals the stored one. */
  requireStored(message: MessageResource): Promise<void>;
  /** How many streams went on with another attempt. */
  readonly continued: number;
}

export function createReader(world: World, ledger: Ledger): Reader {
  const { random } = world;
  let continued = 0;

  function storedReply(id: string | undefined): StoredReply {
    return ledger.replies.get(id ?? "") ?? world.violate(`nobody began the reply ${id}`);
  }

  async function requireStored(message: MessageResource): Promise<void> {
    const stored = storedReply(message.id);
    if (stored.deleted) return;
    if (!stored.end) world.violate(`${message.id} was reported as ended before that was stored`);
    const record = await ledger.truth.getMessage({ owner: stored.owner }, stored.conversationId, message.id);
    try {
      assert.deepEqual(message, record && messageResource(record));
    } catch (error) {
      world.violate(`${message.id} is not stored as it was reported: ${error}`);
    }
  }

  /** The deltas must be the stored text from the resume point on. */
  async function requireText(reading: Reading, stored: StoredReply, { from, text }: Shown): Promise<void> {
    if (stored.deleted) return;
    const record = await ledger.truth.getMessage({ owner: stored.owner }, stored.conversationId, stored.id);
    const content = record?.content ?? "";
    if (content.slice(from) === text) return;
    // Text that was sent but not yet saved may be lost with its process; text is never changed.
    const whole = content.slice(0, from) + text;
    const ended = stored.end?.leaseExpiredBefore !== undefined; // by another process
    const interrupted = ended || stored.end?.error?.code === "interrupted";
    if (interrupted && (whole.startsWith(content) || content.startsWith(whole))) return;
    world.violate(`the deltas of ${stored.id} are not its text from ${reading.from} on`);
  }

  async function judgeEnd(reading: Reading, read: Read, event: StreamEvent, shown: Shown): Promise<void> {
    const stored = storedReply(read.replyId ?? reading.replyId);
    if (event.data.type === "complete") {
      if (event.data.message.id !== stored.id) world.violate("a stream ended with another reply");
      await requireStored(event.data.message);
    } else if (event.data.type === "error" && !stored.deleted) {
      const { code } = event.data.error;
      if (stored.end?.error?.code !== code)
        world.violate(`${stored.id} ended its stream with ${code}, but is stored otherwise`);
    }
    await requireText(reading, stored, shown);
  }

  function judgeFirst(reading: Reading, read: Read, event: StreamEvent): void {
    if (isContinuation(event)) {
      read.replyId = reading.replyId;
      if (event.id >= reading.from) world.violate("a stream begins with a cut that is none");
      return;
    }
    if (event.id !== reading.from) world.violate(`the first event has id ${event.id}, not ${reading.from}`);
    const { data } = event;
    if (data.type === "error") return; // an interrupted reply that has less text than its reader
    if (data.type !== "progress" || data.progress.stage !== "accepted") world.violate("nothing was accepted");
    read.replyId = String(data.progress.messageId);
    if (reading.replyId && reading.replyId !== read.replyId) world.violate("a stream has another reply");
    storedReply(read.replyId);
  }

  /** A stream is cut back only to what was saved when its reply was taken over. */
  function judgeContinuation(event: StreamEvent, id: string | undefined): void {
    const { takenOver, attempt } = storedReply(id);
    continued++;
    const progress: Record<string, unknown> = event.data.type === "progress" ? event.data.progress : {};
    const { from, attempt: told } = progress;
    if (from !== event.id || from !== takenOver?.length || told !== attempt) {
      world.violate(`a stream goes on from ${from} in attempt ${told}, but not its reply`);
    }
  }

  async function read(reading: Reading): Promise<Read> {
    const { stream, process } = reading;
    const result: Read = { replyId: undefined, ids: [], ended: false };
    const leaveAt = world.now() + reading.patience;
    let offset = reading.from;
    let shown: Shown = { from: reading.from, text: "" };
    let wake = () => {};
    let cut = false;

    async function judge(event: StreamEvent): Promise<void> {
      world.trace(`event ${event.id} ${event.data.type}`);
      if (result.ended) world.violate("there is an event after the last one");
      if (result.ids.length === 0) judgeFirst(reading, result, event);
      if (event.data.type === "delta") {
        const { content } = event.data;
        if (content === "" || !content.isWellFormed()) world.violate("a delta is empty, or half a pair");
        offset += content.length;
        shown = { ...shown, text: shown.text + content };
      }
      if (isContinuation(event)) {
        judgeContinuation(event, result.replyId);
        offset = event.id;
        const from = Math.min(shown.from, offset);
        shown = { from, text: shown.text.slice(0, offset - from) };
      }
      if (event.id !== offset) world.violate(`an event's id is ${event.id}, not ${offset}`);
      result.ids.push(event.id);
      if (event.data.type !== "complete" && event.data.type !== "error") return;
      result.ended = true;
      await judgeEnd(reading, result, event, shown);
    }

    if (typeof stream === "string") {
      for (const event of parseEvents(stream)) await judge(event);
      if (!result.ended) world.violate("a stream's text lacks its last event");
      return result;
    }
    stream.attach(
      () => wake(),
      () => {
        cut = true;
        wake();
      },
    );
    while (process.alive() && !cut && world.now() < leaveAt) {
      const ready = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([process.awake(), process.died]);
      const piece = process.alive() ? stream.read() : "";
      for (const event of parseEvents(piece)) await judge(event);
      // A process that stops releases the followers of replies that another one produces.
      if (stream.ended !== result.ended && !process.closing)
        world.violate("a stream's end is not its last event");
      if (stream.ended) break;
      if (piece === "") await Promise.race([ready, process.died, world.pause(leaveAt - world.now())]);
      else if (random.chance(0.2)) await world.pause(random.between(1, 500));
    }
    if (stream.ended && stream.read() !== "") world.violate("there is text after the last event");
    stream.detach();
    if (random.chance(0.1)) stream.detach();
    return result;
  }

  return {
    read,
    requireStored,
    get continued() {
      return continued;
    },
  };
}

function isContinuation({ data }: StreamEvent): boolean {
  return data.type === "progress" && data.progress.stage === "continued";
}
