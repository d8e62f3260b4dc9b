/**
 * Finds sections by what they mean, with vectors that a model made: also in another language than the text's.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { type Clock, within } from "../../core/base/clock.ts";
import { ownText } from "../text/passages.ts";
import type { Section } from "../text/sections.ts";
import { runSteps, type Steps, visitAll } from "../text/steps.ts";

/**
 * Makes a vector of each text, of a twin's sections or of people's questions. Undefined: that is not possible now. Never
 * rejects.
 */
export type Embed = (
  texts: readonly string[],
  of: "sections" | "question",
) => Promise<readonly Float32Array[] | undefined>;

/** A section that means something like the question. */
export interface Near {
  /** Its position in the text. */
  readonly section: number;
  /** How much alike they are, up to 1: as they are, or apart from what all of the twin's sections have in common, if that is less. */
  readonly likeness: number;
}

/** How many texts are embedded at a time. Questions wait behind them where a model's server does one thing after another. */
const batch = 16;
/** How much of a text says what it means, in UTF-16 code units: models read some hundred words. */
const longestText = 2_000;
/**
 * How many numbers the vectors of a twin have at most, 32 MiB, where each section counts for 1,024 at least: those of its first 8,192
 * sections, or of 2,730 where vectors have 3,072. A question takes some 30 ms then. Further sections are found by words alone.
 */
const mostNumbers = 8 * 1024 * 1024;
const leastNumbers = 1_024;
/** The same of all twins together, 256 MiB: the vectors of those that are asked least are read again. */
const mostOfAll = 8 * mostNumbers;
/** How many numbers are looked at in a step. */
const ofStep = 1024 * 1024;
/** How long a question waits for the vectors, in milliseconds. */
const patienceMs = 2_000;
/** How many sections a question finds. */
const mostNear = 16;
/** How much a section must mean what the question does. */
const enoughLikeness = 0.3;

/** The vectors of a twin's sections, as far as they are read. */
interface KeptVectors {
  readonly known: readonly Float32Array[];
  readonly numbers: number;
  /** Absent: not all are read. */
  readonly whole?: SectionVectors;
}

/** By twins, which it does not name: it must not keep their texts. */
const kept = new LRUCache<object, KeptVectors>({
  maxSize: mostOfAll,
  sizeCalculation: ({ numbers }) => Math.max(1, numbers),
});
/** Those of a text that was changed would only take room. */
const gone = new FinalizationRegistry<object>((key) => kept.delete(key));

/** The meanings of a twin's sections. */
export class Meanings {
  readonly #embed: Embed;
  readonly #clock: Clock;
  readonly #sections: readonly Section[];
  /** What its vectors are kept by. */
  readonly #key = {};
  #reading: Promise<SectionVectors | undefined> | undefined;

  constructor(embed: Embed, sections: readonly Section[], clock: Clock) {
    this.#embed = embed;
    this.#clock = clock;
    this.#sections = sections;
    gone.register(this, this.#key);
  }

  /** The sections that are nearest to a question, the nearest first. Empty where the vectors are not there in time. */
  async nearest(question: string): Promise<readonly Near[]> {
    // Not at once: a question that waits behind the sections would look like an outage.
    const end = this.#clock.now() + patienceMs;
    const sections = await within(this.#clock, patienceMs, this.#ofSections());
    if (!sections) return [];
    const asked = this.#embed([question.slice(0, longestText)], "question");
    const [vector] = (await within(this.#clock, end - this.#clock.now(), asked)) ?? [];
    if (!vector) return [];
    return runSteps(nearestTo(unit(vector), sections), this.#clock);
  }

  async #ofSections(): Promise<SectionVectors | undefined> {
    const { whole } = kept.get(this.#key) ?? {};
    if (whole) return whole;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Reads the sections. After a failure, or where others took the memory, the next question goes on with what is not kept. */
  async #read(): Promise<SectionVectors | undefined> {
    let { known, numbers } = kept.get(this.#key) ?? { known: [], numbers: 0 };
    while (known.length < this.#sections.length && numbers < mostNumbers) {
      const sections = this.#sections.slice(known.length, known.length + batch);
      const texts = sections.map((section) => {
        const path = [...section.parents, section.heading].join(" › ");
        return `${path}\n${ownText(section, longestText)}`.slice(0, longestText);
      });
      const vectors = await this.#embed(texts, "sections");
      if (!vectors || (known.length > 0 && !kept.has(this.#key))) return undefined;
      known = [...known, ...vectors.map(unit)];
      for (const { length } of vectors) numbers += Math.max(length, leastNumbers);
      kept.set(this.#key, { known, numbers });
    }
    const whole = await runSteps(toSectionVectors(known), this.#clock);
    kept.set(this.#key, { known, numbers, whole });
    return whole;
  }
}

interface SectionVector {
  readonly vector: Float32Array;
  /** Its product with what all have in common. */
  readonly inCommon: number;
}

interface SectionVectors {
  readonly vectors: readonly SectionVector[];
  /** Their mean: those of many models all point into one direction. Nothing where there is only one. */
  readonly common: Float32Array;
}

function* toSectionVectors(known: readonly Float32Array[]): Steps<SectionVectors> {
  const common = new Float32Array(known[0]?.length ?? 0);
  const sizeOf = ({ length }: Float32Array) => length;
  if (known.length > 1)
    yield* visitAll(known, sizeOf, ofStep, (vector) => {
      for (let at = 0; at < vector.length; at++)
        common[at] = (common[at] ?? 0) + (vector[at] ?? 0) / known.length;
    });
  const vectors: SectionVector[] = [];
  yield* visitAll(known, sizeOf, ofStep, (vector) => {
    vectors.push({ vector, inCommon: dot(vector, common) });
  });
  return { vectors, common };
}

function* nearestTo(own: Float32Array, { vectors, common }: SectionVectors): Steps<readonly Near[]> {
  const [ownCommon, square] = [dot(own, common), dot(common, common)];
  const near: { section: number; whole: number; apart: number }[] = [];
  const sizeOf = ({ vector }: SectionVector) => vector.length;
  yield* visitAll(vectors, sizeOf, ofStep, ({ vector, inCommon }) => {
    const whole = dot(own, vector);
    // The cosine of both vectors' differences to what all sections have in common.
    const lengths = (1 - 2 * ownCommon + square) * (1 - 2 * inCommon + square);
    const apart = (whole - ownCommon - inCommon + square) / Math.sqrt(Math.max(1e-9, lengths));
    near.push({ section: near.length, whole, apart });
  });
  return near
    .sort((one, other) => other.apart - one.apart)
    .slice(0, mostNear)
    .map(({ section, apart, whole }) => ({ section, likeness: Math.min(apart, whole) }))
    .filter(({ likeness }) => likeness >= enoughLikeness);
}

/** The same direction, of length 1. */
function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  return vector.map((value) => value / length);
}

function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}
