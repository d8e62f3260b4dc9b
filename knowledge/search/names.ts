/**
 * Finds sections by what they are called, word for word.
 *
 * @module
 */

import type { Passage } from "../text/passages.ts";
import type { Analyzer } from "./analyzer.ts";
import { fold, normalize } from "./normalize.ts";

// Signs that make a different name are kept, as in C, C# and C++.
const words = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*[+#]*/gu;
// How many words may precede a name, as in "can you please tell me something more about".
const longestFrame = 10;

/** Passages by phrases, in three degrees: as written, in normal form, without accents. */
class Phrases {
  readonly #exact = new Map<string, Passage>();
  readonly #normal = new Map<string, Passage>();
  readonly #folded = new Map<string, Passage>();

  /** Of passages with the same phrase, the first one is kept. */
  add(phrase: string, passage: Passage): void {
    const keys = keysOf(phrase);
    for (const [at, map] of [this.#exact, this.#normal, this.#folded].entries()) {
      const key = keys[at] ?? "";
      if (!map.has(key)) map.set(key, passage);
    }
  }

  find(phrase: string): Passage | undefined {
    const [exact, normal, folded] = keysOf(phrase);
    return this.#exact.get(exact) ?? this.#normal.get(normal) ?? this.#folded.get(folded);
  }
}

/** Keys that are equal for phrases with the same words, ignoring case, punctuation and spaces. */
function keysOf(phrase: string): [exact: string, normal: string, folded: string] {
  const exact = keyOf(phrase.normalize("NFC").toLowerCase());
  const normal = keyOf(normalize(phrase));
  return [exact, normal, fold(normal)];
}

function keyOf(phrase: string): string {
  return (phrase.match(words) ?? [phrase.trim()]).join("");
}

/** The names and further questions of passages. */
export class Names {
  readonly #asked = new Phrases();
  readonly #headings = new Phrases();
  readonly #parents = new Phrases();
  readonly #analyzer: Analyzer;

  constructor(passages: readonly Passage[], analyzer: Analyzer) {
    this.#analyzer = analyzer;
    let section = -1;
    for (const passage of passages) {
      if (passage.section !== section) this.#addSection(passage);
      section = passage.section;
      if (passage.title) this.#asked.add(passage.title, passage);
    }
  }

  #addSection(passage: Passage): void {
    for (const phrase of passage.askedAs) this.#asked.add(phrase, passage);
    this.#headings.add(passage.heading, passage);
    for (const parent of passage.parents) this.#parents.add(parent, passage);
  }

  /** The passage that a question is listed for, or the title of. */
  asked(question: string): Passage | undefined {
    return this.#asked.find(question);
  }

  /** The section whose heading a question consists of, besides words that only ask. */
  named(question: string): Passage | undefined {
    const whole = this.#find(question);
    if (whole) return whole;
    let rest = this.#analyzer.split(question, words);
    for (let removed = 0; rest.length > 0 && removed <= longestFrame; removed++) {
      const found = this.#find(rest.join(" "));
      if (found) return found;
      const last = rest.at(-1) ?? "";
      // Verbs come last in some languages. In the others, what follows the name changes the question.
      if (!/\p{Script=Latin}|\p{Script=Cyrillic}/u.test(last) && this.#analyzer.isFrequent(last))
        rest = rest.slice(0, -1);
      else if (/^please$/u.test(last)) rest = rest.slice(0, -1);
      else if (this.#analyzer.isFrequent(rest[0] ?? "")) rest = rest.slice(1);
      else return undefined;
    }
    return undefined;
  }

  #find(phrase: string): Passage | undefined {
    return this.#headings.find(phrase) ?? this.#parents.find(phrase);
  }
}
