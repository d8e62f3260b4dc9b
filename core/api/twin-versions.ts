/**
 * Versions of twins that their owners make: how each is made of the one before, and how it is read.
 *
 * @module
 */

import { counted } from "../base/counted.ts";
import { digestOf } from "../base/ids.ts";
import { compareTexts } from "../base/order.ts";
import type { Call, HandlerContext, Result } from "../http/route.ts";
import {
  contentPartBytes,
  contentParts,
  type OwnTwinRecord,
  type TwinPart,
  type TwinVersionRecord,
} from "../store/records.ts";
import type { StoredTwinVersion } from "../store/store.ts";
import {
  ContentMissing,
  decodeText,
  mostDocumentBytes,
  mostDocuments,
  mostTextBytes,
  type OwnTwins,
  readContent,
  readText,
  textBytesOf,
} from "../twins/own-twins.ts";
import type { ReadTwin, TestResults, TwinFault } from "../twins/reader.ts";
import type { Twin } from "../twins/twins.ts";
import { ApiError, tooMuchAtOnce, twinNotFound } from "../wire/errors.ts";
import { timeOf } from "../wire/resources.ts";

/** The part that is the file. */
export const filePath = "";

export function requireOwnTwins({ ownTwins }: Pick<HandlerContext, "ownTwins">): OwnTwins {
  if (!ownTwins) throw new TypeError("A twin's endpoint was reached in a service whose owners make none.");
  return ownTwins;
}

/** An operator's twin hides what the owner has under its id. */
export async function requireUnhidden(context: HandlerContext, owner: string, id: string): Promise<void> {
  const own = requireOwnTwins(context);
  if (!(await own.operators(owner, id))) return;
  if (await context.store.getOwnTwin(owner, id)) own.tellHidden(owner, id);
  twinNotFound();
}

export async function requireVersion(
  context: HandlerContext,
  owner: string,
  id: string,
  version?: number,
): Promise<StoredTwinVersion> {
  await requireUnhidden(context, owner, id);
  const stored = await context.store.getTwinVersion(owner, id, version);
  if (stored) return stored;
  if (version === undefined || !(await context.store.getOwnTwin(owner, id))) return twinNotFound();
  throw new ApiError("version_not_found", "The twin has no such version, or it is not kept any more.");
}

/** Reads what a version has; if that goes meanwhile, of the version that there is then. */
export async function readVersion<Read>(
  context: HandlerContext,
  owner: string,
  id: string,
  version: number | undefined,
  read: (stored: StoredTwinVersion) => Promise<Read>,
): Promise<Read> {
  for (;;) {
    const stored = await requireVersion(context, owner, id, version);
    try {
      return await read(stored);
    } catch (error) {
      const gone = error instanceof ContentMissing ? stored.version.version : undefined;
      if (gone === undefined || (await context.store.getTwinVersion(owner, id, gone))) throw error;
    }
  }
}

export function fileOf({ parts: [file] }: StoredTwinVersion): TwinPart {
  if (file?.path !== filePath) throw new Error("A twin's version has no file.");
  return file;
}

export async function answerBytes(
  { store }: HandlerContext,
  owner: string,
  part: TwinPart,
  memory: Call["memory"],
  headers: Readonly<Record<string, string>>,
): Promise<Result> {
  if (!memory.reserve(part.bytes)) throw tooMuchAtOnce();
  return { document: (await readContent(store, owner, part)) as Uint8Array<ArrayBuffer>, headers };
}

/** How a version is made of the current one. */
interface Editing {
  /** Undefined: there is no such twin. */
  readonly current: StoredTwinVersion | undefined;
  /** Gives a part these bytes, which were read as this text. */
  change(path: string, bytes: Uint8Array, text: Uint8Array): Promise<void>;
  /** Gives a part what is stored already. Null: it goes. */
  take(path: string, part: TwinPart | null): void;
}

/** A version as it is answered. */
type MadeVersion = ReturnType<typeof versionResource> & {
  readonly twinId: string;
  readonly tests: TestResults | null;
};

/** What a change needs of its request. */
type ChangeCall = Pick<Call, "caller" | "params" | "headers" | "memory"> & {
  readonly query: { readonly tests: "run" | "require" | "skip"; readonly note?: string };
};

/**
 * Makes a version of a twin, and tries again while others do. What results in the same file and documents as before changes
 * nothing, unless it is to be a new version `always`.
 */
export async function changeTwin(
  { caller: { owner }, params: { id }, query, headers, memory }: ChangeCall,
  context: HandlerContext,
  edit: (editing: Editing) => Promise<void> | void,
  always = false,
): Promise<{ readonly current: StoredTwinVersion | undefined; readonly made: MadeVersion }> {
  const own = requireOwnTwins(context);
  const { store, clock } = context;
  const endChange = await own.beginChange(owner, id);
  try {
    for (;;) {
      if (await own.operators(owner, id)) throw twinExists();
      const current = await store.getTwinVersion(owner, id);
      const made = await make(current).catch(async (error: unknown) => {
        const now = error instanceof ContentMissing ? await store.getTwinVersion(owner, id) : current;
        if (now?.version.version === current?.version.version) throw error;
        return undefined; // what it was to be made of has gone
      });
      if (made) return { current, made };
    }
  } finally {
    endChange();
  }

  /** Makes a version of the current one. Undefined: another request has changed that meanwhile. */
  async function make(current: StoredTwinVersion | undefined): Promise<MadeVersion | undefined> {
    const now = clock.now();
    const before = new Map(current?.parts.map((part) => [part.path, part]));
    const parts = new Map(before);
    const contents = new Map<string, Uint8Array>();
    await edit({
      current,
      async change(path, bytes, text) {
        const digest = await digestOf(bytes);
        const textDigest = text === bytes ? digest : await digestOf(text);
        contents.set(digest, bytes).set(textDigest, text);
        if (parts.get(path)?.digest === digest) return;
        const lengths = { bytes: bytes.length, textBytes: text.length };
        parts.set(path, { path, digest, textDigest, ...lengths, updatedAt: now });
      },
      take(path, part) {
        if (part) parts.set(path, part);
        else parts.delete(path);
      },
    });
    const all = [...parts.values()].sort((one, other) => compareTexts(one.path, other.path));
    const [file, ...documents] = all;
    if (!file) throw new Error("A twin's version has no file.");
    requireBounds(documents);
    const bytes = contents.get(file.digest) ?? (await readContent(store, owner, file));
    const read = await own.judge(owner, id, bytes);
    if ("faults" in read) throw faultyTwin(read.faults);
    requireRevision(headers, current?.version.revision);
    const revision = await revisionOf(all);
    const asksNone = query.tests === "skip";
    const tests = asksNone ? null : await ask(context, own, id, read, () => textsOf(documents, contents));
    if (query.tests === "require" && tests && tests.failed.length > 0) throw testsFailed(tests);
    if (current?.version.revision === revision && !always)
      return { twinId: id, ...versionResource(current.version), tests };
    await storeContents(contents, now);
    const twin = { ...recordOf(owner, id, read), version: 0, revision, createdAt: now, updatedAt: now };
    const result = await store.putTwinVersion({
      twin,
      replaces: current?.version.version ?? null,
      note: query.note ?? null,
      changes: changesOf(before, parts),
      textBytes: textBytesOf(all),
      maxTwins: own.maxTwins,
      maxTextBytes: mostTextBytes,
    });
    switch (result.result) {
      case "put": {
        own.forget(owner, id);
        const version = { version: result.version, revision, note: query.note ?? null, createdAt: now };
        return { twinId: id, ...versionResource(version), tests };
      }
      case "too_many_twins":
        throw new ApiError(
          "twin_limit_reached",
          `You already have ${counted(own.maxTwins, "twin")} of your own; delete one first.`,
        );
      case "texts_too_long":
        throw tooLarge("The texts of all your twins would be longer than 256 MiB");
      case "moved":
      case "content_missing": // another has changed it, or a sweep was faster
        return undefined;
    }
  }

  async function storeContents(contents: ReadonlyMap<string, Uint8Array>, at: number): Promise<void> {
    for (const [digest, bytes] of contents) {
      for (let part = 0; part < contentParts(bytes.length); part++) {
        const piece = bytes.subarray(part * contentPartBytes, (part + 1) * contentPartBytes);
        await store.addTwinContent(owner, digest, part, piece, at);
      }
    }
  }

  async function textsOf(
    documents: readonly TwinPart[],
    contents: ReadonlyMap<string, Uint8Array>,
  ): Promise<Twin["documents"]> {
    if (!memory.reserve(textBytesOf(documents))) throw tooMuchAtOnce();
    const texts: { path: string; text: string }[] = [];
    for (const document of documents) {
      const known = contents.get(document.textDigest);
      const text = known ? await decodeText(known) : await readText(store, owner, document);
      texts.push({ path: document.path, text });
    }
    return texts;
  }
}

/** Those parts that are not what they were before. Null: one that is gone. */
function changesOf(
  before: ReadonlyMap<string, TwinPart>,
  parts: ReadonlyMap<string, TwinPart>,
): Map<string, TwinPart | null> {
  const changes = new Map<string, TwinPart | null>();
  for (const path of before.keys()) if (!parts.has(path)) changes.set(path, null);
  for (const [path, part] of parts) if (before.get(path)?.digest !== part.digest) changes.set(path, part);
  return changes;
}

/** @throws {ApiError} `revision_mismatch` if a header field asks for another revision than the current one. */
export function requireRevision(
  { ifMatch = null, ifNoneMatch = null }: Call["headers"],
  revision: string | undefined,
): void {
  if (ifMatch !== null && !namesRevision(ifMatch, revision))
    throw new ApiError(
      "revision_mismatch",
      "The twin has another revision than If-Match names: read it again.",
    );
  if (ifNoneMatch !== null && namesRevision(ifNoneMatch, revision))
    throw new ApiError(
      "revision_mismatch",
      "There is such a twin, or revision, which If-None-Match excludes.",
    );
}

/** Whether a header field names what there is. A tag may be weak: proxies that compress make it so, and it names the same bytes. */
export function namesRevision(field: string, revision: string | undefined): boolean {
  return revision !== undefined && (field.trim() === "*" || field.includes(`"${revision}"`));
}

/** What a twin's files are, as 16 hexadecimal digits. */
async function revisionOf(parts: readonly TwinPart[]): Promise<string> {
  const text = JSON.stringify(parts.map(({ path, digest }) => [path, digest]));
  return (await digestOf(new TextEncoder().encode(text))).slice(0, 16);
}

function requireBounds(documents: readonly TwinPart[]): void {
  if (documents.length > mostDocuments) throw tooLarge(`A twin has ${mostDocuments} documents at most`);
  const bytes = documents.reduce((sum, part) => sum + part.bytes, 0);
  if (Math.max(bytes, textBytesOf(documents)) > mostDocumentBytes)
    throw tooLarge("The documents of a twin, or their texts, are larger than 20 MiB together");
}

export function tooLarge(what: string): ApiError {
  return new ApiError("payload_too_large", `${what}.`);
}

export function twinExists(): ApiError {
  return new ApiError("twin_exists", "The operator has a twin with this id; choose another.");
}

function faultyTwin(faults: readonly TwinFault[]): ApiError {
  const summary = faults.map(({ line, message }) => `line ${line}: ${message}`).join(" ");
  return new ApiError("validation_error", summary, { details: { fields: faults } });
}

function testsFailed({ passed, failed }: TestResults): ApiError {
  const message = `${failed.length} of ${passed + failed.length} golden questions are not answered as they should be.`;
  return new ApiError("tests_failed", message, { details: { passed, failed } });
}

/** Why a path cannot be a document's. Undefined: it can, if its ending is read. */
export function pathFault(path: string): string | undefined {
  if (path.toLowerCase() === "twin.md") return "must not be twin.md, which is the twin's file";
  if (/[\\\p{Cc}\p{Cs}]/u.test(path)) return "must have no backslashes and no control characters";
  const names = path.split("/");
  if (names.includes("")) return "must have no empty names between slashes";
  if (names.some((name) => name.startsWith("."))) return "must have no name that begins with a dot, nor ..";
  return undefined;
}

async function ask(
  context: HandlerContext,
  { reader }: OwnTwins,
  id: string,
  read: ReadTwin,
  documents: () => Promise<Twin["documents"]>,
): Promise<TestResults> {
  if (read.tests.length === 0) return { passed: 0, failed: [] };
  return reader.ask(triedTwin(context, id, read, await documents()), read.tests, context.clock);
}

/** A twin as its text says, which may be stored nowhere. */
export function triedTwin(
  { clock }: HandlerContext,
  id: string,
  { twin }: ReadTwin,
  documents: Twin["documents"],
): Twin {
  return { ...twin, id, createdAt: clock.now(), updatedAt: clock.now(), documents };
}

function recordOf(
  owner: string,
  id: string,
  { twin }: ReadTwin,
): Omit<OwnTwinRecord, "version" | "revision" | "createdAt" | "updatedAt"> {
  const { name, description, avatarUrl, greeting, tags, handover } = twin;
  return { owner, id, name, description, avatarUrl, greeting, tags, handover };
}

export function versionResource({ version, revision, createdAt, note }: TwinVersionRecord) {
  return { version, revision, createdAt: timeOf(createdAt), note };
}

export function answerVersion(made: MadeVersion, status?: 201): Result {
  return { ...(status && { status }), data: made, headers: { ETag: `"${made.revision}"` } };
}
