/**
 * The port for what reads and judges a twin's text: its faults, and the questions that it lists.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Twin } from "./twins.ts";

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

/** What a twin's file says, without what it is called and what is beside it. */
export interface ReadTwin {
  readonly twin: Omit<Twin, "id" | "createdAt" | "updatedAt" | "documents">;
  readonly tests: readonly GoldenQuestion[];
  /** The line of the file that the instructions begin on, from 1. */
  readonly instructionsLine: number;
}

/** What the author of a twin may choose. */
export interface AuthorRules {
  /** The twin's id, which the file need not name. Undefined: any. */
  readonly id?: string | undefined;
  /** The models that it may name. */
  readonly models: readonly string[];
  /** What is wrong with a name under `tools`, as the end of a sentence. Undefined: nothing. */
  readonly toolProblem: (name: string) => string | undefined;
}

/** How a twin's file is read. */
export interface ReadingRules {
  /** The engine of a file that names none. */
  readonly defaultEngine: string;
  /** The engines that it may name besides the usual ones. */
  readonly engines: readonly string[];
  /** Absent: the file was accepted before. */
  readonly author?: AuthorRules | undefined;
}

/** How a twin answers the golden questions of its file. */
export interface TestResults {
  /** How many it answers as it should. */
  readonly passed: number;
  readonly failed: readonly FailedTest[];
}

/** A golden question that is not answered as it should be. */
export interface FailedTest {
  readonly question: string;
  /** In words. */
  readonly expected: string;
  /** Null: it was not asked, or not answered, in time. */
  readonly answer: string | null;
}

/** An answer that a twin is taught. */
export interface TaughtAnswer {
  readonly question: string;
  readonly answer: string;
  readonly heading: string;
}

/** Reads and judges what twins are made of, wherever it is kept. */
export interface TwinReader {
  /** Reads a twin's file: what it says, or all of its faults that can be told at once. */
  read(bytes: Uint8Array, rules: ReadingRules): Promise<ReadTwin | { readonly faults: readonly TwinFault[] }>;
  /** What is not read as it looks in a twin's text. */
  faultsOf(read: ReadTwin): Promise<readonly TwinFault[]>;
  /**
   * The text of a document, or why it cannot be read, as the end of a sentence that begins with its path. Owners take turns,
   * where a reader reads one after another.
   */
  readDocument(
    path: string,
    bytes: Uint8Array,
    owner: string,
  ): Promise<{ readonly text: string } | { readonly fault: string }>;
  /** Asks golden questions: 100 at most, within 5 seconds for all. */
  ask(twin: Twin, tests: readonly GoldenQuestion[], clock: Clock): Promise<TestResults>;
  /** What the twin's text says to a question. Null: not within 5 seconds. */
  answer(twin: Twin, question: string, clock: Clock): Promise<string | null>;
  /** A file with one more answer, or what is wrong with that: its other bytes stay as they are. */
  teach(
    bytes: Uint8Array,
    taught: TaughtAnswer,
  ): Promise<Uint8Array | { readonly path: keyof TaughtAnswer | "body"; readonly message: string }>;
}

/** A reader that is loaded when it is first needed: `open` makes it, once. */
export function loadedReader(open: () => Promise<TwinReader>): TwinReader {
  let loaded: Promise<TwinReader> | undefined;
  function load(): Promise<TwinReader> {
    loaded ??= open();
    return loaded;
  }
  return {
    read: async (...given) => (await load()).read(...given),
    faultsOf: async (...given) => (await load()).faultsOf(...given),
    readDocument: async (...given) => (await load()).readDocument(...given),
    ask: async (...given) => (await load()).ask(...given),
    answer: async (...given) => (await load()).answer(...given),
    teach: async (...given) => (await load()).teach(...given),
  };
}
