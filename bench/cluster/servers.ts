/**
 * Server processes on PostgreSQL under load, and what they use.
 *
 * @module
 */

import type { Parts } from "../../server/lifecycle.ts";
import {
  createCluster,
  createSlowModel,
  type ServerProcess,
  type SlowModel,
  token,
} from "../../test/cluster/server.ts";
import { createDatabase } from "../../test/postgres/database.ts";
import { cpuOf } from "../harness/usage.ts";
import { clients, measure, send } from "./clients.ts";
import { cpuOfDatabase } from "./database-usage.ts";

/** A key has a limit of 500 requests an hour: each client switches to another key before that is used up. */
const requestsPerKey = 450;

/** What is said in each conversation. */
export const content = "It is a pleasure to be repeated word by word, as a model's reply would come.";

/** Opens a database that is dropped at the end. */
export async function openDatabase(parts: Parts): Promise<string> {
  const { url } = await parts.open("database", createDatabase(), ({ drop }) => drop());
  return url;
}

/** Starts servers on a database, and the model that they ask. They are killed: nothing they hold is needed later. */
async function openServers(parts: Parts, databaseUrl: string, processes: number) {
  const model = await parts.open("model", createSlowModel(), async ({ close }) => close());
  const settings = { DATABASE_URL: databaseUrl, MODEL_BASE_URL: model.url, MODEL_NAME: "slow" };
  const cluster = await parts.open("cluster", createCluster(settings), ({ dispose }) => dispose());
  const servers: ServerProcess[] = [];
  for (let n = 0; n < processes; n++) {
    const end = async ({ kill }: ServerProcess) => void (await kill("SIGKILL"));
    servers.push(await parts.open("server", cluster.start(), end));
  }
  return { model, servers };
}

/** A new owner's conversation. */
interface Conversation {
  readonly url: string;
  readonly key: string;
}

async function createConversation(root: string, owner: string, twinId: string): Promise<Conversation> {
  const body = { name: "bench", scope: "full_access" };
  const made = JSON.parse(await send(`${root}/auth/api-keys`, "POST", await token(owner), body));
  const key: string = made.data.key;
  const conversation = JSON.parse(await send(`${root}/conversations`, "POST", key, { twinId }));
  return { url: `${root}/conversations/${conversation.data.id}`, key };
}

/** Servers under load. */
interface Load {
  readonly seconds: number;
  readonly servers: readonly ServerProcess[];
  readonly model: SlowModel;
  /** The root of the server that a client uses. */
  readonly rootOf: (client: number) => string;
  /** The CPU time, in microseconds, that an action costs the servers and PostgreSQL. */
  cpuDuring<Result>(
    act: () => Promise<Result>,
  ): Promise<{ result: Result; server: number; database: number }>;
}

/** Measures so many processes. */
export async function benchmark(parts: Parts, seconds: number, processes: number): Promise<void> {
  const databaseUrl = await openDatabase(parts);
  const name = new URL(databaseUrl).pathname.slice(1);
  const { model, servers } = await openServers(parts, databaseUrl, processes);
  const used = () => [servers.reduce((sum, { pid }) => sum + cpuOf(pid), 0), cpuOfDatabase(name)] as const;
  const load: Load = {
    seconds,
    servers,
    model,
    rootOf: (client) => `${servers[client % processes]?.url}/api/v1`,
    async cpuDuring(act) {
      const [serverBefore, databaseBefore] = used();
      const result = await act();
      const [serverAfter, databaseAfter] = used();
      return { result, server: serverAfter - serverBefore, database: databaseAfter - databaseBefore };
    },
  };
  await reportRequests(load);
  if (processes === 1) await reportStreaming(load, 200);
}

/** What requests cost that follow each other without a pause. */
async function reportRequests(load: Load): Promise<void> {
  const conversationOf = createConversations(load);
  const reply = async (client: number) => {
    const { url, key } = await conversationOf(client);
    return send(`${url}/messages/stream`, "POST", key, { content });
  };
  const read = async (client: number) => {
    const { url, key } = await conversationOf(client);
    return send(url, "GET", key);
  };
  for (let n = 0; n < 10; n++)
    await Promise.all(Array.from({ length: clients }, (_, client) => reply(client)));
  await report(load, "streamed replies", reply);
  await report(load, "reading a conversation", read);
}

/** Gives each client a conversation, and another one when its key's limit is nearly used up. */
function createConversations({ servers, rootOf }: Load): (client: number) => Promise<Conversation> {
  const inUse: { conversation: Conversation; left: number }[] = [];
  let owners = 0;
  return async (client) => {
    const held = inUse[client];
    if (held && held.left-- > 0) return held.conversation;
    const owner = `owner-${servers.length}-${owners++}`;
    const conversation = await createConversation(rootOf(client), owner, "echo");
    inUse[client] = { conversation, left: requestsPerKey };
    return conversation;
  };
}

async function report(load: Load, what: string, act: (client: number) => Promise<unknown>): Promise<void> {
  const { seconds, servers, cpuDuring } = load;
  const { result, server, database } = await cpuDuring(() => measure(seconds, act));
  const { perSecond, median, p99 } = result;
  const count = perSecond * seconds;
  const line = [
    `${servers.length} process${servers.length > 1 ? "es" : ""}, ${what}:`,
    `${perSecond.toFixed(0)}/s, median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms,`,
    `CPU each: server ${(server / count / 1000).toFixed(2)} ms,`,
    `PostgreSQL ${(database / count / 1000).toFixed(2)} ms`,
  ];
  console.log(line.join(" "));
}

/** What replies cost while a model produces 20 words a second: words go to readers, saves to PostgreSQL. */
async function reportStreaming({ seconds, model, rootOf, cpuDuring }: Load, streams: number): Promise<void> {
  const reading: Promise<string>[] = [];
  for (let n = 0; n < streams; n++) {
    const { url, key } = await createConversation(rootOf(n), `streams-${n}`, "slow");
    const words = String(Math.ceil(seconds + 10) * 20);
    const reply = send(`${url}/messages/stream`, "POST", key, { content: words });
    reply.catch(() => {}); // thrown below, where all are awaited
    reading.push(reply);
  }
  const open = model.streaming;
  const { server, database } = await cpuDuring(
    () => new Promise((resolve) => setTimeout(resolve, seconds * 1000)),
  );
  const streamed = open * seconds;
  console.log(
    `${open} open streams, 20 words a second, saved every second: CPU per second of one stream: ` +
      `server ${(server / streamed / 1000).toFixed(2)} ms, PostgreSQL ${(database / streamed / 1000).toFixed(2)} ms`,
  );
  await Promise.all(reading);
}
