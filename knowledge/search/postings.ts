/**
 * An inverted index in typed arrays: for each term, the passages that have it, ranked by BM25+. The maps of a search library
 * take half a gigabyte for the n-grams of twenty megabytes of text, and a tenth of a second a question.
 *
 * @module
 */

// BM25+: how soon further occurrences stop to count, how much long passages are discounted, what any occurrence is worth.
const saturation = 1.2;
const lengthDiscount = 0.7;
const occurrence = 0.5;

/** A passage's terms, each with its frequency. */
interface PassageTerms {
  readonly terms: Uint32Array;
  readonly frequencies: Uint8Array;
  /** How many different terms its text has. */
  readonly length: number;
}

/** Collects terms, passage by passage. */
export class PostingsBuilder {
  readonly #ids = new Map<string, number>();
  readonly #passages: PassageTerms[] = [];

  /** Adds the next passage. `named`: the terms of what it is called, which count three times, once each. */
  add(text: Iterable<string>, named: Iterable<string>): void {
    const frequencies = new Map<number, number>();
    const count = (term: string, times: number) => {
      const id = this.#ids.get(term) ?? this.#ids.size;
      if (id === this.#ids.size) this.#ids.set(term, id);
      frequencies.set(id, Math.min(255, (frequencies.get(id) ?? 0) + times));
    };
    for (const term of text) count(term, 1);
    const length = frequencies.size;
    for (const term of new Set(named)) count(term, 3);
    const [terms, counts] = [Uint32Array.from(frequencies.keys()), Uint8Array.from(frequencies.values())];
    this.#passages.push({ terms, frequencies: counts, length });
  }

  build(): Postings {
    return new Postings(this.#ids, this.#passages);
  }
}

/** For each term, the passages that have it. */
export class Postings {
  readonly #ids: ReadonlyMap<string, number>;
  /** For each term, where its postings begin; one more for the end. */
  readonly #starts: Uint32Array;
  readonly #passages: Uint32Array;
  readonly #frequencies: Uint8Array;
  /** The number of different terms in each passage's text. */
  readonly #lengths: Uint32Array;
  readonly #averageLength: number;

  constructor(ids: ReadonlyMap<string, number>, passages: readonly PassageTerms[]) {
    this.#ids = ids;
    this.#lengths = Uint32Array.from(passages, ({ length }) => length);
    const total = this.#lengths.reduce((sum, length) => sum + length, 0);
    this.#averageLength = Math.max(1, total / Math.max(1, passages.length));
    const starts = new Uint32Array(ids.size + 1);
    for (const { terms } of passages) for (const id of terms) starts[id + 1] = (starts[id + 1] ?? 0) + 1;
    for (let id = 0; id < ids.size; id++) starts[id + 1] = (starts[id + 1] ?? 0) + (starts[id] ?? 0);
    const next = starts.slice();
    this.#starts = starts;
    this.#passages = new Uint32Array(starts.at(-1) ?? 0);
    this.#frequencies = new Uint8Array(this.#passages.length);
    for (const [passage, { terms, frequencies }] of passages.entries()) {
      for (const [at, id] of terms.entries()) {
        const place = next[id] ?? 0;
        next[id] = place + 1;
        this.#passages[place] = passage;
        this.#frequencies[place] = frequencies[at] ?? 0;
      }
    }
  }

  has(term: string): boolean {
    return this.#ids.has(term);
  }

  /** The letters that words consist of, but for those of scripts with thousands. */
  letters(): string[] {
    const letters = new Set<string>();
    for (const term of this.#ids.keys())
      if (term.endsWith("_")) for (const letter of term) letters.add(letter);
    return [...letters]
      .filter((letter) => /(?![\p{Script=Han}\p{Script=Hangul}])\p{L}/u.test(letter))
      .slice(0, 100);
  }

  /** How much a term says: the fewer passages have it, the more. */
  rarity(term: string): number {
    const [begin, end] = this.#range(term);
    return Math.log(1 + (this.#lengths.length - (end - begin) + 0.5) / (end - begin + 0.5));
  }

  /** The passages that have a term of the question, each with its rank by BM25+. `terms`: each with its weight. */
  rank(terms: Iterable<readonly [term: string, weight: number]>): [passage: number, rank: number][] {
    const ranks = new Float64Array(this.#lengths.length);
    for (const [term, weight] of terms) {
      const [begin, end] = this.#range(term);
      const worth = weight * this.rarity(term);
      for (let at = begin; at < end; at++) {
        const passage = this.#passages[at] ?? 0;
        const frequency = this.#frequencies[at] ?? 0;
        const length = (this.#lengths[passage] ?? 0) / this.#averageLength;
        const discount = saturation * (1 - lengthDiscount + lengthDiscount * length);
        const rank = occurrence + (frequency * (saturation + 1)) / (frequency + discount);
        ranks[passage] = (ranks[passage] ?? 0) + worth * rank;
      }
    }
    const found: [passage: number, rank: number][] = [];
    for (const [passage, rank] of ranks.entries()) if (rank > 0) found.push([passage, rank]);
    return found;
  }

  #range(term: string): [begin: number, end: number] {
    const id = this.#ids.get(term);
    return id === undefined ? [0, 0] : [this.#starts[id] ?? 0, this.#starts[id + 1] ?? 0];
  }
}
