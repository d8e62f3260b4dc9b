/**
 * Measuring a server that is already running: what is said about it, and what is left behind on it.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, type TestContext, test } from "node:test";
import { visit } from "../../bench/visit/visit.ts";
import { createEchoEngine, type TwinEngine } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { createGate } from "../support/gate.ts";
import { countConversations, dataOf, openFixture, overSocket } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { skipOffNode, skipWithoutSignals, startScript } from "../support/script-process.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";

/** Measures a server with so many conversations at once, for so many seconds. Resolves with what is told. */
function measure(
  { url, key }: { readonly url: string; readonly key: string },
  [streams, seconds]: readonly [streams: number, seconds: number],
  { say, stop }: { readonly say?: (line: string) => void; readonly stop?: AbortSignal } = {},
): Promise<string> {
  const options = { url, key, streams, seconds, content: "Tell me." };
  return visit({ ...options, stop: stop ?? new AbortController().signal }, say ?? (() => {}), () => {});
}

/** A service to measure, and one of its keys. */
async function openVisited(context: TestContext, engine: TwinEngine, store: Partial<Store> = {}) {
  const whole = { ...createMemoryStore(), ...store };
  const fixture = await openFixture(overSocket, { store: whole, engines: { echo: engine } });
  context.after(() => fixture[Symbol.asyncDispose]());
  return { fixture, url: fixture.url, key: await fixture.key() };
}

describe("measuring a running server", { skip: skipOffNode, timeout: 300_000 }, () => {
  test("it leaves twenty requests of the key's limit, and none of its conversations", async (context) => {
    const visited = await openVisited(context, createEchoEngine());
    const { fixture, key } = visited;
    const report = await measure(visited, [8, 3600]);
    assert.match(report, /^ended early +after \d+ s: the key's hourly limit was used up$/m);
    const { remaining } = await dataOf<{ remaining: number }>(await fixture.call("GET", "/usage", key));
    assert.equal(remaining, 20);
    assert.equal(await countConversations(fixture, key), 0);
  });

  test("it says before it begins how many replies the key allows, and what raises its limit", async (context) => {
    const said: string[] = [];
    const visited = await openVisited(context, createEchoEngine());
    await measure(visited, [2, 10], { say: (line) => said.push(line) });
    assert.match(
      said[0] ?? "",
      /^The key's hourly limit of 500 requests allows 475 replies now: above 47 a second, the run ends before its 10 s\. FULL_ACCESS_PER_HOUR, /,
    );
  });

  test("it reports what it could not delete", async (context) => {
    const broken = { deleteConversation: () => Promise.reject(new Error("The disk is full.")) };
    const report = await measure(await openVisited(context, createEchoEngine(), broken), [2, 1]);
    assert.match(report, /^left behind +2 of 2 conversations could not be deleted: DELETE .+ answered 500/m);
  });

  test("a reply that fails ends the run, with the reason", async (context) => {
    const failing = { reply: () => Promise.reject(new Error("out of order")) };
    const visited = await openVisited(context, failing);
    await assert.rejects(measure(visited, [1, 20]), /^Error: A reply failed: model_error: /);
    assert.equal(await countConversations(visited.fixture, visited.key), 0);
  });

  test("another server is told from this one", async (context) => {
    const other = createServer((_, response) => response.end("<!doctype html>"));
    const url = `http://127.0.0.1:${await listen(other)}`;
    context.after(() => other.close());
    const message = "GET /usage got an answer that is not this API's: <!doctype html>";
    await assert.rejects(measure({ url, key: "twin_any" }, [1, 1]), { message });
  });

  test("an address without a scheme is refused", async () => {
    const message = "--url must be an address such as http://127.0.0.1:8787, not localhost:8787.";
    await assert.rejects(measure({ url: "localhost:8787", key: "twin_any" }, [1, 1]), { message });
  });

  test("a conversation that is being created when it is told to stop is deleted, too", async (context) => {
    const memory = createMemoryStore();
    const [making, goOn] = [createGate(), createGate()];
    const visited = await openVisited(context, createEchoEngine(), {
      ...memory,
      async createConversation(...which) {
        making.open();
        await goOn.opened;
        return memory.createConversation(...which);
      },
    });
    const stop = new AbortController();
    const measuring = measure(visited, [1, 20], { stop: stop.signal });
    await making.opened;
    stop.abort();
    goOn.open();
    await measuring;
    assert.equal(await countConversations(visited.fixture, visited.key), 0);
  });
});

describe("measuring that is told to stop", { skip: skipWithoutSignals, timeout: 300_000 }, () => {
  /** Measures a server in a process of its own. */
  const start = ({ url, key }: { readonly url: string; readonly key: string }, streams: number) =>
    startScript("bench/run.ts", ["--url", url, "--streams", String(streams)], { TWIN_KEY: key });

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    test(`${signal} ends running replies, deletes the conversations and prints the results so far`, async (context) => {
      const engine = createScriptedEngine();
      const visited = await openVisited(context, engine);
      const visiting = start(visited, 2);
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
      assert.equal(await countConversations(visited.fixture, visited.key), 0);
    });
  }

  test("a second signal ends it at once", async (context) => {
    const engine = createScriptedEngine();
    const memory = createMemoryStore();
    const [deleting, goOn] = [createGate(), createGate()];
    const visited = await openVisited(context, engine, {
      ...memory,
      async deleteConversation(...which) {
        deleting.open();
        await goOn.opened;
        return memory.deleteConversation(...which);
      },
    });
    const visiting = start(visited, 1);
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
