/**
 * Finds the sections of a twin's text that answer a question, and how well they do.
 *
 * @module
 */

import { type Clock, systemClock } from "../../core/base/clock.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { guessLanguage, type Language, languageOf } from "../languages/mod.ts";
import { roomOfTwin } from "../text/blocks.ts";
import { ownText, type Passage, roomForNames, toPassages } from "../text/passages.ts";
import {
  documentInSteps,
  instructionsInSteps,
  type Section,
  type TwinText,
  type Voice,
} from "../text/sections.ts";
import type { KnowledgeWarning } from "../text/source.ts";
import { inTurns, ofEach, portion, type Steps, visitAll } from "../text/steps.ts";
import { type Embed, Meanings, type Near } from "./meaning.ts";
import { type Called, Names } from "./names.ts";
import { PostingsBuilder } from "./postings.ts";
import {
  type Finding,
  namesOf,
  type Question,
  Ranking,
  type Remembered,
  rememberNothing,
} from "./ranking.ts";
import { textTerms } from "./terms.ts";

/** A section that was found for a question. */
export interface FoundSection {
  /** The path of the document that it is of. Null: the twin's own file. */
  readonly document: string | null;
  readonly heading: string;
  /** The headings above, outermost first. */
  readonly parents: readonly string[];
  /** Markdown, without the headings. Of a long section, the passages that fit best. */
  readonly text: string;
  /** How certain it is that the section answers the question, 0 to 1. The engine offers it from 0.15 on, and from 0.45 without a caveat. */
  readonly score: number;
}

/** How much {@link KnowledgeIndex.search} returns. */
export interface SearchOptions {
  /** The maximum number of sections. Default 8. */
  readonly sections?: number | undefined;
  /** The maximum length of all their texts and headings, in UTF-16 code units. Default 12,000. */
  readonly characters?: number | undefined;
  /** What {@link KnowledgeIndex.nearest} found for the question, which is fused with what its words find. Default: nothing. */
  readonly nearest?: readonly Near[] | undefined;
}

/** Options of {@link createKnowledgeIndex}. */
export interface KnowledgeIndexOptions {
  /** Finds sections by their meaning, too, such as `createEmbeddings` of `twin-service/embeddings`. Default: by words alone. */
  readonly embed?: Embed | undefined;
  /** A long text is indexed in portions, with a pause of this clock between them. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

/** What is indexed of a twin. */
export type IndexedTwin = Pick<Twin, "name" | "instructions"> & Partial<Pick<Twin, "documents" | "language">>;

/** How much of a question is read, in UTF-16 code units: reading takes time, in which nothing else runs. */
export const longestQuestion = 4_000;
/** What the likeness of a section is worth as a score, and where no section has a word of the question. */
const worthOfBoth = 0.3;
const worthOfMeaning = 0.5;
/** The maximum length of a section that is told to a model as a whole, in code units. */
const wholeSection = 3_000;

/** What one message has asked, and what was found. */
interface Asked {
  readonly questions: Map<string, Question>;
  readonly findings: Map<Question, readonly Finding[]>;
  readonly nearest: Map<string, Promise<readonly Near[]>>;
  readonly remembered: Remembered;
}

/** What is known under a key, or else is made now. Without `known`, nothing is kept. */
function once<Key, Value>(known: Map<Key, Value> | undefined, key: Key, make: () => Value): Value {
  const value = known?.get(key) ?? make();
  known?.set(key, value);
  return value;
}

/** A twin's knowledge, ready to be searched. */
export class KnowledgeIndex {
  readonly language: Language;
  /** The twin's own phrases. */
  readonly voice: Voice;
  /** How the twin behaves, in Markdown. */
  readonly persona: string;
  /** Faults of the twin's instructions. */
  readonly warnings: readonly KnowledgeWarning[];
  readonly passages: readonly Passage[];
  /** The topics that the twin offers: the headings of the outermost level that has more than one. */
  readonly topics: readonly string[];
  /** @internal What sections are called. */
  readonly names: Names;
  /** @internal */
  readonly ranking: Ranking;
  /** @internal The twin's texts by their paths, its instructions by none. */
  readonly parts: ReadonlyMap<string, Part>;
  readonly #sections: readonly Section[];
  readonly #meanings: Meanings | undefined;
  readonly #asked: Asked | undefined;

  /** @internal Use {@link createKnowledgeIndex}. */
  constructor(
    { voice, persona, warnings, sections }: TwinText,
    topics: readonly string[],
    language: Language,
    passages: readonly Passage[],
    names: Names,
    ranking: Ranking,
    meanings: Meanings | undefined,
    parts: ReadonlyMap<string, Part>,
    asked?: Asked,
  ) {
    this.language = language;
    this.voice = voice;
    this.persona = persona;
    this.warnings = warnings;
    this.passages = passages;
    this.topics = topics;
    this.names = names;
    this.ranking = ranking;
    this.#sections = sections;
    this.#meanings = meanings;
    this.parts = parts;
    this.#asked = asked;
  }

  /** @internal The same for one message, whose parts are asked again and again: each is read, and looked for, once. */
  forMessage(): KnowledgeIndex {
    const { topics, language, passages, names, ranking, parts } = this;
    const text = { ...this, sections: this.#sections };
    const asked = {
      questions: new Map(),
      findings: new Map(),
      nearest: new Map(),
      remembered: rememberNothing(),
    };
    return new KnowledgeIndex(text, topics, language, passages, names, ranking, this.#meanings, parts, asked);
  }

  /** The sections whose meaning is nearest to a question's, best first. Empty without `embed`, or while that is away. */
  async nearest(question: string): Promise<readonly Near[]> {
    const meanings = this.#meanings;
    if (!meanings) return [];
    return once(this.#asked?.nearest, question, () => meanings.nearest(withoutMiddle(question)));
  }

  /** The sections that fit a question best, best first: what a model should know to answer it. */
  search(
    question: string,
    { sections = 8, characters = 12_000, nearest = [] }: SearchOptions = {},
  ): FoundSection[] {
    const found: FoundSection[] = [];
    let left = characters;
    const findings = this.fuse(this.find(this.read(question)), nearest);
    const told = new Set<number>();
    for (const { passage, score } of findings) {
      if (found.length === sections) break;
      if (told.has(passage.section)) continue;
      told.add(passage.section);
      const { document, heading, parents } = passage;
      const text = this.#textOf(passage.section, findings);
      const length = text.length + [...parents, heading].join().length;
      if (length > left) continue;
      left -= length;
      found.push({ document, heading, parents, text, score });
    }
    return found;
  }

  /** Reads a question, of which the middle is left out where it is long, if need be together with an earlier one. */
  read(question: string, earlier = ""): Question {
    return once(this.#asked?.questions, `${earlier}\0${question}`, () =>
      this.ranking.read(withoutMiddle(question), withoutMiddle(earlier), this.#asked?.remembered),
    );
  }

  /** Passages that are related to a question, best first. */
  find(question: Question): readonly Finding[] {
    return once(this.#asked?.findings, question, () => this.ranking.find(question, this.#asked?.remembered));
  }

  /** What words and meaning find, best first. A section is as certain as if each of them were right by itself. */
  fuse(findings: readonly Finding[], nearest: readonly Near[]): readonly Finding[] {
    if (nearest.length === 0) return findings;
    const likeness = new Map(nearest.map((near) => [near.section, near.likeness]));
    const known = new Set(findings.map(({ passage }) => passage.section));
    const others = nearest.flatMap(({ section }) => {
      const passage = known.has(section) ? undefined : this.passages.find((one) => one.section === section);
      return passage ? { passage, score: 0, words: new Set<string>(), coverage: 0 } : [];
    });
    // Where no word of the question is in the text, as in another language, its meaning is all there is.
    const worth = findings.some(({ words }) => words.size > 0) ? worthOfBoth : worthOfMeaning;
    return [...findings, ...others]
      .map((finding) => {
        const alike = worth * (likeness.get(finding.passage.section) ?? 0);
        return { ...finding, score: 1 - (1 - finding.score) * (1 - alike) };
      })
      .sort((one, other) => other.score - one.score);
  }

  /** The section that a message calls by its heading. */
  called(message: string): Called | undefined {
    return this.names.called(withoutMiddle(message));
  }

  #textOf(position: number, findings: readonly Finding[]): string {
    const section = this.#sections[position];
    const whole = section ? ownText(section, wholeSection) : "";
    if (whole !== "" && whole.length <= wholeSection) return whole;
    const own = findings.filter(({ passage }) => passage.section === position);
    const best = new Set(own.map(({ passage }) => passage.text));
    return [...best].slice(0, 3).join("\n\n").slice(0, wholeSection);
  }
}

/**
 * Reads and indexes what a twin knows. A text of 20 MB takes seconds, in portions between which everything else runs. What
 * is the same in an `earlier` index of the twin is taken from there.
 *
 * @example
 * ```ts
 * import { createKnowledgeIndex } from "twin-service/knowledge";
 *
 * const index = await createKnowledgeIndex({ name: "Ada", instructions: "# The engine\n\nIt weaves patterns." });
 * const [best] = index.search("What does the engine weave?"); // { heading: "The engine", text: …, score: 1, … }
 * ```
 */
export async function createKnowledgeIndex(
  twin: IndexedTwin,
  options: KnowledgeIndexOptions = {},
  earlier?: KnowledgeIndex,
): Promise<KnowledgeIndex> {
  const length = (twin.documents ?? []).reduce(
    (sum, { text }) => sum + text.length,
    twin.instructions.length,
  );
  return inTurns(indexInSteps(twin, options, earlier), length, options.clock ?? systemClock);
}

function* indexInSteps(
  twin: IndexedTwin,
  { clock = systemClock, embed }: KnowledgeIndexOptions,
  earlier?: KnowledgeIndex,
): Steps<KnowledgeIndex> {
  const { name, instructions, documents = [] } = twin;
  const language = languageOfTwin(twin);
  const same = earlier?.language === language ? earlier : undefined;
  const gone = new Map(same?.parts);
  const [room, names] = [roomOfTwin(), roomForNames()];
  const own = yield* instructionsInSteps(name, instructions, room);
  const builder = new PostingsBuilder(same?.ranking.postings);
  const parts = new Map<string, Part>();
  const [sections, passages]: [Section[], Passage[]] = [[], []];
  let done = 0;
  for (const { path, text } of [{ path: "", text: instructions }, ...documents]) {
    const before = parts.has(path) ? undefined : gone.get(path);
    const fits = before && before.lines <= room.lines && before.names <= names.left;
    const kept = fits && before.text === text ? before : undefined;
    const part = { text, section: sections.length, passage: passages.length };
    const [lines, namesLeft] = [room.lines, names.left];
    const read =
      kept?.sections ?? (path === "" ? own : yield* documentInSteps({ path, text }, room)).sections;
    room.lines -= kept?.lines ?? 0;
    names.left -= kept?.names ?? 0;
    for (const section of read) sections.push(section);
    for (let at = 0; kept && at < kept.passages; at++) {
      const passage = same?.passages[kept.passage + at];
      if (passage) passages.push({ ...passage, section: passage.section - kept.section + part.section });
      builder.keep(kept.passage + at);
      done += 16;
      if (done < portion) continue;
      done = 0;
      yield;
    }
    done += kept ? 0 : text.length;
    for (const [at, section] of kept ? [] : read.entries()) {
      for (const passage of yield* toPassages(section, part.section + at, names)) {
        passages.push(passage);
        yield* builder.add(...termsOfPassage(passage, language));
        done += ofEach + lengthOf(passage);
        if (done < portion) continue;
        done = 0;
        yield;
      }
    }
    const taken = { lines: lines - room.lines, names: namesLeft - names.left };
    parts.set(path, { ...part, ...taken, sections: read, passages: passages.length - part.passage });
    if (kept) gone.delete(path);
  }
  for (const { passage, passages: count } of gone.values()) {
    const forgotten = same?.passages.slice(passage, passage + count) ?? [];
    yield* visitAll(forgotten, lengthOf, portion, (each) =>
      builder.forget(...termsOfPassage(each, language)),
    );
  }
  const meanings = embed && new Meanings(embed, sections, clock);
  const called = yield* Names.read(passages, language);
  const ranking = new Ranking(passages, yield* builder.build(), language, name);
  const topics = yield* topicsOf(sections);
  return new KnowledgeIndex(
    { ...own, sections },
    topics,
    language,
    passages,
    called,
    ranking,
    meanings,
    parts,
  );
}

/** A text of a twin, the instructions or a document, and what an index has of it. */
interface Part {
  readonly text: string;
  /** How many lines were read for it. */
  readonly lines: number;
  /** How many characters of names stand above its rows. */
  readonly names: number;
  readonly sections: readonly Section[];
  /** The positions of its first section and its first passage, and how many passages it has. */
  readonly section: number;
  readonly passage: number;
  readonly passages: number;
}

function lengthOf(passage: Passage): number {
  return namesOf(passage).reduce((length, name) => length + name.length, passage.text.length);
}

function termsOfPassage(passage: Passage, language: Language) {
  const { text, indexed = text } = passage;
  const names = namesOf(passage).join("\n");
  return [textTerms(indexed.replace(unsaid, " "), language), textTerms(names, language)] as const;
}

/** The language that a twin speaks: the one that it names, or else its text's. */
export function languageOfTwin(twin: IndexedTwin): Language {
  return twin.language ? languageOf(twin.language) : guessLanguage(textOf(twin));
}

/** The beginnings of a twin's texts, to guess the language from. */
function textOf({ instructions, documents = [] }: IndexedTwin): string {
  return [
    instructions.slice(0, 20_000),
    ...documents.slice(0, 20).map(({ text }) => text.slice(0, 1_000)),
  ].join("\n");
}

// Addresses and tags are not what a text is about.
const unsaid = /\]\([^()\s]*\)|<\/?[a-z][^<>]*>/giu;

/** What is read of a long message: people say first and last what they want. */
export function withoutMiddle(text: string): string {
  if (text.length <= longestQuestion) return text;
  return `${text.slice(0, longestQuestion / 2)}\n${text.slice(-longestQuestion / 2)}`;
}

/** The headings of the outermost level that has more than one. */
function* topicsOf(sections: readonly Section[]): Steps<string[]> {
  const deepest = sections.reduce((most, { parents }) => Math.max(most, parents.length), 0);
  const sizeOf = ({ heading }: Section) => heading.length;
  let topics = new Set<string>();
  for (let depth = 0; topics.size < 2 && depth <= deepest; depth++) {
    topics = new Set();
    yield* visitAll(sections, sizeOf, portion, ({ parents, heading }) =>
      topics.add(parents[depth] ?? heading),
    );
  }
  return [...topics];
}
