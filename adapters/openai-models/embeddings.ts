/**
 * Vectors of texts, from the embeddings endpoint of a model's server: OpenAI, Ollama, vLLM, Text Embeddings Inference …
 *
 * @module
 */

import { type Clock, isWithin, systemClock } from "../../core/base/clock.ts";
import { sha256 } from "../../core/base/ids.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { consoleLog, type Log } from "../../core/base/log.ts";
import {
  clockRule,
  functionThat,
  logRule,
  objectWith,
  optional,
  type RulesFor,
  requireOptions,
  textRule,
} from "../../core/base/rules.ts";
import type { Embed } from "../../knowledge/mod.ts";
import { parseBounded, readText } from "../bounded-text.ts";
import { requireBaseUrl } from "./address.ts";
import { authorization } from "./request.ts";

/** Keeps vectors of twins' texts, never of questions, so that a text is sent once. A rejection counts as an outage. */
export interface EmbeddingCache {
  /** The vector that was kept under a digest. */
  load(digest: string): Promise<Float32Array | undefined>;
  save(digest: string, vector: Float32Array): Promise<void>;
}

/** Options of {@link createEmbeddings}. */
export interface EmbeddingsOptions {
  /** The API's address up to and including its version, as for `createOpenAIEngine`. */
  readonly baseUrl: string;
  /** Sent as a bearer token. Default: none is sent. */
  readonly apiKey?: string | undefined;
  /** The model that makes the vectors, such as `text-embedding-3-small` or `nomic-embed-text`. */
  readonly model: string;
  /** Default: vectors are kept in memory, with the twin that they belong to. */
  readonly cache?: EmbeddingCache | undefined;
  /** Default: the runtime's `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly clock?: Clock | undefined;
  /** Receives one warning for an outage. Default: the console. */
  readonly log?: Log | undefined;
}

const rules: RulesFor<EmbeddingsOptions> = {
  baseUrl: textRule,
  apiKey: optional(textRule),
  model: textRule,
  cache: optional(objectWith("a cache of vectors", "load", "save")),
  fetch: optional(functionThat("fetches an address")),
  clock: optional(clockRule),
  log: optional(logRule),
};

/** How long a request may take, in milliseconds: people wait for a question; a batch of sections takes a small machine a while. */
const requestMs = { question: 2_000, sections: 60_000 } as const;
/** The most numbers of a vector, and how many characters of Base64 have so many. */
const longestVector = 4_096;
const longestBase64 = 4 * Math.ceil((4 * longestVector) / 3);
/** The longest answer, in bytes, and its most values: 16 vectors have less than two million bytes, unless they are indented. */
const longestAnswer = { question: 1024 * 1024, sections: 8 * 1024 * 1024 } as const;
const mostValues = 100_000;
/** How long a server that failed is left alone, in milliseconds. */
const pauseMs = 15_000;
/** Statuses of servers that do not take a text: it is too long for the model, or odd. */
const refusals: ReadonlySet<number> = new Set([400, 413, 422]);

/** The server does not take these texts; it may take others. */
class RefusedTexts extends Error {
  override readonly name = "RefusedTexts";

  constructor(status: number) {
    super(`it refuses a text with the status ${status}`);
  }
}

/**
 * Creates what makes vectors of texts (`POST {baseUrl}/embeddings`), for `createOpenAIEngine` and `createKnowledgeEngine`. A
 * server that is away is asked again 15 seconds later; meanwhile, words alone decide.
 *
 * @example
 * ```ts
 * import { createEmbeddings } from "twin-service/embeddings";
 * import { createOpenAIEngine } from "twin-service/openai";
 *
 * const server = { baseUrl: "http://127.0.0.1:11434/v1" };
 * const embed = createEmbeddings({ ...server, model: "nomic-embed-text" });
 * const openai = createOpenAIEngine({ ...server, model: "llama3.2", embed });
 * ```
 *
 * @throws {TypeError} if the address, the key or another option can't be used or is unknown.
 */
export function createEmbeddings(options: EmbeddingsOptions): Embed {
  requireOptions("createEmbeddings", options, rules);
  const { model, cache, clock = systemClock, log = consoleLog } = options;
  const url = `${requireBaseUrl(options.baseUrl)}/embeddings`;
  const headers = {
    accept: "application/json",
    "content-type": "application/json",
    ...authorization(options.apiKey),
  };
  let failedAt = Number.NEGATIVE_INFINITY;
  let [warned, warnedOfTexts] = [false, false];

  /** Warns once an outage: until a question is answered again. And once of texts that are refused. */
  function warn(error: unknown): void {
    if (error instanceof RefusedTexts) {
      const message = "the embeddings of a model's server refuse a text, which is searched by words alone";
      log(warnedOfTexts ? "debug" : "warn", message, { model, error });
      warnedOfTexts = true;
      return;
    }
    const message = "the embeddings of a model's server are away: twins search by words alone";
    log(warned ? "debug" : "warn", message, { model, error });
    warned = true;
  }

  /** Asks the server. Undefined: it was away a moment ago. */
  async function ask(
    texts: readonly string[],
    of: keyof typeof requestMs,
  ): Promise<readonly Float32Array[] | undefined> {
    if (texts.length === 0) return [];
    if (isWithin(pauseMs, failedAt, clock.now())) return undefined;
    // Looked up at each call, so that a `fetch` that is replaced later is used, too.
    const fetch = options.fetch ?? globalThis.fetch;
    const controller = new AbortController();
    const callOff = clock.after(requestMs[of], () => controller.abort(new Error("it took too long")));
    // Sections are waited for, but the questions that need them are answered without.
    const callLate = clock.after(requestMs.question, () => warn(new Error("it takes more than two seconds")));
    try {
      const body = JSON.stringify({ model, input: texts, encoding_format: "float" });
      const { signal } = controller;
      const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
      if (!response.ok) {
        void response.body?.cancel().catch(() => undefined);
        throw refusals.has(response.status)
          ? new RefusedTexts(response.status)
          : new Error(`status ${response.status}`);
      }
      const text = await readText(response, longestAnswer[of]);
      if (text === undefined) throw new Error(`it answers with more than ${longestAnswer[of]} bytes`);
      const vectors = vectorsIn(parseBounded(text, mostValues), texts.length);
      if (of === "question") warned = false;
      return vectors;
    } finally {
      callOff();
      callLate();
    }
  }

  /** The vectors of a twin's sections: those that are kept, and of the others what the server says. */
  async function recall(texts: readonly string[]): Promise<readonly Float32Array[] | undefined> {
    const digests = texts.map((text) => sha256(`${model}\n${text}`));
    const vectors = await Promise.all(digests.map((digest) => cache?.load(digest)));
    const missing = texts.flatMap((_, at) => (vectors[at] ? [] : at));
    const asked = missing.map((at) => texts[at] ?? "");
    const made = await ask(asked, "sections");
    if (!made) return undefined;
    for (const [place, at] of missing.entries()) {
      vectors[at] = made[place];
      await cache?.save(digests[at] ?? "", made[place] ?? new Float32Array());
    }
    return vectors.filter((vector) => vector !== undefined);
  }

  return async (texts, of) => {
    try {
      return await (of === "question" ? ask(texts, of) : recall(texts));
    } catch (error) {
      // One text, which anybody may have written, keeps no other from being found.
      if (!(error instanceof RefusedTexts)) failedAt = clock.now();
      warn(error);
      return undefined;
    }
  };
}

/**
 * The vectors of an answer, in the order of the texts: OpenAI's `{data: [{index, embedding}]}`, Ollama's `{embeddings}`, or
 * a bare list, as Text Embeddings Inference has it. A vector is a list of numbers, or these in Base64.
 */
function vectorsIn(answer: unknown, count: number): readonly Float32Array[] {
  const { data, embeddings } = isJsonObject(answer) ? answer : { data: undefined, embeddings: answer };
  const items: unknown[] = Array.isArray(data) ? data : Array.isArray(embeddings) ? embeddings : [];
  if (items.length !== count) throw withoutVectors(); // before any is decoded
  const vectors = items.map((): Float32Array => new Float32Array());
  for (const [place, item] of items.entries()) {
    const at = isJsonObject(item) && Number.isSafeInteger(item.index) ? Number(item.index) : place;
    if (vectors[at]?.length === 0) vectors[at] = toVector(isJsonObject(item) ? item.embedding : item);
  }
  const length = vectors[0]?.length ?? 0;
  const areVectors = vectors.every((vector) => vector.length === length && vector.every(Number.isFinite));
  if (length === 0 || !areVectors) throw withoutVectors();
  return vectors;
}

function withoutVectors(): Error {
  return new Error("it does not answer with a vector for each text");
}

/** The numbers of a vector. Without any: it is none, or too long. */
function toVector(value: unknown): Float32Array {
  if (typeof value === "string" && value.length <= longestBase64) {
    const bytes = Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
    return new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4));
  }
  const numbers: unknown[] = Array.isArray(value) && value.length <= longestVector ? value : [];
  return Float32Array.from(numbers, (number) => (typeof number === "number" ? number : Number.NaN));
}
