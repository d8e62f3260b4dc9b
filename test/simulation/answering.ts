/**
 * Who answers in each of the simulation's conversations, and what waits: as it must be after all that was stored.
 */

import type { ConversationRecord } from "../../core/store/mod.ts";
import type { World } from "./world.ts";

type State = {
  -readonly [Member in "answeredBy" | "waitingSince"]: ConversationRecord[Member];
};

export class Answering {
  readonly #states = new Map<string, State>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** A question is given to a twin, or waits for a person: only to the one who answers. */
  ask(id: string, who: State["answeredBy"], at: number): void {
    const state = this.#stateOf(id);
    if (state.answeredBy !== who)
      this.#world.violate(
        `a question was stored for the ${who}, but the ${state.answeredBy} answers in ${id}`,
      );
    if (who === "person") state.waitingSince ??= at;
  }

  /** A twin hands over its question, which was stored at this time. */
  handOver(id: string, at: number): void {
    const state = this.#stateOf(id);
    state.answeredBy = "person";
    state.waitingSince ??= at;
  }

  /** A person has said something, which answers all that waits. */
  answer(id: string, next: State["answeredBy"] | undefined): void {
    const state = this.#stateOf(id);
    state.waitingSince = null;
    state.answeredBy = next ?? state.answeredBy;
  }

  /** Somebody decides who answers. */
  settle(id: string, next: State["answeredBy"]): void {
    const state = this.#stateOf(id);
    state.answeredBy = next;
    if (next === "twin") state.waitingSince = null;
  }

  /** Requires that a conversation is stored as it must be. */
  require({ id, answeredBy, waitingSince }: ConversationRecord): void {
    const must = this.#stateOf(id);
    if (must.answeredBy === answeredBy && must.waitingSince === waitingSince) return;
    const stored = `${answeredBy}, waiting since ${waitingSince}`;
    this.#world.violate(`${id} is ${stored}, and must be ${must.answeredBy}, since ${must.waitingSince}`);
  }

  #stateOf(id: string): State {
    const state: State = this.#states.get(id) ?? { answeredBy: "twin", waitingSince: null };
    this.#states.set(id, state);
    return state;
  }
}
