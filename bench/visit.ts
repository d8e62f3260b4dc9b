/**
 * Measures a server that runs already, with an ordinary key: time to first token, gaps between tokens, and what
 * goes through. It makes conversations of its own, and deletes them at the end.
 *
 * @module
 */

import { createParser } from "eventsource-parser";
import { median, percentile } from "./spread.ts";

/** Options of {@link visit}. */
export interface VisitOptions {
  /** The server's address, with its base path if it has one, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** A key with the scope `full_access`. */
  readonly key: string;
  /** A twin's id. Default: the first one of the list. */
  readonly twin?: string | undefined;
  /** No reply is begun after this many seconds. */
  readonly seconds: number;
  /** How many conversations at once. */
  readonly streams: number;
  readonly content: string;
}

/** How many requests of the key's hourly budget a visit leaves alone. */
const requestsLeftAlone = 20;

/** The longest wait for one reply, in milliseconds. */
const replyMs = 120_000;

interface Seen {
  readonly firstTokens: number[];
  readonly gaps: number[];
  replies: number;
  characters: number;
  /** Whether the key's budget was used up before the time was. */
  outOfBudget: boolean;
}

/** An answer that tells of an error. */
class Refused extends Error {
  readonly status: number;

  constructor(what: string, status: number, body: string) {
    super(`${what} answered ${status}, ${told(body)}`);
    this.status = status;
  }
}

/** Visits a server and returns the figures as text. `progress` is told of them in between. */
export async function visit(options: VisitOptions, progress: (line: string) => void): Promise<string> {
  const { seconds, streams, twin, content } = options;
  const call = createCaller(options);
  const usage = await call<Usage>("GET", "/usage"); // costs nothing
  let budget = usage.remaining - requestsLeftAlone - 2 * streams - 1;
  if (budget < 1) throw new Error(tooFewRequests(usage, 1 - budget));
  const twinId = twin ?? (await call<{ id: string }[]>("GET", "/twins?limit=1"))[0]?.id;
  if (twinId === undefined) throw new Error("The key sees no twin.");

  const seen: Seen = { firstTokens: [], gaps: [], replies: 0, characters: 0, outOfBudget: false };
  const conversations: string[] = [];
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  const tell = () => {
    const first = seen.replies > 0 ? `, first token p50 ${median(seen.firstTokens).toFixed(1)} ms` : "";
    progress(`${elapsed().toFixed(0)} s: ${seen.replies} replies${first}`);
  };
  const timer = setInterval(tell, 500);
  try {
    await Promise.all(
      Array.from({ length: streams }, async () => {
        const { id } = await call<{ id: string }>("POST", "/conversations", { twinId });
        conversations.push(id);
        while (elapsed() < seconds && !seen.outOfBudget) {
          if (budget-- > 0) await readReply(options, id, content, seen).catch(endsAtLimit);
          else seen.outOfBudget = true;
        }
      }),
    );
    return report(seen, elapsed(), twinId, options);
  } finally {
    clearInterval(timer);
    // What went wrong before is what there is to tell.
    await Promise.allSettled(conversations.map((id) => call("DELETE", `/conversations/${id}`)));
  }

  function endsAtLimit(error: unknown): void {
    if (!(error instanceof Refused) || error.status !== 429) throw error;
    seen.outOfBudget = true;
  }
}

/** A key's bucket, as `GET /usage` tells it. */
interface Usage {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: string;
}

function tooFewRequests({ limit, remaining, resetAt }: Usage, missing: number): string {
  const needed = `The key has ${remaining} requests left, and ${remaining + missing} are needed`;
  if (remaining + missing > limit)
    return `${needed}, more than its ${limit} an hour: ask for fewer --streams.`;
  const secondsEach = (Date.parse(resetAt) - Date.now()) / 1000 / (limit - remaining);
  return `${needed}: wait ${Math.max(1, Math.ceil(missing * secondsEach))} s, or take another key.`;
}

/** Asks the server. Throws with its address where it cannot be reached. */
async function ask({ url, key }: VisitOptions, method: string, path: string, body?: unknown) {
  const root = url.replace(/\/+$/, "").replace(/\/api\/v1$/, "");
  if (!URL.canParse(root))
    throw new Error(`--url must be an address such as http://127.0.0.1:8787, not ${url}.`);
  try {
    return await fetch(`${root}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      signal: AbortSignal.timeout(replyMs),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw new Error(`There is no answer from ${root}: ${reasonOf(error)}`);
  }
}

/** fetch hides the reason in a cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause = error } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message.trim() : JSON.stringify(cause);
}

/** An error answer's code and message, or its beginning if it is none of ours. */
function told(body: string): string {
  try {
    const { code, message } = JSON.parse(body).error;
    return `${code}: ${message}`;
  } catch {
    return body.slice(0, 300);
  }
}

function createCaller(options: VisitOptions) {
  return async <Data>(method: string, path: string, body?: unknown): Promise<Data> => {
    const response = await ask(options, method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Refused(`${method} ${path}`, response.status, text);
    return text === "" ? (undefined as Data) : JSON.parse(text).data;
  };
}

async function readReply(options: VisitOptions, id: string, content: string, seen: Seen): Promise<void> {
  const sentAt = performance.now();
  const response = await ask(options, "POST", `/conversations/${id}/messages/stream`, { content });
  if (!response.ok || !response.body) throw new Refused("A send", response.status, await response.text());
  let lastAt: number | undefined;
  let text = "";
  let stored: string | undefined;
  const parser = createParser({
    onEvent({ data }) {
      const event = JSON.parse(data);
      if (event.type === "error") throw new Error(`A reply failed: ${told(data)}`);
      if (event.type === "complete") stored = event.message.content;
      if (event.type !== "delta") return;
      const now = performance.now();
      if (lastAt === undefined) seen.firstTokens.push(now - sentAt);
      else seen.gaps.push(now - lastAt);
      lastAt = now;
      text += event.content;
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const piece of response.body) parser.feed(decoder.decode(piece, { stream: true }));
  } catch (error) {
    throw new Error(`A stream broke off after ${seen.replies} whole replies: ${reasonOf(error)}`);
  }
  if (text !== stored) throw new Error("A reply's deltas, joined, are not its final message.");
  seen.replies++;
  seen.characters += text.length;
}

function report(seen: Seen, seconds: number, twin: string, { streams }: VisitOptions): string {
  const rows: [string, string][] = [
    ["twin, streams at once", `${twin}, ${streams}`],
    ["replies, all checked", String(seen.replies)],
    ["replies a second", (seen.replies / seconds).toFixed(1)],
    ["characters a second", (seen.characters / seconds).toFixed(0)],
    ["time to first token, p50 / p99", quantiles(seen.firstTokens)],
    ["gap between deltas, p50 / p99", quantiles(seen.gaps)],
  ];
  if (seen.outOfBudget)
    rows.push(["ended early", `after ${seconds.toFixed(0)} s the key's hourly budget was used up`]);
  return rows.map(([name, value]) => `${name.padEnd(32)} ${value}`).join("\n");
}

function quantiles(values: readonly number[]): string {
  if (values.length === 0) return "none";
  return `${median(values).toFixed(1)} / ${percentile(values, 0.99).toFixed(1)} ms`;
}
