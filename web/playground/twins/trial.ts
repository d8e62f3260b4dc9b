/**
 * The text that is open, tried before it is stored: its golden questions, and others. Nothing of it is kept.
 *
 * @module
 */

import { h } from "../../shared/dom.ts";
import { MarkdownView } from "../../shared/markdown/view.ts";
import { showIn } from "../../shared/spoken.ts";
import type { Editing } from "./opened.ts";
import type { TestResults } from "./requests.ts";

/** The golden questions, as they were answered last. */
export class GoldenQuestions {
  readonly element = h("div", { class: "part" });
  readonly #state = h("p", { role: "status" });
  readonly #failed = h("ul");

  constructor() {
    this.element.append(this.#state, this.#failed);
  }

  /** Says why they are not asked now. */
  say(text: string): void {
    this.#state.className = "soft";
    showIn(this.#state, text);
    this.#failed.replaceChildren();
  }

  show({ passed, failed }: TestResults): void {
    const total = passed + failed.length;
    if (total === 0) {
      this.say("There are none. List questions under tests, with what must answer them.");
      return;
    }
    this.#state.className = failed.length > 0 ? "warn" : "good";
    const words =
      failed.length === 0
        ? `✓ ${total === 1 ? "The question is" : `All ${total} are`} answered as expected.`
        : `✗ ${passed} of ${total} ${passed === 1 ? "is" : "are"} answered as expected.`;
    showIn(this.#state, words);
    this.#failed.replaceChildren(
      ...failed.map(({ question, expected, answer }) =>
        h(
          "li",
          { class: "entry" },
          h("p", { class: "asked" }, question),
          h("p", { class: "meta" }, h("span", {}, `Expected: ${expected}`)),
          h("blockquote", { class: "comment" }, answer ?? "No answer in time."),
        ),
      ),
    );
  }
}

/** A question at a time, to the text as it is now. */
export class Trial {
  readonly element: HTMLElement;
  readonly #question = h("input", {
    id: "try-question",
    maxlength: "1000",
    autocomplete: "off",
    required: true,
  });
  readonly #said = h("div", { class: "tried", role: "log", "aria-label": "Tried" });
  readonly #button = h("button", { type: "submit", class: "small" }, "Ask");
  #editing: Editing | undefined;

  constructor() {
    const form = h(
      "form",
      {
        class: "try",
        onsubmit: (event) => {
          event.preventDefault();
          void this.#ask();
        },
      },
      h("label", { for: "try-question" }, "A question"),
      h("div", { class: "try-field" }, this.#question, this.#button),
    );
    this.element = h("div", { class: "part" }, form, this.#said);
  }

  /** Has later questions be asked of a twin's text. */
  open(editing: Editing): void {
    this.#editing = editing;
  }

  /** Forgets what was tried. */
  clear(): void {
    this.#said.replaceChildren();
    this.#question.value = "";
  }

  async #ask(): Promise<void> {
    const editing = this.#editing;
    const question = this.#question.value.trim();
    if (!editing || question === "") return;
    this.#button.disabled = true;
    const answer = h("div", { class: "replied text" }, "…");
    this.#said.prepend(h("div", { class: "entry" }, h("p", { class: "asked" }, question), answer));
    try {
      const { id } = editing.twin;
      const [tried] = await Promise.all([
        editing.own.check(editing.text(), { id, tests: "skip", ask: question }),
        id !== undefined && editing.own.versions(id, 1), // a check takes any id, also that of a twin that was deleted elsewhere
      ]);
      const [fault] = tried.faults;
      if (fault) answer.textContent = `Line ${fault.line}: ${fault.message}`;
      else new MarkdownView(answer).show(tried.answer ?? "No answer in time.");
      this.#question.select();
    } catch (error) {
      answer.parentElement?.remove();
      editing.fail(error);
    } finally {
      this.#button.disabled = false;
    }
  }
}
