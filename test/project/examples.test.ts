/**
 * Each example is started as its readers would start it, and used from outside.
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { acceptedId } from "../support/chat.ts";
import { limitedTime } from "../support/child-process.ts";
import { readEvents } from "../support/event-reader.ts";
import { dataOf, eventsOf, jsonRequest, textOf } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { runtime } from "../support/runtime.ts";
import { until } from "../support/until.ts";

interface Example {
  /** Sends a request below the base path. */
  send(path: string, init?: RequestInit): Promise<Response>;
  /** The host's own page. */
  page(): Promise<string>;
  close(): Promise<void>;
}

const commands = {
  node: {
    flags: ["--import", "tsx"],
    names: ["node-http", "express", "fastify", "hono", "next-route", "worker"],
  },
  deno: { flags: ["run", "--config", "deno.json", "--allow-all", "--no-check"], names: ["deno"] },
  bun: { flags: [], names: ["bun"] },
};
const { flags, names } = commands[runtime];

/** Modules that do not listen by themselves. */
const hosted = ["next-route", "worker"];

async function start(name: string): Promise<Example> {
  const file = `examples/${name}.ts`;
  const program = hosted.includes(name) ? ["test/servers/web-host.ts", file] : [file];
  const child = spawn(process.execPath, [...flags, ...program], {
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
    ...limitedTime,
  });
  const exited = once(child, "exit");
  const [line] = await once(createInterface(child.stdout), "line");
  const url = String(line).replace(/^listening on /, "");
  return {
    send: (path, init) => fetch(`${url}/twins-api${path}`, init),
    page: async () => (await fetch(url)).text(),
    async close() {
      child.kill();
      await exited;
    },
  };
}

for (const name of names) {
  const framework = ["express", "fastify", "hono"].includes(name);
  const missing = framework && !existsSync(`examples/node_modules/${name}`);
  const skip = missing && `${name} is not installed: npm ci --prefix examples`;

  describe(`the example ${name}`, { skip }, () => {
    let example: Example;
    before(async () => {
      example = await start(name);
    });
    after(() => example?.close());

    test("lists twins, streams a reply as it grows, and cancels one", async () => {
      await use(example, async ({ send, root, json }) => {
        const twins = await dataOf<{ id: string }[]>(await send("/api/v1/twins", json()));
        assert.deepEqual(
          twins.map(({ id }) => id),
          ["parrot"],
        );

        const streamed = await send(`${root}/messages/stream`, json({ content: "one two three four five" }));
        assert.equal(streamed.headers.get("content-type"), "text/event-stream; charset=utf-8");
        const events = await eventsOf(streamed);
        assert.match(textOf(events), /^one two three four five$/i);
        assert.ok(events.filter(({ data }) => data.type === "delta").length > 1, "it arrived in pieces");

        const long = await send(`${root}/messages/stream`, json({ content: "word ".repeat(2_000) }));
        const { messageId, stream } = await begin(long);
        assert.equal((await send(`${root}/messages/${messageId}/cancel`, json({}))).status, 200);
        const last = (await stream.rest()).at(-1)?.data;
        assert.equal(last?.type === "complete" && last.message.status, "cancelled");
      });
    });

    if (name === "fastify") {
      test("uses the host's own store", async () => {
        const earlier = countOn(await example.page());
        await use(example, async ({ page }) => assert.equal(countOn(await page()), earlier + 1));
      });
    }

    if (name === "hono") {
      test("lets a user's session with the host create a key for that user", async () => {
        await use(example, async ({ send, json }) => {
          const headers = { "Content-Type": "application/json" };
          const body = JSON.stringify({ name: "by session" });
          const create = (more: Record<string, string>) =>
            send("/api/v1/auth/api-keys", { method: "POST", headers: { ...headers, ...more }, body });
          assert.equal((await create({})).status, 401);
          assert.equal((await create({ Cookie: "session=somebody-elses" })).status, 401);
          const made = await create({ Cookie: "session=session-of-alice" });
          const { key } = await dataOf<{ key: string }>(made);
          const withHers = { headers: { "X-API-Key": key } };
          const [hers] = await dataOf<{ id: string }[]>(await send("/api/v1/conversations", withHers));
          const [same] = await dataOf<{ id: string }[]>(await send("/api/v1/conversations", json()));
          assert.ok(hers && hers.id === same?.id, "she sees her conversation with that key");
        });
      });
    }

    test("ends a reply when its reader leaves", async () => {
      await use(example, async ({ send, root, json }) => {
        const long = await send(`${root}/messages/stream`, json({ content: "word ".repeat(2_000) }));
        const { messageId, stream } = await begin(long);
        await stream.leave();
        const status = async () =>
          (await dataOf<{ status: string }>(await send(`${root}/messages/${messageId}`, json()))).status;
        await until("the reply is cancelled", 5_000, async () => (await status()) === "cancelled");
      });
    });

    // Express gives the error to the callback of `listen`, where it is easily overlooked.
    if (name === "express") {
      test("says that its port is taken", async () => {
        const other = createServer();
        const PORT = String(await listen(other));
        const { stderr } = spawnSync(process.execPath, [...flags, "examples/express.ts"], {
          encoding: "utf8",
          env: { ...process.env, PORT },
          ...limitedTime,
        });
        other.close();
        assert.match(stderr, /EADDRINUSE/);
      });
    }
  });
}

interface Use {
  readonly send: Example["send"];
  readonly page: Example["page"];
  /** The path of a new conversation. */
  readonly root: string;
  /** A request with a key, and with a body if one is given. */
  json(body?: unknown): RequestInit;
}

/** Uses an example with a new key and a new conversation. */
async function use({ send, page }: Example, body: (use: Use) => Promise<void>): Promise<void> {
  const request = (credential: string, content?: unknown): RequestInit => ({
    method: content === undefined ? "GET" : "POST",
    ...jsonRequest(credential, content),
  });
  const wanted = request("session-of-alice", { name: "test", scope: "full_access" });
  const { key } = await dataOf<{ key: string }>(await send("/api/v1/auth/api-keys", wanted));
  const json = (content?: unknown) => request(key, content);
  const conversation = await send("/api/v1/conversations", json({ twinId: "parrot" }));
  const { id } = await dataOf<{ id: string }>(conversation);
  await body({ send, page, root: `/api/v1/conversations/${id}`, json });
}

/** The number of conversations that the page of the example with a store of its own tells. */
function countOn(page: string): number {
  const [, count] = /^Conversations: (\d+)$/.exec(page) ?? [];
  return Number(count);
}

/** Reads a stream up to its first delta, long before its end. */
async function begin(response: Response) {
  const stream = readEvents(response);
  const messageId = await acceptedId(stream);
  while ((await stream.next()).data.type !== "delta"); // rejects if there is none
  return { messageId, stream };
}
