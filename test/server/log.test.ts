/**
 * What the reference server logs.
 */

import assert from "node:assert/strict";
import { readFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { withoutSignals } from "../support/child-process.ts";
import { dataOf } from "../support/harness.ts";
import { runtime } from "../support/runtime.ts";
import { call, converse, createKey, createScratch, mint } from "./fixture.ts";
import { fullAt, launchServer, startServer, startServerLoggingTo } from "./process.ts";

const scratch = await createScratch();

describe("what the server logs", () => {
  test("each request is one line of JSON, without secrets or message text", {
    skip: withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    const token = await mint(flags);
    const server = await startServer([...flags, "--log-level", "debug"]);
    const key = await createKey(server, token);
    const messages = await converse(server, key, "echo");
    await dataOf(await call(messages, "POST", key, { content: "my confidential question" }));
    await call(`${server.url}/api/v1/twins?key=${key}`, "GET", `${key}x`);
    const { stderr } = await server.stop();
    const entries = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const requests = entries.filter(({ message }) => message === "request");
    assert.deepEqual(
      requests.map(({ method, status }) => `${method} ${status}`),
      ["POST 201", "POST 201", "POST 200", "GET 401"],
    );
    for (const { time, level, requestId } of requests) {
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.equal(level, "info");
      assert.match(requestId, /^req_/);
    }
    for (const secret of [key, key.slice(12), token, "confidential"])
      assert.ok(!stderr.includes(secret), secret);
  });

  test("its start is a line with the resulting settings, without secrets", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, {
      MODEL_BASE_URL: "http://127.0.0.1:9",
      MODEL_API_KEY: "secret-key",
    });
    const { time, version, settings, ...rest } = await server.logged("started");
    const kinds = { runtime, database: "sqlite", limits: "sqlite", model: true, tokens: "secret" };
    assert.deepEqual(rest, { level: "info", message: "started", twins: flags[1], ...kinds });
    const { ON_DISCONNECT, CORS_ORIGINS, MODEL_NAME, JWT_SECRET } = settings as Record<string, unknown>;
    assert.deepEqual([ON_DISCONNECT, CORS_ORIGINS], ["continue", []]);
    assert.deepEqual([MODEL_NAME, JWT_SECRET], [null, undefined]);
    assert.match(`${time} ${version}`, /^\S+Z \d+\.\d+\.\d+$/);
    await server.logged("MODEL_BASE_URL has no path; most servers need it to end in /v1");
    const { stderr } = await server.stop();
    assert.ok(!stderr.includes("secret-key"));
  });

  test("the server survives if the reader of its standard output goes away", {
    skip: withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    const server = launchServer(flags);
    server.hangUp("stdout");
    await server.logged("started");
    const { code, stderr } = await server.stop();
    assert.equal(code, 0, stderr);
    assert.match(stderr, /"message":"stopped"/);
  });

  test("the server survives if the reader of its log goes away", {
    skip: withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    const server = await startServer(flags);
    await server.logged("started");
    server.hangUp("stderr");
    for (let asked = 0; asked < 3; asked++) {
      assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    }
    assert.equal((await server.stop()).code, 0);
  });

  test("an uncaught error is logged, and the process exits with 1", {
    skip: (runtime !== "node" && "needs Node's --import to run code before the server") || withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    for (const [mistake, message] of [
      ["throw new Error('stray')", "an exception was not caught"],
      ["Promise.reject(new Error('stray'))", "a rejection was not handled"],
    ] as const) {
      const early = encodeURIComponent(`process.once("SIGUSR2", () => { ${mistake} })`);
      const server = await startServer(flags, { NODE_OPTIONS: `--import=data:text/javascript,${early}` });
      const { code, stderr } = await server.stop("SIGUSR2");
      assert.equal(code, 1);
      const last = JSON.parse(stderr.trim().split("\n").at(-1) ?? "");
      assert.deepEqual([last.level, last.message], ["error", message]);
      assert.match(JSON.stringify(last.error), /stray/);
    }
  });

  test("it warns that JWTs for other services are accepted, too", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, { JWT_JWKS_URL: "http://127.0.0.1:9/jwks" });
    const { level } = await server.logged(
      "JWTs issued for other services are accepted, too, because JWT_AUDIENCE is not set",
    );
    assert.equal(level, "warn");
    await server.stop();
  });

  test("a disk that is full for a while costs the log lines of that time, not the last ones", {
    skip:
      (process.platform === "win32" && "limits a file's size with a shell") ||
      (runtime === "deno" && "Deno writes larger files of its own"),
  }, async () => {
    const { folder } = await scratch();
    const file = join(folder, "log");
    const server = await startServerLoggingTo(file, [
      "--twins",
      join(folder, "twins"),
      "--database",
      "memory:",
    ]);
    for (let lines = 0; lines < 40; lines++) await fetch(`${server.url}/api/v1/nowhere`);
    const { size } = await stat(file);
    await truncate(file);
    assert.equal(await server.stop(), 0);
    assert.equal(size, fullAt);
    assert.match(await readFile(file, "utf8"), /"message":"stopped"/);
  });

  test("a disk that is full from the start costs the log, not the server", {
    skip: process.platform !== "linux" && "only Linux has a device that is always full",
  }, async () => {
    const { flags } = await scratch();
    const server = await startServerLoggingTo("/dev/full", flags, "true");
    for (let asked = 0; asked < 3; asked++) {
      assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    }
    assert.equal(await server.stop(), 0);
  });

  test("it warns of incomplete model settings", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, { MODEL_NAME: "llama3.2" });
    const { level } = await server.logged("MODEL_API_KEY and MODEL_NAME do nothing without MODEL_BASE_URL");
    assert.equal(level, "warn");
    await server.stop();
  });

  test("LOG_LEVEL leaves out entries of lower levels", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, { LOG_LEVEL: "error" });
    await fetch(`${server.url}/healthz`);
    assert.equal((await server.stop()).stderr, "");
  });

  test("it warns of a twin whose model is missing, and the twin's replies fail with model_error", async () => {
    const twin = "---\nname: Talker\nengine: openai\naccess: [alice]\n---\nYou talk.\n";
    const { flags } = await scratch({ "talker.md": twin });
    const server = await startServer(flags);
    const warning = await server.logged("a twin's engine is not set up, so its replies will fail");
    assert.equal(warning.level, "warn");
    assert.equal(warning.twin, "talker");
    const key = await createKey(server, await mint(flags));
    const response = await call(await converse(server, key, "talker"), "POST", key, { content: "Hello" });
    assert.equal(response.status, 502);
    assert.equal((await response.json()).error.code, "model_error");
    await server.stop();
  });
});
