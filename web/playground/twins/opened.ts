/**
 * The twin that is open in the editor, and what its parts ask of each other.
 *
 * @module
 */

import type { OwnTwinRequests, Replaced, StoredFile } from "./requests.ts";

/** The twin that is open. */
export interface OpenedTwin {
  /** Undefined: it has not been stored yet. */
  readonly id: string | undefined;
  /** Its file as it was read or stored last: what a change replaces. */
  stored: Omit<StoredFile, "revision"> & { readonly revision: Replaced };
}

/** What the parts around the text need. */
export interface Editing {
  readonly own: OwnTwinRequests;
  readonly twin: OpenedTwin;
  /**
   * Makes a change of the revision that was read last. If there is another one by now, with the same file, the change is
   * made of that; else it is refused as before.
   */
  change<Result>(make: (replaces: Replaced) => Promise<Result>): Promise<Result>;
  /** The text as it is written now. */
  text(): string;
  /** Shows why something failed. */
  fail(error: unknown): void;
}
