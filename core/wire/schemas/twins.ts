/**
 * Twins, and those that their owners make.
 *
 * @module
 */

import { type FromSchema, type InputSchema, orNull, record } from "./schema.ts";
import { id, pageQuerySchema, stringOrNull, text, time } from "./values.ts";

export const twinSchema = record({
  id,
  name: { type: "string" },
  description: stringOrNull,
  avatarUrl: stringOrNull,
  greeting: { ...stringOrNull, description: "What it says before the first question." },
  tags: { type: "array", items: { type: "string" } },
  handover: { type: "boolean", description: "Whether it hands over to a person, where it is asked to." },
  createdAt: time,
  updatedAt: time,
});

export const failedTestSchema = record({
  question: { type: "string" },
  expected: { type: "string", description: "In words." },
  answer: { ...stringOrNull, description: "Null: it was not asked, or not answered, in time." },
});

const testResults = orNull(
  record({
    passed: { type: "integer", minimum: 0 },
    failed: { type: "array", items: failedTestSchema },
  }),
  "How the golden questions of the file are answered: 100 at most, within 5 seconds. Null: they were not asked.",
);

const version = {
  version: { type: "integer", minimum: 1 },
  revision: {
    type: "string",
    description: "16 hexadecimal digits of the file and the documents: the `twinRevision` of replies.",
  },
  createdAt: time,
  note: { ...stringOrNull, description: "What its author says of it." },
} as const;

/** A version that a request has made, or that it left as it was. */
export const versionOfTwinSchema = record({ twinId: id, ...version, tests: testResults });

/** A version in a list. */
export const twinVersionSchema = record({ ...version, current: { type: "boolean" } });

export const twinDocumentSchema = record({
  path: { type: "string" },
  bytes: { type: "integer", minimum: 0 },
  updatedAt: time,
});

const twinCheck = record({
  faults: {
    type: "array",
    items: record({
      path: { type: "string", description: "The key of the front matter, or `body`." },
      line: { type: "integer", minimum: 1 },
      message: { type: "string" },
    }),
  },
  tests: testResults,
});

export const twinCheckSchema = {
  ...twinCheck,
  properties: {
    ...twinCheck.properties,
    answer: {
      ...stringOrNull,
      description: "What it says to `ask`. Null: not in time. Absent: it was not asked.",
    },
  },
} as const;

export const twinsQuerySchema = {
  type: "object",
  properties: {
    ...pageQuerySchema.properties,
    own: { type: "string", enum: ["true"], description: "Only twins that their owner has made." },
  },
} as const satisfies InputSchema;

const note = { ...text, maxLength: 200, description: "What the version is about." } as const;

const tests = {
  type: "string",
  enum: ["run", "require", "skip"],
  default: "run",
  description: "The golden questions of the file: require: one that fails refuses it.",
} as const;

export const changeTwinQuerySchema = {
  type: "object",
  properties: { tests, note },
} as const satisfies InputSchema;

export const checkTwinQuerySchema = {
  type: "object",
  properties: {
    tests,
    id: { ...text, description: "The twin that it is for: what is asked knows its documents, too." },
    ask: { ...text, maxLength: 1000, description: "A question besides, whose answer is told." },
  },
} as const satisfies InputSchema;

const versionNumber = { type: "integer", minimum: 1, maximum: 999_999_999 } as const;

export const readFileQuerySchema = {
  type: "object",
  properties: { version: { ...versionNumber, description: "Which version. Default: the current one." } },
} as const satisfies InputSchema;

export const twinVersionParamsSchema = {
  type: "object",
  properties: {
    version: {
      type: "string",
      pattern: "^[1-9][0-9]*$",
      minLength: 1,
      maxLength: 9,
      description: "The number of the version.",
    },
  },
  required: ["version"],
} as const satisfies InputSchema;

export const documentParamsSchema = {
  type: "object",
  properties: {
    path: {
      ...text,
      maxLength: 500,
      description: "The document's path, such as letters/1843.pdf, percent-encoded as one segment.",
    },
  },
  required: ["path"],
} as const satisfies InputSchema;

export const teachTwinSchema = {
  type: "object",
  properties: {
    question: { ...text, maxLength: 1_000, description: "What people ask." },
    answer: { ...text, maxLength: 32_000, description: "What the twin says, in Markdown." },
    heading: {
      ...text,
      maxLength: 200,
      description: "The section that it is added to. Default: the question.",
    },
  },
  required: ["question", "answer"],
} as const satisfies InputSchema;

/** A twin as clients see it. Times are ISO 8601 in UTC; what is absent is null. */
export type TwinResource = FromSchema<typeof twinSchema>;
