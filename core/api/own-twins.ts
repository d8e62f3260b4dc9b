/**
 * The endpoints of twins that their owners make, called with a JWT, or by a host's user who manages them.
 *
 * @module
 */

import { digestOf } from "../base/ids.ts";
import { compareTexts } from "../base/order.ts";
import { type Call, type HandlerContext, type Result, route } from "../http/route.ts";
import {
  contentPartBytes,
  contentParts,
  type OwnTwinRecord,
  type TwinPart,
  type TwinVersionRecord,
} from "../store/records.ts";
import type { StoredTwinVersion } from "../store/store.ts";
import {
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
import { ApiError, tooMuchAtOnce, twinNotFound, validationError } from "../wire/errors.ts";
import { timeOf } from "../wire/resources.ts";
import {
  changeTwinQuerySchema,
  checkTwinQuerySchema,
  documentParamsSchema,
  pageQuerySchema,
  readFileQuerySchema,
  teachTwinSchema,
  twinCheckSchema,
  twinDocumentSchema,
  twinVersionParamsSchema,
  twinVersionSchema,
  versionOfTwinSchema,
} from "../wire/schemas.ts";
import { pageOf, sliceOf } from "./pagination.ts";

/** The longest file of a twin, in bytes. */
const mostFileBytes = 1024 * 1024;

const markdown = "text/markdown";
const textTypes = [markdown, "text/plain"];

/** The part that is the file. */
const filePath = "";

const manager = { credential: "manager" } as const;

/** What all changes have in common. */
const change = {
  ...manager,
  query: changeTwinQuerySchema,
  headers: { ifMatch: "If-Match", ifNoneMatch: "If-None-Match" },
} as const;

const changeErrors = [
  "validation_error",
  "tests_failed",
  "twin_exists",
  "twin_limit_reached",
  "revision_mismatch",
  "payload_too_large",
] as const;

const versionMade = { schema: versionOfTwinSchema, etag: true } as const;

export const ownTwinRoutes = [
  route({
    ...manager,
    operationId: "checkTwin",
    method: "POST",
    path: "/api/v1/twins/check",
    summary: "Say what is wrong with a twin's file, and ask its golden questions; nothing is stored",
    query: checkTwinQuerySchema,
    bytes: { types: textTypes },
    maxBodyBytes: mostFileBytes,
    success: { status: 200, description: "What is wrong with it.", schema: twinCheckSchema },
    async handle({ caller: { owner }, query, body }, context) {
      const own = requireOwnTwins(context);
      const read = await own.judge(owner, undefined, body);
      if ("faults" in read) return { data: { faults: read.faults, tests: null } };
      const tests = query.tests === "skip" ? null : await ask(context, own, "check", read, async () => []);
      return { data: { faults: [], tests } };
    },
  }),

  route({
    ...change,
    operationId: "putTwinFile",
    method: "PUT",
    path: "/api/v1/twins/{id}/file",
    summary: "Make a twin of a Markdown file, or a new version of one; the same bytes change nothing",
    audit: { action: "change_twin", object: "id", version: true },
    bytes: { types: textTypes },
    maxBodyBytes: mostFileBytes,
    success: {
      ...versionMade,
      status: 200,
      description: "The version that is current now.",
      also: { 201: "The twin is new." },
    },
    errors: changeErrors,
    async handle(call, context) {
      const { current, made } = await changeTwin(call, context, async ({ change }) =>
        change(filePath, call.body, call.body),
      );
      return answerVersion(made, current ? undefined : 201);
    },
  }),

  route({
    ...manager,
    operationId: "getTwinFile",
    method: "GET",
    path: "/api/v1/twins/{id}/file",
    summary: "Read the file of a twin of your own, as it was written",
    query: readFileQuerySchema,
    headers: { ifNoneMatch: "If-None-Match" },
    success: { status: 200, description: "The file.", bytes: markdown, etag: true },
    errors: ["twin_not_found", "version_not_found"],
    async handle({ caller: { owner }, params: { id }, query, headers, memory }, context) {
      const stored = await requireVersion(context, owner, id, query.version);
      const etag = `"${stored.version.revision}"`;
      if (headers.ifNoneMatch?.includes(etag)) return { status: 304, headers: { ETag: etag } };
      return answerBytes(context, owner, fileOf(stored), memory, {
        "Content-Type": `${markdown}; charset=utf-8`,
        ETag: etag,
      });
    },
  }),

  route({
    ...manager,
    operationId: "listTwinVersions",
    method: "GET",
    path: "/api/v1/twins/{id}/versions",
    summary: "List the versions of a twin of your own, newest first; the last 50 are kept",
    query: pageQuerySchema,
    success: { status: 200, description: "A page of versions.", schema: twinVersionSchema, list: true },
    errors: ["twin_not_found"],
    async handle({ caller: { owner }, params: { id }, query }, context) {
      await requireUnhidden(context, owner, id);
      const listed = await context.store.listTwinVersions(owner, id, sliceOf(query));
      if (!listed) return twinNotFound();
      return pageOf(query, listed, (version) => ({
        ...versionResource(version),
        current: version.version === listed.current,
      }));
    },
  }),

  route({
    ...change,
    operationId: "restoreTwinVersion",
    method: "POST",
    path: "/api/v1/twins/{id}/versions/{version}/restore",
    summary: "Make a new version with the file and the documents of an earlier one",
    audit: { action: "restore_twin", object: "id", version: true },
    params: twinVersionParamsSchema,
    success: { ...versionMade, status: 201, description: "The new version." },
    errors: [...changeErrors, "twin_not_found", "version_not_found"],
    async handle(call, context) {
      const { id, version } = call.params;
      const { owner } = call.caller;
      const { made } = await changeTwin(
        call,
        context,
        async ({ current, take }) => {
          if (!current) return twinNotFound();
          const earlier = await requireVersion(context, owner, id, Number(version));
          for (const { path } of current.parts) take(path, null);
          for (const part of earlier.parts) take(part.path, part);
        },
        true,
      );
      return answerVersion(made);
    },
  }),

  route({
    ...manager,
    operationId: "deleteTwin",
    method: "DELETE",
    path: "/api/v1/twins/{id}",
    summary: "Delete a twin of your own with all its versions; conversations with it stay readable",
    audit: { action: "delete_twin", object: "id", version: true },
    success: { status: 204, description: "There is no such twin of yours." },
    errors: ["twin_exists"],
    async handle({ caller: { owner }, params: { id } }, context) {
      const own = requireOwnTwins(context);
      if (await own.operators(owner, id)) throw twinExists();
      const version = await context.store.deleteOwnTwin(owner, id, context.clock.now());
      own.forget(owner, id);
      return { data: { version } };
    },
  }),

  route({
    ...manager,
    operationId: "listTwinDocuments",
    method: "GET",
    path: "/api/v1/twins/{id}/documents",
    summary: "List the documents of a twin of your own, by path",
    query: pageQuerySchema,
    success: { status: 200, description: "A page of documents.", schema: twinDocumentSchema, list: true },
    errors: ["twin_not_found"],
    async handle({ caller: { owner }, params: { id }, query }, context) {
      const { parts } = await requireVersion(context, owner, id);
      const [, ...documents] = parts;
      const { offset, limit } = sliceOf(query);
      const list = { items: documents.slice(offset, offset + limit), total: documents.length };
      return pageOf(query, list, ({ path, bytes, updatedAt }) => ({
        path,
        bytes,
        updatedAt: timeOf(updatedAt),
      }));
    },
  }),

  route({
    ...change,
    operationId: "putTwinDocument",
    method: "PUT",
    path: "/api/v1/twins/{id}/documents/{path}",
    summary: "Give a twin of your own a document: Markdown, text, HTML, PDF or Word, by its ending",
    audit: { action: "change_twin", object: "id", version: true },
    params: documentParamsSchema,
    bytes: { types: "any" },
    maxBodyBytes: mostDocumentBytes,
    success: {
      ...versionMade,
      status: 200,
      description: "The version that is current now.",
      also: { 201: "The document is new." },
    },
    errors: [...changeErrors, "twin_not_found"],
    async handle(call, context) {
      const { path } = call.params;
      const fault = pathFault(path);
      if (fault !== undefined) throw validationError([{ path: "path", message: fault }]);
      const read = await requireOwnTwins(context).reader.readDocument(path, call.body);
      if ("fault" in read) throw validationError([{ path, message: read.fault.replace(/\.$/, "") }]);
      const encoded = new TextEncoder().encode(read.text);
      const text = (await isEqual(encoded, call.body)) ? call.body : encoded;
      if (text !== call.body && !call.received.reserve(text.length)) throw tooMuchAtOnce();
      const { current, made } = await changeTwin(call, context, async ({ current, change }) => {
        if (!current) return twinNotFound();
        return change(path, call.body, text);
      });
      const isNew = !current?.parts.some((part) => part.path === path);
      return answerVersion(made, isNew ? 201 : undefined);
    },
  }),

  route({
    ...manager,
    operationId: "getTwinDocument",
    method: "GET",
    path: "/api/v1/twins/{id}/documents/{path}",
    summary: "Read a document of a twin of your own, as it was put",
    params: documentParamsSchema,
    success: { status: 200, description: "The document.", bytes: "application/octet-stream" },
    errors: ["twin_not_found", "document_not_found"],
    async handle({ caller: { owner }, params: { id, path }, memory }, context) {
      const { parts } = await requireVersion(context, owner, id);
      const found = parts.find((part) => part.path === path && path !== filePath);
      if (!found) throw new ApiError("document_not_found", "The twin has no document with this path.");
      // A page of HTML must not run in the name of this service.
      const headers = { "Content-Type": "application/octet-stream", "Content-Disposition": "attachment" };
      return answerBytes(context, owner, found, memory, headers);
    },
  }),

  route({
    ...change,
    operationId: "deleteTwinDocument",
    method: "DELETE",
    path: "/api/v1/twins/{id}/documents/{path}",
    summary: "Take a document from a twin of your own",
    audit: { action: "change_twin", object: "id", version: true },
    params: documentParamsSchema,
    success: { status: 204, description: "The twin has no such document." },
    errors: [...changeErrors, "twin_not_found"],
    async handle(call, context) {
      const { path } = call.params;
      const { made } = await changeTwin(call, context, async ({ current, take }) => {
        if (!current) return twinNotFound();
        if (path !== filePath && current.parts.some((part) => part.path === path)) take(path, null);
      });
      return { data: made };
    },
  }),

  route({
    ...change,
    operationId: "teachTwin",
    method: "POST",
    path: "/api/v1/twins/{id}/answers",
    summary:
      "Teach a twin of your own an answer: a new version whose file has it, and a golden question for it",
    audit: { action: "teach_twin", object: "id", version: true },
    body: teachTwinSchema,
    knownMembersOnly: true,
    success: { ...versionMade, status: 201, description: "The new version." },
    errors: [...changeErrors, "twin_not_found"],
    async handle(call, context) {
      const own = requireOwnTwins(context);
      const { question, answer, heading = question } = call.body;
      const { made } = await changeTwin(call, context, async ({ current, change }) => {
        if (!current) return twinNotFound();
        const file = await readContent(context.store, call.caller.owner, fileOf(current));
        const taught = await own.reader.teach(file, { question, answer, heading });
        if ("path" in taught) throw validationError([taught]);
        if (taught.length > mostFileBytes) throw tooLarge("The file is larger than 1 MiB with it");
        return change(filePath, taught, taught);
      });
      return answerVersion(made);
    },
  }),
];

function requireOwnTwins({ ownTwins }: Pick<HandlerContext, "ownTwins">): OwnTwins {
  if (!ownTwins) throw new TypeError("A twin's endpoint was reached in a service whose owners make none.");
  return ownTwins;
}

/** An operator's twin hides what the owner has under its id. */
async function requireUnhidden(context: HandlerContext, owner: string, id: string): Promise<void> {
  const own = requireOwnTwins(context);
  if (!(await own.operators(owner, id))) return;
  if (await context.store.getOwnTwin(owner, id)) own.tellHidden(owner, id);
  twinNotFound();
}

async function requireVersion(
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

function fileOf({ parts: [file] }: StoredTwinVersion): TwinPart {
  if (file?.path !== filePath) throw new Error("A twin's version has no file.");
  return file;
}

async function answerBytes(
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
async function changeTwin(
  { caller: { owner }, params: { id }, query, headers, memory }: ChangeCall,
  context: HandlerContext,
  edit: (editing: Editing) => Promise<void> | void,
  always = false,
): Promise<{ readonly current: StoredTwinVersion | undefined; readonly made: MadeVersion }> {
  const own = requireOwnTwins(context);
  const { store, clock } = context;
  for (;;) {
    if (await own.operators(owner, id)) throw twinExists();
    const current = await store.getTwinVersion(owner, id);
    requireRevision(headers, current?.version.revision);
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
    const revision = await revisionOf(all);
    const asksNone = query.tests === "skip";
    const tests = asksNone ? null : await ask(context, own, id, read, () => textsOf(documents, contents));
    if (query.tests === "require" && tests && tests.failed.length > 0) throw testsFailed(tests);
    if (current?.version.revision === revision && !always)
      return { current, made: { twinId: id, ...versionResource(current.version), tests } };
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
        return { current, made: { twinId: id, ...versionResource(version), tests } };
      }
      case "too_many_twins":
        throw new ApiError(
          "twin_limit_reached",
          `You already have ${own.maxTwins} twins of your own; delete one first.`,
        );
      case "texts_too_long":
        throw tooLarge("The texts of all your twins would be longer than 256 MiB");
      case "moved":
      case "content_missing": // another has changed it, or a sweep was faster: once more, from what there is now
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
      const text = known ? decodeText(known) : await readText(store, owner, document);
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
function requireRevision({ ifMatch, ifNoneMatch }: Call["headers"], revision: string | undefined): void {
  const names = (field: string) =>
    revision !== undefined && (field.trim() === "*" || field.includes(`"${revision}"`));
  if (ifMatch && !names(ifMatch))
    throw new ApiError(
      "revision_mismatch",
      "The twin has another revision than If-Match names: read it again.",
    );
  if (ifNoneMatch && names(ifNoneMatch))
    throw new ApiError(
      "revision_mismatch",
      "There is such a twin, or revision, which If-None-Match excludes.",
    );
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

function tooLarge(what: string): ApiError {
  return new ApiError("payload_too_large", `${what}.`);
}

function twinExists(): ApiError {
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
function pathFault(path: string): string | undefined {
  if (path.toLowerCase() === "twin.md") return "must not be twin.md, which is the twin's file";
  if (/[\\\p{Cc}\p{Cs}]/u.test(path)) return "must have no backslashes and no control characters";
  const names = path.split("/");
  if (names.includes("")) return "must have no empty names between slashes";
  if (names.some((name) => name.startsWith("."))) return "must have no name that begins with a dot, nor ..";
  return undefined;
}

async function ask(
  { clock }: HandlerContext,
  { reader }: OwnTwins,
  id: string,
  { twin, tests }: ReadTwin,
  documents: () => Promise<Twin["documents"]>,
): Promise<TestResults> {
  if (tests.length === 0) return { passed: 0, failed: [] };
  const times = { createdAt: clock.now(), updatedAt: clock.now() };
  return reader.ask({ ...twin, id, ...times, documents: await documents() }, tests, clock);
}

function recordOf(
  owner: string,
  id: string,
  { twin }: ReadTwin,
): Omit<OwnTwinRecord, "version" | "revision" | "createdAt" | "updatedAt"> {
  const { name, description, avatarUrl, greeting, tags, handover } = twin;
  return { owner, id, name, description, avatarUrl, greeting, tags, handover };
}

/** By digests, which are computed beside this thread: it would be held for long by 20 MiB. */
async function isEqual(one: Uint8Array, other: Uint8Array): Promise<boolean> {
  return one.length === other.length && (await digestOf(one)) === (await digestOf(other));
}

function versionResource({ version, revision, createdAt, note }: TwinVersionRecord) {
  return { version, revision, createdAt: timeOf(createdAt), note };
}

function answerVersion(made: MadeVersion, status?: 201): Result {
  return { ...(status && { status }), data: made, headers: { ETag: `"${made.revision}"` } };
}
