/**
 * Reads a request's target, its path and query. The authority is checked for form, and never used.
 *
 * @module
 */

import { ApiError } from "./errors.ts";

/** The longest path and query, in characters. */
const maxTargetLength = 8192;

/** A request's target in two: the path, and the query without its question mark. */
export interface RequestTarget {
  readonly path: string;
  readonly search: string;
}

/** Splits an absolute or origin-form target. Not with `new URL`: a hostile Host could distort or break it. */
export function readTarget(url: string): RequestTarget {
  if (withoutAuthority(url).length > maxTargetLength) {
    throw new ApiError("uri_too_long", `The path and query are longer than ${maxTargetLength} characters.`);
  }
  return splitTarget(url);
}

/** The same, however long it is. */
export function splitTarget(url: string): RequestTarget {
  const target = withoutAuthority(url);
  const fragment = target.indexOf("#");
  const beforeFragment = fragment === -1 ? target : target.slice(0, fragment);
  const question = beforeFragment.indexOf("?");
  if (question === -1) return { path: beforeFragment, search: "" };
  return { path: beforeFragment.slice(0, question), search: beforeFragment.slice(question + 1) };
}

function withoutAuthority(url: string): string {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(url);
  return authority ? url.slice(authority[0].length) : url;
}

const hostPattern = /^(?:[a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;

/** Refuses a malformed Host: some runtimes would read a path out of it. */
export function requireHost(host: string | null): void {
  if (host === null || hostPattern.test(host)) return;
  throw new ApiError(
    "invalid_request",
    "The Host header must be a host name or address, with or without a port.",
  );
}
