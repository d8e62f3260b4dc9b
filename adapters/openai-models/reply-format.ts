/**
 * Replies in a form that a client wants: what a model is told of it, and whether the whole reply has it. The schema may be
 * hostile, and so is checked like those of tools.
 *
 * @module
 */

import type { JsonObject } from "../../core/base/json.ts";
import { ModelError, type ReplyFormat } from "../../core/twins/engine.ts";
import { compileValueCheck, type ValueCheck } from "./input-check.ts";

/** The longest reply that is checked, in UTF-16 code units. */
const longestChecked = 262_144;

/** The checks of forms: they are compiled once for a request and its reply. */
const checks = new WeakMap<ReplyFormat, Promise<CompiledFormat>>();

interface CompiledFormat {
  /** What is wrong with the schema. Undefined: nothing. */
  readonly problem: string | undefined;
  readonly check: ValueCheck;
}

function compiled(format: ReplyFormat): Promise<CompiledFormat> {
  const known = checks.get(format) ?? compileFormat(format);
  checks.set(format, known);
  return known;
}

async function compileFormat(format: ReplyFormat): Promise<CompiledFormat> {
  let problem: string | undefined;
  const unchecked = (what: string) => {
    problem ??= what;
  };
  const schema: JsonObject = format.type === "json_schema" ? format.schema : { type: "object" };
  const check = await compileValueCheck(schema, unchecked);
  return { problem, check };
}

/** What is wrong with a form, in words that go on from its name. Undefined: nothing. */
export async function formatProblem(format: ReplyFormat): Promise<string | undefined> {
  const { problem } = await compiled(format);
  return problem === undefined ? undefined : `must have a JSON Schema that can be checked: ${problem}`;
}

/** Refuses a whole reply that does not have the form. */
export async function requireFormat(format: ReplyFormat, reply: string): Promise<void> {
  const problem = await problemIn(format, reply);
  if (problem === undefined) return;
  const told = `The reply does not have the form that was asked for: ${problem}.`;
  throw new ModelError("model_error", "the reply does not have the form that was asked for", { told });
}

async function problemIn(format: ReplyFormat, reply: string): Promise<string | undefined> {
  if (reply.length > longestChecked) return `it has more than ${longestChecked} characters`;
  let value: unknown;
  try {
    value = JSON.parse(reply);
  } catch {
    return "it is not JSON";
  }
  const { check } = await compiled(format);
  return check(value)?.slice(0, 300).toWellFormed();
}
