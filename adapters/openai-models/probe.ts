/**
 * Asks a model's address, before any reply does, whether it answers and has the model.
 *
 * @module
 */

import { isJsonObject } from "../../core/base/json.ts";
import { hasTooMany, readText } from "../bounded-text.ts";
import { requireBaseUrl } from "./address.ts";
import { authorization } from "./request.ts";

/** The longest list of models that is read, in bytes, and the most values: some routers have hundreds of models. */
const longestList = 8 * 1024 * 1024;
const mostValues = 200_000;

/** What {@link probeModel} needs to know. */
export interface ProbeOptions {
  /** The address and the key that the engine has. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** The model that the engine has, if any. */
  readonly model?: string | undefined;
  /** Ends the probe, which then resolves with the reason as a problem. */
  readonly signal: AbortSignal;
}

/**
 * Asks for the list of models (`GET {baseUrl}/models`). Resolves with what is wrong, as a phrase about the address, or
 * undefined. Never rejects for what the server does.
 *
 * @throws {TypeError} if the address or the key cannot be used.
 */
export async function probeModel(options: ProbeOptions): Promise<string | undefined> {
  const { model, signal } = options;
  const headers = { accept: "application/json", ...authorization(options.apiKey) };
  const url = `${requireBaseUrl(options.baseUrl)}/models`;
  try {
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    if (response.ok) {
      const text = await readText(response, longestList);
      if (text === undefined) return `its list of models has more than ${longestList} bytes`;
      return problemOf(model, hasTooMany(text, mostValues) ? undefined : JSON.parse(text));
    }
    await response.body?.cancel();
    return `it answers GET /models with status ${response.status}`;
  } catch (error) {
    return `it does not answer GET /models with a list (${reasonOf(error)})`;
  }
}

function problemOf(model: string | undefined, list: unknown): string | undefined {
  const data = isJsonObject(list) ? list.data : undefined;
  if (!isJsonObject(list) || !Array.isArray(data)) return "it does not answer GET /models with a list";
  const names = data
    .map((item: unknown) => (isJsonObject(item) ? item.id : undefined))
    .filter((name): name is string => typeof name === "string" && /^[\x21-\x7e]{1,200}$/.test(name));
  if (model === undefined) {
    return names.length === 1 ? undefined : `twins must name a model of their own; it has ${shown(names)}`;
  }
  // Ollama lists a name with its tag, which may be left out, and Gemini with a folder.
  const listed = [model, `${model}:latest`, `models/${model}`];
  if (list.has_more === true || names.some((name) => listed.includes(name))) return undefined;
  return `it does not have the model; it has ${shown(names)}`;
}

/** The most names that a line can take. */
const maxShown = 10;

function shown(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const more = names.length > maxShown ? `, and ${names.length - maxShown} more` : "";
  return `${names.slice(0, maxShown).join(", ")}${more}`;
}

/** A short reason: the code of the cause, as `fetch` only says that it failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return "code" in cause ? String(cause.code) : cause.name;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
