/**
 * Requests to a server that is already running.
 *
 * @module
 */

import type { VisitOptions } from "./options.ts";

/** The longest wait for one answer, in milliseconds: longer than a server lets a reply take, unless it is told otherwise. */
const answerMs = 330_000;

/** An answer that reports an error. */
export class Refused extends Error {
  readonly status: number;

  constructor(what: string, status: number, body: string) {
    super(`${what} answered ${status}, ${told(body)}`);
    this.status = status;
  }
}

/** What a request may have. */
export interface QuestionOptions {
  readonly body?: unknown;
  /** Abandons the answer. */
  readonly signal?: AbortSignal;
}

/** A request to the server. */
interface Question extends QuestionOptions {
  readonly method: string;
  readonly path: string;
}

/** Sends a request. If the server cannot be reached, throws an error with its address. */
export async function ask({ url, key }: VisitOptions, { method, path, body, signal }: Question) {
  const root = url.replace(/\/+$/, "").replace(/\/api\/v1$/, "");
  if (!/^https?:\/\//i.test(root) || !URL.canParse(root))
    throw new Error(`--url must be an address such as http://127.0.0.1:8787, not ${url}.`);
  try {
    return await fetch(`${root}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      signal: AbortSignal.any([AbortSignal.timeout(answerMs), ...(signal ? [signal] : [])]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw new Error(`No answer from ${root}: ${reasonOf(error)}`);
  }
}

/** fetch hides the reason in a cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause = error } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message.trim() : JSON.stringify(cause);
}

/** The code and message of an error, or the beginning of the body if it has another form. */
export function told(body: string): string {
  try {
    const { code, message } = JSON.parse(body).error;
    return `${code}: ${message}`;
  } catch {
    return body.slice(0, 300);
  }
}

/** Sends a request and returns the answer's data. */
export type Caller = <Data>(method: string, path: string, options?: QuestionOptions) => Promise<Data>;

/** Creates the caller for a server. */
export function createCaller(options: VisitOptions): Caller {
  return async <Data>(method: string, path: string, more: QuestionOptions = {}): Promise<Data> => {
    const response = await ask(options, { method, path, ...more });
    const text = await response.text();
    if (!response.ok) throw new Refused(`${method} ${path}`, response.status, text);
    if (response.status === 204) return undefined as Data;
    const data = dataIn(text);
    if (data === undefined)
      throw new Error(`${method} ${path} got an answer that is not this API's: ${text.slice(0, 80)}`);
    return data as Data;
  };
}

function dataIn(text: string): unknown {
  try {
    return JSON.parse(text).data;
  } catch {
    return undefined;
  }
}
