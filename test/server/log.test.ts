/**
 * What the reference server logs.
 */

import assert from "node:assert/strict";
import { readFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { withoutSignals } from "../support/child-process.ts";
import { runtime } from "../support/runtime.ts";
import { createScratch } from "./fixture.ts";
import { launchServer, startServer, startServerAfter } from "./process.ts";

const scratch = await createScratch();

describe("what the server logs", () => {
  test("its start is a line with the resulting settings, without secrets", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, {
      MODEL_BASE_URL: "http://127.0.0.1:9",
      MODEL_API_KEY: "secret-key",
    });
    const { time, version, settings, ...rest } = await server.logged("started");
    const file = flags[3]?.replace("sqlite:", "");
    const kinds = { runtime, database: "sqlite", file, limits: "sqlite", model: true, tokens: "secret" };
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

  test("what a package prints is a line of the log, and never of an output", {
    skip: (runtime !== "node" && "needs Node's --import to run code before the server") || withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    const prints = `
      console.warn("Warning: %s", "odd");
      console.log("two\\nlines");
      console.count("counted");
      console.assert(false, "not so");
      process.stderr.write("written\\n");
    `;
    const early = encodeURIComponent(`process.once("SIGUSR2", () => { ${prints} });`);
    const variables = { NODE_OPTIONS: `--import=data:text/javascript,${early}`, LOG_LEVEL: "debug" };
    const server = await startServer(flags, variables);
    server.signal("SIGUSR2");
    await server.logged("a package prints");
    const { stdout, stderr } = await server.stop();
    const lines = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const printed = lines.filter(({ message }) => message === "a package prints");
    assert.deepEqual(
      printed.map(({ level, text }) => [level, text]),
      [
        ["warn", "Warning: odd"],
        ["debug", "two\nlines"],
        ["debug", "counted: 1"],
        ["warn", "Assertion failed: not so"],
        ["debug", "written"],
      ],
    );
    assert.equal(stdout, `listening on ${server.url}\n`);
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

  test("a disk that is full for a while costs the log lines of that time, not the last ones", {
    skip:
      (process.platform === "win32" && "limits a file's size with a shell") ||
      (runtime === "deno" && "Deno writes larger files of its own"),
  }, async () => {
    const { folder } = await scratch();
    const file = join(folder, "log");
    const fullAt = 4096;
    const flags = ["--twins", join(folder, "twins"), "--database", "memory:"];
    const server = await startServerAfter(`ulimit -f ${fullAt / 512}`, flags, file);
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
    const server = await startServerAfter("true", flags, "/dev/full");
    for (let asked = 0; asked < 3; asked++) {
      assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    }
    assert.equal(await server.stop(), 0);
  });

  test("LOG_LEVEL leaves out entries of lower levels", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, { LOG_LEVEL: "error" });
    await fetch(`${server.url}/healthz`);
    assert.equal((await server.stop()).stderr, "");
  });

  test("its start warns of settings and twins that cannot work, or work for more people than is meant", async () => {
    const talker = "---\nname: Talker\nengine: openai\naccess: [alice]\n---\nYou talk.\n";
    const { flags } = await scratch({ "talker.md": talker });
    const server = await startServer(flags, {
      MODEL_NAME: "llama3.2",
      JWT_JWKS_URL: "http://127.0.0.1:9/jwks",
      JWT_AUDIENCE: "any",
    });
    for (const message of [
      "MODEL_NAME (--model-name) does nothing without MODEL_BASE_URL",
      "a twin's engine is not set up, so its replies will fail",
      "JWTs issued for other services are accepted, too, because JWT_AUDIENCE is any",
    ]) {
      assert.equal((await server.logged(message)).level, "warn", message);
    }
    await server.stop();
  });
});
