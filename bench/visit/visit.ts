/**
 * Measures a server that is already running, with an ordinary key: time to first token, gaps between tokens, and
 * throughput. It creates its own conversations, and deletes them at the end, however it ends.
 *
 * @module
 */

import { messageOf } from "../command-line/errors.ts";
import { type Caller, createCaller, Refused } from "./api.ts";
import { readLimit } from "./limit.ts";
import type { VisitOptions } from "./options.ts";
import { readReply } from "./reply.ts";
import { report, type Seen, summary } from "./report.ts";

/** A visit while it lasts. */
interface Visit {
  readonly options: VisitOptions;
  readonly call: Caller;
  readonly twinId: string;
  readonly seen: Seen;
  /** Those that were created. */
  readonly conversations: string[];
  /** Seconds since it began. */
  elapsed(): number;
  /** How many more replies the key allows. */
  requestsLeft: number;
}

/**
 * Visits a server and returns the figures as text. `say` gets what is to be known before it begins, `progress` the
 * figures so far, every half second.
 *
 * @throws {Error} that says what went wrong, at the first reply that is not as it should be.
 */
export async function visit(
  options: VisitOptions,
  say: (line: string) => void,
  progress: (line: string) => void,
): Promise<string> {
  const call = createCaller(options);
  const requestsLeft = await readLimit(call, options, say);
  const twinId = options.twin ?? (await firstTwin(call, options.stop));
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  const seen: Seen = { firstTokens: [], gaps: [], replies: 0, characters: 0, limitReached: false };
  const visiting: Visit = { options, call, twinId, seen, conversations: [], elapsed, requestsLeft };

  const cpuBefore = process.cpuUsage();
  const timer = setInterval(() => progress(summary(seen, elapsed())), 500);
  const failure = await converseAll(visiting).finally(() => clearInterval(timer));
  const { user, system } = process.cpuUsage(cpuBefore);
  const load = (user + system) / 1e6 / elapsed();
  const ended = { seconds: elapsed(), load, early: reasonToEnd(options.stop, seen) };
  const left = await deleteAll(call, visiting.conversations);
  if (failure !== undefined) throw new Error(`${messageOf(failure)}${left ? `\n${left}` : ""}`);
  return report(seen, { ...ended, left }, twinId, options);
}

/** Holds all conversations until they end. Returns the first failure, which ends them all. */
async function converseAll(visiting: Visit): Promise<unknown> {
  const { stop, streams } = visiting.options;
  const failure = new AbortController();
  const end = AbortSignal.any([stop, failure.signal]);
  const converseOnce = () => converse(visiting, end).catch((error) => failure.abort(error));
  // Nothing is deleted before all of them have ended: until then, they may still create conversations.
  await Promise.all(Array.from({ length: streams }, converseOnce));
  return failure.signal.reason;
}

async function converse(visiting: Visit, end: AbortSignal): Promise<void> {
  const { options, call, twinId, seen, conversations, elapsed } = visiting;
  if (end.aborted) return;
  // Not abandoned: without its id, a conversation that was created all the same could not be deleted.
  const { id } = await call<{ id: string }>("POST", "/conversations", { body: { twinId } });
  conversations.push(id);
  while (elapsed() < options.seconds && !end.aborted && !seen.limitReached) {
    if (visiting.requestsLeft-- <= 0) seen.limitReached = true;
    else await readReply(options, id, seen, end).catch((error) => endsEarly(error, seen, end));
  }
}

/** Takes a failed reply as the end of the visit if it was stopped or has reached its limit; other failures are thrown. */
function endsEarly(error: unknown, seen: Seen, end: AbortSignal): void {
  if (end.aborted) return;
  if (!(error instanceof Refused) || error.status !== 429) throw error;
  seen.limitReached = true;
}

async function firstTwin(call: Caller, signal: AbortSignal): Promise<string> {
  const [twin] = await call<{ id: string }[]>("GET", "/twins?limit=1", { signal });
  if (!twin) throw new Error("There is no twin that this key may use.");
  return twin.id;
}

function reasonToEnd(stop: AbortSignal, { limitReached }: Seen): string | undefined {
  if (stop.aborted) return "stopped by a signal";
  return limitReached ? "the key's hourly limit was used up" : undefined;
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
