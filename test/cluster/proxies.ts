/**
 * Two server processes behind each of the reverse proxies of `deploy/`: streams, and restarts without downtime. Part of
 * `run.ts`.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { readEvents } from "../support/event-reader.ts";
import { dataOf } from "../support/harness.ts";
import { freePort } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { beginReply, call, historyOf, newConversation, newKey, read, ready } from "./clients.ts";
import { proxies, type RunningProxy } from "./proxy.ts";
import {
  type Cluster,
  createCluster,
  createSlowModel,
  type ServerProcess,
  type SlowModel,
} from "./server.ts";

const noPostgres = await skipWithoutPostgres();

for (const program of proxies) {
  const skip = noPostgres || program.skip;
  if (skip) console.log(`# ${program.name} is not tested: ${skip}.`);

  describe(`two servers behind ${program.name}`, { skip }, () => {
    let model: SlowModel;
    let database: Awaited<ReturnType<typeof createDatabase>>;
    let cluster: Cluster;
    let ports: [number, number];
    let servers: ServerProcess[];
    let proxy: RunningProxy;

    before(async () => {
      model = await createSlowModel();
      database = await createDatabase();
      cluster = await createCluster({
        DATABASE_URL: database.url,
        MODEL_BASE_URL: model.url,
        MODEL_NAME: "slow",
        CONTINUE_REPLIES: "prefix",
        LEASE_MS: "3000",
      });
      ports = [await freePort(), await freePort()];
      servers = await Promise.all(ports.map((port) => cluster.start(port)));
      proxy = await program.start(ports);
      await until("the proxy reaches a ready server", 5000, () => ready(proxy));
    });
    after(async () => {
      // If starting failed, some of them do not exist; any that were left would keep this process alive.
      await proxy?.stop();
      await cluster?.dispose();
      await database?.drop();
      model?.close();
    });

    test("events arrive as they are produced, and are not compressed", async (t) => {
      const { key } = await newKey(proxy, "alice");
      const path = await newConversation(proxy, key, "slow");
      const lags: number[] = [];
      const response = await call(
        proxy,
        "POST",
        `${path}/messages/stream`,
        key,
        { content: "30" },
        { "Accept-Encoding": "gzip" },
      );
      assert.equal(response.headers.get("Content-Encoding"), null);
      await read(response, (text) => lags.push(Date.now() - Number(text.trimEnd().split(" ").at(-1)))).done;
      lags.sort((one, other) => one - other);
      const median = lags[Math.floor(lags.length / 2)] ?? 0;
      t.diagnostic(`text arrived after ${median} ms (median)`);
      assert.ok(median < 300 && lags.length > 15, `${median} ms, ${lags.length} pieces`);
    });

    test("over HTTP/2, one connection has forty streams of conversations at once", async () => {
      const { key } = await newKey(proxy, "heidi");
      const paths = await Promise.all(Array.from({ length: 40 }, () => newConversation(proxy, key, "echo")));
      const connection = connectHttp2(proxy.secureUrl, { rejectUnauthorized: false });
      await using _ = {
        async [Symbol.asyncDispose]() {
          connection.destroy();
        },
      };
      const send = (method: string, path: string, body?: object) => {
        const stream = connection.request({
          ":method": method,
          ":path": `/api/v1${path}`,
          authorization: `Bearer ${key}`,
          ...(body && { "content-type": "application/json" }),
        });
        let text = "";
        stream.setEncoding("utf8").on("data", (part) => {
          text += part;
        });
        stream.end(body && JSON.stringify(body));
        return { text: () => text };
      };
      const streams = paths.map((path) => send("GET", `${path}/stream`));
      const all = (part: string) => streams.every((stream) => stream.text().includes(part));
      await until("all streams have begun", 10_000, () => all('"type":"conversation"'));
      for (const path of paths) send("POST", `${path}/messages/stream`, { content: "Hi there" });
      await until("all replies have ended in them", 10_000, () => all('"finishReason":"stop"'));
    });

    test("whoever asks the proxy for 127.0.0.1 gets no page that is for the server's own machine", async () => {
      for (const path of ["/", "/docs"]) {
        const { port } = new URL(proxy.url);
        const asked = request({ port, path, headers: { Host: "127.0.0.1", Accept: "text/html" } }).end();
        const [answer] = await once(asked, "response");
        const page = await text(answer);
        assert.doesNotMatch(page, /<script/, path);
      }
      const [server] = servers;
      assert.match(
        await (await fetch(`${server?.url}/`, { headers: { Accept: "text/html" } })).text(),
        /<script/,
      );
    });

    test("an error from the service is passed on unchanged", async () => {
      const { key } = await newKey(proxy, "bob");
      const response = await call(proxy, "POST", "/conversations", key, { twinId: "x".repeat(300_000) });
      assert.equal(response.status, 413);
      assert.match(await response.text(), /"code":"payload_too_large"/);
    });

    test("a POST over HTTP/1.1 leaves its connection as this proxy can bear it", async () => {
      const { key } = await newKey(proxy, "erin");
      const path = await newConversation(proxy, key, "echo");
      const response = await call(proxy, "POST", `${path}/messages`, key, { content: "Hi" });
      assert.equal(response.headers.get("Connection"), program.connectionAfterPost);
      await response.arrayBuffer();
    });

    test("uploads that clients break off take no server out of service", async () => {
      const { key } = await newKey(proxy, "frank");
      const path = await newConversation(proxy, key, "echo");
      for (let upload = 0; upload < 6; upload++) await breakOffUpload(proxy, `${path}/messages`, key);
      for (let request = 0; request < 20; request++) {
        const response = await call(proxy, "POST", `${path}/messages`, key, { content: "Hi" });
        assert.equal(response.status, 200, await response.text());
      }
    });

    test("restarting the servers one after the other loses no request and no reply", async (t) => {
      const { key } = await newKey(proxy, "carol");
      const streams = await Promise.all(
        Array.from({ length: 4 }, async () =>
          beginReply(proxy, key, await newConversation(proxy, key, "slow"), 50),
        ),
      );
      const traffic = await Promise.all(
        Array.from({ length: 4 }, (_, n) => startTraffic(proxy, `dave ${n}`)),
      );
      for (const [index, server] of servers.entries()) {
        assert.equal(await server.kill("SIGTERM"), 0);
        const started = await cluster.start(ports[index]);
        servers[index] = started;
        await until("it is ready again", 5000, () => ready(started));
      }
      for (const { reading, replyPath } of streams) {
        await reading.done;
        const reply = await dataOf<MessageResource>(await call(proxy, "GET", replyPath, key));
        assert.deepEqual([reply.status, reply.content], ["completed", reading.text()]);
      }
      const counts = await Promise.all(traffic.map((each) => each.stop()));
      const sum = (of: "sent" | "repeated" | "read") => counts.reduce((total, count) => total + count[of], 0);
      t.diagnostic(`${sum("sent")} sends, of which ${sum("repeated")} were repeated; ${sum("read")} reads`);
      assert.ok(sum("sent") > 20);
    });

    test("when a server is killed, streams that reconnect end with the whole reply", async (t) => {
      const { key } = await newKey(proxy, "grace");
      const streams = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const path = await newConversation(proxy, key, "slow");
          const answer = await call(proxy, "POST", `${path}/messages/stream`, key, { content: "60" });
          return { path, following: followToEnd(proxy, key, path, answer) };
        }),
      );
      await until("all replies have begun", 10_000, () => model.streaming === streams.length);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await servers[0]?.kill("SIGKILL");
      const startedAt = performance.now();
      const ends = await Promise.all(streams.map(({ following }) => following));
      const taken = Math.round(performance.now() - startedAt);
      let continued = 0;
      for (const [index, { text, message, cuts }] of ends.entries()) {
        assert.deepEqual([message.status, message.content], ["completed", text]);
        assert.equal(text.trimEnd().split(" ").length, 60);
        assert.equal((await historyOf(proxy, key, streams[index]?.path ?? "")).length, 2);
        if (message.attempt === 2) continued++;
        assert.ok(cuts <= 1);
      }
      t.diagnostic(`${continued} of ${ends.length} replies were taken over; all had ended after ${taken} ms`);
      assert.ok(continued > 0);
      servers[0] = await cluster.start(ports[0]);
    });
  });
}

/** Follows a reply through broken connections, cuts its text back where it is told to, and returns how it ends. */
async function followToEnd(proxy: RunningProxy, key: string, path: string, answer: Response) {
  let [text, replyId, cuts] = ["", "", 0];

  async function readAll(response: Response): Promise<MessageResource | undefined> {
    if (!response.ok) return void (await response.arrayBuffer());
    const stream = readEvents(response);
    for (;;) {
      const { data } = await stream.next();
      if (data.type === "complete") return data.message;
      if (data.type === "error") throw new Error(`A reply failed: ${data.error.code}`);
      if (data.type === "delta") text += data.content;
      else if (data.progress.stage === "accepted") replyId = String(data.progress.messageId);
      else if (data.progress.stage === "continued") {
        text = text.slice(0, Number(data.progress.from));
        cuts++;
      }
    }
  }

  /** Undefined: the connection broke. */
  const readOn = (response: Response) =>
    readAll(response).catch((error: Error) => {
      if (error.message.startsWith("A reply failed")) throw error;
      return undefined;
    });

  let message = await readOn(answer);
  for (let attempt = 0; !message && attempt < 100; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const headers = { "Last-Event-ID": String(text.length) };
    const streamPath = `${path}/messages/${replyId}/stream`;
    const response = await call(proxy, "GET", streamPath, key, undefined, headers).catch(() => undefined);
    message = response && (await readOn(response));
  }
  assert.ok(message, "a stream never ended");
  return { text, message, cuts };
}

/** Sends a part of a body, and leaves once the proxy has had time to pass it on. */
async function breakOffUpload(proxy: RunningProxy, path: string, key: string): Promise<void> {
  const { hostname, port } = new URL(proxy.url);
  const socket = connect(Number(port), hostname);
  const head = [
    `POST /api/v1${path} HTTP/1.1`,
    `Host: ${hostname}`,
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    "Content-Length: 100000",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n{"content":"`);
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.destroy();
}

/** Reads and sends until told to stop, and repeats a send that met a closing server, with its `Idempotency-Key`. */
async function startTraffic(proxy: RunningProxy, owner: string) {
  const { key } = await newKey(proxy, owner);
  const path = await newConversation(proxy, key, "echo");
  const count = { sent: 0, repeated: 0, read: 0 };
  let going = true;

  async function send(content: string): Promise<MessageResource> {
    const headers = { "Idempotency-Key": content };
    for (let attempt = 0; attempt < 50; attempt++) {
      const response = await call(proxy, "POST", `${path}/messages`, key, { content }, headers);
      if (response.status === 200) return dataOf(response);
      assert.ok([502, 503].includes(response.status), `${response.status} ${await response.text()}`);
      count.repeated++;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error("A send was refused again and again.");
  }

  const done = (async () => {
    while (going) {
      const content = `${count.sent}`;
      assert.equal((await send(content)).content, content);
      count.sent++;
      const response = await call(proxy, "GET", path, key);
      assert.equal(response.status, 200, await response.clone().text());
      await response.arrayBuffer();
      count.read++;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    const conversation = await dataOf<{ messageCount: number }>(await call(proxy, "GET", path, key));
    assert.equal(conversation.messageCount, 2 * count.sent);
    assert.equal((await historyOf(proxy, key, path)).at(-1)?.role, "assistant");
  })();
  done.catch(() => {}); // reported by `stop`
  return {
    async stop() {
      going = false;
      await done;
      return count;
    },
  };
}
