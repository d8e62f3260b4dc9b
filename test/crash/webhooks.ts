/**
 * Kills the server with SIGKILL on either side of its deliveries to a webhook, again and again: all that it acknowledged is
 * told, and all that is told is there. Then two servers on one PostgreSQL deliver, and each event is told once.
 *
 * `CRASH_DELIVERIES=1000` kills more often than the default of 5.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { signToken } from "../../core/auth/jwt.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { type ServerProcess, startServer } from "../server/process.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, jsonRequest } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { until } from "../support/until.ts";

const kills = Number(process.env.CRASH_DELIVERIES ?? 5);
const events = 200;
const clients = 3;
const secret = "a secret for the crash test, 32 bytes long";
/** How long anything may take, in milliseconds. */
const patienceMs = 60_000;

/** The receiver: what it was told of each message, by the ids of deliveries. */
const told = new Map<string, string[]>();
/** What it does with the next delivery, in place of answering. */
let meet: ((answer: () => void) => void) | undefined;

const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const { messageId } = JSON.parse(body).data;
  told.set(messageId, [...(told.get(messageId) ?? []), String(request.headers["webhook-id"])]);
  const answer = () => void response.writeHead(204).end();
  if (meet) meet(answer);
  else setTimeout(answer, Math.random() * 20);
});
const host = `127.0.0.1:${await listen(receiver)}`;

const folder = await mkdtemp(join(tmpdir(), "twins-webhooks-"));
await writeFile(join(folder, "echo.md"), "---\nname: Echo\nengine: echo\n---\nRepeat.\n");
const settings = {
  TWINS_DIR: folder,
  JWT_SECRET: secret,
  WEBHOOK_HOSTS: host,
  FULL_ACCESS_PER_HOUR: "1000000",
  LOG_LEVEL: "error",
};

function call(url: string, key: string, method: string, path: string, body?: object): Promise<Response> {
  return fetch(`${url}/api/v1${path}`, { method, ...jsonRequest(key, body) });
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** Makes a webhook, a key, and conversations. */
async function prepare(url: string) {
  const token = await signToken({ secret, sub: "owner", expiresInSeconds: 36_000 });
  await dataOf(await call(url, token, "POST", "/webhooks", { url: `http://${host}/` }));
  const made = { name: "webhooks", scope: "full_access" };
  const { key } = await dataOf<{ key: string }>(await call(url, token, "POST", "/auth/api-keys", made));
  const paths = await Promise.all(
    Array.from({ length: clients }, async () => {
      const answer = await call(url, key, "POST", "/conversations", { twinId: "echo" });
      return `/conversations/${(await dataOf<{ id: string }>(answer)).id}/messages`;
    }),
  );
  return { key, paths };
}

/** Has something happen that is told, and returns the message. */
async function happen(url: string, key: string, path: string): Promise<string> {
  const body = Math.random() < 0.5 ? { role: "assistant", content: "I am Eva." } : { content: "Hello?" };
  const answer = await call(url, key, "POST", path, { ...body, whenBusy: "replace" });
  return (await dataOf<{ id: string }>(answer)).id;
}

/** Has clients work until the server is killed, on one side of a delivery or the other, or at any time. */
async function work(server: ServerProcess, key: string, paths: readonly string[], facts: Set<string>) {
  let isDying = false;
  const killed = createGate();
  const kill = () => {
    isDying = true;
    void server.stop("SIGKILL").then(() => killed.open());
  };
  let before = Math.floor(Math.random() * 8);
  const side = ["before", "after", "any"][Math.floor(Math.random() * 3)];
  meet = (answer) => {
    if (isDying || before-- > 0 || side === "any") return answer();
    if (side === "after") answer();
    kill();
  };
  const working = paths.map(async (path) => {
    try {
      for (;;) facts.add(await happen(server.url, key, path));
    } catch (error) {
      if (!isDying) throw error;
    }
  });
  if (side === "any") {
    await pause(Math.random() * 300);
    kill();
  }
  await Promise.all([...working, killed.opened]);
  meet = undefined;
}

/** Requires that all facts are told, and that all that is told is there, ended. Returns how much was looked at. */
async function verify(
  url: string,
  { key, paths }: Prepared,
  facts: ReadonlySet<string>,
  verified: Set<string>,
) {
  await until("all that was acknowledged is told", patienceMs, () => [...facts].every((id) => told.has(id)));
  for (const id of told.keys()) {
    if (verified.has(id)) continue;
    const found = await Promise.all(paths.map((path) => call(url, key, "GET", `${path}/${id}`)));
    const there = found.find(({ status }) => status === 200);
    assert.ok(there, `${id} was told, and is not there`);
    const { status } = await dataOf<{ status: string }>(there);
    assert.notEqual(status, "in_progress", `${id} was told before it had ended`);
    verified.add(id);
  }
}

async function killOnEitherSide(): Promise<string> {
  const own = { ...settings, DATABASE_URL: `sqlite:${join(folder, "twins.db")}` };
  const facts = new Set<string>();
  const verified = new Set<string>();
  let prepared: Prepared | undefined;
  const startedAt = performance.now();
  for (let killed = 0; killed <= kills; killed++) {
    const server = await startServer([], own);
    try {
      prepared ??= await prepare(server.url);
      const { key, paths } = prepared;
      if (killed > 0) await verify(server.url, prepared, facts, verified);
      if (killed < kills) await work(server, key, paths, facts);
    } finally {
      await server.stop("SIGKILL");
    }
  }
  const again = [...told.values()].filter((ids) => ids.length > 1).length;
  for (const ids of told.values()) assert.equal(new Set(ids).size, 1, "a try had another id");
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return (
    `${kills} kills on either side of a delivery in ${seconds} s: all ${facts.size} acknowledged events were told, ` +
    `${verified.size} in all, none before it was stored, ${again} of them more than once.\n`
  );
}

async function deliverByTwo(): Promise<string> {
  const database = await createDatabase();
  const servers: ServerProcess[] = [];
  told.clear();
  try {
    const own = { ...settings, DATABASE_URL: database.url };
    servers.push(await startServer([], own), await startServer([], own));
    const { key, paths } = await prepare(servers[0]?.url ?? "");
    const ids: string[] = [];
    const working = paths.map(async (path) => {
      while (ids.length < events)
        ids.push(await happen(servers[Math.floor(Math.random() * 2)]?.url ?? "", key, path));
    });
    await Promise.all(working);
    await until("all is told", patienceMs, () => ids.every((id) => told.has(id)));
    await pause(1_000); // what is told twice would be told by now
    const counts = [...told.values()].map((each) => each.length);
    assert.deepEqual(
      counts.filter((count) => count !== 1),
      [],
      "an event was told twice",
    );
    return `Two servers on PostgreSQL delivered ${counts.length} events, each once.\n`;
  } finally {
    for (const server of servers) await server.stop("SIGKILL");
    await database.drop();
  }
}

try {
  process.stdout.write(await killOnEitherSide());
  const skip = await skipWithoutPostgres();
  process.stdout.write(skip ? `No two servers deliver: ${skip}.\n` : await deliverByTwo());
} finally {
  receiver.close();
  receiver.closeAllConnections();
  await rm(folder, { recursive: true, force: true });
}
