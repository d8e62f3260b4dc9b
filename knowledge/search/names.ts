/**
 * Finds sections by what they are called, word for word.
 *
 * @module
 */

import type { Language } from "../languages/mod.ts";
import type { Passage } from "../text/passages.ts";
import { portion, type Steps, visitAll } from "../text/steps.ts";
import { fold, normalize } from "./normalize.ts";
import { isSpaced, withoutParticle } from "./terms.ts";

/** A section that a message calls by its heading. */
export interface Called {
  readonly passage: Passage;
  /** Whether nothing else in the message says anything. */
  readonly alone: boolean;
}

// Signs that make a different name are kept, as in C, C# and C++, and in numbers of sections: "§ 3" is not 3, nor "1.2" 12.
const words = /§+\s?\d+(?:\.\d+)*|\d+(?:\.\d+)+|[\p{L}\p{N}][\p{L}\p{M}\p{N}]*[+#]*/gu;
/** What a heading is cited by: "1.2 Notice", "§ 3 Term", "Article 17: Toys", "第3条 期間". A number alone may be of anything. */
const citation =
  /^(?:§+\s?\d+(?:\.\d+)*|\d+(?:\.\d+)+|\p{L}{2,}\.?\s\d+(?:\.\d+)*(?=\s*[:.–—-])|[第제]\s?\d+\s?\p{L}(?=[\s:：]))/u;
/** How much of a message may call a section: in words, or in characters of scripts without spaces. */
const mostParts = 100;
const longestName = 12;

/** Passages by phrases, in normal form and without accents. Of those with the same phrase, the first one is kept. */
class Phrases {
  readonly #passages = new Map<string, Passage>();

  add(phrase: string, passage: Passage): void {
    const { normal, plain } = keysOf(phrase);
    if (!this.#passages.has(normal)) this.#passages.set(normal, passage);
    // One that has no accents is found by itself: a second key for each would double a map of hundreds of thousands.
    if (plain === normal || this.#passages.has(plain) || this.#passages.has(`${plain} folded`)) return;
    this.#passages.set(`${plain} folded`, passage);
  }

  find(phrase: string): Passage | undefined {
    const { normal, plain } = keysOf(phrase);
    return this.#passages.get(normal) ?? this.#passages.get(`${plain} folded`) ?? this.#passages.get(plain);
  }
}

/** Equal for phrases with the same words, ignoring case, punctuation and spaces; the second one accents, too. */
function keysOf(phrase: string): { readonly normal: string; readonly plain: string } {
  const text = normalize(phrase);
  const normal = (text.match(words) ?? [text.trim()]).join("").replaceAll(" ", "");
  return { normal, plain: fold(normal) };
}

/** The names and further questions of passages. */
export class Names {
  readonly #asked = new Phrases();
  readonly #names = new Phrases();
  /** How many parts the names have that begin with a part, at most. */
  readonly #lengths = new Map<string, number>();
  readonly #language: Language;
  /** The first passages of sections, by heading. */
  readonly #sections = new Map<string, Passage[]>();

  /** Use {@link Names.read}. */
  private constructor(language: Language) {
    this.#language = language;
  }

  /** Reads what passages are called, in portions. */
  static *read(passages: readonly Passage[], language: Language): Steps<Names> {
    const names = new Names(language);
    const sections: Passage[] = [];
    const asked: { readonly phrase: string; readonly passage: Passage }[] = [];
    yield* visitAll(passages, sizeOf, portion, (passage) => {
      if (passage.section === sections.at(-1)?.section) return;
      sections.push(passage);
      for (const phrase of passage.askedAs) asked.push({ phrase, passage });
    });
    yield* visitAll(
      asked,
      ({ phrase }) => phrase.length,
      portion,
      ({ phrase, passage }) => names.#asked.add(phrase, passage),
    );
    yield* visitAll(sections, sizeOf, portion, (passage) => {
      names.#name(passage.heading, passage);
      const [number] = citation.exec(passage.heading) ?? [];
      if (number) names.#name(number, passage);
      const namesakes = names.#sections.get(passage.heading) ?? [];
      names.#sections.set(passage.heading, namesakes);
      namesakes.push(passage);
    });
    yield* visitAll(passages, sizeOf, portion, (passage) => {
      const { title } = passage;
      if (title) names.#asked.add(title, passage);
      // Items and rows that have a number: "E21".
      if (title && /\p{Nd}/u.test(title)) names.#name(title, passage);
    });
    const parents = new Set<string>();
    yield* visitAll(sections, sizeOf, portion, (passage) => {
      for (const parent of passage.parents) if (!parents.has(parent)) names.#name(parent, passage);
      for (const parent of passage.parents) parents.add(parent);
    });
    return names;
  }

  /** The passage that a question is listed for, or the title of. */
  asked(question: string): Passage | undefined {
    return this.#asked.find(question);
  }

  /** The section whose heading is wholly in a message: the longest one. */
  called(message: string): Called | undefined {
    const whole = this.#names.find(message);
    if (whole) return { passage: whole, alone: true };
    const parts = partsOf(message).slice(0, mostParts);
    const silent = parts.map((part) => this.#language.stopWords.has(normalize(part)));
    const lengths = parts.map((part) => this.#lengths.get(fold(normalize(part))) ?? 0);
    const firstOfEnd = silent.lastIndexOf(false) + 1;
    for (let length = Math.min(longestName, parts.length); length > 0; length--) {
      for (let from = 0; from + length <= parts.length; from++) {
        if (length > (lengths[from] ?? 0)) continue;
        const end = from + length;
        // "It" alone calls the section IT only as in "tell me about it".
        if (length === 1 && silent[from] && end < firstOfEnd) continue;
        const passage = this.#names.find(parts.slice(from, end).join(" "));
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
    const isAmbiguous = parent !== undefined && (this.#sections.get(passage.heading)?.length ?? 0) > 1;
    return isAmbiguous ? `${parent} › ${passage.heading}` : passage.heading;
  }

  /** Of the same name, the first one counts: a heading before a title, and that before the heading of others. */
  #name(phrase: string, passage: Passage): void {
    this.#names.add(phrase, passage);
    const parts = partsOf(phrase);
    const start = fold(normalize(parts[0] ?? ""));
    this.#lengths.set(start, Math.max(this.#lengths.get(start) ?? 0, parts.length));
  }
}

function sizeOf({ heading, title = "" }: Passage): number {
  return heading.length + title.length;
}

/** The words of a text. Those of scripts without spaces are characters. */
function partsOf(text: string): string[] {
  return (text.match(words) ?? []).flatMap((word) =>
    isSpaced(word) ? withoutParticle(word).replace(" ", "") : [...word],
  );
}
