/**
 * What the knowledge engine knows of a language.
 *
 * @module
 */

/** What the engine says by itself, where the twin has no phrase of its own. */
export interface Phrases {
  /** A greeting of a twin without one. `{name}` is the twin's. */
  readonly hello: string;
  /** The answer to "who are you?". `{name}` is the twin's. */
  readonly introduction: string;
  readonly wellbeing: string;
  readonly related: string;
  readonly nearest: string;
  readonly unknown: string;
  readonly finished: string;
  readonly topics: string;
  readonly thanks: string;
  readonly goodbye: string;
  readonly private: string;
}

/** What people say besides questions: phrases in lower case, separated by semicolons. */
export interface SmallTalkPhrases {
  readonly greeting: string;
  readonly wellbeing: string;
  readonly about: string;
  readonly topics: string;
  readonly thanks: string;
  readonly goodbye: string;
  readonly more: string;
  /** What may be said besides any of them. */
  readonly fillers: string;
}

/** A language. */
export interface Language {
  /** The primary subtag of BCP 47. */
  readonly code: string;
  /** Removes the endings of a word in lower case. */
  stem(word: string): string;
  /** Words that say nothing by themselves. */
  readonly stopWords: readonly string[];
  /** More of them, which are frequent in questions: "tell", "please". */
  readonly askingWords: string;
  /** Words that help to rank, but say too little for an answer to depend on: "best". */
  readonly vagueWords?: string;
  /**
   * Words that people use for the same thing when they ask: groups, separated by semicolons. Question words are among
   * them: "when" asks for opening hours.
   */
  readonly synonyms?: string;
  /** Whether words are joined without a space: "Akkulaufzeit". */
  readonly compounds?: boolean;
  readonly smallTalk: SmallTalkPhrases;
  readonly phrases: Phrases;
}

/** The words of a text that has nothing but white space between them. */
export function splitWords(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== "");
}
