/**
 * A device that looks on: it follows a conversation on one process after another, from where it was, and checks that it is
 * told of each message once, in the order stored, with the text that is stored.
 */

import type { EventStream, MessageResource } from "../../core/mod.ts";
import type { ConversationEventData } from "../../core/wire/schemas.ts";
import { assertConversationEvent } from "../support/conformance.ts";
import type { Ask } from "./asking.ts";
import type { KnownConversation } from "./knowledge.ts";
import type { Ledger, StoredReply } from "./ledger.ts";
import type { Process, Processes } from "./processes.ts";
import { requireStored } from "./reader.ts";
import type { World } from "./world.ts";

export interface SubscriberSetting {
  readonly world: World;
  readonly ledger: Ledger;
  readonly processes: Processes;
  readonly ask: Ask;
}

/** How long a stream is silent once all was told that is stored, in milliseconds. */
const quietMs = 20_000;

export class Subscriber {
  /** How many events it was told. */
  events = 0;
  readonly #setting: SubscriberSetting;
  readonly #world: World;
  readonly #conversation: KnownConversation;
  /** The id of the last event. */
  #id: string | undefined;
  /** The ids of the messages that were told, from the first one on. */
  readonly #told: string[] = [];
  /** The number of the first of them. */
  #first: number | undefined;
  /** The running reply, and its text as far as it was told. */
  #running: { readonly id: string; readonly seq: number; text: string } | undefined;
  #stopping = false;
  #ended = false;
  readonly #done: Promise<void>;

  constructor(setting: SubscriberSetting, conversation: KnownConversation) {
    this.#setting = setting;
    this.#world = setting.world;
    this.#conversation = conversation;
    this.#done = this.#live();
    this.#done.catch(() => {}); // end() rejects with it
  }

  /** Ends it once it has been told all. */
  async end(): Promise<void> {
    this.#stopping = true;
    await this.#done;
    await this.#requireAll();
  }

  async #live(): Promise<void> {
    const { processes, ask } = this.#setting;
    const path = `/conversations/${this.#conversation.id}/stream`;
    for (let isLast = false; !isLast && !this.#ended; ) {
      isLast = this.#stopping;
      const process = processes.any();
      const headers = this.#id === undefined ? {} : { "Last-Event-ID": this.#id };
      const answer = await ask(process, "GET", path, { headers });
      if (answer?.status === 200 && process) {
        if (answer.body === null || typeof answer.body === "string")
          return this.#world.violate("there is no stream of a conversation");
        await this.#read(answer.body, process, isLast);
      } else if (answer?.status === 404) {
        if (this.#conversation.deletions === 0)
          this.#world.violate("a conversation is gone that nobody deleted");
        this.#ended = true;
      } else if (answer?.status === 400 && this.#isLost()) {
        this.#ended = true; // it would begin anew
      } else if (answer && answer.status !== 503) {
        this.#world.violate(`following from ${this.#id} was answered ${answer.status} ${answer.body}`);
      }
      if (!isLast) await this.#world.pause(this.#world.random.pick([0, 100, 2_000]));
    }
  }

  /** Reads until the stream ends, the device leaves, or the process dies; the last time, until all was told. */
  async #read(stream: EventStream, process: Process, isLast: boolean): Promise<void> {
    const world = this.#world;
    const { random } = world;
    let leaveAt = world.now() + (isLast ? quietMs : random.pick([500, 5_000, 60_000]));
    let wake = () => {};
    let isFirst = true;
    stream.wake(() => wake());
    while (process.alive() && !this.#ended && world.now() < leaveAt && (isLast || !this.#stopping)) {
      const ready = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([process.awake(), process.died]);
      const piece = process.alive() ? stream.next() : undefined;
      for (const { id, data } of eventsIn(piece?.text ?? "")) {
        if (this.#ended) world.violate("there is an event after the last one");
        if (isFirst && (data.type !== "conversation" || (this.#id ?? id) !== id))
          world.violate(`a conversation's stream begins with ${id} ${data.type}, not ${this.#id}`);
        isFirst = false;
        this.#id = id ?? this.#id;
        await this.#take(data, id);
        if (isLast) leaveAt = world.now() + quietMs;
      }
      if (piece?.last) break;
      const waits = [ready, process.died, world.pause(Math.min(1_000, leaveAt - world.now()))];
      if (!piece) await Promise.race(waits);
      else if (random.chance(0.2)) await world.pause(random.between(1, 500));
    }
    stream.close();
  }

  async #take(data: ConversationEventData, id = ""): Promise<void> {
    this.#world.trace(`device ${id} ${data.type}`);
    this.events++;
    const [seq = 0, offset = 0] = id.split(".").map(Number);
    if (data.type === "message") return this.#takeMessage(data.message, seq, offset);
    if (data.type === "deleted") {
      if (this.#conversation.deletions === 0) this.#world.violate("deleted, but nobody did");
      this.#ended = true;
      return;
    }
    if (data.type === "conversation") return;
    const running = this.#running;
    if (!running || running.seq !== seq || data.messageId !== running.id)
      return this.#world.violate(`${id} ${data.type} is of no running reply`);
    if (data.type === "progress") {
      if (data.progress.stage === "continued") running.text = running.text.slice(0, offset);
    } else if (data.type === "delta") {
      running.text += data.content;
    } else {
      this.#running = undefined;
      await this.#requireEnd(data.message, running.text, offset);
    }
    if (this.#running && offset !== running.text.length)
      this.#world.violate(`${id} is behind ${running.text.length} characters`);
  }

  async #takeMessage(message: MessageResource, seq: number, offset: number): Promise<void> {
    const { id, role, status, content } = message;
    this.#first ??= seq;
    if (this.#running?.id !== id && this.#seemsEnded()) this.#running = undefined;
    const place = seq - this.#first;
    // A reply that ended while nobody looked on is told again, in its final form.
    if (place === this.#told.length - 1 && this.#running?.id === id && status !== "in_progress") {
      this.#running = undefined;
    } else if (place !== this.#told.length || this.#running) {
      this.#world.violate(`message ${seq} comes after ${this.#told.length} from ${this.#first}`);
    } else {
      this.#told.push(id);
    }
    if (status === "in_progress") {
      if (content !== "" || offset !== 0) this.#world.violate("a running reply begins with text");
      this.#running = { id, seq, text: "" };
    } else if (role === "assistant") {
      await this.#requireEnd(message, content, offset);
    } else if (offset !== content.length) {
      this.#world.violate("a question's id is not its length");
    }
  }

  async #requireEnd(message: MessageResource, text: string, offset: number): Promise<void> {
    if (offset !== message.content.length + 1) this.#world.violate("an end's id is not behind the text");
    const stored = this.#storedReply(message.id);
    // Text that was sent but not yet saved may be lost with its process, or with its conversation.
    const mayDiffer = message.error?.code === "interrupted" || isLost(stored) || stored?.deleted;
    if (!mayDiffer && message.content !== text) this.#world.violate(`${message.id} was told with other text`);
    await requireStored(this.#world, this.#setting.ledger, message);
  }

  #storedReply(id: string): StoredReply | undefined {
    return this.#setting.ledger.replies.get(id);
  }

  /** Whether text that was told is lost without a word. */
  #isLost(): boolean {
    return this.#running !== undefined && isLost(this.#storedReply(this.#running.id));
  }

  /** Where one character was told and then lost with its process, the id behind it is that of the end. */
  #seemsEnded(): boolean {
    const { id = "", text = "" } = this.#running ?? {};
    const stored = this.#storedReply(id);
    const content = stored?.end?.content ?? stored?.text ?? "";
    const mayBeLost = stored?.end?.leaseExpiredBefore !== undefined || (stored?.end && stored.attempt > 1);
    return mayBeLost === true && text.length === content.length + 1;
  }

  /** Whoever looked on until all was quiet has been told of every message. */
  async #requireAll(): Promise<void> {
    if (this.#ended || this.#first === undefined) return;
    if (this.#running && !this.#seemsEnded())
      this.#world.violate(`a device waits for ${this.#running.id} for ever`);
    const slice = { path: "all", order: "asc", offset: this.#first, limit: 10_000 } as const;
    const stored = await this.#setting.ledger.truth.listMessages(
      { owner: "owner" },
      this.#conversation.id,
      slice,
    );
    const ids = stored?.items.map(({ id }) => id).join();
    if (ids !== this.#told.join()) this.#world.violate(`a device was told ${this.#told}, stored is ${ids}`);
  }
}

/** Whether text that a dead process had sent is lost without a word: the reply was cancelled, and never taken over. */
export function isLost(reply: StoredReply | undefined): boolean {
  return reply?.end?.leaseExpiredBefore !== undefined && reply.attempt === 1;
}

function eventsIn(text: string): { readonly id: string | undefined; readonly data: ConversationEventData }[] {
  const blocks = text.split("\n\n").filter((block) => block !== "" && !block.startsWith(":"));
  return blocks.map((block) => {
    const [, id, json = ""] = /^(?:id: (\d+\.\d+)\n)?data: (.+)$/.exec(block) ?? [];
    if (json === "") throw new Error(`Not an event: ${JSON.stringify(block)}`);
    const data = JSON.parse(json);
    assertConversationEvent(data);
    return { id, data };
  });
}
