/**
 * Twins, and the port for wherever they come from.
 *
 * @module
 */

import { type Clock, systemClock } from "../base/clock.ts";
import type { Sha256 } from "../base/ids.ts";
import { isJsonObject, isString } from "../base/json.ts";
import { compareTexts } from "../base/order.ts";
import {
  oneOf,
  orNull,
  type Rule,
  type RulesFor,
  requireOptions,
  textRule,
  wholeNumber,
} from "../base/rules.ts";
import type { Listing, Slice } from "../store/store.ts";
import { tokenBudgetRange } from "../store/token-budgets.ts";

/** A further text that a twin knows. */
export interface TwinDocument {
  /** What it is called, with an ending that says what it is: `.txt` is plain text, all others are Markdown. */
  readonly path: string;
  readonly text: string;
}

/** How much of its knowledge a twin's model is told: all of it, or the sections that fit the question. */
export type KnowledgeMode = "whole" | "search";

/** What clients see of a twin. */
export interface TwinProfile {
  /** Chosen by the operator; part of paths. */
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly avatarUrl: string | null;
  /** What the twin says before anything is asked. */
  readonly greeting: string | null;
  readonly tags: readonly string[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;

  /** Whether it hands over to a person, where it is asked to. */
  readonly handover: boolean;
}

/** An AI twin: a persona with knowledge, and the engine that speaks for it. Clients never see what its profile has not. */
export interface Twin extends TwinProfile {
  /** The name of the engine that writes its replies, a key of the service's `engines`. */
  readonly engine: string;
  /** The model that the engine asks, if it has a choice. Null: the engine's default. */
  readonly model: string | null;
  /** Sampling temperature, 0 to 2. Null: the model's default. */
  readonly temperature: number | null;
  /** The owners who may use the twin. Null: every owner. */
  readonly access: readonly string[] | null;
  /** Persona and knowledge, in Markdown. */
  readonly instructions: string;
  /** Further knowledge. */
  readonly documents: readonly TwinDocument[];
  /** The language that the twin speaks, as a BCP 47 tag. Null: guessed from its text. */
  readonly language: string | null;
  /** Null: all of it while it is short, else what fits the question. */
  readonly knowledge: KnowledgeMode | null;
  /** The tools that its model may use: names such as `weather/forecast`, or `weather` for all of its. */
  readonly tools: readonly string[];
  /** Those of its tools that run only once the person who asks has allowed the call, by such names. */
  readonly confirm: readonly string[];

  /** How many tokens all of its replies together may take in a day of UTC. Null: as many as others allow. */
  readonly tokensPerDay: number | null;
}

/**
 * Where twins come from. A twin that the owner may not use does not exist for a query. A twin that has changed must be
 * a new object, because what is derived from a twin is cached by object.
 */
export interface TwinSource {
  /** Twins by name, then id, in binary order. */
  list(owner: string, slice: Slice): Promise<Listing<TwinProfile>>;
  /**
   * `revision`: the one with which a reply has begun that another process goes on with. A source that keeps versions gives that
   * one, or none if it does not keep it any more; others give the twin as it is now.
   */
  get(owner: string, id: string, revision?: string): Promise<Twin | undefined>;
  /** What clients see of a twin, where that is less to read. Default: the same as `get`. */
  profile?(owner: string, id: string): Promise<TwinProfile | undefined>;
}

/** All twins of a source for an owner. Each page costs a look at all that there are. */
export async function allTwins(twins: TwinSource, owner: string): Promise<TwinProfile[]> {
  const all: TwinProfile[] = [];
  for (;;) {
    const { items, total } = await twins.list(owner, { offset: all.length, limit: 1_000 });
    all.push(...items);
    if (items.length === 0 || all.length >= total) return all;
  }
}

/** A source that has its twins at hand. */
export interface TwinList extends TwinSource {
  list(owner: string, slice: Slice): Promise<Listing<Twin>>;
}

/**
 * A twin as {@link createTwinList} accepts it. What is left out, or undefined, is null or empty; the default of both
 * times is the time of the call.
 */
export type TwinInit = Pick<Twin, "id" | "name" | "engine"> & {
  readonly [Name in keyof Twin]?: Twin[Name] | undefined;
};

const blank = {
  description: null,
  avatarUrl: null,
  greeting: null,
  tags: [],
  model: null,
  temperature: null,
  access: null,
  instructions: "",
  documents: [],
  language: null,
  knowledge: null,
  tools: [],
  confirm: [],
  tokensPerDay: null,
  handover: false,
};

const name: Rule = {
  expected: "a string that is not empty",
  accepts: (value) => isString(value) && value !== "",
};
const time: Rule = { expected: "milliseconds since the epoch", accepts: Number.isSafeInteger };
/**
 * What files, and owners, may call a twin. Ids are used in paths: only characters that need no escaping there, and no name that
 * a path has already.
 */
export const twinIdPattern: RegExp = /^(?!check$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u;

/** How freely a model chooses its words. */
export const temperatureRule: Rule = {
  expected: "a number from 0 to 2",
  accepts: (value) => typeof value === "number" && value >= 0 && value <= 2,
};

/** The language of a twin. */
export const languageRule: Rule = {
  expected: "a BCP 47 language tag, such as de or pt-BR",
  accepts: (value) => isString(value) && /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*$/u.test(value),
};

/** A {@link KnowledgeMode}. */
export const knowledgeRule: Rule = oneOf(["whole", "search"]);

/** The tokens of a budget. */
export const tokensRule: Rule = wholeNumber(tokenBudgetRange);

const rules: RulesFor<Twin> = {
  id: name,
  name,
  description: orNull(textRule),
  avatarUrl: orNull(textRule),
  greeting: orNull(textRule),
  tags: { expected: "a list of strings", accepts: areStrings },
  createdAt: time,
  updatedAt: time,
  engine: name,
  model: orNull(name),
  temperature: orNull(temperatureRule),
  access: orNull({ expected: "a list of owners", accepts: areStrings }),
  instructions: textRule,
  documents: {
    expected: "a list of documents, each with a path and a text",
    accepts: (value) =>
      Array.isArray(value) &&
      value.every((item: unknown) => isJsonObject(item) && isString(item.path) && isString(item.text)),
  },
  language: orNull(languageRule),
  knowledge: orNull(knowledgeRule),
  tools: { expected: "a list of tools' names", accepts: areStrings },
  confirm: { expected: "a list of tools' names", accepts: areStrings },
  tokensPerDay: orNull(tokensRule),
  handover: { expected: "true or false", accepts: (value) => typeof value === "boolean" },
};

/**
 * Creates a source of twins that never change.
 *
 * @example
 * ```ts
 * import { createTwinList } from "twin-service";
 *
 * const twins = createTwinList([
 *   { id: "parrot", name: "Parrot", engine: "echo", greeting: "Hello. Hello?" },
 *   { id: "ada", name: "Ada", engine: "knowledge", instructions: "You are Ada.", access: ["alice"] },
 * ]);
 * ```
 *
 * @throws {TypeError} for a member of a twin that is unknown, because it may be a misspelt `access`, or invalid.
 * @throws {Error} if two twins have the same id.
 */
export function createTwinList(twins: readonly TwinInit[], clock: Clock = systemClock): TwinSource {
  const now = clock.now();
  const made = twins.map((twin) => toTwin(twin, now));
  const ids = new Set<string>();
  for (const { id } of made) {
    if (ids.has(id)) throw new Error(`createTwinList: two twins have the id ${JSON.stringify(id)}.`);
    ids.add(id);
  }
  const source = listTwins(made);
  fixed.set(source, made);
  return source;
}

/** The twins of lists that never change. */
const fixed = new WeakMap<TwinSource, readonly Twin[]>();

/** The twins of a source that is known to have no others, ever. Undefined: nothing is known. */
export function fixedTwins(source: TwinSource): readonly Twin[] | undefined {
  return fixed.get(source);
}

function toTwin(init: TwinInit, now: number): Twin {
  const names = Object.keys({ ...rules, ...init }) as (keyof Twin)[]; // an instance of a class inherits some
  const given = names.map((name) => [name, init[name]]).filter(([, value]) => value !== undefined);
  const twin: Twin = { ...blank, createdAt: now, updatedAt: now, ...Object.fromEntries(given) };
  requireOptions(`createTwinList: the twin ${JSON.stringify(init.id)}`, twin, rules);
  return twin;
}

/**
 * How many lines of a twin's texts are indexed together, its instructions first. Each may be a section, an item or a row, which takes
 * up to 2 KB while it is read; sixteen megabytes of documentation have as many.
 */
export const mostIndexedLines = 400_000;

const revisions = new WeakMap<Twin, string>();
/** How much twins that their owners made take, in bytes. */
const sizes = new WeakMap<Twin, number>();

/** Notes that its owner made a twin, the revision that it has where it is kept, and how much it takes, in bytes. */
export function noteOwn(twin: Twin, revision: string, size: number): void {
  revisions.set(twin, revision);
  sizes.set(twin, size);
}

/** Whether its owner made a twin, as {@link noteOwn} was told. */
export function isOwn(twin: Twin): boolean {
  return sizes.has(twin);
}

/** How much a twin takes that its owner made, in bytes. 0: an operator's, which is there anyway. */
export function sizeOfOwn(twin: Twin): number {
  return sizes.get(twin) ?? 0;
}

/**
 * What a twin is, as 16 hexadecimal digits: they change with its content, and neither with its times nor with who may
 * use it. Computed once for each object.
 */
export function twinRevision(twin: Twin, sha256: Sha256): string {
  const known = revisions.get(twin);
  if (known !== undefined) return known;
  const {
    createdAt: _,
    updatedAt: __,
    access: ___,
    tokensPerDay: ____,
    documents,
    handover,
    ...shared
  } = twin;
  const content = handover ? { ...shared, handover } : shared; // a twin that does not is what it was before there was a choice
  // One by one, so that 20 MB of them need not be in memory as one more text.
  const digests = documents.map(({ path, text }) => [path, sha256(text)]);
  const members = Object.entries({ ...content, documents: digests }).sort(([one], [other]) =>
    compareTexts(one, other),
  );
  const revision = sha256(JSON.stringify(members)).slice(0, 16);
  revisions.set(twin, revision);
  return revision;
}

/** A source of these very objects, because what is derived from a twin is cached by object. */
export function listTwins(twins: readonly Twin[]): TwinList {
  const sorted = twins.toSorted(byName);
  const byId = new Map(sorted.map((twin) => [twin.id, twin]));
  const open = sorted.every((twin) => twin.access === null);

  return {
    async list(owner, { offset, limit }) {
      const seen = open ? sorted : sorted.filter((twin) => mayUse(owner, twin));
      return { items: seen.slice(offset, offset + limit), total: seen.length };
    },
    async get(owner, id) {
      const twin = byId.get(id);
      return twin && mayUse(owner, twin) ? twin : undefined;
    },
  };
}

/** The order of lists of twins. */
export function byName(one: TwinProfile, other: TwinProfile): number {
  return compareTexts(one.name, other.name) || compareTexts(one.id, other.id);
}

function areStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every(isString);
}

function mayUse(owner: string, twin: Twin): boolean {
  return twin.access === null || twin.access.includes(owner);
}
