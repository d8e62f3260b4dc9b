/**
 * The simulation's own twins, as its store has them: each version with all of its texts, and when it was the current one.
 */

import type { Twin } from "../../core/mod.ts";
import type { PutTwinResult, PutTwinVersion, Store } from "../../core/store/store.ts";
import type { World } from "./world.ts";

/** How long a process may answer with the version before, in milliseconds. */
export const noticeMs = 2_000;

/** The texts of a version by path. Empty: its file. */
type Texts = ReadonlyMap<string, string>;

/** A version, as it is stored. */
export interface StoredVersion {
  readonly version: number;
  readonly revision: string;
  readonly texts: Texts;
  /** The one in whose place it came. Undefined: there was no such twin. */
  readonly before: StoredVersion | undefined;
}

/** What was current from a moment on. Undefined: no twin. */
interface Reign {
  readonly from: number;
  readonly version: StoredVersion | undefined;
}

/** The file of a twin that is called like this. */
export function fileOf(name: string): string {
  return `---\nname: ${name}\nengine: chance\n---\n${instructionsOf(name)}\n`;
}

function instructionsOf(name: string): string {
  return `You are ${name}.`;
}

export class Versions {
  readonly #world: World;
  readonly #contents = new Map<string, string>();
  readonly #reigns = new Map<string, Reign[]>();
  /** All versions that were stored, also those of twins that were deleted. */
  readonly #stored = new Map<string, StoredVersion[]>();
  /** What authors have sent, by path. */
  readonly #sent = new Map<string, Set<string>>();

  constructor(world: World) {
    this.#world = world;
  }

  /** How many versions were stored. */
  get count(): number {
    return [...this.#stored.values()].reduce((sum, { length }) => sum + length, 0);
  }

  get ids(): readonly string[] {
    return [...this.#stored.keys()];
  }

  /** An author sends a part of a twin. */
  noteSent(path: string, text: string): void {
    this.#sent.set(path, (this.#sent.get(path) ?? new Set()).add(text));
  }

  /** A process's calls, whose effects are noted at the same moment. */
  effectsOn(truth: Store): Partial<Store> {
    return {
      addTwinContent: async (of, digest, part, bytes, at) => {
        await truth.addTwinContent(of, digest, part, bytes, at);
        this.#contents.set(digest, new TextDecoder().decode(bytes));
      },
      putTwinVersion: async (put) => {
        const result = await truth.putTwinVersion(put);
        this.#notePut(put, result);
        return result;
      },
      deleteOwnTwin: async (of, id, version, at) => {
        const isDeleted = await truth.deleteOwnTwin(of, id, version, at);
        if (isDeleted) this.#noteReign(id, undefined);
        return isDeleted;
      },
    };
  }

  current(id: string): StoredVersion | undefined {
    return this.#reigns.get(id)?.at(-1)?.version;
  }

  /** A version that was stored, whatever became of it. */
  find(id: string, version: number): StoredVersion | undefined {
    return this.#stored.get(id)?.find((stored) => stored.version === version);
  }

  /** Whether something was so of what was current, at one moment since then at least. */
  wasEver(id: string, since: number, isSo: (current: StoredVersion | undefined) => boolean): boolean {
    const reigns = this.#reigns.get(id) ?? [];
    const all: Reign[] = [{ from: Number.NEGATIVE_INFINITY, version: undefined }, ...reigns];
    return all.some(({ version }, index) => (all[index + 1]?.from ?? Infinity) >= since && isSo(version));
  }

  wasMissing(id: string, since: number): boolean {
    return this.wasEver(id, since, (current) => current === undefined);
  }

  /** Requires that a process may say, to who asked at that time, that a twin is called like this. */
  requireNotice(id: string, name: string, askedAt: number): void {
    const isCalled = (current: StoredVersion | undefined) => current?.texts.get("") === fileOf(name);
    if (!this.wasEver(id, askedAt - noticeMs, isCalled))
      this.#world.violate(`${id} is still, or never was, ${name}`);
  }

  /** Requires that a process may say, to who asked at that time, that there is no such twin. */
  requireNoticeOfNone(id: string, askedAt: number): void {
    if (!this.wasMissing(id, askedAt - noticeMs)) this.#world.violate(`${id} is there, but was not found`);
  }

  /** The version that an engine is given: all of its texts are of the same one. */
  requireWhole({ id, name, instructions, documents }: Twin): StoredVersion {
    const texts = new Map([["", fileOf(name)], ...documents.map(({ path, text }) => [path, text] as const)]);
    const found = this.#stored.get(id)?.findLast((version) => areSame(version.texts, texts));
    if (!found || instructions.trim() !== instructionsOf(name))
      return this.#world.violate(`an engine was given texts of several versions of ${id}: ${name}`);
    return found;
  }

  /** Requires that a store has all of each twin that must be there. */
  async requireKept(truth: Store): Promise<void> {
    for (const id of this.ids) {
      const current = this.current(id);
      const kept = await truth.listTwinVersions("owner", id, { offset: 0, limit: 100 });
      if (kept?.current !== current?.version) this.#world.violate(`${id} is ${kept?.current}`);
      const expected = current ? this.#since(id) : [];
      const found = kept?.items.map(({ version, revision }) => `${version} ${revision}`) ?? [];
      if (found.join() !== expected.map(({ version, revision }) => `${version} ${revision}`).join())
        this.#world.violate(`${id} has the versions ${found}`);
      for (const version of expected) await this.#requireTexts(truth, id, version);
    }
  }

  async #requireTexts(truth: Store, id: string, { version, texts }: StoredVersion): Promise<void> {
    const stored = await truth.getTwinVersion("owner", id, version);
    const found = new Map<string, string>();
    for (const { path, digest } of stored?.parts ?? []) {
      const bytes = await truth.readTwinContent("owner", digest, 0);
      found.set(path, new TextDecoder().decode(bytes));
    }
    if (!areSame(found, texts)) this.#world.violate(`version ${version} of ${id} is not what was stored`);
  }

  /** The versions of a twin since it was made, newest first, as far as they are kept. */
  #since(id: string): StoredVersion[] {
    const versions: StoredVersion[] = [];
    for (let next = this.current(id); next && versions.length < 50; next = next.before) versions.push(next);
    return versions;
  }

  #notePut({ twin: { id, revision }, replaces, changes }: PutTwinVersion, result: PutTwinResult): void {
    if (result.result !== "put") return;
    const before = this.current(id);
    if (replaces !== (before?.version ?? null))
      this.#world.violate(`a version of ${id} came in the place of ${replaces}, not of ${before?.version}`);
    const stored = this.#stored.get(id) ?? [];
    const { version } = result;
    if (version !== (stored.at(-1)?.version ?? 0) + 1)
      this.#world.violate(`${id} has a version ${version} now`);
    const texts = new Map(before?.texts);
    for (const [path, part] of changes) {
      if (part) texts.set(path, this.#contents.get(part.digest) ?? "");
      else texts.delete(path);
    }
    const next = { version, revision, texts, before };
    this.#requireSent(id, next);
    this.#stored.set(id, [...stored, next]);
    this.#noteReign(id, next);
  }

  /** A version is the one before with one part changed, or an earlier one. */
  #requireSent(id: string, { version, texts, before }: StoredVersion): void {
    const paths = new Set([...texts.keys(), ...(before?.texts.keys() ?? [])]);
    const [changed = "", ...others] = [...paths].filter(
      (path) => texts.get(path) !== before?.texts.get(path),
    );
    const text = texts.get(changed);
    const isSent = text === undefined ? changed !== "" : this.#sent.get(changed)?.has(text);
    if (others.length === 0 && isSent) return;
    if (!this.#stored.get(id)?.some((earlier) => areSame(earlier.texts, texts)))
      this.#world.violate(`version ${version} of ${id} is made of several changes, or of none that was sent`);
  }

  #noteReign(id: string, version: StoredVersion | undefined): void {
    const reigns = this.#reigns.get(id) ?? [];
    reigns.push({ from: this.#world.now(), version });
    this.#reigns.set(id, reigns);
  }
}

function areSame(one: Texts, other: Texts): boolean {
  return one.size === other.size && [...one].every(([path, text]) => other.get(path) === text);
}
