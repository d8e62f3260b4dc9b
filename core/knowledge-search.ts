/**
 * Finds the passages of a twin's text that answer a question, and tells whether they do.
 *
 * @module
 */

import MiniSearch, { type SearchResult } from "minisearch";
import { type Clock, sleep } from "./clock.ts";
import type { Knowledge, Passage } from "./knowledge-text.ts";
import { isPair, isWeak, phraseKey, termsOf } from "./knowledge-words.ts";

/** A passage that was found for a question. */
export interface Finding {
  readonly passage: Passage;
  /** How much of what was asked the passage speaks of, 0 to 1. */
  readonly confidence: number;
  /** Terms of the question that it speaks of. */
  readonly terms: ReadonlySet<string>;
  /** Whether a heading, or what the section is asked as, has one of these terms. */
  readonly titled: boolean;
  /** Whether the section's own heading has a term of full weight. */
  readonly headed: boolean;
}

/** A question's terms, each with its weight: what it counts for beside the others. */
export type Query = ReadonlyMap<string, number>;

/** A searchable text. */
export interface KnowledgeIndex {
  /** The section that names this very question as one that it is asked (`asked as`). */
  asked(question: string): Passage | undefined;
  /** The section that a question calls by its heading, with no other words or as in "tell me about …". */
  named(question: string): Passage | undefined;
  /** Passages that have to do with the query, best first. */
  find(query: Query): readonly Finding[];
}

// A longer question repeats itself.
const mostTerms = 40;
// Unknown terms that are looked for by their beginning and spelling, each in the whole vocabulary. With more of them,
// nothing is about the question.
const mostGuesses = 12;
// Of shorter ones, too many others would come near.
const shortestGuess = 5;
// A word beside the point counts for little, and so does the twin's own name.
const weakWeight = 0.2;
// What may stand before the name of what is asked for. It comes off word by word, as a name may begin so, too:
// "tell me what we do" is about "What we do".
const frame =
  /^(?:so|ok|hi|hello|please|can|could|you|i|want|to|know|tell|me|more|something|about|explain|describe|do|what|who|is|are|s|(?:and )?(?:what|how) about) /u;
// As in "can you please tell me something more about". Who writes more is not worth the time.
const longestFrame = 8;
// How many passages are indexed in a turn of the event loop: some milliseconds.
const passagesInATurn = 20;
// Different spellings and forms that may stand for one term.
const mostVariants = 8;

/** Makes a query of a question. Words of `name`, the twin's own, count for little. */
export function toQuery(question: string, name: string): Query {
  const names = new Set(termsOf(name));
  const terms = [...new Set(termsOf(question))].slice(0, mostTerms);
  return new Map(terms.map((term) => [term, isWeak(term) || names.has(term) ? weakWeight : 1]));
}

/** Whether a query has a term that an answer can hang on. */
export function hasSubject(query: Query): boolean {
  return [...query.values()].includes(1);
}

/** Indexes a twin's knowledge. A text of a megabyte takes a third of a second: everything else has its turns meanwhile. */
export async function createKnowledgeIndex({ passages }: Knowledge, clock: Clock): Promise<KnowledgeIndex> {
  const { index, rarity } = await indexPassages(passages, clock);
  const exact = new Map(byPhrase(passages, ({ askedAs }) => askedAs));
  const names = new Map([
    ...byPhrase(passages, ({ parents }) => parents),
    ...byPhrase(passages, ({ heading }) => [heading]),
  ]);

  function findNamed(phrase: string): Passage | undefined {
    let rest = phrase;
    for (let words = 0; words <= longestFrame; words++) {
      const found = names.get(rest);
      if (found) return found;
      rest = rest.replace(frame, "");
    }
    return undefined;
  }

  /** The terms of a query that the text does not use, but may have in another spelling or form: those that count most. */
  function termsToGuess(query: Query): ReadonlySet<string> {
    const unknown = [...query].filter(([term]) => !rarity.has(term) && term.length >= shortestGuess);
    const first = unknown.sort(([, one], [, other]) => other - one).slice(0, mostGuesses);
    return new Set(first.map(([term]) => term));
  }

  /** The text's own terms that may stand for one that it does not use, with how well they do. */
  function guess(term: string): ReadonlyMap<string, number> {
    const attempts = [
      { text: term, prefix: true, likeness: 0.9 },
      { text: term, fuzzy: term.length >= 8 ? 2 : 1, likeness: 0.8 },
      ...(term.length >= 8 ? [{ text: term.slice(0, -2), prefix: true, likeness: 0.7 }] : []),
    ];
    for (const { text, likeness, ...options } of attempts) {
      const found = new Set(index.search(text, options).flatMap((result) => result.terms));
      if (found.size > 0) return new Map([...found].slice(0, mostVariants).map((known) => [known, likeness]));
    }
    return new Map();
  }

  function toFinding(result: SearchResult, query: readonly QueryTerm[]): Finding | undefined {
    const passage = passages[result.id];
    if (!passage) return undefined;
    const terms = new Set<string>();
    let met = 0;
    let asked = 0;
    let headed = false;
    for (const { term, weight, full, variants } of query) {
      const likeness = Math.max(0, ...result.terms.map((known) => variants.get(known) ?? 0));
      if (likeness > 0) terms.add(term);
      headed ||= full && result.terms.some((known) => variants.has(known) && isIn("heading", known, result));
      asked += weight;
      met += weight * likeness;
    }
    const titled = Object.values(result.match).some((at) => at.some((field) => field !== "text"));
    return { passage, confidence: met / asked, terms, titled, headed };
  }

  return {
    asked: (question) => exact.get(phraseKey(question)),
    named: (question) => findNamed(phraseKey(question)),
    find(query) {
      const toGuess = termsToGuess(query);
      const terms = [...query].flatMap(([term, weight]) => {
        const known = toGuess.has(term) ? guess(term) : new Map(rarity.has(term) ? [[term, 1]] : []);
        if (known.size === 0 && weight <= weakWeight && hasSubject(query)) return []; // beside the point
        const rareness = Math.max(0, ...[...known.keys()].map((variant) => rarity.get(variant) ?? 0));
        return {
          term,
          full: weight === 1,
          weight: weight * (rareness || unknownRarity(term, passages.length)),
          variants: known,
        };
      });
      const weights = new Map(
        terms.flatMap(({ term, variants }) =>
          [...variants].map(([known, likeness]) => [known, likeness * (query.get(term) ?? 0)]),
        ),
      );
      if (weights.size === 0) return [];
      return index
        .search([...weights.keys()].join(" "), { boostTerm: (term) => weights.get(term) ?? 1 })
        .flatMap((result) => {
          const finding = toFinding(result, terms);
          return finding ? { finding, rank: result.score * finding.confidence } : [];
        })
        .sort((one, other) => other.rank - one.rank)
        .map(({ finding }) => finding);
    },
  };
}

interface QueryTerm {
  readonly term: string;
  readonly weight: number;
  readonly full: boolean;
  readonly variants: ReadonlyMap<string, number>;
}

const fields = ["heading", "parents", "askedAs", "text"] as const;

type Field = (typeof fields)[number];

function isIn(field: Field, term: string, { match }: SearchResult): boolean {
  return match[term]?.includes(field) ?? false;
}

/** A passage's terms, those of a field with a blank between them. */
type FieldTerms = Readonly<Record<Field, string>>;

function fieldTerms({ heading, parents, askedAs, text }: Passage): FieldTerms {
  const joined = (...texts: readonly string[]) => texts.flatMap(termsOf).join(" ");
  return {
    heading: joined(heading),
    parents: joined(...parents),
    askedAs: joined(...askedAs),
    text: joined(text),
  };
}

function splitTerms(terms: string): string[] {
  return terms === "" ? [] : terms.split(" ");
}

/** The passages by their positions, and how much each term of the text says: the rarer, the more (BM25's IDF). */
async function indexPassages(passages: readonly Passage[], clock: Clock) {
  const index = new MiniSearch<{ id: number } & FieldTerms>({
    fields: [...fields],
    tokenize: splitTerms,
    processTerm: (term) => term,
    searchOptions: { boost: { heading: 3, askedAs: 3, parents: 1.5 } },
  });
  const counts = new Map<string, number>();
  for (const [id, passage] of passages.entries()) {
    if (id > 0 && id % passagesInATurn === 0) await sleep(clock, 0);
    const byField = fieldTerms(passage);
    index.add({ id, ...byField });
    const terms = new Set(Object.values(byField).flatMap(splitTerms));
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  const rarity = new Map(
    [...counts].map(([term, count]) => [term, inverseFrequency(count, passages.length)]),
  );
  return { index, rarity };
}

/**
 * How much a term says that the text does not use: a little more than the rarest of its own, so that one word
 * of two is never enough. (The formula's value for no occurrence would drown everything else in a short text.)
 */
function unknownRarity(term: string, total: number): number {
  return (isPair(term) ? 0.5 : 1.25) * inverseFrequency(1, total); // many a pair is no word
}

function inverseFrequency(count: number, total: number): number {
  return Math.log(1 + (total - count + 0.5) / (count + 0.5));
}

/** Passages with the phrases that stand for them. The last of a phrase is the first in the text. */
function byPhrase(
  passages: readonly Passage[],
  phrasesOf: (passage: Passage) => readonly string[],
): (readonly [string, Passage])[] {
  return passages
    .toReversed()
    .flatMap((passage) => phrasesOf(passage).map((phrase) => [phraseKey(phrase), passage] as const));
}
