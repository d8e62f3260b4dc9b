/**
 * The benchmark's command line: what it refuses, and what it leaves behind on a server that it measures.
 */

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { createCheck } from "../../bench/answers.ts";
import { atMost, columnAtMost, flat, timesAtLeast, timesAtMost, withGoal } from "../../bench/goals.ts";
import { loadNotes } from "../../bench/measure.ts";
import { databases } from "../../bench/processes.ts";
import { deltaEvent, tokens } from "../../bench/servers/reply.ts";
import { createEchoEngine, createMemoryStore, type Store, type TwinEngine } from "../../core/mod.ts";
import { createGate } from "../support/gate.ts";
import { countConversations, dataOf, openFixture, overSocket } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import {
  runScript,
  type Script,
  skipOffNode,
  skipWithoutSignals,
  startScript,
} from "../support/script-process.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";
import { until } from "../support/until.ts";

const script = "bench/run.ts";

/** Starts it with arguments that it refuses, and returns its complaint. */
async function complaint(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runScript(script, args);
  assert.deepEqual([code, stdout], [1, ""]);
  return stderr;
}

const server = ["--url", "http://127.0.0.1:1", "--key", "twin_any"];

describe("the benchmark's command line", { skip: skipOffNode }, () => {
  test("half a round is refused", async () => {
    assert.equal(
      await complaint(["--rounds", "1.5"]),
      "--rounds must be a whole number of at least 1, not 1.5.\n",
    );
  });

  test("half a stream is refused", async () => {
    assert.equal(
      await complaint([...server, "--streams", "2.5"]),
      "--streams must be a whole number of at least 1, not 2.5.\n",
    );
  });

  test("an endless round is refused", async () => {
    assert.equal(
      await complaint(["--seconds", "Infinity"]),
      "--seconds must be a number of at least 0.2, not Infinity.\n",
    );
  });

  test("without a key, it says where to give one", async () => {
    assert.equal(
      await complaint(["--url", "http://127.0.0.1:1"]),
      "--url needs an API key with the scope full_access, in the variable TWIN_KEY or in --key.\n",
    );
  });

  test("--help mentions the variable for the key", async () => {
    const { code, stdout } = await runScript(script, ["--help"]);
    assert.equal(code, 0);
    assert.match(stdout, /TWIN_KEY/);
  });
});

describe("a benchmark that is told to stop", { skip: skipWithoutSignals, timeout: 60_000 }, () => {
  test("ends a server that is still creating its keys and conversations", { timeout: 20_000 }, async () => {
    const running = startScript(script, ["send", "--seconds", "60"]); // long rounds need many keys
    await running.said(/: starting$/m);
    const isCreating = async () => (await filesOf(running)).some((name) => name.endsWith(".db-wal"));
    await until("the server has opened its database", 10_000, isCreating);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 1); // ended: nobody holds its output open any more, its server included
    assert.deepEqual(await filesOf(running), []);
  });

  test("leaves none of the databases that it filled without a server", async (context) => {
    const TMPDIR = await mkdtemp(join(tmpdir(), "twins-bench-test-"));
    context.after(() => rm(TMPDIR, { recursive: true }));
    const running = startScript(script, ["listing", "--conversations", "1000000"], { TMPDIR });
    await running.said(/messages created in/);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 1);
    assert.deepEqual(await filesOf(running), []);
    const left = await readdir(TMPDIR);
    assert.deepEqual(
      left.filter((name) => !name.startsWith("tsx-")),
      [],
    );
  });
});

/** The databases of a benchmark. */
async function filesOf({ pid }: Script): Promise<readonly string[]> {
  const names = await readdir(databases).catch(() => []); // created when it is first needed
  return names.filter((name) => name.startsWith(`${pid}-`));
}

describe("the benchmark's checks", () => {
  const deltas = tokens.map(deltaEvent).join("");
  const complete = (content: string) =>
    `data: ${JSON.stringify({ type: "complete", message: { content } })}\n\n`;
  const reply = deltas + complete(tokens.join(""));

  test("a stream is right with the whole text and, from the service, a final message with the same", () => {
    assert.equal(createCheck("deltas", tokens.length)(Buffer.from(deltas)), undefined);
    assert.equal(createCheck("reply", tokens.length)(Buffer.from(reply)), undefined);
  });

  for (const [what, body, problem] of [
    ["a missing token", tokens.slice(1).map(deltaEvent).join(""), /wrong text/],
    ["another final message", deltas + complete("Hello."), /wrong final message: Hello\./],
    ["no final message", deltas, /wrong final message/],
    ["an error event", `${deltas}data: {"type":"error","error":{}}\n\n`, /an error event/],
  ] as const) {
    test(`a stream with ${what} is wrong, even after one that was right`, () => {
      const check = createCheck("reply", tokens.length);
      check(Buffer.from(reply));
      assert.match(check(Buffer.from(body)) ?? "", problem);
    });
  }

  test("a figure that was not measured meets no goal", () => {
    const row = { name: "a server", median: Number.NaN, low: 0, high: 0, more: {} };
    const goals = [timesAtLeast(1), timesAtMost(1), atMost(1, "KB"), columnAtMost("delay p99 ms", 1), flat];
    for (const goal of goals) assert.equal(withGoal(row, goal).met, false, goal.text);
  });

  test("a note says where a server of open streams had no core left", () => {
    const row = (name: string, cpu: number) => {
      const more = { "server CPU %": cpu, "load CPU %": 30, "load's own lag p99 ms": 1 };
      return { name, median: 1, low: 1, high: 1, more };
    };
    const [note, ...others] = loadNotes([row("1,000 streams", 40), row("5,000 streams", 100)]);
    assert.match(note ?? "", /^The server used up its core with: 5,000 streams\./);
    assert.deepEqual(others, []);
  });
});

/** A service, one of its keys, and a way to measure it. */
async function openVisited(context: TestContext, engine: TwinEngine, store: Partial<Store> = {}) {
  const whole = { ...createMemoryStore(), ...store };
  const fixture = await openFixture(overSocket, { store: whole, engines: { echo: engine } });
  context.after(() => fixture[Symbol.asyncDispose]());
  const key = await fixture.key();
  const visit = (...args: string[]): Script =>
    startScript(script, ["--url", fixture.url, ...args], { TWIN_KEY: key });
  return { fixture, key, visit };
}

describe("measuring a running server", { skip: skipWithoutSignals, timeout: 60_000 }, () => {
  test("it leaves twenty requests of the key's budget, and none of its conversations", async (context) => {
    const { fixture, key, visit } = await openVisited(context, createEchoEngine());
    const { code, stdout, stderr } = await visit("--streams", "8", "--seconds", "3600").ended;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ended early +after \d+ s: the key's hourly budget was used up$/m);
    const { remaining } = await dataOf<{ remaining: number }>(await fixture.call("GET", "/usage", key));
    assert.equal(remaining, 20);
    assert.equal(await countConversations(fixture, key), 0);
  });

  test("it reports what it could not delete", async (context) => {
    const broken = { deleteConversation: () => Promise.reject(new Error("The disk is full.")) };
    const { visit } = await openVisited(context, createEchoEngine(), broken);
    const { stdout } = await visit("--streams", "2", "--seconds", "1").ended;
    assert.match(stdout, /^left behind +2 of 2 conversations could not be deleted: DELETE .+ answered 500/m);
  });

  test("a reply that fails ends the run, with the reason on a line of its own", async (context) => {
    const failing = { reply: () => Promise.reject(new Error("out of order")) };
    const { fixture, key, visit } = await openVisited(context, failing);
    const { code, stderr } = await visit("--streams", "1").ended;
    assert.equal(code, 1);
    assert.match(stderr, /^A reply failed: model_error: /m);
    assert.equal(await countConversations(fixture, key), 0);
  });

  test("another server is told from this one", async (context) => {
    const other = createServer((_, response) => response.end("<!doctype html>"));
    const url = `http://127.0.0.1:${await listen(other)}`;
    context.after(() => other.close());
    assert.equal(
      await complaint(["--url", url, "--key", "twin_any"]),
      "GET /usage got an answer that is not this API's: <!doctype html>\n",
    );
  });

  test("an address without a scheme is refused", async () => {
    assert.equal(
      await complaint(["--url", "localhost:8787", "--key", "twin_any"]),
      "--url must be an address such as http://127.0.0.1:8787, not localhost:8787.\n",
    );
  });

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    test(`${signal} ends running replies, deletes the conversations and prints the results so far`, async (context) => {
      const engine = createScriptedEngine();
      const { fixture, key, visit } = await openVisited(context, engine);
      const visiting = visit("--streams", "2");
      const first = await visiting.until(engine.next());
      first.write("Hello.");
      first.finish();
      const running = [await visiting.until(engine.next()), await visiting.until(engine.next())];

      visiting.signal(signal);
      const { code, stdout, stderr } = await visiting.ended;
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^replies, all checked +1$/m);
      assert.match(stdout, /^ended early +after \d+ s: stopped by a signal$/m);
      await Promise.all(running.map(({ aborted }) => aborted));
      assert.equal(await countConversations(fixture, key), 0);
    });
  }

  test("a conversation that is being created when it is told to stop is deleted, too", async (context) => {
    const memory = createMemoryStore();
    const making = createGate();
    const goOn = createGate();
    const { fixture, key, visit } = await openVisited(context, createEchoEngine(), {
      ...memory,
      async createConversation(...which) {
        making.open();
        await goOn.opened;
        return memory.createConversation(...which);
      },
    });
    const visiting = visit("--streams", "1");
    await visiting.until(making.opened);
    visiting.signal("SIGTERM");
    await visiting.said(/^Stopping/m);
    goOn.open();
    const { code, stderr } = await visiting.ended;
    assert.equal(code, 0, stderr);
    assert.equal(await countConversations(fixture, key), 0);
  });

  test("a second signal ends it at once", async (context) => {
    const engine = createScriptedEngine();
    const memory = createMemoryStore();
    const deleting = createGate();
    const goOn = createGate();
    const { visit } = await openVisited(context, engine, {
      ...memory,
      async deleteConversation(...which) {
        deleting.open();
        await goOn.opened;
        return memory.deleteConversation(...which);
      },
    });
    const visiting = visit("--streams", "1");
    const running = await visiting.until(engine.next());
    visiting.signal("SIGINT");
    await visiting.until(deleting.opened);
    visiting.signal("SIGINT");
    const { code, stdout } = await visiting.ended;
    goOn.open();
    await running.aborted;
    assert.deepEqual([code, stdout], [1, ""]);
  });
});
