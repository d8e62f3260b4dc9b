/**
 * Measures a server that is already running, with an ordinary key: time to first token, gaps between tokens, and
 * throughput. It creates its own conversations, and deletes them at the end, however it ends.
 *
 * @module
 */

import { createParser } from "eventsource-parser";
import { messageOf } from "./errors.ts";
import { median, percentile } from "./spread.ts";

/** Options of {@link visit}. */
export interface VisitOptions {
  /** The server's address, with its base path if it has one, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** A key with the scope `full_access`. */
  readonly key: string;
  /** A twin's id. Default: the first one in the list. */
  readonly twin?: string | undefined;
  /** No reply is begun after this many seconds. */
  readonly seconds: number;
  /** How many conversations run at once. */
  readonly streams: number;
  readonly content: string;
  /** Ends the visit early: running replies are abandoned. */
  readonly stop: AbortSignal;
}

/** How many requests of the key's hourly budget a visit does not touch. */
const requestsToLeave = 20;

/** The longest wait for one answer, in milliseconds: longer than a server lets a reply take, unless it is told otherwise. */
const answerMs = 330_000;

/** From this share of a core on, the visitor itself may be what is measured. */
const busy = 0.7;

interface Seen {
  readonly firstTokens: number[];
  readonly gaps: number[];
  replies: number;
  characters: number;
  /** Whether the key's budget was used up before the time was. */
  outOfBudget: boolean;
}

/** How a visit ended. */
interface End {
  /** How long it took, in seconds. */
  readonly seconds: number;
  /** The CPU time that the visitor itself took, as a share of a core. */
  readonly load: number;
  /** Why it ended early. */
  readonly early: string | undefined;
  /** What it could not delete, and why. */
  readonly left: string | undefined;
}

/** An answer that reports an error. */
class Refused extends Error {
  readonly status: number;

  constructor(what: string, status: number, body: string) {
    super(`${what} answered ${status}, ${told(body)}`);
    this.status = status;
  }
}

/**
 * Visits a server and returns the figures as text. `progress` gets those so far, every half second.
 *
 * @throws {Error} that says what went wrong, at the first reply that is not as it should be.
 */
export async function visit(options: VisitOptions, progress: (line: string) => void): Promise<string> {
  const { seconds, streams, stop } = options;
  const call = createCaller(options);
  const usage = await call<Usage>("GET", "/usage", { signal: stop }); // costs nothing
  let budget = usage.remaining - requestsToLeave - 2 * streams - 1;
  if (budget < 1) throw new Error(tooFewRequests(usage, 1 - budget));
  const twinId = options.twin ?? (await firstTwin(call, stop));

  const seen: Seen = { firstTokens: [], gaps: [], replies: 0, characters: 0, outOfBudget: false };
  const conversations: string[] = [];
  const failure = new AbortController();
  const end = AbortSignal.any([stop, failure.signal]);
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  const timer = setInterval(() => progress(summary(seen, elapsed())), 500);
  // Nothing is deleted before all of them have ended: until then, they may still create conversations.
  await Promise.all(Array.from({ length: streams }, () => converse().catch((error) => failure.abort(error))));
  clearInterval(timer);
  const { user, system } = process.cpuUsage(cpuBefore);
  const load = (user + system) / 1e6 / elapsed();
  const ended = { seconds: elapsed(), load, early: reasonToEnd(stop, seen) };
  const left = await deleteAll(call, conversations);
  if (failure.signal.aborted)
    throw new Error(`${messageOf(failure.signal.reason)}${left ? `\n${left}` : ""}`);
  return report(seen, { ...ended, left }, twinId, options);

  async function converse(): Promise<void> {
    if (end.aborted) return;
    // Not abandoned: without its id, a conversation that was created all the same could not be deleted.
    const { id } = await call<{ id: string }>("POST", "/conversations", { body: { twinId } });
    conversations.push(id);
    while (elapsed() < seconds && !end.aborted && !seen.outOfBudget) {
      if (budget-- > 0) await readReply(options, id, seen, end).catch(endsEarly);
      else seen.outOfBudget = true;
    }
  }

  function endsEarly(error: unknown): void {
    if (end.aborted) return;
    if (!(error instanceof Refused) || error.status !== 429) throw error;
    seen.outOfBudget = true;
  }
}

async function firstTwin(call: Caller, signal: AbortSignal): Promise<string> {
  const [twin] = await call<{ id: string }[]>("GET", "/twins?limit=1", { signal });
  if (!twin) throw new Error("There is no twin that this key may use.");
  return twin.id;
}

function summary({ replies, firstTokens }: Seen, seconds: number): string {
  const first = firstTokens.length > 0 ? `, first token p50 ${median(firstTokens).toFixed(1)} ms` : "";
  return `${seconds.toFixed(0)} s: ${replies} replies${first}`;
}

function reasonToEnd(stop: AbortSignal, { outOfBudget }: Seen): string | undefined {
  if (stop.aborted) return "stopped by a signal";
  return outOfBudget ? "the key's hourly budget was used up" : undefined;
}

/** Deletes conversations. Returns what to report about those that could not be deleted. */
async function deleteAll(call: Caller, ids: readonly string[]): Promise<string | undefined> {
  const failures: unknown[] = [];
  const remove = (id: string) =>
    call("DELETE", `/conversations/${id}`).catch((error) => void failures.push(error));
  await Promise.all(ids.map(remove));
  if (failures.length === 0) return undefined;
  return `${failures.length} of ${ids.length} conversations could not be deleted: ${messageOf(failures[0])}`;
}

/** A key's bucket, as `GET /usage` returns it. */
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
  return `${needed}: wait ${Math.max(1, Math.ceil(missing * secondsEach))} s, or use another key.`;
}

interface QuestionOptions {
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
async function ask({ url, key }: VisitOptions, { method, path, body, signal }: Question) {
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
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause = error } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message.trim() : JSON.stringify(cause);
}

/** The code and message of an error, or the beginning of the body if it has another form. */
function told(body: string): string {
  try {
    const { code, message } = JSON.parse(body).error;
    return `${code}: ${message}`;
  } catch {
    return body.slice(0, 300);
  }
}

/** Sends a request and returns the answer's data. */
type Caller = <Data>(method: string, path: string, options?: QuestionOptions) => Promise<Data>;

function createCaller(options: VisitOptions): Caller {
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

async function readReply(options: VisitOptions, id: string, seen: Seen, signal: AbortSignal): Promise<void> {
  const sentAt = performance.now();
  const body = { content: options.content };
  const path = `/conversations/${id}/messages/stream`;
  const response = await ask(options, { method: "POST", path, body, signal });
  if (!response.ok || !response.body) throw new Refused("A send", response.status, await response.text());
  let lastAt: number | undefined;
  let text = "";
  let stored: string | undefined;
  let failed: string | undefined;
  const parser = createParser({
    onEvent({ data }) {
      const event = JSON.parse(data);
      if (event.type === "error") failed = told(data);
      if (event.type === "complete") stored = event.message.content;
      if (event.type !== "delta") return;
      const now = performance.now();
      if (lastAt === undefined) seen.firstTokens.push(now - sentAt);
      else seen.gaps.push(now - lastAt);
      lastAt = now;
      text += event.content;
      seen.characters += event.content.length;
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const piece of response.body) parser.feed(decoder.decode(piece, { stream: true }));
  } catch (error) {
    throw new Error(`A stream broke off after ${seen.replies} complete replies: ${reasonOf(error)}`);
  }
  if (failed !== undefined) throw new Error(`A reply failed: ${failed}`);
  if (text !== stored) throw new Error("A reply's deltas, joined, are not its final message.");
  seen.replies++;
}

const busyNote = ": the figures may be its limit, so ask for fewer --streams";

function report(seen: Seen, end: End, twin: string, { streams }: VisitOptions): string {
  const { seconds, load, early, left } = end;
  const rows: [string, string][] = [
    ["twin, streams at once", `${twin}, ${streams}`],
    ["replies, all checked", String(seen.replies)],
    ["replies a second", (seen.replies / seconds).toFixed(1)],
    ["characters a second", (seen.characters / seconds).toFixed(0)],
    [`time to first token, ${quantileNames(seen.firstTokens)}`, quantiles(seen.firstTokens)],
    [`gap between deltas, ${quantileNames(seen.gaps)}`, quantiles(seen.gaps)],
    ["CPU of the benchmark itself", `${Math.round(load * 100)} % of a core${load > busy ? busyNote : ""}`],
  ];
  if (early) rows.push(["ended early", `after ${seconds.toFixed(0)} s: ${early}`]);
  if (left) rows.push(["left behind", left]);
  return rows.map(([name, value]) => `${name.padEnd(32)} ${value}`).join("\n");
}

/** Below a hundred values, the 99th percentile is the highest of them. */
function quantileNames(values: readonly number[]): string {
  return `p50 / ${values.length < 100 ? "highest" : "p99"}`;
}

function quantiles(values: readonly number[]): string {
  if (values.length === 0) return "none";
  return `${median(values).toFixed(1)} / ${percentile(values, 0.99).toFixed(1)} ms`;
}
