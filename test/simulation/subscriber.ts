/**
 * A device that looks on: it follows a conversation on one process after another, from where it was, and checks that it is
 * told of each message once, in the order stored, with the text that is stored.
 */

import type { EventStream } from "../../core/mod.ts";
import { isEventStream } from "../../core/wire/request.ts";
import { conversationResource } from "../../core/wire/resources.ts";
import { whole } from "../contracts/whole.ts";
import { assertConversationEvent } from "../support/conformance.ts";
import type { ConversationEvent } from "../support/event-reader.ts";
import { Told, type ToldEnd } from "../support/told.ts";
import type { Ask } from "./asking.ts";
import type { KnownConversation } from "./knowledge.ts";
import { isEndedElsewhere, type Ledger, type StoredReply } from "./ledger.ts";
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
  readonly #setting: SubscriberSetting;
  readonly #world: World;
  readonly #conversation: KnownConversation;
  readonly #told = new Told((rule) => this.#world.violate(rule));
  #stopping = false;
  /** Whether there is nothing more to be told. */
  #ended = false;
  readonly #done: Promise<void>;

  constructor(setting: SubscriberSetting, conversation: KnownConversation) {
    this.#setting = setting;
    this.#world = setting.world;
    this.#conversation = conversation;
    this.#done = this.#live();
    this.#done.catch(() => {}); // end() rejects with it
  }

  /** How many events it was told. */
  get events(): number {
    return this.#told.events;
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
      const headers = this.#told.id === undefined ? {} : { "Last-Event-ID": this.#told.id };
      const answer = await ask(process, "GET", path, { headers });
      if (answer?.status === 200 && process) {
        if (!isEventStream(answer.body)) return this.#world.violate("there is no stream of a conversation");
        await this.#read(answer.body, process, isLast);
      } else if (answer?.status === 404) {
        if (this.#conversation.deletions === 0)
          this.#world.violate("a conversation is gone that nobody deleted");
        this.#ended = true;
      } else if (answer?.status === 400 && this.#isLost()) {
        this.#ended = true; // it would begin anew
      } else if (answer && answer.status !== 503) {
        this.#world.violate(`following from ${this.#told.id} was answered ${answer.status} ${answer.body}`);
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
    this.#told.begin();
    stream.wake(() => wake());
    while (process.alive() && !this.#ended && world.now() < leaveAt && (isLast || !this.#stopping)) {
      const ready = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([process.awake(), process.died]);
      const piece = process.alive() ? stream.next() : undefined;
      for (const event of eventsIn(piece?.text ?? "")) {
        await this.#take(event);
        if (isLast) leaveAt = world.now() + quietMs;
      }
      if (piece?.last) break;
      const waits = [ready, process.died, world.pause(Math.min(1_000, leaveAt - world.now()))];
      if (!piece) await Promise.race(waits);
      else if (random.chance(0.2)) await world.pause(random.between(1, 500));
    }
    stream.close();
  }

  async #take(event: ConversationEvent): Promise<void> {
    const { id = "", data } = event;
    this.#world.trace(`device ${id} ${data.type}`);
    if (data.type === "message" && this.#told.running?.id !== data.message.id && this.#seemsEnded())
      this.#told.running = undefined;
    const end = this.#told.take(event);
    if (end) await this.#requireEnd(end);
    if (data.type !== "deleted") return;
    if (this.#conversation.deletions === 0) this.#world.violate("deleted, but nobody did");
    this.#ended = true;
  }

  async #requireEnd({ message, text }: ToldEnd): Promise<void> {
    const stored = this.#storedReply(message.id);
    // Text that was sent but not yet saved may be lost with its process, or with its conversation.
    const mayDiffer = message.error?.code === "interrupted" || stored?.deleted;
    if (!mayDiffer && message.content !== text) this.#world.violate(`${message.id} was told with other text`);
    await requireStored(this.#world, this.#setting.ledger, message);
  }

  #storedReply(id: string): StoredReply | undefined {
    return this.#setting.ledger.replies.get(id);
  }

  /** Whether the last id may be refused, because text that was told is lost. */
  #isLost(): boolean {
    const { running } = this.#told;
    return running !== undefined && isLost(this.#storedReply(running.id));
  }

  /** Where one character was told and then lost with its process, the id behind it is that of the end. */
  #seemsEnded(): boolean {
    const { id = "", text = "" } = this.#told.running ?? {};
    const stored = this.#storedReply(id);
    const content = stored?.end?.content ?? stored?.text ?? "";
    const mayBeLost = isEndedElsewhere(stored) || (stored?.end !== undefined && stored.attempt > 1);
    return mayBeLost && text.length === content.length + 1;
  }

  /** Whoever looked on until all was quiet has been told of every message. */
  async #requireAll(): Promise<void> {
    const { first, running, ids: told } = this.#told;
    if (this.#ended) return;
    await this.#requireState();
    if (first === undefined) return;
    if (running && !this.#seemsEnded()) this.#world.violate(`a device waits for ${running.id} for ever`);
    const slice = { path: "all", order: "asc", offset: first, limit: 10_000 } as const;
    const stored = await this.#setting.ledger.truth.listMessages({ owner: "owner" }, this.#conversation.id, {
      ...whole,
      ...slice,
    });
    const ids = stored?.items.map(({ id }) => id).join();
    if (ids !== told.join()) this.#world.violate(`a device was told ${told}, stored is ${ids}`);
  }

  /** It knows who answers, and since when somebody waits. */
  async #requireState(): Promise<void> {
    const { id } = this.#conversation;
    const stored = await this.#setting.ledger.truth.getConversation({ owner: "owner" }, id);
    const told = this.#told.conversation;
    if (!stored || !told) return;
    const { answeredBy, waitingSince } = conversationResource(stored, undefined);
    if (told.answeredBy !== answeredBy || told.waitingSince !== waitingSince)
      this.#world.violate(
        `a device was told that ${id} is ${told.answeredBy}, waiting since ${told.waitingSince}, ` +
          `stored is ${answeredBy}, ${waitingSince}`,
      );
  }
}

/** Whether an id of text may be refused that its process had sent and not saved: the reply was never taken over. */
export function isLost(reply: StoredReply | undefined): boolean {
  return isEndedElsewhere(reply) && reply?.attempt === 1;
}

function eventsIn(text: string): ConversationEvent[] {
  const blocks = text.split("\n\n").filter((block) => block !== "" && !block.startsWith(":"));
  return blocks.map((block) => {
    const [, id, json = ""] = /^(?:id: (\d+\.\d+)\n)?data: (.+)$/.exec(block) ?? [];
    if (json === "") throw new Error(`Not an event: ${JSON.stringify(block)}`);
    const data = JSON.parse(json);
    assertConversationEvent(data);
    return { id, data };
  });
}
