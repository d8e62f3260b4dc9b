/**
 * Judges an event stream, event by event.
 */

import assert from "node:assert/strict";
import type { EventStream } from "../../core/mod.ts";
import { messageResource } from "../../core/wire/resources.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { whole } from "../contracts/whole.ts";
import { parseEvents, type StreamEvent } from "../support/harness.ts";
import { isEndedElsewhere, type Ledger, type StoredReply } from "./ledger.ts";
import type { Process } from "./processes.ts";
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

/** Reads streams, and judges them. */
export class Reader {
  readonly #world: World;
  readonly #ledger: Ledger;
  /** How many streams went on with another attempt. */
  continued = 0;

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  /** Reads until the stream ends, the client leaves, or the process dies. */
  async read(reading: Reading): Promise<Read> {
    const judge = new Judge(this.#world, this.#ledger, reading);
    const { stream } = reading;
    if (typeof stream === "string") {
      for (const event of parseEvents(stream)) await judge.judge(event);
      if (!judge.read.ended) this.#world.violate("a stream's text lacks its last event");
    } else {
      await this.#follow(stream, reading, judge);
    }
    this.continued += judge.continued;
    return judge.read;
  }

  async #follow(stream: EventStream, { process, patience }: Reading, judge: Judge): Promise<void> {
    const world = this.#world;
    const { random } = world;
    const leaveAt = world.now() + patience;
    let wake = () => {};
    let ended = false;
    stream.wake(() => wake());
    while (process.alive() && !ended && world.now() < leaveAt) {
      const ready = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([process.awake(), process.died]);
      const piece = process.alive() ? stream.next() : undefined;
      ended = piece?.last === true;
      for (const event of parseEvents(piece?.text ?? "")) await judge.judge(event);
      // A process that stops releases the followers of replies that another one produces.
      if (ended !== judge.read.ended && !process.closing)
        world.violate("a stream's end is not its last event");
      if (ended) break;
      if (!piece) await Promise.race([ready, process.died, world.pause(leaveAt - world.now())]);
      else if (random.chance(0.2)) await world.pause(random.between(1, 500));
    }
    if (ended && stream.next()) world.violate("there is text after the last event");
    stream.close();
    if (random.chance(0.1)) stream.close();
  }
}

/** Judges the events of one stream. */
class Judge {
  readonly read: Read = { replyId: undefined, ids: [], ended: false };
  /** How often the stream went on with another attempt. */
  continued = 0;
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #reading: Reading;
  #offset: number;
  #shown: Shown;

  constructor(world: World, ledger: Ledger, reading: Reading) {
    this.#world = world;
    this.#ledger = ledger;
    this.#reading = reading;
    this.#offset = reading.from;
    this.#shown = { from: reading.from, text: "" };
  }

  async judge(event: StreamEvent): Promise<void> {
    const { read } = this;
    this.#world.trace(`event ${event.id} ${event.data.type}`);
    if (read.ended) this.#world.violate("there is an event after the last one");
    if (read.ids.length === 0) this.#judgeFirst(event);
    if (event.data.type === "delta") {
      const { content } = event.data;
      if (content === "" || !content.isWellFormed()) this.#world.violate("a delta is empty, or half a pair");
      this.#offset += content.length;
      this.#shown = { ...this.#shown, text: this.#shown.text + content };
    }
    if (isContinuation(event)) this.#judgeContinuation(event);
    if (event.id !== this.#offset) this.#world.violate(`an event's id is ${event.id}, not ${this.#offset}`);
    read.ids.push(event.id);
    if (event.data.type !== "complete" && event.data.type !== "error") return;
    read.ended = true;
    await this.#judgeEnd(event);
  }

  #judgeFirst(event: StreamEvent): void {
    const { from, replyId } = this.#reading;
    if (isContinuation(event)) {
      this.read.replyId = replyId;
      if (event.id >= from) this.#world.violate("a stream begins with a cut that is none");
      return;
    }
    if (event.id !== from) this.#world.violate(`the first event has id ${event.id}, not ${from}`);
    const { data } = event;
    if (data.type === "error") return; // an interrupted reply that has less text than its reader
    if (data.type !== "progress" || data.progress.stage !== "accepted")
      this.#world.violate("nothing was accepted");
    this.read.replyId = String(data.progress.messageId);
    if (replyId && replyId !== this.read.replyId) this.#world.violate("a stream has another reply");
    storedReply(this.#world, this.#ledger, this.read.replyId);
  }

  /** A stream is cut back only to what was saved when its reply was taken over, or cancelled by another process. */
  #judgeContinuation(event: StreamEvent): void {
    const stored = storedReply(this.#world, this.#ledger, this.read.replyId);
    const { takenOver, attempt, text, deleted } = stored;
    this.continued++;
    const progress: Record<string, unknown> = event.data.type === "progress" ? event.data.progress : {};
    const { from, attempt: told } = progress;
    const isLost = deleted || (isEndedElsewhere(stored) && from === text.length);
    if (from !== event.id || !(isLost || from === takenOver?.length) || told !== attempt) {
      this.#world.violate(`a stream goes on from ${from} in attempt ${told}, but not its reply`);
    }
    this.#offset = event.id;
    const shownFrom = Math.min(this.#shown.from, event.id);
    this.#shown = { from: shownFrom, text: this.#shown.text.slice(0, event.id - shownFrom) };
  }

  async #judgeEnd({ data }: StreamEvent): Promise<void> {
    const stored = storedReply(this.#world, this.#ledger, this.read.replyId ?? this.#reading.replyId);
    if (data.type === "complete") {
      if (data.message.id !== stored.id) this.#world.violate("a stream ended with another reply");
      await requireStored(this.#world, this.#ledger, data.message);
    } else if (data.type === "error" && !stored.deleted) {
      const { code } = data.error;
      if (stored.end?.error?.code !== code)
        this.#world.violate(`${stored.id} ended its stream with ${code}, but is stored otherwise`);
    }
    await this.#requireText(stored);
  }

  /** The deltas must be the stored text from the resume point on. */
  async #requireText(stored: StoredReply): Promise<void> {
    if (stored.deleted) return;
    const { owner, id, end } = stored;
    const { from, text } = this.#shown;
    const content = (await this.#ledger.truth.getMessage({ owner }, id, whole))?.content ?? "";
    if (content.slice(from) === text) return;
    // Text that was sent but not yet saved may be lost with its process; text is never changed.
    const shown = content.slice(0, from) + text;
    const interrupted = end?.error?.code === "interrupted";
    if (interrupted && (shown.startsWith(content) || content.startsWith(shown))) return;
    this.#world.violate(`the deltas of ${id} are not its text from ${this.#reading.from} on`);
  }
}

function storedReply(world: World, ledger: Ledger, id: string | undefined): StoredReply {
  return ledger.replies.get(id ?? "") ?? world.violate(`nobody began the reply ${id}`);
}

/** Checks that a message that was handed out equals the stored one. */
export async function requireStored(world: World, ledger: Ledger, message: MessageResource): Promise<void> {
  const { id } = message;
  const reply = ledger.alone.has(id) ? undefined : storedReply(world, ledger, id);
  if (reply && !reply.end && !reply.deleted)
    world.violate(`${id} was reported as ended before that was stored`);
  if (ledger.gone.has(message.conversationId)) return;
  const record = await ledger.truth.getMessage({ owner: "owner" }, id, whole);
  try {
    assert.deepEqual(message, record && messageResource(record));
  } catch (error) {
    world.violate(`${id} is not stored as it was reported: ${error}`);
  }
}

function isContinuation({ data }: StreamEvent): boolean {
  return data.type === "progress" && data.progress.stage === "continued";
}
