/**
 * Public keys from a JWKS address (RFC 7517 section 5), fetched when needed and kept for a while.
 *
 * @module
 */

import type { CryptoKey, JWK } from "jose";
import { type Clock, isWithin, within } from "../base/clock.ts";
import { yieldThread } from "../base/in-parts.ts";
import { isJsonObject, isString, measureJson } from "../base/json.ts";
import type { Log } from "../base/log.ts";
import { ApiError } from "../wire/errors.ts";
import { asymmetricAlgorithms, createKeyFinder, type KeyFinder, type KeyHint } from "./public-key.ts";

/** What a {@link JwksSource} needs. */
export interface JwksOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/** Keys are fetched again after this time, so that a withdrawn one is noticed. */
const refreshAfterMs = 600_000;
/** Keys stay usable for this time while the address is down. */
const usableForMs = 3_600_000;
/** The shortest time between two fetches because of unknown keys or failures. */
const pauseMs = 30_000;
const timeoutMs = 3_000;
const maxBytes = 512 * 1024;
/** The most values of a document: a thousand keys. Each token looks through all keys. */
const maxValues = 20_000;
/** After how many pieces others have the thread. */
const piecesAtOnce = 500;

/**
 * Whether a text is an address that keys can be fetched from. It must have no user or password: not every runtime
 * fetches such addresses, and some put them into their errors.
 */
export function isJwksUrl(text: unknown): boolean {
  const url = isString(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

interface KeySet {
  readonly find: KeyFinder;
  readonly kids: ReadonlySet<unknown>;
  readonly fetchedAt: number;
}

/**
 * The keys of a JWKS document, fetched at its first use. Fetches never run side by side, and not more than once in 30
 * seconds for keys that are not in the document or after a failure.
 */
export class JwksSource {
  readonly algorithms: readonly string[] = asymmetricAlgorithms;
  readonly #options: JwksOptions;
  #current: KeySet | undefined;
  #attempt: { readonly at: number; failed: boolean } | undefined;
  #flight: Promise<void> | undefined;

  constructor(options: JwksOptions) {
    this.#options = options;
  }

  /** The keys at hand that may have signed the token. */
  async find(hint: KeyHint): Promise<readonly CryptoKey[]> {
    const { clock } = this.#options;
    if (!this.#current || !isWithin(refreshAfterMs, this.#current.fetchedAt, clock.now())) {
      await this.#refreshIfDue();
    }
    if (!this.#current || clock.now() - this.#current.fetchedAt >= usableForMs) throw this.#unavailable();
    return this.#current.find(hint);
  }

  /** The keys that may have signed the token, after asking the address again. To be tried if those at hand did not fit. */
  async findNewer(hint: KeyHint): Promise<readonly CryptoKey[]> {
    await this.#refreshIfDue(); // also for a key that is known: some issuers put a new one in its place
    const isKnown = hint.kid !== undefined && this.#current?.kids.has(hint.kid);
    // The address might have the missing key, if it could be reached.
    if (!this.#current || (this.#attempt?.failed && !isKnown)) throw this.#unavailable();
    return this.#current.find(hint);
  }

  async #refreshIfDue(): Promise<void> {
    if (!this.#flight && this.#pauseLeft() > 0) return;
    this.#flight ??= this.#fetchAnew().finally(() => {
      this.#flight = undefined;
    });
    await this.#flight;
  }

  async #fetchAnew(): Promise<void> {
    const { url, clock, log } = this.#options;
    const attempt = { at: clock.now(), failed: false };
    this.#attempt = attempt;
    try {
      const keys = await fetchKeys(this.#options);
      const kids = new Set(keys.map(({ kid }) => kid));
      this.#current = { find: createKeyFinder(keys, log), kids, fetchedAt: attempt.at };
    } catch (error) {
      attempt.failed = true;
      const { origin, pathname } = new URL(url); // a query may hold a secret
      log("warn", "fetching the JWKS document failed", { url: origin + pathname, error });
    }
  }

  /** Milliseconds until the address may be asked again. */
  #pauseLeft(): number {
    const elapsed = this.#attempt ? this.#options.clock.now() - this.#attempt.at : pauseMs;
    // A clock that was set back must not lengthen the pause: how much of it has passed is unknown.
    return elapsed < 0 ? 0 : Math.max(0, pauseMs - elapsed);
  }

  #unavailable(): ApiError {
    const seconds = Math.max(1, Math.ceil(this.#pauseLeft() / 1000));
    return new ApiError("unavailable", "Tokens cannot be verified right now; try again later.", {
      headers: { "Retry-After": String(seconds) },
    });
  }
}

async function fetchKeys(options: JwksOptions): Promise<JWK[]> {
  const controller = new AbortController();
  const text = await within(options.clock, timeoutMs, download(options, controller.signal));
  if (text === undefined) {
    const error = new Error(`no answer within ${timeoutMs} ms`);
    controller.abort(error);
    throw error;
  }
  if (measureJson(text).values > maxValues) throw new Error(`more than ${maxValues} values`);
  const document: unknown = JSON.parse(text);
  if (!isJsonObject(document) || !Array.isArray(document.keys)) throw new Error("no JWKS document");
  return document.keys.filter(isJsonObject); // keys of an unknown kind are to be ignored (RFC 7517 section 5)
}

async function download({ url, fetch, log }: JwksOptions, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, {
    headers: { Accept: "application/jwk-set+json, application/json" },
    redirect: "manual", // only the operator decides where keys come from
    signal,
  });
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel();
    throw new Error(`status ${response.status}`);
  }
  return await readCapped(response.body.getReader(), signal, log);
}

async function readCapped(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal,
  log: Log,
): Promise<string> {
  // On Node 20, aborting the fetch does not always reach a body that is being read.
  const onAbort = () => {
    reader.cancel(signal.reason).catch((error: unknown) => {
      log("debug", "the JWKS answer had ended before it was cut off", { error });
    });
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let [size, pieces] = [0, 0];
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      size += part.value.byteLength;
      if (size > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
      text += decoder.decode(part.value, { stream: true });
      if (++pieces % piecesAtOnce === 0) await yieldThread();
    }
    return text + decoder.decode();
  } catch (error) {
    if (!signal.aborted) await reader.cancel(error);
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
