/**
 * Calls of tools that wait for a person: a card for each.
 *
 * @module
 */

import type { Message, MessageBody } from "../../client/mod.ts";
import { h } from "./dom.ts";

type Decisions = NonNullable<MessageBody["calls"]>;

/** Shows the calls with which a reply has ended. One message decides of them all, once a person has of each. */
export class CallCards {
  readonly element = h("div", { part: "calls" });
  readonly #labels: Readonly<Record<Decisions[string], string>>;
  readonly #decide: (calls: Decisions) => void;

  constructor(labels: Readonly<Record<Decisions[string], string>>, decide: (calls: Decisions) => void) {
    this.#labels = labels;
    this.#decide = decide;
  }

  /** `calls`: those that wait; null: none do. `isIdle`: whether something can be decided. */
  show(calls: Message["pendingCalls"], isIdle: boolean): void {
    const { element } = this;
    if (!calls) element.replaceChildren();
    else if (element.childElementCount === 0) element.append(...this.#cards(calls));
    for (const button of element.querySelectorAll("button")) button.disabled = !isIdle;
  }

  #cards(calls: NonNullable<Message["pendingCalls"]>): HTMLElement[] {
    const decided: Record<string, Decisions[string]> = {};
    return calls.map(({ callId, name, arguments: given }) => {
      const button = (decision: Decisions[string]) => {
        const onclick = () => {
          decided[callId] = decision;
          for (const each of buttons) each.ariaPressed = String(each === made);
          if (Object.keys(decided).length === calls.length) this.#decide(decided);
        };
        const made = h(
          "button",
          { type: "button", part: `button ${decision}`, onclick },
          this.#labels[decision],
        );
        return made;
      };
      const buttons = [button("approve"), button("deny")] as const;
      const facts = Object.entries(given).flatMap(([key, value]) => [
        h("dt", {}, key),
        h("dd", { dir: "auto" }, typeof value === "string" ? value : JSON.stringify(value)),
      ]);
      return h(
        "div",
        { part: "call", role: "group", "aria-label": name },
        h("b", {}, name),
        h("dl", {}, ...facts),
        buttons[0],
        " ",
        buttons[1],
      );
    });
  }
}
