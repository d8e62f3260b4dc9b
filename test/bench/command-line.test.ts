/**
 * The benchmark's command line: what it refuses.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { runScript, skipOffNode } from "../support/script-process.ts";

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

  test("options for the scenarios are refused with a server of one's own", async () => {
    assert.equal(
      await complaint([...server, "--quick"]),
      "--quick does not work with --url, which measures a server of your own. See npm run bench -- --help.\n",
    );
  });

  test("an unknown server is refused, and the known ones are listed", async () => {
    assert.match(
      await complaint(["live", "--servers", "twin-service,nginx"]),
      /^There is no server nginx\.\n[\s\S]+twin-service, node-pipe,/,
    );
  });

  test("an unknown scenario is refused, and the known ones are listed", async () => {
    assert.match(
      await complaint(["speed"]),
      /^There is no scenario speed\.\n[\s\S]+^ {2}live +Live streams/m,
    );
  });
});

describe("the command line of the benchmark of devices", { skip: skipOffNode }, () => {
  test("a single device is refused, and the usage printed", async () => {
    const { code, stdout, stderr } = await runScript("bench/devices.ts", ["1"]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^The devices must be a whole number of at least 2, not 1\.\n\nUsage: /);
  });

  test("--help describes its argument", async () => {
    const { code, stdout, stderr } = await runScript("bench/devices.ts", ["--help"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^Usage: .+ \[devices\]$/m);
  });
});
