/**
 * A screen reader in a page, which keeps what it says by itself.
 */

import { Virtual } from "@guidepup/virtual-screen-reader";

declare global {
  /** Begins to listen to an element: in a shadow DOM, that within its root. */
  function startScreenReader(container: Element): Promise<void>;
  /** What was said by itself so far, each with how it was said. */
  function spokenByItself(): Promise<string[]>;
}

const reader = new Virtual();

globalThis.startScreenReader = (container) => reader.start({ container });
globalThis.spokenByItself = async () =>
  (await reader.spokenPhraseLog()).filter((phrase) => /^(polite|assertive): ./.test(phrase));
