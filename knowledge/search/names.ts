/**
 * Finds sections by what they are called, word for word.
 *
 * @module
 */

import type { Language } from "../languages/mod.ts";
import type { Passage } from "../text/passages.ts";
import { fold, normalize } from "./normalize.ts";

/** A section that a message calls by its heading. */
export interface Called {
  readonly passage: Passage;
  /** Whether nothing else in the message says anything. */
  readonly alone: boolean;
}

// Signs that make a different name are kept, as in C, C# and C++.
const words = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*[+#]*/gu;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** How much of a message may call a section: in words, or in characters of scripts without spaces. */
const mostParts = 100;
const longestName = 12;

/** Passages by phrases, in normal form and without accents. Of those with the same phrase, the first one is kept. */
class Phrases {
  readonly #passages = new Map<string, Passage>();

  add(phrase: string, passage: Passage): void {
    for (const key of keysOf(phrase)) if (!this.#passages.has(key)) this.#passages.set(key, passage);
  }

  find(phrase: string): Passage | undefined {
    const [normal, folded] = keysOf(phrase);
    return this.#passages.get(normal) ?? this.#passages.get(folded);
  }
}

/** Equal for phrases with the same words, ignoring case, punctuation and spaces; the second one accents, too. */
function keysOf(phrase: string): [normal: string, folded: string] {
  const normal = normalize(phrase);
  const key = (normal.match(words) ?? [normal.trim()]).join("");
  return [key, `${fold(key)} folded`];
}

/** The names and further questions of passages. */
export class Names {
  readonly #asked = new Phrases();
  readonly #headings = new Phrases();
  readonly #parents = new Phrases();
  /** Titles of items and rows that have a number: "E21". */
  readonly #codes = new Phrases();
  /** How many parts the names have that begin with a part, at most. */
  readonly #lengths = new Map<string, number>();
  readonly #language: Language;
  /** The first passages of sections, by heading. */
  readonly #sections = new Map<string, Passage[]>();

  constructor(passages: readonly Passage[], language: Language) {
    this.#language = language;
    let section = -1;
    for (const passage of passages) {
      const { heading, parents, askedAs, title } = passage;
      if (passage.section !== section) {
        for (const phrase of askedAs) this.#asked.add(phrase, passage);
        this.#name(heading, this.#headings, passage);
        const namesakes = this.#sections.get(heading);
        if (namesakes) namesakes.push(passage);
        else this.#sections.set(heading, [passage]);
        for (const parent of parents) this.#name(parent, this.#parents, passage);
      }
      section = passage.section;
      if (title) this.#asked.add(title, passage);
      if (title && /\p{Nd}/u.test(title)) this.#name(title, this.#codes, passage);
    }
  }

  /** The passage that a question is listed for, or the title of. */
  asked(question: string): Passage | undefined {
    return this.#asked.find(question);
  }

  /** The section whose heading is wholly in a message: the longest one. */
  called(message: string): Called | undefined {
    const whole = this.#find(message);
    if (whole) return { passage: whole, alone: true };
    const parts = partsOf(message).slice(0, mostParts);
    const silent = parts.map((part) => this.#isSilent(part));
    const lengths = parts.map((part) => this.#lengths.get(fold(normalize(part))) ?? 0);
    const firstOfEnd = silent.lastIndexOf(false) + 1;
    for (let length = Math.min(longestName, parts.length); length > 0; length--) {
      for (let from = 0; from + length <= parts.length; from++) {
        if (length > (lengths[from] ?? 0)) continue;
        const end = from + length;
        // "It" alone calls the section IT only as in "tell me about it".
        if (length === 1 && silent[from] && end < firstOfEnd) continue;
        const passage = this.#find(parts.slice(from, end).join(" "));
        if (!passage) continue;
        return { passage, alone: silent.every((isSilent, at) => isSilent || (at >= from && at < end)) };
      }
    }
    return undefined;
  }

  /** The first passages of the other sections with the same heading. */
  namesakesOf({ heading, section }: Passage): readonly Passage[] {
    return this.#sections.get(heading)?.filter((other) => other.section !== section) ?? [];
  }

  /** What tells a section from others: its heading, with its parent's where another one has the same. */
  nameOf(passage: Passage): string {
    const parent = passage.parents.at(-1);
    const isAmbiguous = parent !== undefined && this.namesakesOf(passage).length > 0;
    return isAmbiguous ? `${parent} › ${passage.heading}` : passage.heading;
  }

  #name(phrase: string, phrases: Phrases, passage: Passage): void {
    phrases.add(phrase, passage);
    const [first = "", ...others] = partsOf(phrase);
    const start = fold(normalize(first));
    this.#lengths.set(start, Math.max(this.#lengths.get(start) ?? 0, 1 + others.length));
  }

  #find(phrase: string): Passage | undefined {
    return this.#headings.find(phrase) ?? this.#codes.find(phrase) ?? this.#parents.find(phrase);
  }

  #isSilent(word: string): boolean {
    return this.#language.stopWords.has(normalize(word));
  }
}

/** The words of a text. Those of scripts without spaces are characters. */
function partsOf(text: string): string[] {
  return (text.match(words) ?? []).flatMap((word) => (unspaced.test(word) ? [...word] : word));
}
