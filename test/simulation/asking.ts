/**
 * How the simulation's clients ask a process, which may die before it answers.
 */

import type { Answer } from "../../core/mod.ts";
import type { Process } from "./processes.ts";
import type { World } from "./world.ts";

export interface Asking {
  readonly body?: unknown;
  /** A body that is Markdown. */
  readonly text?: string;
  readonly headers?: Record<string, string>;
  /** Milliseconds after which the client leaves. */
  readonly patience?: number;
}

/** Asks a process. Undefined: it died before it answered, the client left, or no process was up. */
export type Ask = (
  process: Process | undefined,
  method: string,
  path: string,
  options?: Asking,
) => Promise<Answer | undefined>;

export interface ErrorBody {
  readonly code: string;
  readonly details?: { readonly messageId?: string };
}

/** `credential`: header fields of each request. */
export function createAsk(world: World, credential: Readonly<Record<string, string>>): Ask {
  return async (process, method, path, options = {}) => {
    if (!process?.alive()) return undefined;
    const headers = new Headers({ ...credential, ...options.headers });
    const client = new AbortController();
    const body = options.text ?? (options.body ? JSON.stringify(options.body) : undefined);
    if (body) headers.set("Content-Type", options.text ? "text/markdown" : "application/json");
    const request = {
      method,
      url: `/api/v1${path}`,
      headers,
      body: body ? bytesOf(body) : null,
      signal: client.signal,
    };
    await Promise.race([process.awake(), process.died]);
    if (!process.alive()) return undefined;
    world.trace(`client ${method} ${path}`);
    let answer: Answer | undefined;
    const answering = process.service.answer(request).then(async (given) => {
      answer = given.headers["Content-Type"]?.startsWith("application/json") ? await wholeOf(given) : given;
    });
    const waits: Promise<unknown>[] = [answering, process.died];
    const { patience } = options;
    if (patience !== undefined) waits.push(world.pause(patience).then(() => client.abort()));
    await Promise.race(waits);
    if (!answer || !process.alive() || client.signal.aborted) return undefined;
    world.trace(`client got ${answer.status}`);
    if (answer.status === 500 || answer.status === 401 || answer.status === 429) {
      world.violate(`${method} ${path} was answered ${answer.status} ${answer.body}`);
    }
    return answer;
  };
}

/** An answer whose long text came in pieces, with all of it. */
async function wholeOf(answer: Answer): Promise<Answer> {
  const { body } = answer;
  if (body === null || typeof body === "string" || body instanceof Uint8Array) return answer;
  let text = "";
  let wake = () => {};
  body.wake(() => wake());
  for (;;) {
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const piece = body.next();
    text += piece?.text ?? "";
    if (piece?.last) break;
    if (!piece) await woken;
  }
  body.close();
  body.memory.release();
  return { ...answer, body: text };
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

export function keyHeader(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { "Idempotency-Key": key };
}

export function dataOf<Data>(answer: Answer): Data {
  return (JSON.parse(String(answer.body)) as { data: Data }).data;
}

export function errorOf(answer: Answer): ErrorBody {
  return (JSON.parse(String(answer.body)) as { error: ErrorBody }).error;
}
