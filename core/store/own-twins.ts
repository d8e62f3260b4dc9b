/**
 * Twins that their owners make: as they are stored, and the store's methods about them.
 *
 * @module
 */

import type { Listing, Slice } from "./slices.ts";

/** How many versions of a twin are kept. */
export const mostTwinVersions = 50;

/** The length of a part of what is stored of twins, in bytes, but for the last one. */
export const contentPartBytes: number = 512 * 1024;

/** How long what no version of a twin has yet is kept, in milliseconds. */
export const looseMs = 3_600_000;

/** What clients see of a twin besides its id, name and times. */
export interface TwinFeatures {
  readonly description: string | null;
  readonly avatarUrl: string | null;
  readonly greeting: string | null;
  readonly tags: readonly string[];
  readonly handover: boolean;
}

/** A twin that its owner made, as it is now. */
export interface OwnTwinRecord extends TwinFeatures {
  readonly owner: string;
  readonly id: string;
  readonly name: string;
  /** The current version, from 1. Never given twice, also after the twin was deleted. */
  readonly version: number;
  /** 16 hexadecimal digits, which change with its file and its documents. */
  readonly revision: string;
  readonly createdAt: number;
  /** When the current version was made. */
  readonly updatedAt: number;
}

/** A version of a twin that its owner made. */
export interface TwinVersionRecord {
  readonly version: number;
  readonly revision: string;
  /** What its author says of it. */
  readonly note: string | null;
  readonly createdAt: number;
}

/** A twin's file, or one of its documents. */
export interface TwinPart {
  /** Empty: the file. */
  readonly path: string;
  /** The SHA-256 of its bytes, in hexadecimal. */
  readonly digest: string;
  readonly bytes: number;
  /** The SHA-256 of what it was read as, in UTF-8, and the length of that. */
  readonly textDigest: string;
  readonly textBytes: number;
  readonly updatedAt: number;
}

/** The number of parts that so many bytes are stored in: at least one. */
export function contentParts(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / contentPartBytes));
}

/** Some of an owner's twins. */
export interface OwnTwinListing extends Listing<OwnTwinRecord> {
  /** The ids that were excepted, and that there are. */
  readonly excepted: readonly string[];
}

/** Which of an owner's twins to list. */
export interface OwnTwinSlice extends Slice {
  /** Without those with one of these ids. */
  readonly except: readonly string[];
}

/** A version of a twin: what {@link Store.putTwinVersion} stores in one transaction. */
export interface PutTwinVersion {
  /** The twin as it is then. Its `version` is not read: the store gives the next number. `createdAt`: if it is new. */
  readonly twin: OwnTwinRecord;
  /** The version that it replaces. Null: there is no such twin. */
  readonly replaces: number | null;
  readonly note: string | null;
  /** The parts that change, by their paths. Null: it has no such part any more. Others stay. */
  readonly changes: ReadonlyMap<string, TwinPart | null>;
  /** The length of all its texts, in bytes. */
  readonly textBytes: number;
  /** How many twins the owner may have. */
  readonly maxTwins: number;
  /** How long the texts of all of the owner's twins may be, in bytes. */
  readonly maxTextBytes: number;
}

/** The result of {@link Store.putTwinVersion}. In all cases but `put`, nothing was stored. */
export type PutTwinResult =
  | { readonly result: "put"; readonly version: number }
  /** Another version is the current one, or there is none: to be tried again. */
  | { readonly result: "moved" }
  /** A part's content is not stored, or not any more: to be stored again. */
  | { readonly result: "content_missing" }
  | { readonly result: "too_many_twins" }
  | { readonly result: "texts_too_long" };

/** A version of a twin with all of its parts. */
export interface StoredTwinVersion {
  readonly version: TwinVersionRecord;
  /** The current one. */
  readonly current: number;
  /** The file, then its documents by path, in binary order. */
  readonly parts: readonly TwinPart[];
}

/** The store's methods about twins that their owners make. */
export interface OwnTwinStore {
  /** An owner's twin, as it is now. */
  getOwnTwin(owner: string, id: string): Promise<OwnTwinRecord | undefined>;
  /** An owner's twins by name, then id, in binary order. */
  listOwnTwins(owner: string, slice: OwnTwinSlice): Promise<OwnTwinListing>;
  /** A version of a twin, or its current one. Undefined: there is no such twin, or the version is not kept. */
  getTwinVersion(owner: string, id: string, version?: number): Promise<StoredTwinVersion | undefined>;
  /** A twin's versions, newest first. Undefined: there is no such twin. */
  listTwinVersions(
    owner: string,
    id: string,
    slice: Slice,
  ): Promise<(Listing<TwinVersionRecord> & { readonly current: number }) | undefined>;
  /**
   * Stores a part of a content, of `contentPartBytes` unless it is the last one, before a version has it: the first one first.
   * What no version has within an hour may be swept.
   */
  addTwinContent(owner: string, digest: string, part: number, bytes: Uint8Array, at: number): Promise<void>;
  /** A part of a content of an owner's twins, by its number, from 0. */
  readTwinContent(owner: string, digest: string, part: number): Promise<Uint8Array | undefined>;
  /** Stores a version of a twin, whose contents were added before. Versions before the last 50 go. */
  putTwinVersion(put: PutTwinVersion): Promise<PutTwinResult>;
  /** Deletes a twin with all its versions, if this one is current. Returns whether it was. */
  deleteOwnTwin(owner: string, id: string, version: number, at: number): Promise<boolean>;
}
