/**
 * What replies and requests cost on PostgreSQL, with one and with two server processes. Linux's /proc says how much
 * CPU time each process has used: on a machine that is also doing other things, that is worth more than the rates.
 *
 * @module
 */

import { readdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import process from "node:process";
import { parseArgs } from "node:util";
import pg from "pg";
import { openPostgres } from "../adapters/postgres/mod.ts";
import { createEchoEngine, createService, createTwinList } from "../core/mod.ts";
import { createParts, type Parts } from "../server/lifecycle.ts";
import {
  createCluster,
  createSlowModel,
  type ServerProcess,
  type SlowModel,
  token,
} from "../test/cluster/server.ts";
import { createDatabase, skipWithoutPostgres } from "../test/postgres/database.ts";
import { newTwin } from "../test/support/harness.ts";
import { atLeast } from "./arguments.ts";
import { firstSentenceOf, messageOf } from "./errors.ts";
import { median, percentile } from "./spread.ts";
import { listenForStop } from "./stop-signals.ts";

const help = `Usage: node --import tsx bench/cluster.ts [seconds]

Measures one and two server processes on PostgreSQL, and counts the statements that each request takes.

  seconds            how long to measure for each figure; default 5
  TEST_DATABASE_URL  address of the PostgreSQL server, with a user who may create databases; default: user
                     postgres at 127.0.0.1:5432. The benchmark works in a database of its own, which it drops
                     at the end

It needs Linux. Ctrl-C ends the servers and drops the database; a second Ctrl-C leaves both behind.
`;

const clients = 32;

/** A key has a budget of 500 requests an hour: each client switches to another key before that is used up. */
const requestsPerKey = 450;

const content = "It is a pleasure to be repeated word by word, as a model's reply would come.";

/** The CPU time that a process has used so far, in milliseconds. */
function cpuOf(pid: number | string): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10; // clock ticks of 10 ms
}

/** The CPU time that PostgreSQL's processes have used for a database, in milliseconds. */
function cpuOfDatabase(name: string): number {
  let used = 0;
  for (const pid of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(` ${name} `)) used += cpuOf(pid);
    } catch (error) {
      if (!["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error; // else it has ended
    }
  }
  return used;
}

const agent = new Agent({ keepAlive: true, maxSockets: 500 });

/** Sends a request and reads its answer to the end. */
function send(url: string, method: string, credential: string, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${credential}`,
      ...(body && { "Content-Type": "application/json" }),
    };
    const sent = request(url, { method, agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => {
        if ((response.statusCode ?? 500) < 300) resolve(text);
        else reject(new Error(`${method} ${url}: ${response.statusCode} ${text}`));
      });
    });
    sent.on("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}

interface Measured {
  readonly perSecond: number;
  readonly median: number;
  readonly p99: number;
}

/** Has each client repeat an action for a while. */
async function measure(seconds: number, act: (client: number) => Promise<unknown>): Promise<Measured> {
  const durations: number[] = [];
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (performance.now() < end) {
        const from = performance.now();
        await act(client);
        durations.push(performance.now() - from);
      }
    }),
  );
  return {
    perSecond: durations.length / ((performance.now() - startedAt) / 1000),
    median: median(durations),
    p99: percentile(durations, 0.99),
  };
}

async function openDatabase(parts: Parts): Promise<string> {
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
  /** The CPU time, in milliseconds, that an action costs the servers and PostgreSQL. */
  cpuDuring<Result>(
    act: () => Promise<Result>,
  ): Promise<{ result: Result; server: number; database: number }>;
}

async function benchmark(parts: Parts, seconds: number, processes: number): Promise<void> {
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
async function reportRequests({ seconds, servers, rootOf, cpuDuring }: Load): Promise<void> {
  const inUse: { conversation: Conversation; left: number }[] = [];
  let owners = 0;
  async function conversationOf(client: number): Promise<Conversation> {
    const held = inUse[client];
    if (held && held.left-- > 0) return held.conversation;
    const owner = `owner-${servers.length}-${owners++}`;
    const conversation = await createConversation(rootOf(client), owner, "echo");
    inUse[client] = { conversation, left: requestsPerKey };
    return conversation;
  }

  async function report(what: string, act: (client: number) => Promise<unknown>): Promise<void> {
    const { result, server, database } = await cpuDuring(() => measure(seconds, act));
    const { perSecond, median, p99 } = result;
    const count = perSecond * seconds;
    const line = [
      `${servers.length} process${servers.length > 1 ? "es" : ""}, ${what}:`,
      `${perSecond.toFixed(0)}/s, median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms,`,
      `CPU each: server ${(server / count).toFixed(2)} ms,`,
      `PostgreSQL ${(database / count).toFixed(2)} ms`,
    ];
    console.log(line.join(" "));
  }

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
  await report("streamed replies", reply);
  await report("reading a conversation", read);
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
      `server ${(server / streamed).toFixed(2)} ms, PostgreSQL ${(database / streamed).toFixed(2)} ms`,
  );
  await Promise.all(reading);
}

/** Counts the statements that each request takes, as the driver sends them. */
async function countStatements(parts: Parts): Promise<void> {
  const opening = openPostgres(await openDatabase(parts));
  const postgres = await parts.open("storage", opening, ({ close }) => close());
  const service = createService({
    store: postgres.store,
    limiter: postgres.limiter,
    twins: createTwinList([newTwin({ id: "echo" })]),
    engines: { echo: createEchoEngine() },
    verifyToken: async (owner) => owner,
  });
  await parts.open("service", service.ready(), () => service.close());

  let statements: string[] = [];
  const { query } = pg.Client.prototype;
  const counted = function (this: pg.Client, ...given: [{ readonly text?: string } | string]) {
    const [first] = given;
    statements.push(typeof first === "string" ? first : (first.text ?? ""));
    return Reflect.apply(query, this, given);
  };
  Object.assign(pg.Client.prototype, { query: counted });

  async function count(what: string, method: string, path: string, credential: string, body?: object) {
    statements = [];
    const response = await service.fetch(
      new Request(`http://bench${path}`, {
        method,
        headers: { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
    const text = await response.text();
    const limits = statements.filter((statement) => statement.includes("INTO rate_buckets")).length;
    console.log(`${what}: ${statements.length} statements, ${limits} of them for the limit`);
    return text;
  }
  const made = JSON.parse(
    await count("creating a key", "POST", "/api/v1/auth/api-keys", "bench", {
      name: "b",
      scope: "full_access",
    }),
  );
  const { key } = made.data;
  await count("the first use of a key", "GET", "/api/v1/twins", key);
  async function countReply(what: string, twinId: string): Promise<string> {
    const conversation = JSON.parse(
      await count("creating a conversation", "POST", "/api/v1/conversations", key, { twinId }),
    );
    const path = `/api/v1/conversations/${conversation.data.id}`;
    await count(what, "POST", `${path}/messages/stream`, key, { content });
    return path;
  }
  const path = await countReply("a streamed reply that takes less than a second", "echo");
  await count("reading a conversation", "GET", path, key);
  await count("reading a page of messages", "GET", `${path}/messages`, key);

  Object.assign(pg.Client.prototype, { query });
}

async function main(): Promise<void> {
  const seconds = readSeconds();
  if (seconds === "help") return console.log(help);
  const missing = await skipWithoutPostgres();
  if (missing) throw new Error(`There is ${missing}. Set TEST_DATABASE_URL for another one; see --help.`);

  const stop = listenForStop();
  const stopped = new Promise<never>((_, reject) => {
    stop.addEventListener("abort", () =>
      reject(new Error("Stopped by a signal, or because nobody reads the output.")),
    );
  });
  await inParts(countStatements, stopped);
  for (const processes of [1, 2]) await inParts((parts) => benchmark(parts, seconds, processes), stopped);
}

/** Does work, then closes what it has opened, whether the work has finished, failed or been stopped. */
async function inParts(work: (parts: Parts) => Promise<void>, stopped: Promise<never>): Promise<void> {
  const parts = createParts((_, message, fields) => console.error(message, fields));
  try {
    await Promise.race([work(parts), stopped]);
  } finally {
    await parts.close();
  }
}

function readSeconds(): number | "help" {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { help: { type: "boolean", default: false } },
    });
    if (values.help) return "help";
    const [seconds = "5", more] = positionals;
    if (more !== undefined) throw new Error(`Unexpected argument '${more}'.`);
    return atLeast(1, seconds, "The seconds");
  } catch (error) {
    throw new Error(`${firstSentenceOf(error)}\n\n${help}`);
  }
}

try {
  await main();
  process.exit();
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}
