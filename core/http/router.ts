/**
 * Finds the endpoints of a request's path.
 *
 * @module
 */

import { ApiError } from "../wire/errors.ts";
import { readTarget } from "../wire/target.ts";
import type { PathParams, Route } from "./route.ts";

/** A path's routes by method, and what a request says by its target. */
export interface MatchedPath {
  readonly routes: ReadonlyMap<string, Route>;
  readonly params: PathParams;
  /** The query, without its question mark. */
  readonly search: string;
}

/** A node in the tree of all paths. */
interface PathNode {
  /** The segment that leads here, or the name of the parameter that it gives. */
  readonly name: string;
  readonly literals: PathNode[];
  /** The child for any segment that is not a literal here. */
  open?: PathNode;
  /** Whether the parameter is an id, and not what a schema of its routes describes. */
  readonly isId: boolean;
  readonly routes: Map<string, Route>;
}

/**
 * Creates a function that finds the routes of a request's target. It throws `not_found` if there are none, naming the
 * path that a misspelt one probably means.
 */
export function createRouter(routes: readonly Route[], basePath: string): (url: string) => MatchedPath {
  const root: PathNode = { name: "", literals: [], isId: false, routes: new Map() };
  for (const route of routes) {
    const node = route.path
      .slice(1)
      .split("/")
      .reduce((parent, segment) => childOf(parent, segment, route), root);
    node.routes.set(route.method, route);
  }

  return (url) => {
    const { path, search } = readTarget(url);
    const isBelow = path.startsWith(`${basePath}/`);
    const match = isBelow ? matchPath(root, path.slice(basePath.length)) : undefined;
    if (match) return { routes: match.routes, params: match.params, search };
    const meant = pathMeant(root, path, basePath);
    if (meant) throw new ApiError("not_found", `There is nothing at this path; did you mean ${meant}?`);
    // A host has probably mounted the service at what is before a path of it, without telling it.
    const [, prefix = "", below = ""] = /^(\/.{1,200}?)(\/(?:api\/)?v1\/.*)$/.exec(path) ?? [];
    if (matchPath(root, below)) {
      const message = `There is nothing at this path; a service that is mounted at ${prefix} needs the basePath ${prefix}.`;
      throw new ApiError("not_found", message);
    }
    if (!isBelow) throw new ApiError("not_found", `Paths begin with ${basePath}/ here.`);
    throw new ApiError("not_found", "There is nothing at this path.");
  };
}

/**
 * The path that a request probably means if its own has a slash too many, or lacks the base path or the version, or has that
 * twice, as clients make it of an address that ends in `/v1`, or does not.
 */
function pathMeant(root: PathNode, path: string, basePath: string): string | undefined {
  const bare = path.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  const below = bare.startsWith(`${basePath}/`) ? bare.slice(basePath.length) : bare;
  const once = below.replace(/^(?:\/api)?\/v1(?=\/(?:api\/)?v1\/)/, "");
  const meant = [below, once, `/api/v1${below}`, `/v1${below}`].find((candidate) =>
    matchPath(root, candidate),
  );
  return meant && basePath + meant;
}

/** A path's routes (below the base path, not decoded). A literal segment wins. */
function matchPath(root: PathNode, path: string): Omit<MatchedPath, "search"> | undefined {
  let node = root;
  const params: Record<string, string> & PathParams = { ...noParams };
  let end = 0;
  let other: { readonly node: PathNode; readonly end: number } | undefined;
  do {
    const start = end + 1;
    const slash = path.indexOf("/", start);
    end = slash === -1 ? path.length : slash;
    const length = end - start;
    // Compared in place: a segment that is cut out and looked up in a map has to be hashed each time.
    const isHere = ({ name }: PathNode) => name.length === length && path.startsWith(name, start);
    const literal = node.literals.find(isHere);
    if (literal) {
      if (node.open) other = { node: node.open, end };
      node = literal;
      continue;
    }
    if (!node.open && other) {
      // What looked like a literal is a parameter's value, which other routes go on from.
      const value = decodeParameter(
        path.slice(path.lastIndexOf("/", other.end - 1) + 1, other.end),
        other.node.isId,
      );
      if (value === undefined) return undefined;
      params[other.node.name] = value;
      ({ node, end } = other);
      other = undefined;
      continue;
    }
    const { open } = node;
    const value = open && decodeParameter(path.slice(start, end), open.isId);
    if (!open || value === undefined) return undefined;
    params[open.name] = value;
    node = open;
  } while (end < path.length);
  return node.routes.size > 0 ? { routes: node.routes, params } : undefined;
}

/** The value of `Allow` for a path. */
export function allowedMethods(routes: ReadonlyMap<string, Route>): string {
  for (const { allow } of routes.values()) if (allow !== undefined) return allow;
  const offered = [...routes.values()].filter(({ absent }) => !absent);
  const methods = offered.map(({ method }): string => method);
  if (offered.some((route) => route.method === "GET" && !isStream(route))) methods.push("HEAD");
  return [...methods, "OPTIONS"].sort().join(", ");
}

function isStream({ success }: Route): boolean {
  return Boolean(success.events ?? success.lines);
}

/**
 * The route of a method. HEAD answers as GET does, except where that is a stream.
 *
 * @throws {ApiError} 405, with the methods that the path takes.
 */
export function routeOf(method: string, routes: ReadonlyMap<string, Route>): Route {
  const route = routes.get(method === "HEAD" ? "GET" : method);
  if (route && (method !== "HEAD" || !isStream(route))) return route;
  const allow = allowedMethods(routes);
  throw new ApiError("method_not_allowed", `This path takes ${allow}.`, { headers: { Allow: allow } });
}

/** Creates a function that finds one route, wherever a host has mounted it. It takes the parameters that the host knows. */
export function createRouteFinder(
  route: Route,
): (url: string, given: Partial<PathParams> | undefined) => MatchedPath {
  const routes = new Map([[route.method, route]]);
  return (url, given) => {
    const { path, search } = readTarget(url);
    return { routes, params: paramsOf(route, path, given), search };
  };
}

/** A route's parameters, from a host's own router or else from the path's last segments. */
function paramsOf(route: Route, path: string, given: Partial<PathParams> = {}): PathParams {
  const pattern = route.path.split("/");
  const segments = path.split("/");
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const name = paramName(part);
    const segment = segments.at(index - pattern.length) ?? ""; // counted from the end, because hosts mount it anywhere
    if (!name) continue;
    const { [name as keyof PathParams]: text } = given;
    const ofId = isId(route, name);
    params[name] = (text === undefined ? decodeParameter(segment, ofId) : possibleValue(text, ofId)) ?? "";
  }
  return { ...noParams, ...params };
}

const noParams: PathParams = {
  id: "",
  messageId: "",
  endUser: "",
  twinId: "",
  version: "",
  path: "",
  deliveryId: "",
};

/** The child of a node for a segment of a route's pattern, created if it is missing. */
function childOf(parent: PathNode, segment: string, route: Route): PathNode {
  const parameter = paramName(segment);
  if (parameter) {
    parent.open ??= { name: parameter, literals: [], isId: isId(route, parameter), routes: new Map() };
    return parent.open;
  }
  const known = parent.literals.find(({ name }) => name === segment);
  if (known) return known;
  const child: PathNode = { name: segment, literals: [], isId: false, routes: new Map() };
  parent.literals.push(child);
  return child;
}

function paramName(segment: string): string | undefined {
  return /^\{(.+)\}$/.exec(segment)?.[1];
}

/** Whether a route's parameter is an id: it is, unless the route has a schema for it. */
function isId({ params }: Route, name: string): boolean {
  return params?.properties[name] === undefined;
}

/** A parameter's value, or undefined if it cannot be one. */
function decodeParameter(segment: string, ofId: boolean): string | undefined {
  if (!segment.includes("%")) return possibleValue(segment, ofId);
  try {
    const longest = ofId ? maxLength : maxEscapedLength;
    return segment.length > longest ? undefined : possibleValue(decodeURIComponent(segment), ofId);
  } catch {
    return undefined; // a bad escape
  }
}

const maxLength = 1024;
const maxEscapedLength = 2048; // an end user has up to 128 characters, which are up to 12 each when they are escaped

/** What cannot be an id names nothing. A value with a schema is checked after its credential. */
function possibleValue(text: string, ofId: boolean): string | undefined {
  if (text === "" || text.length > maxLength) return undefined;
  return ofId && /[\u0000-\u001f\u007f]/.test(text) ? undefined : text;
}
