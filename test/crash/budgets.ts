/**
 * Kills two servers on one PostgreSQL with SIGKILL, again and again, while clients send until their keys' budgets of tokens
 * are used up: what goes beyond a limit is what the replies that ran took beyond their estimates, nothing stays reserved
 * once they have ended, and nothing is counted twice or not at all.
 *
 * `CRASH_BUDGETS=1000` kills more often than the default of 3.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { signToken } from "../../core/auth/jwt.ts";
import type { MessageResource, UsageResource } from "../../core/wire/schemas.ts";
import { begin, createModelServer, delta, endMarker, finish, usage } from "../openai-models/model-server.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { type ServerProcess, startServer } from "../server/process.ts";
import { dataOf, jsonRequest } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { until } from "../support/until.ts";

const kills = Number(process.env.CRASH_BUDGETS ?? 3);
const secret = "a secret for the crash test, 32 bytes long";
/** How many keys are in use at once, and how many clients send with each. */
const payers = 6;
const senders = 4;
/** Each key's, in tokens a month: days end while tests run. */
const limit = 12_000;
/** The least that a reply reserves, the most that one takes, and the most that one takes whose model does not say, in tokens. */
const estimate = 512;
const mostTokens = 1500;
const mostUnsaid = 100;
/** How long anything may take, in milliseconds. */
const patienceMs = 60_000;

const skip = await skipWithoutPostgres();
if (skip) {
  process.stdout.write(`No budget is spent while servers are killed: ${skip}.\n`);
  process.exit();
}

/** What the model says that a reply has taken. Of each fifth it says nothing. */
function tokensOf(question: string): number | undefined {
  const number = Number(question.slice(1));
  return number % 5 === 0 ? undefined : 100 + ((number * 7919) % (mostTokens - 100));
}

const model = createModelServer("slow", async ({ question, partial }, response) => {
  begin(response);
  for (const word of `${question} is answered in some words. `.slice(partial.length).match(/\S* /g) ?? []) {
    response.write(delta(word));
    await pause(Math.random() * 15);
    if (response.destroyed) return;
  }
  const tokens = tokensOf(question);
  response.end(finish("stop") + (tokens === undefined ? "" : usage(tokens - 1, 1)) + endMarker);
});

const folder = await mkdtemp(join(tmpdir(), "twins-budgets-"));
await writeFile(join(folder, "slow.md"), "---\nname: Slow\nengine: openai\n---\nAnswer slowly.\n");
const database = await createDatabase();
const settings = {
  TWINS_DIR: folder,
  DATABASE_URL: database.url,
  JWT_SECRET: secret,
  MODEL_BASE_URL: `http://127.0.0.1:${await listen(model)}/v1`,
  CONTINUE_REPLIES: "prefix",
  LEASE_MS: "600",
  FULL_ACCESS_PER_HOUR: "1000000",
  LOG_LEVEL: "error",
};
const servers: ServerProcess[] = [];
const totals = { sends: 0, keys: 0, replies: 0, interrupted: 0, refused: 0, beyond: 0 };
const startedAt = performance.now();
let owners = 0;
let isOver = false;
/** The last log of a server that was killed, printed when something fails. */
let lastLog = "";

/** Asks one server or the other until one answers. Sends are not repeated: they have an idempotency key. */
async function insist(key: string, method: string, path: string, body?: object, headers = {}) {
  for (const deadline = performance.now() + patienceMs; ; await pause(30)) {
    assert.ok(performance.now() < deadline, `never answered: ${method} ${path}`);
    const { url } = servers[Math.floor(Math.random() * servers.length)] as ServerProcess;
    const answer = await fetch(`${url}/api/v1${path}`, { method, ...jsonRequest(key, body, headers) }).catch(
      () => undefined, // the server is gone
    );
    const isBusy = answer?.status === 409 || answer?.status === 503;
    const isKnown = answer?.headers.get("idempotency-replayed") === "true"; // as one that was interrupted
    if (answer && (!isBusy || isKnown)) return answer;
    await answer?.text();
  }
}

async function spentBy(key: string): Promise<{ readonly used: number; readonly reserved: number }> {
  const { budgets } = await dataOf<UsageResource>(await insist(key, "GET", "/usage"));
  assert.equal(budgets[0]?.limit, limit);
  return budgets[0];
}

/** Sends into a conversation until the key's budget is used up. Returns its path. */
async function send(key: string): Promise<string> {
  const made = await insist(key, "POST", "/conversations", { twinId: "slow" });
  const path = `/conversations/${(await dataOf<{ id: string }>(made)).id}/messages`;
  while (!isOver) {
    const content = `q${++totals.sends}`;
    const sent = await insist(key, "POST", path, { content, after: null }, { "Idempotency-Key": content });
    await sent.text();
    if (sent.status !== 429) continue;
    totals.refused++;
    if ((await spentBy(key)).used >= limit) break;
    await pause(50); // what the running ones have reserved may be more than they take
  }
  return path;
}

async function repliesIn(key: string, path: string): Promise<MessageResource[]> {
  const found = await dataOf<MessageResource[]>(await insist(key, "GET", `${path}?path=all&limit=100`));
  assert.ok(found.length < 100, "all are on one page");
  return found.filter(({ role }) => role === "assistant");
}

/** Spends the budget of a new key. What it has had at the end must be what its replies have taken. */
async function spend(): Promise<void> {
  // An owner of its own, as an owner makes 30 keys an hour.
  const token = await signToken({ secret, sub: `owner ${++owners}`, expiresInSeconds: 600 });
  const given = { name: "payer", scope: "full_access", tokensPerMonth: limit };
  const { key } = await dataOf<{ key: string }>(await insist(token, "POST", "/auth/api-keys", given));
  const paths = await Promise.all(Array.from({ length: senders }, () => send(key)));
  await until("nothing is reserved", patienceMs, async () => (await spentBy(key)).reserved === 0);
  const { used } = await spentBy(key);
  const replies = (await Promise.all(paths.map((path) => repliesIn(key, path)))).flat();
  let said = 0;
  let unsaid = 0;
  for (const { status, usage } of replies) {
    assert.notEqual(status, "in_progress", "nothing is reserved, but a reply runs");
    if (usage === null) unsaid++;
    said += usage?.totalTokens ?? 0;
  }
  assert.ok(said <= used && used <= said + unsaid * mostUnsaid, `${used} of ${said} and ${unsaid} unsaid`);
  assert.ok(isOver || used >= limit);
  const most = limit + mostTokens + (senders - 1) * (mostTokens - estimate);
  assert.ok(used < most, `${used} tokens are more than running replies take beyond their estimates`);
  totals.keys++;
  totals.replies += replies.length;
  totals.interrupted += replies.filter(({ error }) => error?.code === "interrupted").length;
  totals.beyond = Math.max(totals.beyond, used - limit);
}

async function spendOn(): Promise<void> {
  while (!isOver) await spend();
}

/** Kills one server or the other in the middle of its work, and starts it again. */
async function killAll(): Promise<void> {
  for (let killed = 0; killed < kills; killed++) {
    const before = totals.sends;
    await pause(Math.random() * 1000);
    await until("clients send", patienceMs, () => totals.sends > before);
    const place = Math.floor(Math.random() * servers.length);
    lastLog = (await servers[place]?.stop("SIGKILL"))?.stderr ?? "";
    servers[place] = await startServer([], settings);
  }
  const before = totals.keys;
  await until("each of the keys in use is used up", patienceMs, () => totals.keys >= before + payers);
}

try {
  servers.push(await startServer([], settings));
  servers.push(await startServer([], settings));
  const spending = Promise.all(Array.from({ length: payers }, spendOn));
  await Promise.race([killAll(), spending]);
  isOver = true;
  await spending;
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  process.stdout.write(
    `${kills} kills of two servers on PostgreSQL in ${seconds} s: ${totals.keys} keys took ${totals.replies} replies ` +
      `(${totals.interrupted} were interrupted) until ${totals.refused} sends were refused. Each has had what its replies ` +
      `took, at most ${totals.beyond} tokens more than its ${limit}, and has nothing reserved.\n`,
  );
} catch (error) {
  process.stderr.write(lastLog);
  throw error;
} finally {
  isOver = true;
  for (const server of servers) await server.stop("SIGKILL");
  model.close();
  model.closeAllConnections();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
}
