/**
 * Values that several schemas have: ids, times, texts, names, pages.
 *
 * @module
 */

import { isString } from "../../base/json.ts";
import type { Rule } from "../../base/rules.ts";
import { scopes } from "../../store/records.ts";
import { type FromSchema, type InputSchema, record } from "./schema.ts";

export const id = { type: "string" } as const;
export const time = { type: "string", format: "date-time", description: "UTC with milliseconds." } as const;
export const timeOrNull = { type: ["string", "null"], format: "date-time" } as const;
export const stringOrNull = { type: ["string", "null"] } as const;
export const scope = { type: "string", enum: scopes } as const;

export const paginationSchema = record({
  page: { type: "integer", minimum: 1 },
  limit: { type: "integer", minimum: 1, maximum: 100 },
  total: { type: "integer", minimum: 0 },
  totalPages: { type: "integer", minimum: 0 },
  hasMore: { type: "boolean" },
});

/**
 * Text that every store keeps unchanged, without NUL and lone surrogates, and that is not blank. Linear: what it looks
 * ahead for is found or missed in one pass.
 */
export const textPattern: string = "^(?=[\\p{White_Space}\\uFEFF]*[^\\p{White_Space}\\uFEFF])[^\\0\\p{Cs}]*$";
export const text = { type: "string", pattern: textPattern, minLength: 1 } as const;

/** The same, or nothing at all. */
export const textOrNonePattern: string = `^$|${textPattern}`;

/** An app's own id of a person: no control characters, no lone surrogates, and nothing that no URL could name. */
export const endUserPattern: string = "^(?!\\.{1,2}$)[^\\p{Cc}\\p{Cs}]*$";

/** What may be an address: its protocol, and the rest, are judged when it is parsed. */
export const addressPattern: string = "^[^\\s\\0\\p{Cs}]*$";

/** Text that every store keeps unchanged, which may be blank. */
export const anyTextPattern: string = "^[^\\0\\p{Cs}]*$";
export const endUser = { type: "string", pattern: endUserPattern, minLength: 1, maxLength: 128 } as const;
const endUserNames = new RegExp(endUserPattern, "u");

/** The same for what no schema describes: header fields, and what a host says. */
export const endUserRule: Rule = {
  expected: "1 to 128 characters, neither . nor .., without control characters or lone surrogates",
  accepts: (value) =>
    isString(value) && value !== "" && [...value].length <= endUser.maxLength && endUserNames.test(value),
};

export const healthSchema = record({ status: { type: "string", enum: ["ok"] } });

export const pageQuerySchema = {
  type: "object",
  properties: {
    page: { type: "integer", minimum: 1, maximum: 999_999_999, default: 1, description: "Which page." },
    limit: { type: "integer", minimum: 1, maximum: 100, default: 20, description: "Items on a page." },
  },
} as const satisfies InputSchema;

/** `YYYY-MM-DD`. */
export const dayPattern: string = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$";

export const day = {
  type: "string",
  pattern: dayPattern,
  minLength: 10,
  maxLength: 10,
} as const;

/** The position of a page in its list: `page` counts from 1, `total` counts items. */
export type Pagination = FromSchema<typeof paginationSchema>;
