/**
 * The benchmark's command line: what it refuses, and what it leaves behind on a server that it measures.
 */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { createEchoEngine, createMemoryStore, type Store, type TwinEngine } from "../core/mod.ts";
import { createGate } from "./gate.ts";
import { dataOf, type Fixture, openFixture, overSocket } from "./harness.ts";
import { runScript, type Script, skipOffNode, skipWithoutSignals, startScript } from "./script-process.ts";
import { createScriptedEngine } from "./scripted-engine.ts";

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

/** How many conversations there are. */
async function countConversations(fixture: Fixture, key: string): Promise<number> {
  return (await dataOf<unknown[]>(await fixture.call("GET", "/conversations", key))).length;
}

describe("measuring a running server", { skip: skipWithoutSignals, timeout: 60_000 }, () => {
  test("it leaves twenty requests of the key's budget, and none of its conversations", async (context) => {
    const { fixture, key, visit } = await openVisited(context, createEchoEngine());
    const { code, stdout, stderr } = await visit("--streams", "8").ended;
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
