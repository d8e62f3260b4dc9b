/**
 * What is said of a twin's text: its faults, and the questions that it lists.
 *
 * @module
 */

/** What is wrong with a twin's file. */
export interface TwinFault {
  /** The key of the front matter, or `body`. */
  readonly path: string;
  /** The line of the file, from 1. */
  readonly line: number;
  /** One sentence. */
  readonly message: string;
}

/** A question that a twin must answer in a certain way. */
export interface GoldenQuestion {
  readonly ask: string;
  /** The heading of the section that the answer must come from. Null: the twin must say that it doesn't know. */
  readonly source?: string | null;
  /** What the answer must contain, ignoring case. */
  readonly says?: readonly string[];
  /** What the answer must not contain, ignoring case. */
  readonly never?: readonly string[];
  /** The line of the file that it is on, from 1. */
  readonly line: number;
}
