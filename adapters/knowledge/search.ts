/**
 * Finds the passages of a twin's text that answer a question, and how well they do.
 *
 * @module
 */

import MiniSearch, { type SearchResult } from "minisearch";
import { type Clock, sleep } from "../../core/base/clock.ts";
import type { Knowledge, Passage } from "./markdown.ts";
import { isPair, isWeak, phraseKey, termsOf } from "./words.ts";

/** A passage that was found for a question. */
export interface Finding {
  readonly passage: Passage;
  /** How much of the question the passage covers, 0 to 1. */
  readonly confidence: number;
  /** Terms of the question that the passage contains. */
  readonly terms: ReadonlySet<string>;
  /** Whether a heading, or an `asked as` of the section, has one of these terms. */
  readonly titled: boolean;
  /** Whether the section's own heading has a term of full weight. */
  readonly headed: boolean;
}

/** A question's terms, each with its relative weight. */
export type Query = ReadonlyMap<string, number>;

/** A searchable text. */
export interface KnowledgeIndex {
  /** The section that lists exactly this question under `asked as`. */
  asked(question: string): Passage | undefined;
  /** The section whose heading the question is, alone or as in "tell me about …". */
  named(question: string): Passage | undefined;
  /** Passages that are related to the query, best first. */
  find(query: Query): readonly Finding[];
}

// Longer questions repeat themselves.
const mostTerms = 40;
// How many unknown terms are searched for by prefix and similar spelling, each in the whole vocabulary. With more of
// them, nothing answers the question anyway.
const mostGuesses = 12;
// The minimum length of such a term: shorter ones would be similar to too many others.
const shortestGuess = 5;
// The weight of a word that says little, and of the twin's own name.
const weakWeight = 0.2;
// What may precede the name of what is asked for. It is removed word by word, because a name may also begin with it:
// "tell me what we do" is about "What we do".
const frame =
  /^(?:so|ok|hi|hello|please|can|could|you|i|want|to|know|tell|me|more|something|about|explain|describe|do|what|who|is|are|s|(?:and )?(?:what|how) about) /u;
// The maximum number of these words, as in "can you please tell me something more about".
const longestFrame = 8;
// How many passages are indexed in one turn of the event loop, which takes a few milliseconds.
const passagesInATurn = 20;
// The maximum number of spellings and forms that may stand for one term.
const mostVariants = 8;

/** Turns a question into a query. Words of `name`, the twin's own, have little weight. */
export function toQuery(question: string, name: string): Query {
  const names = new Set(termsOf(name));
  const terms = [...new Set(termsOf(question))].slice(0, mostTerms);
  return new Map(terms.map((term) => [term, isWeak(term) || names.has(term) ? weakWeight : 1]));
}

/** Whether a query has a term with full weight, which an answer must contain. */
export function hasSubject(query: Query): boolean {
  return [...query.values()].includes(1);
}

/** Indexes a twin's knowledge, in portions: a text of one megabyte would block the event loop for a third of a second. */
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

  /** The most important terms of a query that the text does not contain, but may contain in another spelling or form. */
  function termsToGuess(query: Query): ReadonlySet<string> {
    const unknown = [...query].filter(([term]) => !rarity.has(term) && term.length >= shortestGuess);
    const first = unknown.sort(([, one], [, other]) => other - one).slice(0, mostGuesses);
    return new Set(first.map(([term]) => term));
  }

  /** The text's terms that may stand for one that it does not contain, each with its likeness. */
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

  /** A query's terms with what stands for them in the text, without those that are beside the point. */
  function toTerms(query: Query): QueryTerm[] {
    const toGuess = termsToGuess(query);
    return [...query].flatMap(([term, weight]) => {
      const variants = toGuess.has(term) ? guess(term) : new Map(rarity.has(term) ? [[term, 1]] : []);
      if (variants.size === 0 && weight <= weakWeight && hasSubject(query)) return [];
      const rareness = Math.max(0, ...[...variants.keys()].map((variant) => rarity.get(variant) ?? 0));
      return {
        term,
        full: weight === 1,
        weight: weight * (rareness || unknownRarity(term, passages.length)),
        variants,
      };
    });
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
      const terms = toTerms(query);
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

/** A passage's terms by field, separated by spaces. */
type FieldTerms = Readonly<Record<Field, string>>;

function fieldTerms({ heading, parents, askedAs, text }: Passage): FieldTerms {
  const joined = (texts: readonly string[]) => texts.flatMap(termsOf).join(" ");
  return {
    heading: joined([heading]),
    parents: joined(parents),
    askedAs: joined(askedAs),
    text: joined([text]),
  };
}

function splitTerms(terms: string): string[] {
  return terms === "" ? [] : terms.split(" ");
}

/** Indexes passages by their positions, and measures how much each term says: the rarer it is, the more (BM25's IDF). */
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
 * How much a term says that the text does not contain: a little more than the text's rarest, so that one word of two is
 * never enough. (The formula's value for no occurrence would outweigh everything else in a short text.)
 */
function unknownRarity(term: string, total: number): number {
  return (isPair(term) ? 0.5 : 1.25) * inverseFrequency(1, total); // many a pair is no word
}

function inverseFrequency(count: number, total: number): number {
  return Math.log(1 + (total - count + 0.5) / (count + 0.5));
}

/** Passages with their phrases. Of passages with the same phrase, the first one in the text comes last. */
function byPhrase(
  passages: readonly Passage[],
  phrasesOf: (passage: Passage) => readonly string[],
): (readonly [string, Passage])[] {
  return passages
    .toReversed()
    .flatMap((passage) => phrasesOf(passage).map((phrase) => [phraseKey(phrase), passage] as const));
}
