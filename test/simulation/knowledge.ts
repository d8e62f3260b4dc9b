/**
 * What the simulation's clients know of what they asked for.
 */

import type { World } from "./world.ts";

/** What clients know of a conversation. */
export interface KnownConversation {
  readonly id: string;
  readonly twinId: string;
  /** The person that it is with. Undefined: it names none. */
  readonly endUser: string | undefined;
  /** How often a client tried to delete it. */
  deletions: number;
  /** How often a client tried to have a message take the place of a reply. */
  replacements: number;
}

/** What clients know of a reply. */
export interface KnownReply {
  readonly conversation: KnownConversation;
  readonly id: string;
  /** Offsets that some stream has sent as the id of an event. */
  readonly ids: Set<number>;
  cancelTried: boolean;
}

export class Knowledge {
  readonly conversations: KnownConversation[] = [];
  readonly replies = new Map<string, KnownReply>();
  /** How many erasures of the person have begun, and how many have ended. */
  readonly erasures = { begun: 0, ended: 0 };
  /** The conversations of the messages that were stored without an engine, by their ids. */
  readonly alone = new Map<string, KnownConversation>();
  /** Questions that were refused. */
  readonly refused = new Set<string>();
  /** The reply, or conversation, that an idempotency key stands for. */
  readonly #made = new Map<string, string>();
  readonly #world: World;
  #count = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** A text that no other request has. */
  newText(kind: "conversation" | "key" | "question"): string {
    return `${kind} ${++this.#count}`;
  }

  /** A reply of a conversation, which may be new. */
  reply(conversation: KnownConversation, id: string): KnownReply {
    const reply = this.replies.get(id) ?? { conversation, id, ids: new Set([0]), cancelTried: false };
    this.replies.set(id, reply);
    return reply;
  }

  /** One key must create only one thing. */
  noteMade(key: string | undefined, id: string): void {
    if (key === undefined) return;
    const before = this.#made.get(key) ?? id;
    if (before !== id) this.#world.violate(`the key ${key} created ${before}, and then ${id}`);
    this.#made.set(key, id);
  }
}
