/**
 * Checks the input of a tool, or a reply, against its schema. Both may be hostile: a schema comes from another's server or from a
 * client, an input from a model that reads what strangers write. So work is counted, and what would take too much is refused.
 *
 * @module
 */

import type { Options, ValidateFunction } from "ajv";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { acceptedSchemas, mostSchemaWork, sizeOf, workOfSchema } from "./schema-work.ts";

/** Says what is wrong with an input, or undefined. Leaves out of it what is null, and may be missing but not null. */
export type InputCheck = (input: JsonObject) => string | undefined;

/** Says where a value is wrong, as a JSON Pointer, and how; or undefined. */
export type ValueCheck = (value: unknown) => string | undefined;

/** The most work of one check, of which each unit takes up to 80 ns: each part of a schema may meet each of a value. */
const mostWork = 600_000;
/** The most that all patterns of a schema may come to, of which each unit takes up to 1 µs. */
const mostPatterns = 50_000;
const tooMuch = "they take too long to check; give fewer or shorter ones";

/**
 * Compiles the schema of a tool, of the draft that it names. `unchecked` is called with what of it is not checked, because it
 * is not understood, too long, or cannot be checked in linear time.
 */
export function compileInputCheck(
  schema: JsonObject,
  unchecked: (what: string) => void,
): Promise<InputCheck> {
  return compileCheck(schema, unchecked, problemOf);
}

/** The same for any value, which stays as it is. */
export function compileValueCheck(
  schema: JsonObject,
  unchecked: (what: string) => void,
): Promise<ValueCheck> {
  return compileCheck(schema, unchecked, (value: unknown, check) =>
    check(value) ? undefined : firstProblem(check),
  );
}

async function compileCheck<Value>(
  schema: JsonObject,
  unchecked: (what: string) => void,
  problemIn: (value: Value, check: ValidateFunction) => string | undefined,
): Promise<(value: Value) => string | undefined> {
  let work: Work;
  let check: ValidateFunction;
  try {
    work = new Work(workOfSchema(schema));
    if (work.ofSchema > mostSchemaWork) throw new TooMuchWork();
    check = await compile(schema, work, unchecked);
  } catch (error) {
    unchecked(error instanceof RangeError ? acceptedSchemas : String((error as Error).message).slice(0, 200));
    return () => undefined;
  }
  return (input) => {
    work.begin();
    try {
      return problemIn(input, check);
    } catch (error) {
      if (error instanceof RangeError) return tooMuch;
      throw error;
    }
  };
}

/** Checks an input, and once more without each `null` that is refused: models fill in what may be left out. */
function problemOf(input: JsonObject, check: ValidateFunction): string | undefined {
  for (let removed = 0; ; removed++) {
    if (check(input)) return undefined;
    const [{ instancePath = "", message = "they are not valid" } = {}] = check.errors ?? [];
    const found = removed < mostNulls ? parentOf(input, instancePath) : undefined;
    if (!found || found.parent[found.key] !== null) return `${instancePath} ${message}`;
    delete found.parent[found.key];
  }
}

/** How many of them are left out. */
const mostNulls = 64;

/** What is wrong first. A pointer that is empty is the whole. */
function firstProblem({ errors }: ValidateFunction): string {
  const [{ instancePath = "", message = "is not valid" } = {}] = errors ?? [];
  return `${instancePath === "" ? "the whole" : instancePath} ${message}`;
}

/** The object that has the member at a JSON pointer, and the member's name. */
function parentOf(input: JsonObject, pointer: string) {
  const [first, ...path] = pointer.split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  const key = path.pop();
  let parent: unknown = first === "" ? input : undefined;
  for (const step of path)
    parent = typeof parent === "object" && parent !== null ? Object(parent)[step] : undefined;
  return key !== undefined && isJsonObject(parent)
    ? { parent: parent as Record<string, unknown>, key }
    : undefined;
}

/** Counts the work of one check. */
class Work {
  #left = mostWork;
  readonly ofSchema: number;

  constructor(ofSchema: number) {
    this.ofSchema = ofSchema;
  }

  begin(): void {
    this.#left = mostWork;
  }

  /** @throws {TooMuchWork} if that is more than is left. */
  spend(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new TooMuchWork();
  }
}

/** As the stack's end is: a schema or a value that takes too much of it asks for too much, too. */
class TooMuchWork extends RangeError {}

/** The ajv of the draft that a schema names. */
async function compile(
  schema: JsonObject,
  work: Work,
  unchecked: (what: string) => void,
): Promise<ValidateFunction> {
  const { $schema, $id: _, id, ...rest } = schema;
  // Schemas come from other people: what is unknown in them is no fault, and a format no reason to refuse.
  const options: Options = {
    strict: false,
    validateFormats: false,
    logger: false,
    inlineRefs: false, // a schema that is often referred to would be as often in the code
    loopRequired: 10, // the code that names each grows with their square
    loopEnum: 10,
    code: { regExp: await linearPatterns(work, unchecked), optimize: false }, // it takes time with the square of the branches
  };
  const ajv = await createAjv(isString($schema) ? $schema : "", options);
  ajv.addKeyword({
    keyword: step,
    before: "$ref",
    validate(_: true, value: unknown) {
      work.spend(work.ofSchema * sizeOf(value));
      return true;
    },
  });
  ajv.removeKeyword("uniqueItems").addKeyword({
    keyword: "uniqueItems", // ajv compares each with each
    type: "array",
    schemaType: "boolean",
    error: { message: "must not have duplicate items" },
    validate(mustBeUnique: boolean, items: readonly unknown[]) {
      if (!mustBeUnique) return true;
      work.spend(10 * sizeOf(items));
      return new Set(items.map((item) => JSON.stringify(item, sortMembers))).size === items.length;
    },
  });
  return ajv.compile({
    [step]: true,
    ...counted(isString(id) ? rest : { ...rest, ...(id !== undefined && { id }) }),
  });
}

async function createAjv(draft: string, options: Options) {
  if (/draft-0[4-7]/.test(draft)) return new (await import("ajv")).Ajv(options);
  if (draft.includes("2019-09")) return new (await import("ajv/dist/2019.js")).Ajv2019(options);
  return new (await import("ajv/dist/2020.js")).Ajv2020(options);
}

const step = "x-counted-step";

/**
 * A copy that counts each step into another of its schemas: alternatives that refer to themselves double with each level.
 * Between two steps each part of a schema meets each part of a value once at most.
 */
function counted(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    if (!isJsonObject(value)) return value;
    const refers = "$ref" in value || "$dynamicRef" in value || "$recursiveRef" in value;
    return refers ? { [step]: true, ...value } : value;
  }) as object;
}

function sortMembers(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

type PatternEngine = NonNullable<NonNullable<Options["code"]>["regExp"]>;

/** Regular expressions that take time in proportion to the text. What these cannot do (looking around, references back) is unchecked. */
async function linearPatterns(work: Work, unchecked: (what: string) => void): Promise<PatternEngine> {
  const { RE2JS } = await import("re2js");
  const known = new Map<string, ReturnType<PatternEngine>>();
  let left = mostPatterns;
  const compilePattern = (given: string) => {
    if (20 * given.length > left) return undefined;
    try {
      const pattern = RE2JS.translateRegExp(given);
      left -= costOf(pattern);
      return left < 0 ? undefined : RE2JS.compile(pattern);
    } catch {
      return undefined;
    }
  };
  const createPattern = (pattern: string) => {
    const compiled = compilePattern(pattern);
    if (!compiled) unchecked(`the pattern ${pattern.slice(0, 100)} cannot be checked in linear time`);
    const size = compiled?.programSize() ?? 0;
    return {
      test(text: string): boolean {
        work.spend(((text.length + 10) * size) / 3);
        return compiled?.matcher(text).find() ?? true;
      },
      toString: () => `/${pattern}/`, // ajv tells patterns apart by this
    };
  };
  const engine = (pattern: string) => {
    const created = known.get(pattern) ?? createPattern(pattern);
    known.set(pattern, created);
    return created;
  };
  return Object.assign(engine, { code: "linear" });
}

/** What a pattern consists of: an escape, a class, a count with its numbers, or any other character. */
const tokens = /\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu;

/** How many steps a pattern has once all that it repeats is written out. */
function stepsOf(pattern: string): number {
  const open: number[] = []; // how many there are before each group that has not ended
  let [steps, last] = [0, 0];
  for (const [token, least, most] of pattern.matchAll(tokens)) {
    if (least !== undefined) {
      const more = last * (Math.max(1, Number(least), Number(most ?? 0)) - 1);
      steps += more;
      last += more;
    } else if (token === ")") {
      last = steps - (open.pop() ?? 0);
    } else if (!"*+?".includes(token)) {
      if (token === "(") open.push(steps);
      steps++;
      last = 1;
    }
  }
  return steps;
}

/** What it takes to compile a pattern, as RE2 writes it, in units of 1 µs. */
function costOf(pattern: string): number {
  const isFolded = /\(\?[a-z]*i/i.test(pattern); // where case is ignored, each letter of a range is looked up
  if (/\\Q/.test(pattern) || (isFolded && /[^\x20-\x7e]|\\x/.test(pattern))) return Number.POSITIVE_INFINITY;
  const kinds = pattern.match(/\\p/gi)?.length ?? 0; // kinds of letters are hundreds of ranges each
  return (Math.max(20 * pattern.length, 10 * stepsOf(pattern)) + 400 * kinds) * (isFolded ? 2 : 1);
}
