/**
 * A benchmark that is told to stop: it leaves no process and no file behind.
 */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { benchFile } from "../../bench/harness/build.ts";
import { processTree } from "../../bench/harness/usage.ts";
import { type Script, skipWithoutSignals, startScript } from "../support/script-process.ts";
import { until } from "../support/until.ts";

const script = "bench/run.ts";

const skip = skipWithoutSignals || (process.platform !== "linux" && "it reads Linux's /proc");

/** Where a benchmark keeps its servers' data. */
function folderOf({ pid }: Script): string {
  return benchFile(`data/${pid}`);
}

describe("a benchmark that is told to stop", { skip, timeout: 300_000 }, () => {
  test("ends a server that is still creating its keys and conversations, and removes its data", async () => {
    const running = startScript(script, ["burst", "--seconds", "60"]); // long rounds need many keys
    const database = `${folderOf(running)}/2/twins.db-wal`;
    await until("the server has opened its database", 120_000, async () => existsSync(database));
    const all = processTree(running.pid);
    assert.ok(all.length > 1);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 1);
    await until("all processes have ended", 60_000, async () => all.flatMap(processTree).length === 0);
    assert.equal(existsSync(folderOf(running)), false);
  });
});
