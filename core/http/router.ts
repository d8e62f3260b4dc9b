/**
 * Finds the endpoints of a path.
 *
 * @module
 */

import type { PathParams, Route } from "./route.ts";

/** A path's routes by method, and its parameters. */
export interface PathMatch {
  readonly routes: ReadonlyMap<string, Route>;
  readonly params: PathParams;
}

/** A node in the tree of all paths. */
interface Place {
  /** The segment that leads here, or the name of the parameter that it gives. */
  readonly name: string;
  readonly literals: Place[];
  /** The child for any segment that is not a literal here. */
  open?: Place;
  readonly routes: Map<string, Route>;
}

/** Creates a function that finds a path's routes (below the base path, not decoded). A literal segment wins. */
export function createRouter(routes: readonly Route[]): (path: string) => PathMatch | undefined {
  const root = newPlace("");
  for (const route of routes) placeOf(root, route.path).routes.set(route.method, route);

  return (path) => {
    let place = root;
    const params: Record<string, string> & PathParams = { ...noParams };
    let end = 0;
    do {
      const start = end + 1;
      const slash = path.indexOf("/", start);
      end = slash === -1 ? path.length : slash;
      const length = end - start;
      // Compared in place: a segment that is cut out and looked up in a map has to be hashed each time.
      const isHere = ({ name }: Place) => name.length === length && path.startsWith(name, start);
      const literal = place.literals.find(isHere);
      if (literal) {
        place = literal;
        continue;
      }
      const { open } = place;
      const value = open && decodeSegment(path.slice(start, end));
      if (!open || value === undefined) return undefined;
      params[open.name] = value;
      place = open;
    } while (end < path.length);
    return place.routes.size > 0 ? { routes: place.routes, params } : undefined;
  };
}

/** A route's parameters, from a host's own router or else from the path's last segments. */
export function paramsOf(route: Route, path: string, given: Partial<PathParams> = {}): PathParams {
  const pattern = route.path.split("/");
  const segments = path.split("/");
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const name = paramName(part);
    const segment = segments.at(index - pattern.length) ?? ""; // counted from the end, because hosts mount it anywhere
    if (!name) continue;
    const { [name as keyof PathParams]: text } = given;
    params[name] = (text === undefined ? decodeSegment(segment) : possibleId(text)) ?? "";
  }
  return { ...noParams, ...params };
}

const noParams: PathParams = { id: "", messageId: "" };

function newPlace(name: string): Place {
  return { name, literals: [], routes: new Map() };
}

function placeOf(root: Place, path: string): Place {
  return path.slice(1).split("/").reduce(following, root);
}

/** The child of a node for a pattern's segment, created if it is missing. */
function following(place: Place, segment: string): Place {
  const parameter = paramName(segment);
  if (parameter) {
    place.open ??= newPlace(parameter);
    return place.open;
  }
  const known = place.literals.find(({ name }) => name === segment);
  if (known) return known;
  const next = newPlace(segment);
  place.literals.push(next);
  return next;
}

function paramName(segment: string): string | undefined {
  return /^\{(.+)\}$/.exec(segment)?.[1];
}

/** A segment's text, or undefined if it cannot be an id. */
function decodeSegment(segment: string): string | undefined {
  if (!segment.includes("%")) return possibleId(segment);
  try {
    return segment.length > maxIdLength ? undefined : possibleId(decodeURIComponent(segment));
  } catch {
    return undefined; // a bad escape
  }
}

const maxIdLength = 1024;

function possibleId(text: string): string | undefined {
  return text === "" || text.length > maxIdLength || /[\u0000-\u001f\u007f]/.test(text) ? undefined : text;
}
