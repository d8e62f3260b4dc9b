/**
 * The service in a worker, on the runtime of Cloudflare's workers, where timers and promises end with the request
 * that created them. `npm run test:workerd` fetches it from npm.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { test } from "node:test";
import { build } from "esbuild";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { readEvents } from "../support/event-reader.ts";
import { dataOf, eventsOf, jsonRequest, textOf } from "../support/harness.ts";
import { until } from "../support/until.ts";

const words = Array.from({ length: 60 }, (_, index) => `${index} `);

/**
 * Writes words so fast that they are joined, and continues when its reader has left. Asked to wait, it writes the second
 * half only once a reply is resumed.
 */
const quickParrot = `
import { waitUntil } from "cloudflare:workers";
import { createTwins } from "./examples/twins.ts";

const pause = () => new Promise((resolve) => setTimeout(resolve, 2));
let resumed = false;
const parrot = {
  async reply({ content }, output) {
    for (const [index, word] of ${JSON.stringify(words)}.entries()) {
      do await pause();
      while (content === "Wait." && index === ${words.length / 2} && !resumed);
      output.write(word);
    }
    return { finishReason: "stop", usage: null };
  },
};
const twins = createTwins({ engines: { parrot }, onDisconnect: "continue", waitUntil });
export default {
  fetch(request) {
    resumed ||= request.method === "GET" && request.url.endsWith("/stream");
    return twins.fetch(request);
  },
};
`;

const configuration = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01"
);
`;

interface Worker extends AsyncDisposable {
  /** Sends a request, with a key, and with a body if one is given. */
  send(path: string, body?: unknown): Promise<Response>;
  /** The path of a new conversation. */
  begin(): Promise<string>;
}

/** Starts a worker from a module's source text. */
async function startWorker(contents: string): Promise<Worker> {
  const folder = await mkdtemp(join(tmpdir(), "worker-"));
  await build({
    stdin: { contents, resolveDir: ".", loader: "ts" },
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    external: ["cloudflare:*"],
    logLevel: "warning",
  });
  await writeFile(join(folder, "config.capnp"), configuration);
  const child = spawn("workerd", ["serve", join(folder, "config.capnp"), "--control-fd=3"], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const exited = once(child, "exit");
  const [line] = await once(createInterface(child.stdio[3] as Readable), "line");
  const root = `http://127.0.0.1:${JSON.parse(String(line)).port}/twins-api/api/v1`;

  function request(path: string, credential: string, body?: unknown) {
    const method = body === undefined ? "GET" : "POST";
    return fetch(root + path, { method, ...jsonRequest(credential, body) });
  }

  const made = await request("/auth/api-keys", "session-of-alice", { name: "a", scope: "full_access" });
  const { key } = await dataOf<{ key: string }>(made);
  const send: Worker["send"] = (path, body) => request(path, key, body);
  return {
    send,
    async begin() {
      const { id } = await dataOf<{ id: string }>(await send("/conversations", { twinId: "parrot" }));
      return `/conversations/${id}`;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}

/** Reads a reply's beginning, then leaves. */
async function cut({ send }: Worker, conversation: string, content = "?"): Promise<void> {
  const stream = readEvents(await send(`${conversation}/messages/stream`, { content }));
  while ((await stream.next()).data.type !== "delta");
  await stream.leave();
}

async function lastReply({ send }: Worker, conversation: string): Promise<MessageResource> {
  const [reply] = await dataOf<MessageResource[]>(await send(`${conversation}/messages?order=desc`));
  assert.ok(reply);
  return reply;
}

/** The conversation's last reply, once it has ended. */
async function endedReply(worker: Worker, conversation: string): Promise<MessageResource> {
  const hasEnded = async () => (await lastReply(worker, conversation)).status !== "in_progress";
  await until("the reply ends", 5_000, hasEnded);
  return lastReply(worker, conversation);
}

test("the example answers, ends a reply whose reader has left, keeps its text, and takes the next question", async () => {
  await using worker = await startWorker('export { default } from "./examples/worker.ts";');
  const conversation = await worker.begin();
  await cut(worker, conversation, "word ".repeat(500));
  const { status, content } = await endedReply(worker, conversation);
  assert.equal(status, "cancelled");
  assert.match(content, /^(word ?)+$/);
  assert.equal((await worker.send(`${conversation}/messages`, { content: "Hello" })).status, 200);
});

test("a service is what a worker's default export may be", async () => {
  await using worker = await startWorker(
    'import { createTwins } from "./examples/twins.ts"; export default createTwins();',
  );
  const message = { content: "Hello" };
  assert.equal((await worker.send(`${await worker.begin()}/messages`, message)).status, 200);
});

test("each stream arrives in pieces, even after and beside one whose reader has left", async () => {
  await using worker = await startWorker(quickParrot);
  const read = async () => {
    const response = await worker.send(`${await worker.begin()}/messages/stream`, { content: "?" });
    const events = await eventsOf(response);
    assert.equal(textOf(events), words.join(""));
    assert.equal(events.at(-1)?.data.type, "complete");
    assert.ok(events.length > 10, `${events.length} events`);
  };
  await read();
  await read();
  await cut(worker, await worker.begin());
  await read();
  await Promise.all([cut(worker, await worker.begin()), read(), read()]);
});

test("a reply continues without its reader if the host is told to wait until it has ended", async () => {
  await using worker = await startWorker(quickParrot);
  const conversation = await worker.begin();
  await cut(worker, conversation);
  const { status, content } = await endedReply(worker, conversation);
  assert.deepEqual([status, content], ["completed", words.join("")]);
});

test("a reply whose reader has left is resumed by another request while it runs", async () => {
  await using worker = await startWorker(quickParrot);
  const conversation = await worker.begin();
  await cut(worker, conversation, "Wait.");
  const { id, status } = await lastReply(worker, conversation);
  assert.equal(status, "in_progress");
  const events = await eventsOf(await worker.send(`${conversation}/messages/${id}/stream`));
  assert.equal(textOf(events), words.join(""));
  assert.equal(events.at(-1)?.data.type, "complete");
});
