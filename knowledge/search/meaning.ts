/**
 * Finds sections by what they mean, with vectors that a model made: also in another language than the text's.
 *
 * @module
 */

import { type Clock, within } from "../../core/base/clock.ts";
import { ownText } from "../text/passages.ts";
import type { Section } from "../text/sections.ts";

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
/** How long a question waits for the vectors, in milliseconds. */
const patienceMs = 2_000;
/** How many sections a question finds. */
const mostNear = 16;
/** How much a section must mean what the question does. */
const enoughLikeness = 0.3;

/** The meanings of a twin's sections. */
export class Meanings {
  readonly #embed: Embed;
  readonly #clock: Clock;
  readonly #sections: readonly Section[];
  readonly #known: Float32Array[] = [];
  #vectors: Promise<SectionVectors | undefined> | undefined;

  constructor(embed: Embed, sections: readonly Section[], clock: Clock) {
    this.#embed = embed;
    this.#clock = clock;
    this.#sections = sections;
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
    const own = unit(vector);
    const { vectors, common } = sections;
    const [ownCommon, square] = [dot(own, common), dot(common, common)];
    return vectors
      .map((other, section) => {
        const [whole, otherCommon] = [dot(own, other), dot(other, common)];
        // The cosine of both vectors' differences to what all sections have in common.
        const lengths = (1 - 2 * ownCommon + square) * (1 - 2 * otherCommon + square);
        const apart = (whole - ownCommon - otherCommon + square) / Math.sqrt(Math.max(1e-9, lengths));
        return { section, whole, apart };
      })
      .sort((one, other) => other.apart - one.apart)
      .slice(0, mostNear)
      .map(({ section, apart, whole }) => ({ section, likeness: Math.min(apart, whole) }))
      .filter(({ likeness }) => likeness >= enoughLikeness);
  }

  /** Reads the sections once. After a failure, the next question goes on with the rest. */
  #ofSections(): Promise<SectionVectors | undefined> {
    this.#vectors ??= this.#read().then((isDone) => {
      if (!isDone) this.#vectors = undefined;
      return isDone ? toSectionVectors(this.#known) : undefined;
    });
    return this.#vectors;
  }

  async #read(): Promise<boolean> {
    while (this.#known.length < this.#sections.length) {
      const sections = this.#sections.slice(this.#known.length, this.#known.length + batch);
      const vectors = await this.#embed(sections.map(textWithPath), "sections");
      if (!vectors) return false;
      this.#known.push(...vectors.map(unit));
    }
    return true;
  }
}

function textWithPath(section: Section): string {
  const path = [...section.parents, section.heading].join(" › ");
  return `${path}\n${ownText(section, longestText)}`.slice(0, longestText);
}

interface SectionVectors {
  readonly vectors: readonly Float32Array[];
  /** Their mean: those of many models all point into one direction. Nothing where there is only one. */
  readonly common: Float32Array;
}

function toSectionVectors(vectors: readonly Float32Array[]): SectionVectors {
  const common = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors.length < 2 ? [] : vectors)
    for (const [at, value] of vector.entries()) common[at] = (common[at] ?? 0) + value / vectors.length;
  return { vectors, common };
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
