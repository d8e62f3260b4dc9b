/**
 * An inverted index in a few typed arrays: for each term, the passages that contain it. A search library's maps would
 * take a gigabyte for twenty megabytes of text.
 *
 * @module
 */

/** Where in a passage a term is. The weights are those of the ranking. */
const fieldWeights = { heading: 3, title: 3, askedAs: 3, parents: 1.5, text: 1 } as const;

/** One of these places. */
export type Field = keyof typeof fieldWeights;

/**
 * Receives a passage that contains a term. `frequency` is how much the passage is about it: BM25F's term frequency, which
 * counts headings above text.
 */
export type PostingVisitor = (passage: number, frequency: number) => void;

/** Numbers that are appended one by one. */
class Column {
  #values = new Uint32Array(1024);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Uint32Array(this.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length++] = value;
  }

  at(index: number): number {
    return this.#values[index] ?? 0;
  }

  release(): void {
    this.#values = new Uint32Array(0);
    this.length = 0;
  }
}

/** Collects postings, passage by passage. */
export class PostingsBuilder {
  readonly #ids = new Map<string, number>();
  readonly #terms = new Column();
  readonly #passages = new Column();
  /** Twice the weight in headings, times 256, plus how often the term is in the text. */
  readonly #weights = new Column();
  readonly #lengths = new Column();

  /** Adds the next passage. */
  add(terms: Readonly<Record<Field, readonly string[]>>): void {
    const passage = this.#lengths.length;
    const weights = new Map<number, number>();
    for (const field of Object.keys(fieldWeights) as Field[]) {
      const weight = field === "text" ? 1 : fieldWeights[field] * 512;
      for (const term of terms[field]) {
        const id = this.#idOf(term);
        const before = weights.get(id) ?? 0;
        // Once in each heading is enough; 255 times in the text, too.
        if (field === "text" ? (before & 255) < 255 : before < 256 * 64) weights.set(id, before + weight);
      }
    }
    for (const [id, weight] of weights) {
      this.#terms.push(id);
      this.#passages.push(passage);
      this.#weights.push(weight);
    }
    this.#lengths.push(terms.text.length);
  }

  /** The finished index. The builder is empty then. */
  build(): Postings {
    const count = this.#terms.length;
    const starts = new Uint32Array(this.#ids.size + 1);
    for (let at = 0; at < count; at++)
      starts[this.#terms.at(at) + 1] = (starts[this.#terms.at(at) + 1] ?? 0) + 1;
    for (let id = 0; id < this.#ids.size; id++) starts[id + 1] = (starts[id + 1] ?? 0) + (starts[id] ?? 0);
    const next = starts.slice();
    const passages = new Uint32Array(count);
    const weights = new Uint16Array(count);
    for (let at = 0; at < count; at++) {
      const id = this.#terms.at(at);
      const place = next[id] ?? 0;
      next[id] = place + 1;
      passages[place] = this.#passages.at(at);
      weights[place] = this.#weights.at(at);
    }
    const lengths = Uint32Array.from({ length: this.#lengths.length }, (_, passage) =>
      this.#lengths.at(passage),
    );
    for (const column of [this.#terms, this.#passages, this.#weights, this.#lengths]) column.release();
    return new Postings(this.#ids, { starts, passages, weights, lengths });
  }

  #idOf(term: string): number {
    const known = this.#ids.get(term);
    if (known !== undefined) return known;
    const id = this.#ids.size;
    this.#ids.set(term, id);
    return id;
  }
}

interface Columns {
  /** For each term, where its postings begin; one more for the end. */
  readonly starts: Uint32Array;
  readonly passages: Uint32Array;
  readonly weights: Uint16Array;
  /** The number of terms in each passage's text. */
  readonly lengths: Uint32Array;
}

// BM25's parameters: how soon further occurrences stop to count, and how much long passages are discounted.
const saturation = 1.2;
const lengthDiscount = 0.6;

/** For each term, the passages that contain it. */
export class Postings {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #columns: Columns;
  readonly #averageLength: number;

  constructor(ids: ReadonlyMap<string, number>, columns: Columns) {
    this.#ids = ids;
    this.#columns = columns;
    const total = columns.lengths.reduce((sum, length) => sum + length, 0);
    this.#averageLength = Math.max(1, total / Math.max(1, columns.lengths.length));
  }

  /** All terms. */
  get terms(): Iterable<string> {
    return this.#ids.keys();
  }

  has(term: string): boolean {
    return this.#ids.has(term);
  }

  /** How much a term says: the fewer passages contain it, the more (BM25's inverse document frequency). */
  rarity(term: string): number {
    const [begin, end] = this.#range(term);
    return this.#inverseFrequency(end - begin);
  }

  /** What the rarest term of the index says. */
  get greatestRarity(): number {
    return this.#inverseFrequency(1);
  }

  /** How many passages contain a term. */
  count(term: string): number {
    const [begin, end] = this.#range(term);
    return end - begin;
  }

  /** Visits the passages that contain a term. */
  visit(term: string, visitor: PostingVisitor): void {
    const { passages } = this.#columns;
    const [begin, end] = this.#range(term);
    for (let at = begin; at < end; at++) visitor(passages[at] ?? 0, this.#frequencyAt(at));
  }

  /** Where in a passage a term is. Undefined: it is not there. */
  placeOf(term: string, passage: number): "title" | "text" | undefined {
    const { passages, weights } = this.#columns;
    let [begin, end] = this.#range(term);
    while (begin < end) {
      const middle = (begin + end) >> 1;
      if ((passages[middle] ?? 0) < passage) begin = middle + 1;
      else end = middle;
    }
    if (begin >= this.#range(term)[1] || passages[begin] !== passage) return undefined;
    return (weights[begin] ?? 0) >> 8 >= 2 * fieldWeights.title ? "title" : "text";
  }

  #frequencyAt(at: number): number {
    const { passages, weights, lengths } = this.#columns;
    const weight = weights[at] ?? 0;
    const length = (lengths[passages[at] ?? 0] ?? 0) / this.#averageLength;
    const raw = (weight >> 8) / 2 + (weight & 255) / (1 - lengthDiscount + lengthDiscount * length);
    return (raw * (saturation + 1)) / (saturation + raw);
  }

  #range(term: string): [begin: number, end: number] {
    const id = this.#ids.get(term);
    const { starts } = this.#columns;
    return id === undefined ? [0, 0] : [starts[id] ?? 0, starts[id + 1] ?? 0];
  }

  #inverseFrequency(count: number): number {
    const total = this.#columns.lengths.length;
    return Math.log(1 + (total - count + 0.5) / (count + 0.5));
  }
}
