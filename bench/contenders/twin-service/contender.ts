import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signToken } from "../../../core/auth/jwt.ts";
import { serverFile } from "../../harness/build.ts";
import { freePort } from "../../harness/servers.ts";
import { twins } from "../../list/twins.ts";
import { follow } from "../../load/device.ts";
import { completion } from "../completion.ts";
import { type Contender, type Conversation, inBatches, type Running, requestJson } from "../contender.ts";

const secret = "the secret of the server that is measured";

/** A key's hourly limit is 500 requests; a few are left for probing. */
export const requestsPerKey = 490;

/** This service: the reference server with its defaults, SQLite and a file of twins. */
export const twinService: Contender = {
  folder: "twin-service",
  name: "this service",
  about:
    "Checks a key, takes from its hourly limit, validates, stores question and reply in SQLite (on disk before the " +
    "stream begins and before it is complete); a reply goes on without its client, and is resumed or repeated by id.",
  launch: ({ node, modelUrl, data }) => ({
    command: [...node, serverFile],
    env: {
      DATABASE_URL: `sqlite:${join(data, "twins.db")}`,
      TWINS_DIR: writeTwins(join(data, "twins")),
      JWT_SECRET: secret,
      MODEL_BASE_URL: modelUrl,
      MODEL_NAME: "scripted",
      MAX_REPLY_MS: "3600000", // streams stay open for longer than a reply usually takes
    },
    ready: "/readyz",
  }),
  prepare: ({ url }, count) => openConversations(url, count),
};

/** The same with a model that can be asked to go on with a text. */
export const continuingService: Contender = {
  ...twinService,
  name: "this service, CONTINUE_REPLIES=continue_final_message",
  async launch(place) {
    const launch = await twinService.launch(place);
    return { ...launch, env: { ...launch.env, CONTINUE_REPLIES: "continue_final_message" } };
  },
};

/** The same, observed: each reply is counted and timed for Prometheus. */
export const observedService: Contender = {
  ...twinService,
  name: "this service, METRICS_PORT",
  async launch(place) {
    const launch = await twinService.launch(place);
    return { ...launch, env: { ...launch.env, METRICS_PORT: String(await freePort()) } };
  },
};

/** The same, asked as OpenAI's clients ask, in conversations that it keeps. */
export const completionsService: Contender = {
  ...twinService,
  name: "this service, /v1/chat/completions",
  about: "The same replies as chunks of chat completions, stored in the conversation that a header names.",
  prepare: ({ url }, count) => nameConversations(url, count),
};

/** How many devices look on at {@link watchedService}. */
const devices = 5000;

/** The same, beside many devices that look on at conversations in which nothing happens. */
export const watchedService: Contender = {
  ...twinService,
  name: `this service, ${devices.toLocaleString("en")} devices that look on`,
  async launch(place) {
    const launch = await twinService.launch(place);
    return { ...launch, env: { ...launch.env, MAX_CONVERSATION_STREAMS: String(devices) } };
  },
  async prepare(running, count) {
    if (!watched.has(running)) await lookOn(running.url);
    watched.add(running);
    return twinService.prepare(running, count);
  },
};

/** The servers that have their devices. */
const watched = new WeakSet<Running>();

async function lookOn(url: string): Promise<void> {
  const key = await createKey(url, 4 * devices);
  await inBatches(devices, async () => {
    const id = await createConversation(url, key, "model");
    const { response } = await follow(`${url}/api/v1/conversations/${id}`, key);
    response.resume();
  });
}

/** The twin `model` asks the model, the others repeat the question. */
function writeTwins(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const { id, name, description, greeting, tags } of twins) {
    const engine = id === "model" ? "openai" : "echo";
    const matter = JSON.stringify({ name, description, greeting, tags, engine });
    writeFileSync(join(folder, `${id}.md`), `---\n${matter}\n---\nYou are a helpful assistant.`);
  }
  return folder;
}

/** A key, and the conversations that its owner has. */
export interface Client {
  readonly key: string;
  readonly conversations: readonly string[];
}

/** Creates clients through the API: each is an owner with a key and some conversations with a twin. */
export function createClients(
  url: string,
  count: number,
  conversations: number,
  twinId: string,
): Promise<Client[]> {
  return inBatches(count, async () => {
    const key = await createKey(url);
    const create = () => createConversation(url, key, twinId);
    return { key, conversations: await inBatches(conversations, create, 8) };
  });
}

/** Creates an owner's key through the API. `requestsPerHour`: its limit; default: the server's. */
export async function createKey(url: string, requestsPerHour?: number): Promise<string> {
  const token = await signToken({ secret, sub: randomUUID(), expiresInSeconds: 3600, requestsPerHour });
  const body = { name: "bench", scope: "full_access", requestsPerHour };
  const made = await requestJson<{ data: { key: string } }>(`${url}/api/v1/auth/api-keys`, {
    body,
    key: token,
  });
  return made.data.key;
}

async function createConversation(url: string, key: string, twinId: string): Promise<string> {
  const made = await requestJson<{ data: { id: string } }>(`${url}/api/v1/conversations`, {
    body: { twinId },
    key,
  });
  return made.data.id;
}

const conversationsPerKey = 100;

async function openConversations(url: string, count: number): Promise<Conversation[]> {
  const keys = Math.ceil(count / conversationsPerKey);
  const clients = await createClients(url, keys, Math.min(count, conversationsPerKey), "model");
  return clients
    .flatMap(({ key, conversations }) => conversations.map((id) => conversation(url, key, id)))
    .slice(0, count);
}

async function nameConversations(url: string, count: number): Promise<Conversation[]> {
  const clients = await createClients(url, Math.ceil(count / conversationsPerKey), 0, "model");
  return Array.from({ length: count }, (_, index): Conversation => {
    const key = clients[index % clients.length]?.key ?? "";
    const headers = { Authorization: `Bearer ${key}`, "X-Conversation-Id": `bench-${index}` };
    return { ask: (content) => ({ ...completion(content, "model"), headers }) };
  });
}

/** The same question gets the same id: it is the same request, sent again. */
function idOf(question: string): string {
  return `bench-${question.replace(/\W+/g, "-")}`;
}

interface Messages {
  readonly data: readonly { readonly role: string; readonly content: string }[];
}

function conversation(url: string, key: string, id: string): Conversation {
  const path = `/api/v1/conversations/${id}/messages`;
  return {
    ask: (content) => ({
      path: `${path}/stream`,
      headers: { Authorization: `Bearer ${key}`, "Idempotency-Key": idOf(content) },
      body: { content },
    }),
    async stored() {
      const { data } = await requestJson<Messages>(`${url}${path}`, { method: "GET", key });
      return data.findLast(({ role }) => role === "assistant")?.content ?? "";
    },
  };
}
