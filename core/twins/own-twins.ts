/**
 * Twins that their owners make, beside those of the operator, which win. A process goes by what it has read for a second
 * (`trustMs`), so that each answers with a new version within two.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { type Clock, isWithin } from "../base/clock.ts";
import { FairQueue } from "../base/fair-queue.ts";
import { decodeInParts, yieldThread } from "../base/in-parts.ts";
import { isJsonObject, isString } from "../base/json.ts";
import type { Log } from "../base/log.ts";
import type { MemoryBudget } from "../base/memory-budget.ts";
import {
  functionThat,
  hasMethods,
  optional,
  type RulesFor,
  requireOptions,
  wholeNumber,
} from "../base/rules.ts";
import {
  contentParts,
  firstCharacters,
  mostTwinVersions,
  type OwnTwinRecord,
  type TwinPart,
} from "../store/records.ts";
import type { Listing, Slice, Store } from "../store/store.ts";
import type { AuthorRules, ReadingRules, ReadTwin, TwinFault, TwinReader } from "./reader.ts";
import {
  allTwins,
  byName,
  mostIndexedLines,
  noteOwn,
  sizeOfOwn,
  type Twin,
  type TwinProfile,
  type TwinSource,
  twinIdPattern,
} from "./twins.ts";

/** How many twins an owner may have, at least and at most, and how many are usual. */
export const ownTwinsRange: readonly [least: number, most: number] = [0, 1_000_000];
export const defaultOwnTwins = 100;

/** How long the texts of all twins of an owner may be, in bytes. */
export const mostTextBytes: number = 256 * 1024 * 1024;

/** A twin's further documents: how many, and how long together, as files and as texts, in bytes. */
export const mostDocuments = 2_000;
export const mostDocumentBytes: number = 20 * 1024 * 1024;

/** Twins that their owners make over HTTP. */
export interface OwnTwinsOptions {
  /** How many an owner may have: 0 to 1,000,000. 0: the endpoints are 404. Default 100. */
  readonly maxTwins?: number | undefined;
  /** The models that their files may name. Default: none, so that an engine asks its own. */
  readonly models?: readonly string[] | undefined;
  /**
   * What is wrong with a name under `tools` in a file of this owner, as the end of a sentence. Undefined: nothing. Default: no
   * tool is open to owners.
   */
  readonly toolProblem?: ((tool: string, owner: string) => string | undefined) | undefined;
  /** The engine of files that name none. Default `knowledge`. */
  readonly defaultEngine?: string | undefined;
  /** What reads and judges them. Default: the package's own, which reads Markdown, text and HTML. */
  readonly reader?: TwinReader | undefined;
  /**
   * How much the texts and indexes of those may take that replies use, in bytes, by an estimate: more are 503 `unavailable`, but
   * for one alone. Of those that were used, as much is kept, 256 MiB at most. Default 1,073,741,824.
   */
  readonly mostBytes?: number | undefined;
}

const rules: RulesFor<OwnTwinsOptions> = {
  maxTwins: optional(wholeNumber(ownTwinsRange)),
  models: optional({
    expected: "a list of models' names",
    accepts: (value) => Array.isArray(value) && value.every(isString),
  }),
  toolProblem: optional(functionThat("takes a tool's name and an owner")),
  defaultEngine: optional({ expected: "an engine's name", accepts: isString }),
  reader: optional({
    expected: "a reader of twins' texts",
    accepts: (value) => hasMethods(value, ["read", "faultsOf", "readDocument", "ask", "answer", "teach"]),
  }),
  mostBytes: optional(wholeNumber([1, Number.MAX_SAFE_INTEGER])),
};

/** @throws {TypeError} for an option that is unknown or cannot be used. */
export function requireOwnTwins(options: unknown): void {
  if (!isJsonObject(options)) throw new TypeError("createService: ownTwins must be an object, such as {}.");
  requireOptions<OwnTwinsOptions>("createService: ownTwins", options, rules);
  if (!options.reader)
    throw new TypeError("createService: ownTwins needs a reader, unless it is the package's createService.");
}

/** What {@link OwnTwins} needs. */
export interface OwnTwinsParts {
  readonly store: Store;
  /** The operator's twins. */
  readonly twins: TwinSource;
  readonly options: OwnTwinsOptions & { readonly reader: TwinReader };
  /** The names of the service's engines. */
  readonly engines: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly memory: MemoryBudget;
}

/** For how long a process goes by what it knows of a twin, in milliseconds: others may have changed it. */
const trustMs = 1_000;
const mostHeads = 10_000;

/** What texts that are used may take, unless it is said, and at most what is kept of them, in bytes. */
export const defaultTwinBytes: number = 1024 * 1024 * 1024;
const mostCached = 256 * 1024 * 1024;
/** What a text takes while it is there, with its index, for each of its bytes, and for each line, which may be a section. */
const takenPerByte = 2;
const takenPerLine = 448;
/** What a twin takes besides its texts. */
const takenPerTwin = 4_096;

interface Head {
  readonly at: number;
  readonly found: Promise<OwnTwinRecord | undefined>;
}

/** A text of a twin is too much for the memory that its owner may hold. */
export class TooMuchToRead extends Error {}

/** A content is not there, as where its twin was deleted after its parts were read. */
export class ContentMissing extends Error {}

/** All twins that owners may use: the operator's, and each owner's own. */
export class OwnTwins implements TwinSource {
  readonly reader: TwinReader;
  readonly maxTwins: number;
  /** Those that owners have made, without the operator's. */
  readonly madeByOwners: TwinSource = {
    list: async (owner, slice) => this.#listOwn(owner, slice, await allTwins(this.#parts.twins, owner)),
    get: async (owner, id) => ((await this.operators(owner, id)) ? undefined : this.get(owner, id)),
  };
  readonly #parts: OwnTwinsParts;
  /** By owner and id. */
  readonly #heads = new LRUCache<string, Head>({ max: mostHeads });
  /** By owner and id, as it was with the version that was asked last. What is derived from a twin goes with it. */
  readonly #read: LRUCache<string, { readonly head: OwnTwinRecord; readonly twin: Twin }>;
  /** Those that are being read. */
  readonly #reading = new Map<string, Promise<Twin | undefined>>();
  readonly #told = new LRUCache<string, true>({ max: mostHeads });
  /** One change of a twin at a time: of several at once, each would judge its text again whenever another is stored. */
  readonly #changes = new FairQueue(Number.POSITIVE_INFINITY, (twin, running) => !running.includes(twin));

  constructor(parts: OwnTwinsParts) {
    const { reader, maxTwins = defaultOwnTwins, mostBytes = defaultTwinBytes } = parts.options;
    this.#parts = parts;
    this.#read = new LRUCache({ maxSize: Math.min(mostBytes, mostCached) });
    this.reader = reader;
    this.maxTwins = maxTwins;
  }

  async get(owner: string, id: string, revision?: string): Promise<Twin | undefined> {
    // A reply goes on with the twin that it began with, also where the operator has another of this id by now.
    const begunWith = revision === undefined ? undefined : await this.#headWith(owner, id, revision);
    if (begunWith) return this.#load(begunWith);
    const operators = await this.#parts.twins.get(owner, id, revision);
    if (operators || revision !== undefined) return operators;
    const head = await this.#head(owner, id);
    return head && this.#load(head);
  }

  async profile(owner: string, id: string): Promise<TwinProfile | undefined> {
    return (await this.operators(owner, id)) ?? this.#head(owner, id);
  }

  /** The operator's twin with this id, if the owner may use it. */
  async operators(owner: string, id: string): Promise<TwinProfile | undefined> {
    const { twins } = this.#parts;
    return twins.profile ? twins.profile(owner, id) : twins.get(owner, id);
  }

  /** The operator's and the owner's as one list. Of the owner's, only those are read that can be on the page. */
  async list(owner: string, { offset, limit }: Slice): Promise<Listing<TwinProfile>> {
    const operators = await allTwins(this.#parts.twins, owner);
    const from = Math.max(0, offset - operators.length);
    const own = await this.#listOwn(owner, { offset: from, limit: offset + limit - from }, operators);
    const merged = [...operators, ...own.items].sort(byName);
    const items = merged.slice(offset - from, offset - from + limit);
    return { items, total: operators.length + own.total };
  }

  async #listOwn(
    owner: string,
    slice: Slice,
    operators: readonly TwinProfile[],
  ): Promise<Listing<TwinProfile>> {
    const except = operators.map(({ id }) => id);
    const own = await this.#parts.store.listOwnTwins(owner, { ...slice, except });
    for (const id of own.excepted) this.tellHidden(owner, id);
    return own;
  }

  /** What an author may not choose, and what is not read as it looks; or what the file says. */
  async judge(
    owner: string,
    id: string | undefined,
    bytes: Uint8Array,
  ): Promise<ReadTwin | { readonly faults: readonly TwinFault[] }> {
    const read = await this.reader.read(bytes, { ...this.#rules(), author: this.#authorRules(owner, id) });
    if ("faults" in read) return { faults: firstFaults(read.faults) };
    const faults = await this.reader.faultsOf(read);
    return faults.length > 0 ? { faults: firstFaults(faults) } : read;
  }

  /** Resolves when no other change of a twin is made here, with what ends the change. */
  beginChange(owner: string, id: string): Promise<() => void> {
    return this.#changes.take(nameOf(owner, id));
  }

  /** Forgets what is known of a twin, which has changed. */
  forget(owner: string, id: string): void {
    this.#heads.delete(nameOf(owner, id));
    this.#read.delete(nameOf(owner, id));
  }

  /** Says once that an operator's twin hides the owner's. */
  tellHidden(owner: string, id: string): void {
    const name = nameOf(owner, id);
    if (this.#told.has(name)) return;
    this.#told.set(name, true);
    this.#parts.log("warn", "a twin of the operator hides one that its owner made", { owner, twin: id });
  }

  #rules(): ReadingRules {
    const { engines, options } = this.#parts;
    return { engines, defaultEngine: options.defaultEngine ?? "knowledge" };
  }

  #authorRules(owner: string, id: string | undefined): AuthorRules {
    const { models = [], toolProblem = () => "no tool is open to twins that owners make" } =
      this.#parts.options;
    return { id, models, toolProblem: (tool) => toolProblem(tool, owner) };
  }

  /** A twin as it is now, or was at most a second ago. What cannot be an id is not looked for, and not kept. */
  async #head(owner: string, id: string): Promise<OwnTwinRecord | undefined> {
    if (!twinIdPattern.test(id)) return undefined;
    const { store, clock } = this.#parts;
    const name = nameOf(owner, id);
    const known = this.#heads.get(name);
    if (known && isWithin(trustMs, known.at, clock.now())) return known.found;
    const found = store.getOwnTwin(owner, id);
    this.#heads.set(name, { at: clock.now(), found });
    // A store that cannot be reached is asked again.
    found.catch(() => this.#heads.delete(name));
    return found;
  }

  /** A twin as it was with a revision. Undefined: that version is not kept. */
  async #headWith(owner: string, id: string, revision: string): Promise<OwnTwinRecord | undefined> {
    const now = await this.#head(owner, id);
    if (!now || now.revision === revision) return now;
    const slice = { offset: 0, limit: mostTwinVersions };
    const kept = await this.#parts.store.listTwinVersions(owner, id, slice);
    const found = kept?.items.find((version) => version.revision === revision);
    return found && { ...now, revision, version: found.version, updatedAt: found.createdAt };
  }

  async #load(head: OwnTwinRecord): Promise<Twin | undefined> {
    const { owner, id, revision, version } = head;
    const name = nameOf(owner, id);
    const known = this.#read.get(name);
    if (known?.head.revision === revision && known.head.version === version) return known.twin;
    const read = `${name}\n${revision}\n${version}`;
    const reading = this.#reading.get(read) ?? this.#readTwin(head).finally(() => this.#reading.delete(read));
    this.#reading.set(read, reading);
    const twin = await reading;
    if (!twin) return undefined;
    this.#read.set(name, { head, twin }, { size: sizeOfOwn(twin) });
    return twin;
  }

  async #readTwin(head: OwnTwinRecord): Promise<Twin | undefined> {
    const { store, memory, log } = this.#parts;
    const { owner, id, revision, version, createdAt, updatedAt } = head;
    const stored = await store.getTwinVersion(owner, id, version);
    const [file, ...documents] = stored?.parts ?? [];
    if (!file) return undefined; // deleted meanwhile
    const held = memory.hold({ owner });
    try {
      if (!held.reserve(2 * textBytesOf([file, ...documents]))) throw new TooMuchToRead();
      const read = await this.reader.read(await readContent(store, owner, file), this.#rules());
      if ("faults" in read) {
        log("error", "a twin that its owner made cannot be used any more", {
          owner,
          twin: id,
          ...read.faults[0],
        });
        return undefined;
      }
      const texts: { path: string; text: string }[] = [];
      for (const document of documents)
        texts.push({ path: document.path, text: await readText(store, owner, document) });
      const twin = { ...this.#permitted(owner, id, read.twin), id, createdAt, updatedAt, documents: texts };
      noteOwn(twin, revision, sizeWithIndex(twin));
      return twin;
    } catch (error) {
      if (error instanceof ContentMissing && !(await store.getTwinVersion(owner, id, version)))
        return undefined;
      throw error;
    } finally {
      held.release();
    }
  }

  /** A twin without what its author may not choose any more. */
  #permitted(owner: string, id: string, twin: ReadTwin["twin"]): ReadTwin["twin"] {
    const { models, toolProblem } = this.#authorRules(owner, id);
    const model = twin.model === null || models.includes(twin.model) ? twin.model : null;
    const tools = twin.tools.filter((tool) => toolProblem(tool) === undefined);
    if (model !== twin.model || tools.length < twin.tools.length) {
      const fields = { owner, twin: id, model: twin.model, tools: twin.tools };
      this.#parts.log("warn", "a twin's owner may not use its model or its tools any more", fields);
    }
    return { ...twin, model, tools, access: [owner] };
  }
}

function nameOf(owner: string, id: string): string {
  return `${owner}\n${id}`; // no owner contains a line end
}

/** What a twin takes with its index, in bytes. */
function sizeWithIndex({ instructions, documents }: Twin): number {
  return [instructions, ...documents.map(({ text }) => text)].reduce(
    (size, text) => size + takenPerByte * text.length + takenPerLine * linesOf(text),
    takenPerTwin,
  );
}

function linesOf(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1 && lines < mostIndexedLines; at = text.indexOf("\n", at + 1))
    lines++;
  return lines;
}

/** The length of the texts of some parts, in bytes. */
export function textBytesOf(parts: Iterable<TwinPart>): number {
  let bytes = 0;
  for (const { textBytes } of parts) bytes += textBytes;
  return bytes;
}

/** The bytes of a part. */
export function readContent(store: Store, owner: string, { digest, bytes }: TwinPart): Promise<Uint8Array> {
  return readBytes(store, owner, digest, bytes);
}

/** What a part was read as. */
export async function readText(
  store: Store,
  owner: string,
  { textDigest, textBytes }: TwinPart,
): Promise<string> {
  return decodeText(await readBytes(store, owner, textDigest, textBytes));
}

/** A text that was encoded to be stored. */
export function decodeText(bytes: Uint8Array): Promise<string> {
  return decodeInParts(bytes, new TextDecoder("utf-8", { ignoreBOM: true }));
}

async function readBytes(store: Store, owner: string, digest: string, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (let part = 0; part < contentParts(length); part++) {
    if (part > 0) await yieldThread();
    const read = await store.readTwinContent(owner, digest, part);
    if (!read) throw new ContentMissing("A content of a twin is missing, or not whole.");
    bytes.set(read, at);
    at += read.length;
  }
  return bytes;
}

/** How long the faults that are told may be, in characters of all paths and messages: a file has up to thousands. */
const mostFaultCharacters = 12_000;
/** The same of a path or message, which may name a key as long as the file. */
const mostOfFault = 500;

/** As many faults as are told; the last one says how many are not. */
function firstFaults(faults: readonly TwinFault[]): readonly TwinFault[] {
  const told: TwinFault[] = [];
  let characters = 0;
  for (const { path, line, message } of faults) {
    const fault = {
      path: firstCharacters(path, mostOfFault),
      line,
      message: firstCharacters(message, mostOfFault),
    };
    characters += fault.path.length + fault.message.length;
    if (characters > mostFaultCharacters) {
      const untold = faults.length - told.length;
      return [
        ...told,
        { path: "body", line, message: `${untold} more faults, of which this line has one, are not told.` },
      ];
    }
    told.push(fault);
  }
  return told;
}
