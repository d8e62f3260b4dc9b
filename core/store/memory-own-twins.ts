/**
 * Twins that their owners make, in memory.
 *
 * @module
 */

import { compareTexts } from "../base/order.ts";
import { type ContentEntry, type MemoryRecords, type OwnerRecords, recordsOf } from "./memory-records.ts";
import { contentParts, looseMs, mostTwinVersions, type OwnTwinRecord } from "./records.ts";
import type { OwnTwinStore, PutTwinResult, PutTwinVersion } from "./store.ts";

/** The store's methods about twins that their owners make. */
export function ownTwinMethods(records: MemoryRecords): OwnTwinStore {
  const { owners } = records;
  return {
    async getOwnTwin(owner, id) {
      return owners.get(owner)?.twins.get(id)?.record;
    },

    async listOwnTwins(owner, { offset, limit, except }) {
      const owned = twinsOf(owners.get(owner));
      const excepted = owned.map(({ id }) => id).filter((id) => except.includes(id));
      const all = owned.filter(({ id }) => !excepted.includes(id));
      all.sort((one, other) => compareTexts(one.name, other.name) || compareTexts(one.id, other.id));
      return { items: all.slice(offset, offset + limit), total: all.length, excepted };
    },

    async getTwinVersion(owner, id, version) {
      const entry = owners.get(owner)?.twins.get(id);
      if (!entry?.record) return undefined;
      const { version: current } = entry.record;
      const found = entry.versions.find(({ record }) => record.version === (version ?? current));
      if (!found) return undefined;
      const parts = [...found.parts.values()].sort((one, other) => compareTexts(one.path, other.path));
      return { version: found.record, current, parts };
    },

    async listTwinVersions(owner, id, { offset, limit }) {
      const entry = owners.get(owner)?.twins.get(id);
      if (!entry?.record) return undefined;
      const newest = entry.versions.map(({ record }) => record).reverse();
      const items = newest.slice(offset, offset + limit);
      return { items, total: newest.length, current: entry.record.version };
    },

    async addTwinContent(owner, digest, part, bytes, at) {
      const { contents } = recordsOf(records, owner);
      const content = contents.get(digest) ?? { parts: [], at };
      content.at = at;
      content.parts[part] = bytes.slice();
      contents.set(digest, content);
    },

    async readTwinContent(owner, digest, part) {
      return owners.get(owner)?.contents.get(digest)?.parts[part];
    },

    async putTwinVersion(put) {
      return putVersion(recordsOf(records, put.twin.owner), put);
    },

    async deleteOwnTwin(owner, id, version) {
      const owned = owners.get(owner);
      const entry = owned?.twins.get(id);
      if (!owned || entry?.record?.version !== version) return false;
      Object.assign(entry, { record: undefined, textBytes: 0, versions: [] });
      dropContents(owned, () => true);
      return true;
    },
  };
}

function twinsOf(owned: OwnerRecords | undefined): OwnTwinRecord[] {
  return [...(owned?.twins.values() ?? [])].flatMap(({ record }) => record ?? []);
}

function putVersion(
  owned: OwnerRecords,
  { twin, replaces, note, changes, textBytes, maxTwins, maxTextBytes }: PutTwinVersion,
): PutTwinResult {
  const entry = owned.twins.get(twin.id);
  if ((entry?.record?.version ?? null) !== replaces) return { result: "moved" };
  if (replaces === null && twinsOf(owned).length >= maxTwins) return { result: "too_many_twins" };
  const others = [...owned.twins].reduce((sum, [id, each]) => sum + (id === twin.id ? 0 : each.textBytes), 0);
  if (others + textBytes > maxTextBytes) return { result: "texts_too_long" };
  const isStored = (digest: string, bytes: number) =>
    owned.contents.get(digest)?.parts[contentParts(bytes) - 1] !== undefined;
  for (const part of changes.values()) {
    if (part && !(isStored(part.digest, part.bytes) && isStored(part.textDigest, part.textBytes)))
      return { result: "content_missing" };
  }
  const parts = new Map(entry?.versions.at(-1)?.parts);
  for (const [path, part] of changes) {
    if (part) parts.set(path, part);
    else parts.delete(path);
  }
  const version = (entry?.lastVersion ?? 0) + 1;
  const { revision, updatedAt: createdAt } = twin;
  owned.twins.set(twin.id, {
    record: { ...twin, version, createdAt: entry?.record?.createdAt ?? twin.createdAt },
    lastVersion: version,
    textBytes,
    versions: [...(entry?.versions ?? []), { record: { version, revision, note, createdAt }, parts }].slice(
      -mostTwinVersions,
    ),
  });
  return { result: "put", version };
}

/** Forgets what no version has, and has not had for an hour. */
export function sweepContents({ owners }: MemoryRecords, at: number): void {
  for (const owned of owners.values()) dropContents(owned, (content) => content.at <= at - looseMs);
}

function dropContents({ twins, contents }: OwnerRecords, isOld: (content: ContentEntry) => boolean): void {
  const old = [...contents].filter(([, content]) => isOld(content));
  if (old.length === 0) return;
  const used = new Set<string>();
  for (const { versions } of twins.values()) {
    for (const { parts } of versions) {
      for (const { digest, textDigest } of parts.values()) used.add(digest).add(textDigest);
    }
  }
  for (const [digest] of old) if (!used.has(digest)) contents.delete(digest);
}
