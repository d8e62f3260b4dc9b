/**
 * A server that offers one reply of 16 MB to its followers, and reports how much its memory grew: one half of
 * `slow-readers.test.ts`, in a process of its own so that only the server's memory is counted.
 */

import { createApiKey } from "../../core/auth/secrets.ts";
import { createMemoryStore, createService, createTwinList, type TwinEngine } from "../../core/mod.ts";
import { key as keyRecord } from "../contracts/store-records.ts";
import { collectGarbage, skipOffV8 } from "../support/garbage.ts";
import { createGate } from "../support/gate.ts";
import { newTwin, unlimited } from "../support/harness.ts";
import { serve } from "../support/runtime.ts";

/** What the server prints first. */
export interface Invitation {
  readonly url: string;
  readonly key: string;
  /** The path of the reply's stream. */
  readonly path: string;
}

/** What the server prints once the reply has ended. */
export interface Measurement {
  readonly offeredBytes: number;
  /** How much more memory was in use meanwhile, at its peak. */
  readonly grownBytes: number;
}

const chunk = "sixteen letters ".repeat(256);
const chunks = 4 * 1024;

const readersAreThere = createGate();
const flood = createGate();
process.stdin.once("data", readersAreThere.open);
process.stdin.on("end", () => process.exit());

const engine: TwinEngine = {
  async reply(_, { write }) {
    await flood.opened;
    for (let count = 1; count <= chunks; count++) {
      write(chunk);
      if (count % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return { finishReason: "stop", usage: null };
  },
};

const store = createMemoryStore();
const service = createService({
  store,
  twins: createTwinList([newTwin({ id: "flood", engine: "flood" })]),
  engines: { flood: engine },
  limiter: unlimited,
  verifyToken: async () => "alice",
});

async function storeKey(): Promise<string> {
  const { key, hash, prefix } = createApiKey();
  await store.createKey(keyRecord("alice", { scope: "full_access", prefix, hash }), 1);
  return key;
}

function post(key: string, path: string, body: unknown): Promise<Response> {
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  return service.fetch(new Request(`http://twins.test/api/v1${path}`, init));
}

/** Begins the reply and leaves its stream. Returns the conversation's id. */
async function beginReply(key: string): Promise<string> {
  const created = (await (await post(key, "/conversations", { twinId: "flood" })).json()) as {
    data: { id: string };
  };
  const stream = await post(key, `/conversations/${created.data.id}/messages/stream`, {
    content: "Flood me.",
  });
  await stream.body?.cancel();
  return created.data.id;
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

/**
 * The memory in use, in bytes. On V8, what is reachable: the process's memory also holds garbage, and how much depends on
 * the version and the moment.
 */
async function memoryInUse(): Promise<number> {
  if (skipOffV8) return process.memoryUsage.rss();
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function measure(conversationId: string): Promise<Measurement> {
  const before = await memoryInUse();
  let peak = before;
  flood.open();
  for (let isRunning = true; isRunning; ) {
    await turn();
    isRunning = (await store.getConversation({ owner: "alice" }, conversationId))?.replyId !== null;
    peak = Math.max(peak, await memoryInUse());
  }
  return { offeredBytes: chunk.length * chunks, grownBytes: peak - before };
}

function say(report: Invitation | Measurement): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

const server = await serve(service, { port: 0 });
const key = await storeKey();
const conversationId = await beginReply(key);
const replyId = (await store.getConversation({ owner: "alice" }, conversationId))?.replyId;
say({ url: server.url, key, path: `/api/v1/conversations/${conversationId}/messages/${replyId}/stream` });
await readersAreThere.opened;
say(await measure(conversationId));
