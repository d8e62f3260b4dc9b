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
}

/** Visits a server and returns the figures as text. `progress` is told of them in between. */
export async function visit(options: VisitOptions, progress: (line: string) => void): Promise<string> {
  const { seconds, streams, twin, content } = options;
  const call = createCaller(options);
  const twinId = twin ?? (await call<{ id: string }[]>("GET", "/twins?limit=1"))[0]?.id;
  if (twinId === undefined) throw new Error("The key sees no twin.");
  const { remaining } = await call<{ remaining: number }>("GET", "/usage");
  let budget = remaining - requestsLeftAlone - 2 * streams;
  if (budget < 1) throw new Error(`The key has ${remaining} requests left: too few. Wait, or take another.`);

  const conversations = await Promise.all(
    Array.from({ length: streams }, () => call<{ id: string }>("POST", "/conversations", { twinId })),
  );
  const seen: Seen = { firstTokens: [], gaps: [], replies: 0, characters: 0 };
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  const timer = setInterval(() => progress(`${elapsed().toFixed(0)} s: ${seen.replies} replies`), 500);
  try {
    await Promise.all(
      conversations.map(async ({ id }) => {
        while (elapsed() < seconds && budget-- > 0) await readReply(options, id, content, seen);
      }),
    );
    return report(seen, elapsed(), twinId, options);
  } finally {
    clearInterval(timer);
    await Promise.all(conversations.map(({ id }) => call("DELETE", `/conversations/${id}`)));
  }
}

function createCaller({ url, key }: VisitOptions) {
  return async <Data>(method: string, path: string, body?: unknown): Promise<Data> => {
    const response = await fetch(`${url.replace(/\/$/, "")}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 300)}`);
    return text === "" ? (undefined as Data) : JSON.parse(text).data;
  };
}

async function readReply({ url, key }: VisitOptions, id: string, content: string, seen: Seen): Promise<void> {
  const sentAt = performance.now();
  const response = await fetch(`${url.replace(/\/$/, "")}/api/v1/conversations/${id}/messages/stream`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ content }),
    signal: AbortSignal.timeout(replyMs),
  });
  if (!response.ok || !response.body) {
    throw new Error(`A send answered ${response.status}: ${(await response.text()).slice(0, 300)}`);
  }
  let lastAt: number | undefined;
  let text = "";
  let stored: string | undefined;
  const parser = createParser({
    onEvent({ data }) {
      const event = JSON.parse(data);
      if (event.type === "error") throw new Error(`A reply failed: ${event.error?.code}`);
      if (event.type === "complete") stored = event.message.content;
      if (event.type !== "delta") return;
      const now = performance.now();
      if (lastAt === undefined) seen.firstTokens.push(now - sentAt);
      else seen.gaps.push(now - lastAt);
      lastAt = now;
      text += event.content;
    },
  });
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) parser.feed(piece);
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
    ["time to first token, p50 / p99", `${quantiles(seen.firstTokens)} ms`],
    ["gap between deltas, p50 / p99", `${quantiles(seen.gaps)} ms`],
  ];
  return rows.map(([name, value]) => `${name.padEnd(32)} ${value}`).join("\n");
}

function quantiles(values: readonly number[]): string {
  return `${median(values).toFixed(1)} / ${percentile(values, 0.99).toFixed(1)}`;
}
