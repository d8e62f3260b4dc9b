/**
 * The demo as a command: what it refuses, and that it leaves nothing behind when told to stop.
 */

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runScript, skipOffNode, skipWithoutSignals, startScript } from "../support/script-process.ts";

const script = "demo.ts";

describe("the demo's command line", { skip: skipOffNode }, () => {
  const refused: Readonly<Record<string, string>> = {
    "--bogus": "Unknown option '--bogus'.",
    guide: "Unexpected argument 'guide'.",
  };
  for (const [argument, complaint] of Object.entries(refused)) {
    test(`${argument} is refused`, async () => {
      const { code, stdout, stderr } = await runScript(script, [argument]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.ok(stderr.startsWith(`${complaint}\n\nUsage: `), stderr);
    });
  }

  test("--help says what it does, without doing it", async () => {
    const { code, stdout, stderr } = await runScript(script, ["--help"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^Usage: npm run demo\n/);
    assert.doesNotMatch(stdout, /A server at/);
  });
});

test("with a BASE_PATH, as the server reads it, the demo finds the API there", {
  skip: skipOffNode,
}, async () => {
  const { code, stdout, stderr } = await runScript(script, [], { BASE_PATH: "tools/assistant/" });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^A server at \S+\d\/tools\/assistant\/api\/v1$/m);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  test(`${signal} ends the demo's server and removes its data`, {
    skip: skipWithoutSignals,
  }, async (context) => {
    const TMPDIR = await mkdtemp(join(tmpdir(), "twin-service-demo-test-"));
    context.after(() => rm(TMPDIR, { recursive: true }));
    const demo = startScript(script, [], { TMPDIR });
    await demo.said(/^A server at /m); // next, a process of its own makes a token
    demo.signal(signal);
    const { code, stdout, stderr } = await demo.ended;
    assert.deepEqual([code, stderr], [1, "Stopped.\n"]);
    assert.deepEqual(
      (await readdir(TMPDIR)).filter((name) => !name.startsWith("tsx-")),
      [],
    );
    const [, api = ""] = /^A server at (\S+)$/m.exec(stdout) ?? [];
    await assert.rejects(fetch(`${api}/openapi.json`), "nothing is listening any more");
  });
}
