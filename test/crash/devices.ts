/**
 * Kills two servers on one PostgreSQL with SIGKILL, again and again, while clients send into conversations that devices
 * follow on both: each device is told of every message once, in order, with the text that is stored.
 *
 * `CRASH_KILLS=200` kills more often than the default of 3.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { signToken } from "../../core/auth/jwt.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { type ServerProcess, startServer } from "../server/process.ts";
import { dataOf, jsonRequest } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { Device } from "./device.ts";
import { answerTo } from "./journal.ts";
import { startModel } from "./model.ts";

const kills = Number(process.env.CRASH_KILLS ?? 3);
const secret = "a secret for the crash test, 32 bytes long";
const twins = ["echo", ...Array.from({ length: 9 }, () => "slow")];
const devicesEach = 2;
/** How long anything may take, in milliseconds. */
const patienceMs = 60_000;

const skip = await skipWithoutPostgres();
if (skip) {
  process.stdout.write(`No device looks on while servers are killed: ${skip}.\n`);
  process.exit();
}

const folder = await mkdtemp(join(tmpdir(), "twins-devices-"));
await writeFile(join(folder, "slow.md"), "---\nname: Slow\nengine: openai\n---\nAnswer slowly.\n");
await writeFile(join(folder, "echo.md"), "---\nname: Echo\nengine: echo\n---\nRepeat.\n");
const model = await startModel();
const database = await createDatabase();
const settings = {
  TWINS_DIR: folder,
  DATABASE_URL: database.url,
  JWT_SECRET: secret,
  MODEL_BASE_URL: `http://127.0.0.1:${model.port}/v1`,
  CONTINUE_REPLIES: "prefix",
  LEASE_MS: "600",
  FULL_ACCESS_PER_HOUR: "1000000",
  LOG_LEVEL: "error",
};
const servers: ServerProcess[] = [];
const devices: Device[] = [];
const startedAt = performance.now();
let questions = 0;
let isOver = false;
/** The last log of a server that was killed, printed when something fails. */
let lastLog = "";

const anyUrl = () => servers[Math.floor(Math.random() * servers.length)]?.url ?? "";

/** How many events the devices were told. Throws if one of them was told something wrong. */
function told(): number {
  return devices.reduce((sum, { told, failure }) => {
    if (failure) throw failure;
    return sum + told.events;
  }, 0);
}

function call(key: string, method: string, path: string, body?: object, headers = {}): Promise<Response> {
  return fetch(`${anyUrl()}/api/v1${path}`, { method, ...jsonRequest(key, body, headers) });
}

/** Sends a question until its reply has ended, and returns that; undefined if it was interrupted: it is tried only twice. */
async function insist(key: string, path: string, body: object): Promise<MessageResource | undefined> {
  const once = { "Idempotency-Key": `question ${++questions}` };
  const deadline = performance.now() + patienceMs;
  for (;;) {
    assert.ok(performance.now() < deadline, `a send is never answered: ${JSON.stringify(body)}`);
    try {
      const answer = await call(key, "POST", path, body, once);
      if (answer.ok) return await dataOf<MessageResource>(answer);
      if (answer.headers.get("idempotency-replayed") === "true") return undefined;
      assert.ok(answer.status === 409 || answer.status === 503, `a send was answered ${answer.status}`);
      await answer.text();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // else the server is gone
    }
    await pause(30);
  }
}

/** Sends into a conversation until all is over: at its end, or from any reply that it has. */
async function converse(key: string, path: string): Promise<MessageResource[]> {
  const replies: MessageResource[] = [];
  while (!isOver) {
    const from = replies[Math.floor(Math.random() * replies.length)]?.id ?? null;
    const fork = Math.random() < 0.2 ? { after: from } : {};
    const reply = await insist(key, `${path}/messages`, { content: `q${questions + 1}`, ...fork });
    if (reply) replies.push(reply);
  }
  return replies;
}

/** Kills one server or the other in the middle of its work, and starts it again. */
async function killAll(): Promise<void> {
  for (let killed = 1; killed <= kills; killed++) {
    const before = told();
    await pause(Math.random() * 1000);
    await until("the devices are told something", patienceMs, () => told() > before);
    const place = Math.floor(Math.random() * servers.length);
    lastLog = (await servers[place]?.stop("SIGKILL"))?.stderr ?? "";
    servers[place] = await startServer([], settings);
    // Now and then they live long enough to take over what others have left: they wait for that after they have started.
    if (killed % 4 === 0) await everyDeviceIsToldAnEnd();
  }
}

function everyDeviceIsToldAnEnd(): Promise<number> {
  const before = devices.map(({ ends }) => ends.size);
  const isTold = () => told() > 0 && devices.every(({ ends }, at) => ends.size > (before[at] ?? 0));
  return until("every device is told of a reply's end", patienceMs, isTold);
}

/** All messages of a conversation, in the order stored. */
async function listAll(key: string, path: string): Promise<MessageResource[]> {
  const found: MessageResource[] = [];
  for (let after = ""; ; after = `&after=${found.at(-1)?.id}`) {
    const list = await call(key, "GET", `${path}/messages?path=all&order=asc&limit=100${after}`);
    const { data, pagination } = (await list.json()) as {
      data: MessageResource[];
      pagination: { hasMore: boolean };
    };
    found.push(...data);
    if (!pagination.hasMore) return found;
  }
}

/** Requires that a device was told what was stored behind the first question and reply. */
async function requireAll(device: Device, [, , ...stored]: readonly MessageResource[]): Promise<void> {
  const { told, ends } = device;
  const isTold = () =>
    device.failure !== undefined || (told.ids.length >= stored.length && told.running === undefined);
  await until("a device is told all", patienceMs, isTold);
  await device.leave();
  assert.deepEqual(
    told.ids,
    stored.map(({ id }) => id),
  );
  const replies = stored.filter(({ role }) => role === "assistant");
  assert.deepEqual([...ends.values()], replies);
}

/** Requires that every question has its answer, once. Returns how many replies were interrupted, by a second kill. */
function requireAnswers(twinId: string, stored: readonly MessageResource[]): number {
  const questions = stored.filter(({ role }) => role === "user");
  assert.equal(
    new Set(questions.map(({ content }) => content)).size,
    questions.length,
    "one is stored twice",
  );
  let interrupted = 0;
  for (const { id, content: question } of questions) {
    const [reply, ...more] = stored.filter(({ inReplyTo }) => inReplyTo === id);
    assert.ok(reply && more.length === 0);
    const whole = twinId === "echo" ? question : answerTo(question);
    if (reply.error?.code === "interrupted") {
      assert.ok(whole.startsWith(reply.content), `${reply.id} is no part of its answer`);
      interrupted++;
    } else assert.deepEqual([reply.status, reply.content], ["completed", whole]);
  }
  return interrupted;
}

try {
  servers.push(await startServer([], settings));
  servers.push(await startServer([], settings));
  const token = await signToken({ secret, sub: "owner", expiresInSeconds: 7200 });
  const made = { name: "devices", scope: "full_access" };
  const { key } = await dataOf<{ key: string }>(await call(token, "POST", "/auth/api-keys", made));
  const conversations = await Promise.all(
    twins.map(async (twinId) => {
      const { id } = await dataOf<{ id: string }>(await call(key, "POST", "/conversations", { twinId }));
      const path = `/conversations/${id}`;
      await insist(key, `${path}/messages`, { content: `q${questions + 1}` }); // else there is no id to go on from
      const looking = Array.from({ length: devicesEach }, () => new Device({ url: anyUrl, path, key }));
      devices.push(...looking);
      return { path, twinId, looking };
    }),
  );
  await until("each device has begun", patienceMs, () => devices.every((one) => one.told.events > 0));
  const conversing = Promise.all(conversations.map(({ path }) => converse(key, path)));
  await Promise.race([killAll(), conversing]);
  isOver = true;
  const acknowledged = (await conversing).flat();
  let interrupted = 0;
  for (const { path, twinId, looking } of conversations) {
    const stored = await listAll(key, path);
    for (const device of looking) await requireAll(device, stored);
    interrupted += requireAnswers(twinId, stored);
    const ids = new Set(stored.map(({ id }) => id));
    for (const { id } of acknowledged.filter(({ conversationId }) => path.endsWith(conversationId)))
      assert.ok(ids.has(id), `${id} was acknowledged, but is gone`);
  }
  const resumed = devices.reduce((sum, device) => sum + device.resumed, 0);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  process.stdout.write(
    `${kills} kills of two servers on PostgreSQL in ${seconds} s: ${devices.length} devices were told ${told()} events ` +
      `of ${acknowledged.length + interrupted} replies, each once and in order, in ${resumed} streams that were resumed; ` +
      `${interrupted} replies were interrupted, by a second kill.\n`,
  );
} catch (error) {
  process.stderr.write(lastLog);
  throw error;
} finally {
  isOver = true;
  for (const device of devices) await device.leave().catch(() => {}); // what failed is thrown already
  for (const server of servers) await server.stop("SIGKILL");
  model.server.close();
  model.server.closeAllConnections();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
}
