/**
 * A guard that asks a model whether a text may be told: the moderations endpoint of OpenAI, Mistral and others.
 *
 * @module
 */

import { type Clock, systemClock } from "../../core/base/clock.ts";
import { isJsonObject } from "../../core/base/json.ts";
import {
  clockRule,
  functionThat,
  optional,
  type RulesFor,
  requireOptions,
  textRule,
} from "../../core/base/rules.ts";
import type { Turn } from "../../core/twins/engine.ts";
import type { Guard, Verdict } from "../../core/twins/guard.ts";
import { parseBounded, readText } from "../bounded-text.ts";
import { requireBaseUrl } from "./address.ts";
import { authorization } from "./request.ts";

/** Options of {@link createModeration}. */
export interface ModerationOptions {
  /** The API's address up to and including its version, as for `createOpenAIEngine`. */
  readonly baseUrl: string;
  /** Sent as a bearer token. Default: none is sent. */
  readonly apiKey?: string | undefined;
  /** The model that decides, such as `omni-moderation-latest`. */
  readonly model: string;
  /** What stops a reply says. Default: a sentence in the twin's language. */
  readonly refusal?: ((turn: Turn) => string) | undefined;
  /** How much is asked about at once: a sentence, the default, or the whole reply, which is then told at its end. */
  readonly hold?: Guard["hold"];
  /** Default: the runtime's `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly clock?: Clock | undefined;
}

const rules: RulesFor<ModerationOptions> = {
  baseUrl: textRule,
  apiKey: optional(textRule),
  model: textRule,
  refusal: optional(functionThat("says what stops a reply")),
  hold: optional({
    expected: "sentence or reply",
    accepts: (value) => value === "sentence" || value === "reply",
  }),
  fetch: optional(functionThat("fetches an address")),
  clock: optional(clockRule),
};

/** How long an answer may take, with all tries: a little less than a guard may. */
const answerMs = 9_500;
/** How often a server that is busy, or away for a moment, is asked again, and the pause before, in milliseconds. */
const mostRetries = 2;
const pauseMs = 300;
/** The longest answer, in bytes: one has a few dozen numbers. */
const longestAnswer = 64 * 1024;

/**
 * Creates a guard that asks a model (`POST {baseUrl}/moderations`) about each question, and about each sentence of a reply. What it
 * has `flagged` stops the reply. A server that does not answer fails the reply: nothing is told unchecked.
 *
 * @example
 * ```ts
 * import { createService, createTwinList } from "twin-service";
 * import { createModeration } from "twin-service/moderation";
 *
 * const server = { baseUrl: "https://api.openai.com/v1", apiKey };
 * const guard = createModeration({ ...server, model: "omni-moderation-latest" });
 * const service = createService({ twins: createTwinList([]), guard });
 * ```
 *
 * @throws {TypeError} if the address, the key or another option can't be used or is unknown.
 */
export function createModeration(options: ModerationOptions): Guard {
  requireOptions("createModeration", options, rules);
  const { model, refusal = refusalInItsLanguage, hold, clock = systemClock } = options;
  const url = `${requireBaseUrl(options.baseUrl)}/moderations`;
  const headers = {
    accept: "application/json",
    "content-type": "application/json",
    ...authorization(options.apiKey),
  };

  /** Asks once. Undefined: asking again may help. */
  async function ask(input: string, signal: AbortSignal): Promise<boolean | undefined> {
    // Looked up at each call, so that a `fetch` that is replaced later is used, too.
    const fetch = options.fetch ?? globalThis.fetch;
    const body = JSON.stringify({ model, input });
    const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
    if (!response.ok) {
      void response.body?.cancel().catch(() => undefined);
      if (response.status === 429 || response.status >= 500) return undefined;
      throw new Error(`The moderation of a model's server answers with the status ${response.status}.`);
    }
    const text = await readText(response, longestAnswer);
    return text === undefined ? unusable() : isFlagged(text);
  }

  async function isRefused(input: string): Promise<boolean> {
    const controller = new AbortController();
    const callOff = clock.after(answerMs, () => controller.abort(new Error("it took too long")));
    try {
      for (let retries = 0; ; retries++) {
        const flagged = await ask(input, controller.signal).catch((error: unknown) => {
          if (error instanceof TypeError && retries < mostRetries) return undefined; // the connection broke
          throw error;
        });
        if (flagged !== undefined) return flagged;
        if (retries === mostRetries) throw new Error("The moderation of a model's server is busy, or away.");
        await pause(pauseMs * 2 ** retries, controller.signal);
      }
    } finally {
      callOff();
    }
  }

  function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const callOff = clock.after(milliseconds, resolve);
      signal.addEventListener("abort", () => {
        callOff();
        reject(signal.reason);
      });
    });
  }

  async function judge(text: string, turn: Turn): Promise<Verdict> {
    return (await isRefused(text)) ? { stop: await refusal(turn) } : undefined;
  }

  return { input: judge, output: judge, hold };
}

/** Loaded at the first refusal, with all that knows languages. */
async function refusalInItsLanguage({ twin }: Turn): Promise<string> {
  const { refusalOf } = await import("../../knowledge/mod.ts");
  return refusalOf(twin);
}

/** Whether any of an answer's results is flagged. */
function isFlagged(text: string): boolean {
  const answer = parseBounded(text);
  const results: unknown[] = isJsonObject(answer) && Array.isArray(answer.results) ? answer.results : [];
  if (results.length === 0) return unusable();
  const flags = results.map((result) => (isJsonObject(result) ? flagOf(result) : unusable()));
  return flags.includes(true);
}

/** OpenAI's `flagged`; Mistral says it by category alone. What is no boolean, such as a score, is not understood. */
function flagOf({ flagged, categories }: Readonly<Record<string, unknown>>): boolean {
  if (typeof flagged === "boolean") return flagged;
  const found = isJsonObject(categories) && flagged === undefined ? Object.values(categories) : [];
  if (found.includes(true)) return true;
  return found.length > 0 && found.every((value) => value === false) ? false : unusable();
}

function unusable(): never {
  throw new Error("The moderation of a model's server answers with something else than results.");
}
