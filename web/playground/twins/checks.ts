/**
 * What is said of a text while it is written: what is wrong with it, and how its golden questions are answered.
 *
 * @module
 */

import { h } from "../../shared/dom.ts";
import type { Documents } from "./documents.ts";
import type { Editing } from "./opened.ts";
import type { Problem } from "./problem.ts";
import type { Fault } from "./requests.ts";
import type { SourceField } from "./source-field.ts";
import { GoldenQuestions } from "./trial.ts";

/** With longer documents, golden questions are asked only of what is saved: reading all of them takes long. In bytes. */
const quickBytes = 1024 * 1024;

/** Checks a text, one time after the other. */
export class Checks {
  readonly element = h("div", { id: "twin-faults", class: "faults", role: "status" });
  readonly golden = new GoldenQuestions();
  readonly #source: SourceField;
  readonly #documents: Documents;
  readonly #problem: Problem;
  #editing: Editing | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checking: AbortController | undefined;

  constructor(source: SourceField, documents: Documents, problem: Problem) {
    this.#source = source;
    this.#documents = documents;
    this.#problem = problem;
  }

  /** Has later checks be of a twin. */
  open(editing: Editing): void {
    this.#editing = editing;
  }

  /** Checks the text as it is after a pause, in place of the check before. */
  begin(afterMs = 0): void {
    this.stop();
    const checking = new AbortController();
    const { signal } = checking;
    this.#checking = checking;
    this.#timer = setTimeout(() => {
      this.#check(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#problem.show(error);
      });
    }, afterMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#checking?.abort();
  }

  async #check(signal: AbortSignal): Promise<void> {
    const editing = this.#editing;
    if (!editing) return;
    const { id } = editing.twin;
    const isQuick = id === undefined || this.#documents.bytes <= quickBytes;
    const tested = isQuick ? "run" : "skip";
    const { faults, tests } = await editing.own.check(editing.text(), { id, tests: tested, signal });
    if (signal.aborted) return;
    this.#problem.clear();
    this.show(faults);
    if (tests) this.golden.show(tests);
    else if (faults.length > 0) this.golden.say("They are asked once the file has no faults.");
    else this.golden.say("Its documents are long: they are asked when you save.");
  }

  /** Lists what is wrong, and marks the lines. */
  show(faults: readonly Fault[]): void {
    const items = faults.map(({ line, message }) => {
      const goTo = () => this.#source.goTo(line);
      const button = h("button", { type: "button", class: "small", onclick: goTo }, `Line ${line}`);
      return h("li", {}, button, " ", message);
    });
    const list = h("ul", {}, ...items);
    if (list.textContent !== this.element.textContent)
      this.element.replaceChildren(...(items.length > 0 ? [list] : [])); // the same are not spoken again
    this.#source.mark(faults.map(({ line }) => line));
    this.#source.field.ariaInvalid = String(faults.length > 0);
  }
}
