/**
 * Measuring a server that is already running: what is said about it, and what is left behind on it.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, type TestContext, test } from "node:test";
import { createEchoEngine, createMemoryStore, type Store, type TwinEngine } from "../../core/mod.ts";
import { createGate } from "../support/gate.ts";
import { countConversations, dataOf, openFixture, overSocket } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { runScript, type Script, skipWithoutSignals, startScript } from "../support/script-process.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";

const script = "bench/run.ts";

/** Starts it with arguments that it refuses, and returns its complaint. */
async function complaint(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runScript(script, args);
  assert.deepEqual([code, stdout], [1, ""]);
  return stderr;
}

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
  test("it leaves twenty requests of the key's limit, and none of its conversations", async (context) => {
    const { fixture, key, visit } = await openVisited(context, createEchoEngine());
    const { code, stdout, stderr } = await visit("--streams", "8", "--seconds", "3600").ended;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ended early +after \d+ s: the key's hourly limit was used up$/m);
    const { remaining } = await dataOf<{ remaining: number }>(await fixture.call("GET", "/usage", key));
    assert.equal(remaining, 20);
    assert.equal(await countConversations(fixture, key), 0);
  });

  test("it says before it begins how many replies the key allows, and what raises its limit", async (context) => {
    const { visit } = await openVisited(context, createEchoEngine());
    const { stderr } = await visit("--streams", "2", "--seconds", "10").ended;
    assert.match(
      stderr,
      /^The key's hourly limit of 500 requests allows 475 replies now: above 47 a second, the run ends before its 10 s\. FULL_ACCESS_PER_HOUR, /,
    );
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
