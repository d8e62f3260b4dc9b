/**
 * Requests for a person: "Can I talk to a human?"
 *
 * They are recognized in all languages, whichever the twin speaks, sentence by sentence: what is told around a request does
 * not hide it. "Are you a human?" is none.
 *
 * @module
 */

import { type Language, languages } from "./languages/mod.ts";
import { asksForPerson } from "./languages/people.ts";
import { isSpaced } from "./search/terms.ts";
import { toKey } from "./small-talk.ts";

/** Longer sentences are no requests. */
const longest = 160;
/** How many sentences at the beginning of a message, and at its end, are looked at. */
const mostSentences = 10;
/** How many other words a request may have: what it is about. Letters, in a script without spaces. */
const mostOthers = 3;
const mostOtherLetters = 12;

/** How a language asks for a person. */
interface Asking {
  readonly talk: RegExp;
  readonly person: RegExp;
  /** A person who asks for one by the word alone. */
  readonly alone: RegExp;
  readonly around: RegExp;
  readonly refusal: RegExp;
  /** Words that say nothing by themselves. */
  readonly silent: ReadonlySet<string>;
}

let known: readonly Asking[] | undefined;

/** Whether a message asks for a person, in any language. */
export function asksForSomebody(message: string): boolean {
  known ??= languages.map(readAsking);
  const sentences = message.split(/[.!?…,;:\n،؛؟。！？，、；।]+/u);
  const [first, last] = [
    sentences.slice(0, mostSentences),
    sentences.slice(mostSentences).slice(-mostSentences),
  ];
  for (const sentence of [...first, ...last]) {
    if (sentence.length > longest) continue;
    const key = toKey(sentence);
    if (known.some((asking) => isRequest(key, asking))) return true;
  }
  return false;
}

function isRequest(key: string, { talk, person, alone, around, refusal, silent }: Asking): boolean {
  if (!person.test(key) || refusal.test(key)) return false;
  if (alone.test(key) && remove(remove(key, alone), around).trim() === "") return true;
  const rest = remove(key, person);
  if (!talk.test(rest)) return false;
  const words = remove(remove(rest, talk), around).trim().split(/ +/u);
  const others = words.filter((word) => word !== "" && !silent.has(word));
  return others.every(isSpaced) ? others.length <= mostOthers : others.join("").length <= mostOtherLetters;
}

/** A pattern without its state: it is global to replace all. */
function remove(key: string, pattern: RegExp): string {
  return key.replace(new RegExp(pattern, "gu"), " ");
}

function readAsking({ code, stopWords }: Language): Asking {
  const [talk = "", strong = "", weak = "", around = "", refusal = ""] = (asksForPerson[code] ?? "").split(
    " | ",
  );
  const phrases = (text: string) => text.split(";");
  return {
    talk: patternOf(phrases(talk)),
    person: patternOf([...phrases(strong), ...phrases(weak)]),
    alone: patternOf(phrases(strong)),
    around: patternOf(around.split(/[ ;]/u)),
    refusal: patternOf(phrases(refusal)),
    silent: new Set([...stopWords].map((word) => toKey(word).trim())),
  };
}

/** Any of some phrases: as words by themselves or, in a script without spaces, anywhere. */
function patternOf(phrases: readonly string[]): RegExp {
  const keys = phrases.map((phrase) => ({ key: toKey(phrase).trim(), isStem: phrase.endsWith("*") }));
  const alternatives = keys
    .sort((one, other) => other.key.length - one.key.length)
    .map(({ key, isStem }) => {
      if (!isSpaced(key)) return key;
      return `(?<= )${key}${isStem ? "[\\p{L}\\p{M}]*" : ""}(?= )`;
    });
  return new RegExp(alternatives.join("|"), "u");
}
