/**
 * The whole service: keys, limits, validation, a durable store. Its keys and conversations are created through its
 * store before it listens: keys have their real budgets, so there must be many.
 *
 * `KEYS`: how many keys. `CONVERSATIONS`: how many conversations each has. `MESSAGES`: how many messages those already
 * have. `SHARED`: whether all keys share one owner and its conversations. `SCATTERED`: whether all conversations of a
 * key are created before those of the next, instead of in the order in which they are used. `DATABASE`: a new SQLite
 * file, or `memory`. `MODEL`: the address of the model that the `relay` engine asks. `LENGTH`: how many tokens a reply
 * of the `step` engine has. `STORE_ONLY`: whether to leave out everything but HTTP and the store (`store-only.ts`).
 *
 * Runs on Node, Deno and Bun, each with its own server.
 */

import { hash } from "node:crypto";
import { createOpenAIEngine } from "../../adapters/openai/mod.ts";
import { createNodeTransport } from "../../adapters/openai/node-transport.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { createApiKey } from "../../core/auth/api-keys.ts";
import { systemRandom } from "../../core/base/crypto.ts";
import { createIds } from "../../core/base/ids.ts";
import {
  createMemoryLimiter,
  createMemoryStore,
  createService,
  createTwinList,
  type RateLimiter,
  type Service,
  type Store,
  systemClock,
} from "../../core/mod.ts";
import type { EngineResult, ReplyOutput, Turn, TwinEngine } from "../../core/twins/engine.ts";
import { conversationRecord, converse } from "../fill.ts";
import { createPacer, createStepper, type Feeder } from "./pace.ts";
import { announce, type Client, tokens, twins } from "./reply.ts";
import { onlyStoring } from "./store-only.ts";

const done: EngineResult = { finishReason: "stop", usage: null };
const { KEYS = "100", CONVERSATIONS = "0", MESSAGES = "0", LENGTH = tokens.length } = process.env;
const { SHARED, SCATTERED, STORE_ONLY } = process.env;
const { TWIN = "burst", MODEL = "http://127.0.0.1:9/v1" } = process.env;

const stepper = createStepper(Number(LENGTH));
const pacer = createPacer();

const engines: Record<string, TwinEngine> = {
  /** All tokens are available at once; each is one write. */
  burst: { reply: writeAll },
  /** The same a turn of the event loop later, as if somebody else had to be asked. */
  later: {
    async reply(turn, output) {
      await new Promise((resolve) => setImmediate(resolve));
      return writeAll(turn, output);
    },
  },
  step: { reply: (_, output) => feed(output, stepper) },
  live: { reply: (_, output) => feed(output, pacer) },
  silent: { reply: (_, output) => untilAborted(output.signal) },
  relay: createOpenAIEngine({ baseUrl: MODEL, transport: createNodeTransport() }),
};

async function writeAll(_: Turn, output: ReplyOutput): Promise<EngineResult> {
  for (const token of tokens) output.write(token);
  return done;
}

function feed(output: ReplyOutput, feeder: Feeder): Promise<EngineResult> {
  return new Promise((resolve) => {
    const fed = { token: (text: string) => output.write(text), end: () => resolve(done) };
    feeder.add(fed);
    output.signal.addEventListener("abort", () => feeder.remove(fed));
  });
}

function untilAborted(signal: AbortSignal): Promise<EngineResult> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(done)));
}

const newId = createIds(systemClock, systemRandom);

/** A client, and whom its key and conversations belong to. */
interface OwnedClient extends Client {
  readonly owner: string;
}

/** Creates the clients: each key has its own owner, or all share one. */
async function createClients(store: Store): Promise<OwnedClient[]> {
  const owners = Array.from({ length: Number(KEYS) }, (_, index) => (SHARED ? "owner" : `owner-${index}`));
  const keys = await Promise.all(owners.map((owner) => createKey(store, owner)));
  const conversations = await createConversations(store, [...new Set(owners)]);
  const ownedBy = (owner = "") => ({ owner, conversations: conversations.get(owner) ?? [] });
  return keys.map((key, index) => ({ key, ...ownedBy(owners[index]) }));
}

async function createKey(store: Store, owner: string): Promise<string> {
  const { key, prefix, hash } = createApiKey();
  const unused = { expiresAt: null, lastUsedAt: null, revokedAt: null };
  const record = { id: newId("key"), owner, name: "bench", scope: "full_access" as const, prefix, hash };
  await store.createKey({ ...record, createdAt: Date.now(), ...unused }, Number(KEYS));
  return key;
}

/** Creates equally many conversations for each owner: one for each in turn, or all of one owner before the next. */
async function createConversations(store: Store, owners: readonly string[]): Promise<Map<string, string[]>> {
  const made = new Map(owners.map((owner): [string, string[]] => [owner, []]));
  const create = (owner: string) => createConversation(store, owner, made.get(owner) ?? []);
  const each = Array.from({ length: Number(CONVERSATIONS) }, (_, index) => index);
  if (SCATTERED) for (const owner of owners) await Promise.all(each.map(() => create(owner)));
  else for (const _ of each) await Promise.all(owners.map(create));
  return made;
}

async function createConversation(store: Store, owner: string, made: string[]): Promise<void> {
  const id = newId("conv");
  made.push(id);
  await store.createConversation(conversationRecord({ id, owner, createdAt: Date.now() }));
  await converse(store, { owner, id }, Number(MESSAGES) / 2);
}

async function openStore(): Promise<{ store: Store; limiter: RateLimiter }> {
  const { DATABASE = "memory" } = process.env;
  if (DATABASE === "memory") return { store: createMemoryStore(), limiter: createMemoryLimiter() };
  const { store, buckets } = await openSqlite(DATABASE);
  return { store, limiter: createMemoryLimiter({ buckets }) };
}

process.on("disconnect", () => process.exit(0)); // the benchmark may end while this takes long
const { store, limiter } = await openStore();
const clients = await createClients(store);
const service = createService({
  store,
  limiter,
  engines,
  twins: createTwinList(twins.map((twin) => ({ ...twin, engine: TWIN }))),
  sha256: (text) => hash("sha256", text),
  verifyToken: () => Promise.reject(new Error("The benchmark sends no tokens.")),
});
await service.ready();

/** The runtime's own adapter. */
async function importAdapter() {
  if ("Deno" in globalThis) return import("../../adapters/web/deno.ts");
  if ("Bun" in globalThis) return import("../../adapters/web/bun.ts");
  return import("../../adapters/node/mod.ts");
}

function withStoreOnly(): Service {
  const owned = clients.flatMap(({ owner, conversations }) =>
    conversations.map((id) => [id, owner] as const),
  );
  return onlyStoring(service, store, new Map(owned));
}

const { serve } = await importAdapter();
const { url } = await serve(STORE_ONLY ? withStoreOnly() : service, { port: 0 });
announce(Number(new URL(url).port), clients, pacer.start);
