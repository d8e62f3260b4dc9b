/**
 * An inverted index in typed arrays: for each term, the passages that have it, ranked by BM25+ in two fields, what a passage
 * is called and what it says. The maps of a search library take half a gigabyte for the n-grams of twenty megabytes of text,
 * and a tenth of a second a question.
 *
 * @module
 */

import { finish, type Steps, visitAll } from "../text/steps.ts";

// BM25+: how soon further occurrences stop to count, how much long passages are discounted, what any occurrence is worth.
const saturation = 1.2;
const lengthDiscount = 0.7;
const occurrence = 0.5;
/** How much a term in a name counts, compared with one in the text. */
const nameWeight = 2;

// A posting is one number: the passage, how often its names have the term (up to 7), and how often its text (up to 127).
const textBits = 7;
const nameBits = 3;
const bits = textBits + nameBits;
const mostInText = 2 ** textBits - 1;
const mostInName = 2 ** nameBits - 1;

/** The terms of a passage's text or of its names, in order. */
export interface TermList {
  readonly terms: readonly number[];
  /** Shorter n-grams. Only in how many passages they are is kept. */
  readonly short: readonly number[];
}

/** Numbers terms from 0, in an open hash table. */
class TermIds {
  #terms = new Uint32Array(1 << 10);
  #ids = new Uint32Array(1 << 10);
  size = 0;

  get(term: number): number | undefined {
    const at = this.#place(term);
    return this.#terms[at] === 0 ? undefined : this.#ids[at];
  }

  add(term: number): number {
    const at = this.#place(term);
    if (this.#terms[at] !== 0) return this.#ids[at] ?? 0;
    this.#terms[at] = term + 1;
    this.#ids[at] = this.size++;
    // Only where one passage has as many terms as all before it.
    if (this.size * 4 > this.#terms.length * 3) finish(this.makeRoom());
    return this.size - 1;
  }

  /** Grows where more than half is taken, in portions: no term is added in between. */
  *makeRoom(): Steps<void> {
    if (this.size * 2 <= this.#terms.length) return;
    const terms = new Uint32Array(2 * this.#terms.length);
    const ids = new Uint32Array(2 * this.#terms.length);
    for (let at = 0; at < this.#terms.length; at++) {
      if (at % portion === portion - 1) yield;
      const term = this.#terms[at] ?? 0;
      if (term === 0) continue;
      const place = placeIn(terms, term - 1);
      terms[place] = term;
      ids[place] = this.#ids[at] ?? 0;
    }
    [this.#terms, this.#ids] = [terms, ids];
  }

  #place(term: number): number {
    return placeIn(this.#terms, term);
  }
}

/** Where a term is in a table, or has to be put. 0 stands for no term. */
function placeIn(terms: Uint32Array, term: number): number {
  const last = terms.length - 1;
  let at = term & last;
  while (terms[at] !== 0 && terms[at] !== term + 1) at = (at + 1) & last;
  return at;
}

/** Postings, each with the id of its term. */
interface Chunk {
  readonly ids: Uint32Array;
  readonly postings: Uint32Array;
  count: number;
}

/** How many postings are looked at for a question, those of its rarest terms: what nearly all passages have says little. */
const mostLookedAt = 1_000_000;

/** How many postings are placed in a step. */
const portion = 1 << 17;

/** Collects terms, passage by passage. */
export class PostingsBuilder {
  readonly #earlier: Postings | undefined;
  readonly #ids: TermIds;
  /** In how many passages a shorter n-gram is, by its id. */
  #shortSpread: Uint32Array;
  /** The terms of new passages. */
  readonly #added: Chunk[] = [];
  /** The new positions of earlier passages, from 1. 0: it is gone. */
  readonly #moved: Uint32Array;
  readonly #textLengths: number[] = [];
  readonly #nameLengths: number[] = [];
  /** Of the passage that is being added: how often a term is in it, by its id. */
  #counts = new Uint16Array(1 << 10);
  /** The last passage whose shorter n-grams were counted, by their ids. */
  #lastSpread = new Uint32Array(1 << 10);
  #spreadOf = 0;

  /** `earlier`: of the same twin, from which passages may be kept. */
  constructor(earlier?: Postings) {
    this.#earlier = earlier;
    this.#ids = earlier?.ids ?? new TermIds();
    this.#shortSpread = earlier?.shortSpread.slice() ?? new Uint32Array(1 << 10);
    this.#moved = new Uint32Array(earlier?.textLengths.length ?? 0);
  }

  /** Adds the next passage. */
  *add(text: TermList, names: TermList): Steps<void> {
    const ids: number[] = [];
    const nameLength = this.#count(names.terms, 1 << textBits, mostInName << textBits, ids);
    const textLength = this.#count(text.terms, 1, mostInText, ids);
    this.#spread(text, names, 1);
    const position = this.#textLengths.length << bits;
    for (const id of ids) {
      put(id, (position | (this.#counts[id] ?? 0)) >>> 0, this.#added);
      this.#counts[id] = 0;
    }
    this.#textLengths.push(textLength);
    this.#nameLengths.push(nameLength);
    yield* this.#ids.makeRoom();
  }

  /** Takes an earlier passage over as the next one. */
  keep(position: number): void {
    this.#textLengths.push(this.#earlier?.textLengths[position] ?? 0);
    this.#nameLengths.push(this.#earlier?.nameLengths[position] ?? 0);
    this.#moved[position] = this.#textLengths.length;
  }

  /** Forgets an earlier passage, of which nothing else is kept. */
  forget(text: TermList, names: TermList): void {
    this.#spread(text, names, -1);
  }

  /** Makes the index, in portions: postings are counted by their terms, then each is put where its term's next one belongs. */
  *build(): Steps<Postings> {
    const starts = new Uint32Array(this.#ids.size + 1);
    yield* visitAll(this.#chunks(), sizeOf, portion, (chunk) => countTerms(chunk, starts));
    for (let id = 0; id < this.#ids.size; id++) {
      starts[id + 1] = (starts[id + 1] ?? 0) + (starts[id] ?? 0);
      if (id % (4 * portion) === 4 * portion - 1) yield;
    }
    const postings = new Uint32Array(starts.at(-1) ?? 0);
    const next = starts.slice();
    yield* visitAll(this.#chunks(), sizeOf, portion, (chunk) => place(chunk, next, postings));
    const textLengths = new Uint16Array(this.#textLengths);
    const nameLengths = new Uint16Array(this.#nameLengths);
    return new Postings(this.#ids, starts, postings, this.#shortSpread, textLengths, nameLengths);
  }

  /** All postings, earlier ones first. */
  *#chunks(): Generator<Chunk> {
    if (this.#earlier) {
      const { starts, postings } = this.#earlier;
      // Room for a term that all passages have.
      const chunk = newChunk(Math.min(postings.length, Math.max(portion, this.#moved.length)));
      for (let id = 0; id + 1 < starts.length; ) {
        id = this.#move(this.#earlier, id, chunk);
        yield chunk;
        chunk.count = 0;
      }
    }
    yield* this.#added;
  }

  /** Fills a chunk with earlier postings, at their new positions, from a term on. Returns the term to go on with. */
  #move({ starts, postings }: Postings, first: number, chunk: Chunk): number {
    const moved = this.#moved;
    let [id, count] = [first, 0];
    for (; id + 1 < starts.length; id++) {
      const end = starts[id + 1] ?? 0;
      let at = starts[id] ?? 0;
      if (count + end - at > chunk.ids.length) break;
      for (; at < end; at++) {
        const posting = postings[at] ?? 0;
        const position = moved[posting >>> bits] ?? 0;
        if (position === 0) continue;
        chunk.ids[count] = id;
        chunk.postings[count++] = (((position - 1) << bits) | (posting & (2 ** bits - 1))) >>> 0;
      }
    }
    chunk.count = count;
    return id;
  }

  /** Counts terms, each up to `most`, into `ids` and their counts. Returns how many different ones there are. */
  #count(terms: readonly number[], unit: number, most: number, ids: number[]): number {
    let different = 0;
    for (const term of terms) {
      const id = this.#ids.add(term);
      if (id >= this.#counts.length) this.#counts = longer(this.#counts);
      const count = this.#counts[id] ?? 0;
      if (count === 0) ids.push(id);
      if ((count & most) === 0) different++;
      if ((count & most) !== most) this.#counts[id] = count + unit;
    }
    return different;
  }

  #spread({ short: text }: TermList, { short: names }: TermList, change: number): void {
    const passage = ++this.#spreadOf;
    for (const terms of [text, names]) {
      for (const term of terms) {
        const id = this.#ids.add(term);
        while (id >= this.#shortSpread.length) this.#shortSpread = longer(this.#shortSpread);
        while (id >= this.#lastSpread.length) this.#lastSpread = longer(this.#lastSpread);
        if (this.#lastSpread[id] === passage) continue;
        this.#lastSpread[id] = passage;
        this.#shortSpread[id] = (this.#shortSpread[id] ?? 0) + change;
      }
    }
  }
}

function newChunk(length: number): Chunk {
  return { ids: new Uint32Array(length), postings: new Uint32Array(length), count: 0 };
}

/** Adds a posting to the last of the chunks, or to a new one, twice as long. */
function put(id: number, posting: number, chunks: Chunk[]): void {
  let chunk = chunks.at(-1);
  if (!chunk || chunk.count === chunk.ids.length) {
    chunk = newChunk(chunk ? Math.min(portion, 2 * chunk.count) : 1 << 10);
    chunks.push(chunk);
  }
  chunk.ids[chunk.count] = id;
  chunk.postings[chunk.count++] = posting;
}

function sizeOf({ count }: Chunk): number {
  return count;
}

/** Counts the postings of each term, one place behind it. */
function countTerms({ ids, count }: Chunk, starts: Uint32Array): void {
  for (let at = 0; at < count; at++) {
    const next = (ids[at] ?? 0) + 1;
    starts[next] = (starts[next] ?? 0) + 1;
  }
}

function place({ ids, postings, count }: Chunk, next: Uint32Array, placed: Uint32Array): void {
  for (let at = 0; at < count; at++) {
    const id = ids[at] ?? 0;
    const free = next[id] ?? 0;
    placed[free] = postings[at] ?? 0;
    next[id] = free + 1;
  }
}

function longer<Numbers extends Uint16Array | Uint32Array>(numbers: Numbers): Numbers {
  const twice =
    numbers instanceof Uint16Array
      ? new Uint16Array(2 * numbers.length)
      : new Uint32Array(2 * numbers.length);
  twice.set(numbers);
  return twice as Numbers;
}

/** For each term, the passages that have it. */
export class Postings {
  /** @internal */
  readonly ids: TermIds;
  /** @internal For each term, where its postings begin; one more for the end. */
  readonly starts: Uint32Array;
  /** @internal */
  readonly postings: Uint32Array;
  /** @internal */
  readonly shortSpread: Uint32Array;
  /** @internal The number of different terms in each passage's text. */
  readonly textLengths: Uint16Array;
  /** @internal */
  readonly nameLengths: Uint16Array;
  readonly #averageText: number;
  readonly #averageName: number;

  constructor(
    ids: TermIds,
    starts: Uint32Array,
    postings: Uint32Array,
    shortSpread: Uint32Array,
    textLengths: Uint16Array,
    nameLengths: Uint16Array,
  ) {
    this.ids = ids;
    this.starts = starts;
    this.postings = postings;
    this.shortSpread = shortSpread;
    this.textLengths = textLengths;
    this.nameLengths = nameLengths;
    this.#averageText = average(textLengths);
    this.#averageName = average(nameLengths);
  }

  has(term: number): boolean {
    const [begin, end] = this.#range(term);
    return end > begin;
  }

  /** How much a term says: the fewer passages have it, the more. */
  rarity(term: number): number {
    const [begin, end] = this.#range(term);
    const spread = Math.max(end - begin, this.shortSpread[this.ids.get(term) ?? -1] ?? 0);
    return Math.log(1 + (this.textLengths.length - spread + 0.5) / (spread + 0.5));
  }

  /**
   * The passages that have a term of the question, those with the highest ranks by BM25+, highest first. `terms`: what each is
   * worth.
   */
  rank(
    terms: Iterable<readonly [term: number, worth: number]>,
    most: number,
  ): [passage: number, rank: number][] {
    const ranks = new Float64Array(this.textLengths.length);
    let left = mostLookedAt;
    const ranges = Array.from(terms, ([term, worth]) => ({ range: this.#range(term), worth }));
    ranges.sort(({ range: [begin, end] }, { range: [from, to] }) => end - begin - (to - from));
    for (const {
      range: [begin, end],
      worth,
    } of ranges) {
      left -= end - begin;
      if (left < 0) break;
      for (let at = begin; at < end; at++) {
        const posting = this.postings[at] ?? 0;
        const passage = posting >>> bits;
        const inName = (posting >>> textBits) & mostInName;
        ranks[passage] = (ranks[passage] ?? 0) + worth * this.count(passage, posting & mostInText, inName);
      }
    }
    const found: [passage: number, rank: number][] = [];
    for (let passage = 0; passage < ranks.length; passage++) {
      const rank = ranks[passage] ?? 0;
      if (rank === 0 || (found.length === most && rank <= (found.at(-1)?.[1] ?? 0))) continue;
      let place = found.length;
      while (place > 0 && (found[place - 1]?.[1] ?? 0) < rank) place--;
      found.splice(place, 0, [passage, rank]);
      if (found.length > most) found.pop();
    }
    return found;
  }

  /** What a term counts that is so often in a passage's text and in its names. */
  count(passage: number, inText: number, inName: number): number {
    const text = this.#countIn(inText, (this.textLengths[passage] ?? 0) / this.#averageText);
    return text + nameWeight * this.#countIn(inName, (this.nameLengths[passage] ?? 0) / this.#averageName);
  }

  #countIn(frequency: number, length: number): number {
    if (frequency === 0) return 0;
    const discount = saturation * (1 - lengthDiscount + lengthDiscount * length);
    return occurrence + (frequency * (saturation + 1)) / (frequency + discount);
  }

  #range(term: number): [begin: number, end: number] {
    const id = this.ids.get(term);
    // Later versions of the index have terms that this one lacks.
    return id === undefined ? [0, 0] : [this.starts[id] ?? 0, this.starts[id + 1] ?? this.starts[id] ?? 0];
  }
}

function average(lengths: Uint16Array): number {
  return Math.max(1, lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length));
}
