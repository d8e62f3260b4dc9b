/**
 * Which index a question gets. Each is made in this process, in steps between which others have their turn (`text/steps.ts`), long
 * ones one after another. Meanwhile a changed twin's question waits for a moment, then gets the old index; a new twin's gets what
 * has been indexed so far, if that is enough, or waits for all of it.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { systemClock, within } from "../../core/base/clock.ts";
import type { Twin } from "../../core/twins/twins.ts";
import {
  createKnowledgeIndex,
  type KnowledgeIndex,
  type KnowledgeIndexOptions,
  languageOfTwin,
} from "./index.ts";

/** How long a question waits for an index before what there is answers, in milliseconds. */
const patienceMs = 200;
/**
 * Of how many twins the last index is kept for when their text changes, and how long the texts are together, in code units, of
 * which each passage counts some more: each unit takes some 8 bytes, also of twins that are gone.
 */
const mostKept = 50;
const longestKept = 24_000_000;
const lengthOfPassage = 60;
/** How much of a new twin is indexed before all of it, in UTF-16 code units. Each part is four times as long as the one before. */
const firstPart = 250_000;
/** How long the texts are for which indexes are made before a question comes: those of one, and of all, which take 100 MB. */
const leastPrepared = 32_768;
const mostPrepared = 12_000_000;

/** Indexes of twins. */
export interface Indexes {
  /**
   * What comes of a twin's index. Of a changed twin, the old one is asked until the new one is there, and of a new one, what
   * has been read so far, if what comes of that `isEnough`.
   */
  ask<Result>(
    twin: Twin,
    use: (index: KnowledgeIndex) => Promise<Result>,
    isEnough: (result: Result) => boolean,
  ): Promise<Result>;
  /** Makes the indexes of long texts one after another, before they are asked. */
  prepare(twins: readonly Twin[]): void;
}

/** Creates indexes of twins, each once: what is derived from a twin is kept as long as the twin object. */
export function cacheIndexes(options: KnowledgeIndexOptions = {}): Indexes {
  const { clock = systemClock } = options;
  const indexes = new WeakMap<
    Twin,
    { readonly first: Promise<void>; readonly whole: Promise<KnowledgeIndex> }
  >();
  const last = new LRUCache<string, KnowledgeIndex>({ max: mostKept, maxSize: longestKept });
  const partial = new WeakSet<KnowledgeIndex>();
  let preparations = 0;
  const keep = (twin: Twin, index: KnowledgeIndex) =>
    last.set(identityOf(twin), index, {
      size: 1 + lengthOf(twin) + lengthOfPassage * index.passages.length,
    });
  const makePart = async (part: Twin) => {
    const index = await createKnowledgeIndex(part, { clock }, last.get(identityOf(part)));
    partial.add(index);
    keep(part, index);
  };
  const makeWhole = async (twin: Twin, first: Promise<void>, parts: readonly Twin[]) => {
    await first;
    for (const part of parts) await makePart(part);
    const index = await createKnowledgeIndex(twin, options, last.get(identityOf(twin)));
    keep(twin, index);
    return index;
  };
  const make = (twin: Twin) => {
    const [part, ...parts] = last.has(identityOf(twin)) ? [] : partsOf(twin);
    const first = part ? makePart(part) : Promise.resolve();
    const made = { first, whole: makeWhole(twin, first, parts) };
    indexes.set(twin, made);
    return made;
  };
  return {
    async ask(twin, use, isEnough) {
      const { first, whole } = indexes.get(twin) ?? make(twin);
      await first;
      if (!last.has(identityOf(twin))) return use(await whole);
      const index = (await within(clock, patienceMs, whole)) ?? last.get(identityOf(twin)) ?? (await whole);
      const result = await use(index);
      return partial.has(index) && !isEnough(result) ? use(await whole) : result;
    },
    prepare(twins) {
      const own = ++preparations;
      const long = twins.filter((twin) => lengthOf(twin) >= leastPrepared);
      const makeAll = async () => {
        let left = mostPrepared;
        for (const twin of long) {
          left -= lengthOf(twin);
          if (left < 0 || own !== preparations) return;
          // Where it fails, so do the questions that need it.
          await Promise.allSettled([(indexes.get(twin) ?? make(twin)).whole]);
        }
      };
      void makeAll();
    },
  };
}

/** Which twin it is, whatever its version: those of two owners may have one id, and each has its own `access`. */
function identityOf({ access, id }: Twin): string {
  return JSON.stringify([access, id]);
}

/** A twin with its first documents, then with more, without all. */
function partsOf(twin: Twin): Twin[] {
  const { documents, instructions } = twin;
  const parts: Twin[] = [];
  let [length, end] = [instructions.length, firstPart];
  for (const [at, { text }] of documents.slice(0, -1).entries()) {
    length += text.length;
    if (length < end) continue;
    parts.push({ ...twin, language: languageOfTwin(twin).code, documents: documents.slice(0, at + 1) });
    end = 4 * length;
  }
  return parts;
}

/** The length of all that is known of a twin, in UTF-16 code units. */
export function lengthOf({ instructions, documents }: Twin): number {
  return documents.reduce((length, { text }) => length + text.length, instructions.length);
}
