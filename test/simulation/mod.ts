/**
 * A deterministic simulation: processes that crash, a store and engines that fail, clients that follow replies, and authors
 * who change their twins, on a clock of their own. One seed decides everything, so any failure can be reproduced.
 *
 * What must hold at every moment: whatever is answered with success is stored; a stream has one last event, which
 * comes after the reply's end is stored, and its deltas are the stored text; a question is stored before an engine
 * is asked, and only once for each attempt; saved text only grows, and a stream is cut back only to what was saved; a
 * reply is taken over once at most, and never while its lease lasts; each reply in progress has a holder; a device that
 * looks on is told of each message once, in the order stored, whatever processes it is told by; one
 * idempotency key creates one message; a question goes to who answers when it is stored, a twin or a person, and to no one
 * else; what takes the place of a reply stands directly behind it, no text comes after, and none is lost that a stream was told
 * of, unless its process dies, or is slow; a version of an author's twin that was acknowledged is kept as a whole, came in the place of the one that it names, and is what each process
 * answers with after two seconds, and a reply is given the texts of one version in all attempts; at the end, no reply is in
 * progress, each conversation goes on, and no timer is left.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { createApiKey } from "../../core/auth/secrets.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import { key as keyRecord } from "../contracts/store-records.ts";
import { whole } from "../contracts/whole.ts";
import { startOfTests } from "../support/harness.ts";
import { Authors } from "./authors.ts";
import { Clients } from "./clients.ts";
import { EngineHouse } from "./engine.ts";
import { Ledger, type StoredMessage } from "./ledger.ts";
import { leaseMs, maxReplyMs, Processes } from "./processes.ts";
import { Reader } from "./reader.ts";
import { SimulatedStore } from "./store.ts";
import { createRandom, World } from "./world.ts";

// On another thread, as usual, they would take time of the machine.
crypto.subtle.digest = async (_, data) => {
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : data;
  return sha256(new Uint8Array(bytes)).buffer as ArrayBuffer;
};

// What gives others a turn, or looks how long it has had its own, would go by how busy the machine is.
const { setTimeout: setTimer } = globalThis;
globalThis.setTimeout = ((callback: () => void, delayMs = 0) =>
  delayMs > 0 ? setTimer(callback, delayMs) : setImmediate(callback)) as unknown as typeof setTimeout;
performance.now = () => 0;

/** The result of one run. */
export interface SimulationResult {
  /** Of everything that happened, in order: equal for equal seeds. */
  readonly hash: string;
  readonly replies: number;
  /** How many of them were taken over, and how many streams were told so. */
  readonly takenOver: number;
  readonly continued: number;
  /** How many events were told to devices that look on. */
  readonly watched: number;
  /** How many versions of twins were stored. */
  readonly versions: number;
  /** How many messages were stored without an engine, and how many of these wait for a person. */
  readonly alone: number;
  readonly waiting: number;
  /** How many replies handed over to a person, and in whose place a message came. */
  readonly handedOver: number;
  readonly replaced: number;
  /** How many of these were left for that by another process. */
  readonly yielded: number;
  /** The broken rule, if any. */
  readonly failure: unknown;
  /** What happened last. */
  readonly lines: readonly string[];
}

/** Longer than any reply, lease, poll or shutdown takes, in milliseconds. */
const restMs = leaseMs + maxReplyMs + 15_000;

const limitMs = 3_600_000;

export async function simulate(seed: number): Promise<SimulationResult> {
  // Apart from all else, so that worlds without authors are what they were before there were some.
  const authors = createRandom(~seed).pick([0, 1, 2]);
  const cast = await assemble(new World(seed, startOfTests));
  const { world, ledger, reader } = cast;
  let done = false;
  let failure: unknown;
  const end = (error?: unknown) => {
    done = true;
    failure = error;
  };
  play(cast, authors).then(() => end(), end);
  try {
    await world.run(
      () => done,
      () => cast.processes.check(),
      limitMs,
    );
  } catch (error) {
    failure ??= error;
  }
  const replies = [...ledger.replies.values()];
  return {
    hash: world.hash,
    replies: replies.length,
    takenOver: replies.filter(({ attempt }) => attempt > 1).length,
    continued: reader.continued,
    watched: cast.watched,
    versions: ledger.versions.count,
    alone: ledger.alone.size,
    waiting: [...ledger.alone.values()].filter(({ waits }) => waits).length,
    handedOver: replies.filter(({ end }) => end?.handsOver).length,
    replaced: replies.filter(({ replacedBy }) => replacedBy !== undefined).length,
    yielded: replies.filter(({ yielded }) => yielded).length,
    failure: failure ?? world.violation,
    lines: world.lines,
  };
}

type Cast = Awaited<ReturnType<typeof assemble>>;

/** Everything that takes part in a run, as chance decides. */
async function assemble(world: World) {
  const { random } = world;
  const exclusive = random.chance(0.5);
  const onDisconnect = random.chance(0.75) ? "continue" : "cancel";
  const signals = !exclusive && random.chance(0.5);
  const failure = random.pick([0, 0, 0.02, 0.15]);
  const delay = random.pick([0, 0, 0.02]);
  const disturbance = random.pick([0, 0.05, 0.3]);

  const ledger = new Ledger(world, createMemoryStore(), exclusive);
  const store = new SimulatedStore(world, ledger, { exclusive, signals, failure, delay });
  const engines = new EngineHouse(world, ledger, random.pick([undefined, "exact", "partial"]));
  const options = { exclusive, onDisconnect, disturbance } as const;
  const processes = new Processes({ world, ledger, store, engines, options });
  const reader = new Reader(world, ledger);
  const { key: apiKey, hash, prefix } = createApiKey((bytes) => bytes.fill(7));
  await ledger.truth.createKey(keyRecord("owner", { id: "key_1", scope: "full_access", prefix, hash }), 1);
  const clients = new Clients({ world, ledger, engines, processes, reader, apiKey, onDisconnect });
  const authors = new Authors({ world, versions: ledger.versions, processes, apiKey });
  return { world, ledger, store, engines, processes, reader, clients, authors, watched: 0 };
}

async function play(cast: Cast, authors: number): Promise<void> {
  const { world, ledger, store, processes, clients } = cast;
  const { random } = world;
  processes.live();
  await Promise.all([
    ...Array.from({ length: random.between(1, 5) }, () => clients.act(random.between(3, 10))),
    ...Array.from({ length: authors }, () => cast.authors.act(random.between(3, 12))),
  ]);
  store.calm();
  const process = await processes.settle();
  await world.pause(restMs);
  await requireRest(cast);
  await clients.requireOpen();
  await world.pause(restMs);
  await requireRest(cast);
  await ledger.versions.requireKept(ledger.truth);
  cast.watched = await clients.lookAway();
  clients.checkAtEnd();
  await process.service.close({ graceMs: 0 });
  if (process.pendingTimers() > 0) world.violate("a closed service has timers");
}

/** Checks that nothing is busy, and that no engine is still running. */
async function requireRest({ world, ledger, engines }: Cast): Promise<void> {
  for (const { id } of ledger.busy) world.violate(`${id} never ended`);
  const { items } = await ledger.truth.listConversations({ owner: "owner" }, { offset: 0, limit: 100 });
  for (const conversation of items) {
    const { id, replyId } = conversation;
    if (replyId !== null) world.violate(`${id} is busy forever`);
    ledger.answering.require(conversation);
    const listed = async (path: "current" | "all") => {
      const slice = { offset: 0, limit: 1000, order: "asc", path } as const;
      const stored = await ledger.truth.listMessages({ owner: "owner" }, id, { ...whole, ...slice });
      return stored?.items.map((message) => `${message.id} ${message.content}`).join();
    };
    const told = (messages: readonly StoredMessage[]) =>
      messages.map((message) => `${message.id} ${message.text}`).join();
    const log = ledger.logs.get(id) ?? [];
    if ((await listed("all")) !== told(log)) world.violate(`${id} has other messages than were stored`);
    const path = ledger.pathTo(ledger.pathEnds.get(id) ?? null).flatMap((stored) => {
      return "question" in stored
        ? [{ id: stored.question.id, text: stored.question.content }, stored]
        : stored;
    });
    if ((await listed("current")) !== told(path)) world.violate(`${id} has another path`);
  }
  for (const run of engines.runs) {
    if (run.alive() && !run.settled && !run.signal.aborted) world.violate(`"${run.content}" runs forever`);
  }
}
