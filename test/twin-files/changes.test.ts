import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openTwinFiles } from "../../adapters/twin-files/mod.ts";
import type { Clock } from "../../core/base/clock.ts";
import { settle } from "../support/clock.ts";

import { runtime } from "../support/runtime.ts";
import { createFolder, createRecorder, openFolder } from "./fixture.ts";

/** The timers of one kind, which fire when a test says so. */
class Timers {
  readonly #waiting = new Set<{ readonly callback: () => void }>();
  #added = () => {};

  get pending(): number {
    return this.#waiting.size;
  }

  add(callback: () => void): () => void {
    const timer = { callback };
    this.#waiting.add(timer);
    this.#added();
    return () => this.#waiting.delete(timer);
  }

  /** Resolves when the next timer is set. Keeps the process alive until then, as a folder's watcher does not. */
  async next(): Promise<void> {
    const alive = setTimeout(() => {}, 20_000);
    await new Promise<void>((resolve) => {
      this.#added = resolve;
    });
    clearTimeout(alive);
  }

  begin(): void {
    const due = [...this.#waiting];
    this.#waiting.clear();
    for (const { callback } of due) callback();
  }

  /** Fires all timers, and resolves once another one is set. */
  async run(): Promise<void> {
    const next = this.next();
    this.begin();
    await next;
  }
}

/** A clock for watching a folder: the timers of its polls, and of its reloads after changes that the system reports. */
function createTimers() {
  const looks = new Timers();
  const reloads = new Timers();
  const clock: Clock = {
    now: () => 0,
    after: (milliseconds, callback) => (milliseconds < 1000 ? reloads : looks).add(callback),
  };
  return { clock, looks, reloads };
}

test("polling finds a change that the system did not report", { timeout: 20_000 }, async (t) => {
  const { clock, looks } = createTimers(); // whose reloads after changes never come
  const { folder, recorder, idsFor } = await openFolder(t, { "ada.md": "---\nname: Ada\n---\n" }, { clock });
  const read = recorder.next("info");
  await writeFile(join(folder, "bob.md"), "---\nname: Bob\n---\n");
  looks.begin();
  assert.equal((await read).fields.file, "bob.md");
  assert.deepEqual(await idsFor("alice"), ["ada", "bob"]);
});

test("after a look that took long, the next one waits longer", { timeout: 20_000 }, async (t) => {
  for (const [took, rest] of [
    [1, 2_000],
    [50, 10_000],
    [1_000, 30_000],
  ] as const) {
    let now = 0;
    const rests: number[] = [];
    const looks = new Timers();
    const after: Clock["after"] = (milliseconds, callback) => {
      rests.push(milliseconds);
      return looks.add(callback);
    };
    const clock: Clock = { now: () => (now += took), after };
    await openFolder(t, { "ada.md": "---\nname: Ada\n---\n" }, { clock });
    await looks.run();
    assert.equal(rests.at(-1), rest);
  }
});

test("a change that the system reports is read without waiting for the next poll", {
  skip: process.platform === "win32" && "Windows cannot replace a file while it is being read",
  timeout: 20_000,
}, async (t) => {
  const eager: Clock = {
    now: () => 0,
    after(milliseconds, callback) {
      if (milliseconds < 1000) queueMicrotask(callback);
      return () => {};
    },
  };
  const files = { "ada.md": "---\nname: Ada\n---\n" };
  const { folder, recorder, nameOf } = await openFolder(t, files, { clock: eager });
  const read = recorder.next("info");
  await writeFile(join(folder, "new.tmp"), "---\nname: Countess\n---\n");
  await rename(join(folder, "new.tmp"), join(folder, "ada.md"));
  await read;
  assert.equal(await nameOf("alice", "ada"), "Countess");
});

test("polling continues, whether it found a change or not", { timeout: 20_000 }, async (t) => {
  const { clock, looks } = createTimers();
  const { folder, recorder } = await openFolder(t, { "ada.md": "---\nname: Ada\n---\n" }, { clock });
  await looks.run();
  for (const name of ["Countess", "Lovelace"]) {
    await writeFile(join(folder, "ada.md"), `---\nname: ${name}\n---\n`);
    await looks.run();
  }
  assert.deepEqual(recorder.of("info"), ["a twin file was read", "a twin file was read"]);
});

test("polling finds changes so close to each other that size and times are the same", {
  timeout: 20_000,
}, async (t) => {
  const { clock, looks } = createTimers();
  const { folder, nameOf } = await openFolder(t, { "ada.md": "---\nname: Ada\n---\n" }, { clock });
  for (let round = 10; round < 60; round++) {
    await writeFile(join(folder, "ada.md"), `---\nname: Ada ${round}\n---\n`);
    await looks.run();
    assert.equal(await nameOf("alice", "ada"), `Ada ${round}`);
  }
});

test("changes that the system reports in succession are read together", {
  timeout: 20_000,
}, async (t) => {
  const { clock, reloads } = createTimers();
  const { folder } = await openFolder(t, {}, { clock });
  for (const file of ["ada.md", "bob.md"]) {
    const announced = reloads.next();
    await writeFile(join(folder, file), "---\nname: New\n---\n");
    await announced;
  }
  assert.equal(reloads.pending, 1);
});

test("once closed, nothing is scheduled any more", { timeout: 20_000 }, async (t) => {
  const folder = await createFolder(t, {});
  const { clock, looks, reloads } = createTimers();
  const files = await openTwinFiles(folder, { defaultEngine: "echo", clock });
  const announced = reloads.next();
  writeFileSync(join(folder, "ada.md"), "---\nname: Ada\n---\n");
  await announced;
  assert.deepEqual([looks.pending, reloads.pending], [1, 1]);
  await files.close();
  await settle(); // a file that is written is reported more than once; Deno does so even now
  assert.deepEqual([looks.pending, reloads.pending], [0, 0]);
});

test("nothing is scheduled if it is closed during a poll", { timeout: 20_000 }, async (t) => {
  const folder = await createFolder(t, {});
  const recorder = createRecorder();
  const { clock, looks } = createTimers();
  const files = await openTwinFiles(folder, { defaultEngine: "echo", log: recorder.log, clock });
  await writeFile(join(folder, "ada.md"), "---\nname: Ada\n---\n");
  const read = recorder.next("info");
  looks.begin();
  await files.close();
  await read;
  await settle();
  assert.equal(looks.pending, 0);
});

test("closing waits for a reload in progress", async (t) => {
  const { folder, recorder, twins } = await openFolder(t, {});
  await writeFile(join(folder, "ada.md"), "---\nname: Ada\n---\n");
  void twins.reload();
  await twins.close();
  assert.deepEqual(recorder.of("info"), ["a twin file was read"]);
});

test("watching for changes does not keep a process alive", {
  skip: runtime !== "node" && "it runs only on Node",
  timeout: 60_000,
}, async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const code = `import { openTwinFiles } from "./adapters/twin-files/mod.ts";
    await openTwinFiles(${JSON.stringify(folder)}, { defaultEngine: "echo" });`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", code],
    { encoding: "utf8", timeout: 30_000 },
  );
  assert.equal(status, 0, stderr);
});
