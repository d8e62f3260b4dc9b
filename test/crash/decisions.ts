/**
 * Kills the server with SIGKILL while people say yes to calls, from two devices each, which try again until they are answered:
 * a call runs once, or not at all, and then its reply says that it was interrupted.
 *
 * `CRASH_DECISIONS=100` kills more often than the default of 5.
 */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { signToken } from "../../core/auth/jwt.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { startToolServer } from "../mcp-servers/tool-server.ts";
import { begin, call, createModelServer, delta, endMarker, finish } from "../openai-models/model-server.ts";
import { startServer } from "../server/process.ts";
import { dataOf, jsonRequest } from "../support/harness.ts";
import { listen } from "../support/ports.ts";

const kills = Number(process.env.CRASH_DECISIONS ?? 5);
const people = 8;
const secret = "a secret for the crash test, 32 bytes long";
/** How long a device tries again, in milliseconds. */
const patienceMs = 60_000;

/** How often the tool ran, by its input. */
const runs = new Map<number, number>();
/** What happens on either side of the next run. */
let meet: ((side: "before" | "after") => void) | undefined;
const tool = await startToolServer(async ({ arguments: input }) => {
  const { number } = input as { number: number };
  await pause(Math.random() * 15);
  meet?.("before");
  runs.set(number, (runs.get(number) ?? 0) + 1);
  meet?.("after");
  await pause(Math.random() * 30);
  return { content: [{ type: "text", text: "Cancelled." }] };
});

/** Asks for a call, and says that it is done once it has its result. */
const model = createModelServer("clerk", ({ question, tool: name = "", results }, response) => {
  begin(response);
  const number = Number(question);
  response.write(results > 0 ? delta("Done.") : call(`call-${number}`, name, { number }));
  response.end(finish(results > 0 ? "stop" : "tool_calls") + endMarker);
});

/** A person with two devices, and a call that waits. */
interface Person {
  readonly number: number;
  readonly path: string;
  readonly calls: Readonly<Record<string, "approve">>;
}

const folder = await mkdtemp(join(tmpdir(), "twins-decisions-"));
const settings = {
  MCP_SERVERS: join(folder, "mcp.json"),
  TWINS_DIR: join(folder, "twins"),
  DATABASE_URL: `sqlite:${join(folder, "twins.db")}`,
  JWT_SECRET: secret,
  MODEL_BASE_URL: `http://127.0.0.1:${await listen(model)}/v1`,
  FULL_ACCESS_PER_HOUR: "1000000",
  LOG_LEVEL: "error",
};
/** The server that runs now: devices find the next one, too. */
let url = "";
let key = "";

function request(method: string, path: string, body?: object, headers?: Record<string, string>) {
  return fetch(`${url}/api/v1${path}`, { method, ...jsonRequest(key, body, headers) });
}

async function ask(number: number): Promise<Person> {
  const made = await dataOf<{ id: string }>(await request("POST", "/conversations", { twinId: "clerk" }));
  const path = `/conversations/${made.id}/messages`;
  const reply = await dataOf<MessageResource>(await request("POST", path, { content: String(number) }));
  const [pending] = reply.pendingCalls ?? [];
  assert.ok(pending, "the call waits");
  return { number, path, calls: { [pending.callId]: "approve" } };
}

/** One device says yes, and tries again until it is told what became of it. */
async function sayYes({ path, calls }: Person, device: string): Promise<void> {
  let last = "";
  for (const until = performance.now() + patienceMs; ; await pause(50)) {
    assert.ok(performance.now() < until, `a device was not answered: ${last}`);
    const answer = await request("POST", path, { calls }, { "Idempotency-Key": `${path} ${device}` }).catch(
      () => undefined,
    );
    const body = await answer?.json().catch(() => undefined);
    last = `${answer?.status} ${JSON.stringify(body)}`;
    // A reply that was interrupted is told as 503, too, with its id.
    const isBusy = answer?.status === 409 || (answer?.status === 503 && !body?.error?.details);
    if (answer && body && !isBusy)
      return assert.ok([200, 400, 503].includes(answer.status), JSON.stringify(body));
  }
}

/** Resolves on one side or the other of one of so many runs. */
function oneOf(count: number): Promise<void> {
  const [at, when] = [Math.ceil(Math.random() * count), Math.random() < 0.5 ? "before" : "after"];
  let met = 0;
  return new Promise((resolve) => {
    meet = (side) => {
      if (side === when && ++met === at) resolve();
    };
  });
}

/** Whether the person's call ran. What is told of it must be true. */
async function verify({ number, path }: Person): Promise<boolean> {
  const [reply] = await dataOf<MessageResource[]>(await request("GET", `${path}?order=desc&limit=1`));
  const ran = runs.get(number) ?? 0;
  assert.ok(ran <= 1, `call ${number} ran ${ran} times`);
  const told = [reply?.status, reply?.content, reply?.error?.code].join();
  assert.ok(told === "completed,Done.," || told === "failed,,interrupted", `call ${number}: ${told}`);
  assert.ok(ran === 1 || told === "failed,,interrupted", `call ${number} did not run, and is told as done`);
  return told === "completed,Done.,";
}

const totals = { done: 0, interrupted: 0 };
const startedAt = performance.now();
try {
  await mkdir(settings.TWINS_DIR);
  const twin =
    "---\nname: Clerk\nengine: openai\ntools: [orders]\nconfirm: [orders/find]\n---\nCancel orders.\n";
  await writeFile(join(settings.TWINS_DIR, "clerk.md"), twin);
  await writeFile(settings.MCP_SERVERS, JSON.stringify({ mcpServers: { orders: { url: tool.url } } }));
  for (let killed = 0, next = 1; killed < kills; killed++) {
    let server = await startServer([], settings);
    try {
      url = server.url;
      const token = await signToken({ secret, sub: "owner", expiresInSeconds: 600 });
      const made = { name: "decisions", scope: "full_access" };
      key = token;
      key = (await dataOf<{ key: string }>(await request("POST", "/auth/api-keys", made))).key;
      const asked = await Promise.all(Array.from({ length: people }, () => ask(next++)));

      const isMet = oneOf(people);
      const told = asked.flatMap((person) => ["phone", "desk"].map((device) => sayYes(person, device)));
      const deciding = Promise.all(told);
      // The first time once somebody was told, so that not all are interrupted.
      await (killed === 0 ? Promise.race(told) : isMet);
      await server.stop("SIGKILL");
      meet = undefined;
      server = await startServer([], settings);
      url = server.url;
      await deciding;
      for (const person of asked) totals[(await verify(person)) ? "done" : "interrupted"]++;
    } finally {
      await server.stop("SIGKILL");
    }
  }
} finally {
  model.close();
  model.closeAllConnections();
  await tool.close();
  await rm(folder, { recursive: true, force: true });
}
assert.ok(kills < 5 || (totals.done > 0 && totals.interrupted > 0), "servers were killed in the middle");
const seconds = Math.round((performance.now() - startedAt) / 1000);
process.stdout.write(
  `${kills} kills while two devices each said yes in ${seconds} s: of ${totals.done + totals.interrupted} calls none ran ` +
    `twice, ${totals.done} were told as done and had run, and ${totals.interrupted} replies were interrupted.\n`,
);
