/**
 * Where the tab says why something failed.
 *
 * @module
 */

import { AuthenticationError } from "../../../client/mod.ts";
import { h } from "../../shared/dom.ts";
import { reasonOf } from "../page.ts";

/** Says why something failed, and offers to sign in again if that is why. */
export class Problem {
  readonly element = h("p", { class: "warn", role: "alert" });
  readonly #signIn: (reason: string) => void;

  constructor(signIn: (reason: string) => void) {
    this.#signIn = signIn;
  }

  /** Does something in place of what failed before. */
  async attempt(work: () => Promise<void>): Promise<void> {
    this.clear();
    try {
      await work();
    } catch (error) {
      this.show(error);
    }
  }

  show(error: unknown): void {
    if (!(error instanceof AuthenticationError)) {
      this.element.textContent = reasonOf(error);
      return;
    }
    const signIn = () => this.#signIn("What you have written is still there.");
    this.element.replaceChildren(
      "Your token has expired. What you have written stays here. ",
      h("button", { type: "button", class: "small", onclick: signIn }, "Sign in with a new one"),
    );
  }

  clear(): void {
    this.element.textContent = "";
  }
}
