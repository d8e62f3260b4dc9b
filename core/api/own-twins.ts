/**
 * The endpoints of twins that their owners make, called with a JWT, or by a host's user who manages them.
 *
 * @module
 */

import { areEqualInParts, encodeInParts } from "../base/in-parts.ts";
import { route } from "../http/route.ts";
import { mostDocumentBytes, readContent } from "../twins/own-twins.ts";
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
import {
  answerBytes,
  answerVersion,
  changeTwin,
  fileOf,
  filePath,
  namesRevision,
  pathFault,
  readVersion,
  requireOwnTwins,
  requireRevision,
  requireUnhidden,
  requireVersion,
  tooLarge,
  triedTwin,
  twinExists,
  versionResource,
} from "./twin-versions.ts";

/** The longest file of a twin, in bytes. */
const mostFileBytes = 1024 * 1024;

const markdown = "text/markdown";
const textTypes = [markdown, "text/plain"];

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
    errors: ["twin_exists"],
    async handle({ caller: { owner }, query, body }, context) {
      const own = requireOwnTwins(context);
      const { id } = query;
      if (id !== undefined && (await own.operators(owner, id))) throw twinExists();
      const read = await own.judge(owner, id, body);
      if ("faults" in read) return { data: { faults: read.faults, tests: null } };
      const current = id === undefined ? undefined : await context.twins.get(owner, id);
      const tried = triedTwin(context, id ?? "check", read, current?.documents ?? []);
      const tests = query.tests === "skip" ? null : await own.reader.ask(tried, read.tests, context.clock);
      if (query.ask === undefined) return { data: { faults: [], tests } };
      const answer = await own.reader.answer(tried, query.ask, context.clock);
      return { data: { faults: [], tests, answer } };
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
      return readVersion(context, owner, id, query.version, async (stored) => {
        const { revision } = stored.version;
        const etag = `"${revision}"`;
        if (namesRevision(headers.ifNoneMatch ?? "", revision))
          return { status: 304, headers: { ETag: etag } };
        return answerBytes(context, owner, fileOf(stored), memory, {
          "Content-Type": `${markdown}; charset=utf-8`,
          ETag: etag,
        });
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
    headers: { ifMatch: "If-Match" },
    success: { status: 204, description: "There is no such twin of yours." },
    errors: ["twin_exists", "revision_mismatch"],
    async handle({ caller: { owner }, params: { id }, headers }, context) {
      const own = requireOwnTwins(context);
      const { store, clock } = context;
      for (;;) {
        const current = await store.getOwnTwin(owner, id);
        // One that the operator's hides is its owner's to delete: it counts for how many there may be.
        if (!current && (await own.operators(owner, id))) throw twinExists();
        if (!current) return { data: {} };
        const { version, revision } = current;
        requireRevision(headers, revision);
        const isDeleted = await store.deleteOwnTwin(owner, id, version, clock.now());
        own.forget(owner, id);
        if (isDeleted) return { data: { version } };
      }
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
      const { owner } = call.caller;
      const fault = pathFault(path);
      if (fault !== undefined) throw validationError([{ path: "path", message: fault }]);
      const read = await requireOwnTwins(context).reader.readDocument(path, call.body, owner);
      if ("fault" in read) throw validationError([{ path, message: read.fault.replace(/\.$/, "") }]);
      const encoded = await encodeInParts(read.text);
      const text = (await areEqualInParts(encoded, call.body)) ? call.body : encoded;
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
      // A page of HTML must not run in the name of this service.
      const headers = { "Content-Type": "application/octet-stream", "Content-Disposition": "attachment" };
      return readVersion(context, owner, id, undefined, async ({ parts }) => {
        const found = parts.find((part) => part.path === path && path !== filePath);
        if (!found) throw new ApiError("document_not_found", "The twin has no document with this path.");
        return answerBytes(context, owner, found, memory, headers);
      });
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
