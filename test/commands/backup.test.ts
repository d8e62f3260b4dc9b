/**
 * Backups of a SQLite database: by the server that writes it, and without one; what cannot be is one line.
 */

import assert from "node:assert/strict";
import { access, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { begin, newConversation } from "../contracts/store-records.ts";
import { assertRefusal, call, converse, createKey, createScratch, mint } from "../server/fixture.ts";
import { runServer, startServer } from "../server/process.ts";
import { withoutSignals } from "../support/child-process.ts";

const scratch = await createScratch();

/** Fills a database with long questions, so that its copy takes a while. */
async function fill(folder: string, megabytes: number): Promise<void> {
  const { store, close } = await openSqlite(join(folder, "data", "twins.db"));
  const content = "All work and no play. ".repeat(1400);
  await Promise.all(
    Array.from({ length: megabytes * 33 }, async () => {
      const { id } = await newConversation(store, "filler");
      await begin(store, "filler", id, { content });
    }),
  );
  await close();
}

describe("backup", () => {
  test("it is whole while the server writes, and nobody waits for it", { timeout: 120_000 }, async () => {
    const { folder, flags } = await scratch();
    await fill(folder, 60);
    const server = await startServer([...flags, "--full-access-per-hour", "100000"]);
    const key = await createKey(server, await mint(flags));
    const messages = await converse(server, key, "echo");
    const acknowledged: string[] = [];
    let isOver = false;
    const talk = async () => {
      while (!isOver) {
        const content = `message ${acknowledged.length}`;
        const sent = await call(messages, "POST", key, { content });
        assert.equal(sent.status, 200);
        acknowledged.push(content);
      }
    };
    const waits: number[] = [];
    const watch = async () => {
      while (!isOver) {
        const before = performance.now();
        await (await fetch(`${server.url}/healthz`)).text();
        waits.push(performance.now() - before);
        await pause(2);
      }
    };
    const busy = [talk(), watch()];
    while (acknowledged.length < 20) await pause(10);
    const before = acknowledged.length;
    const target = join(folder, "copy.db");
    const began = performance.now();
    const made = await runServer(["backup", target, ...flags]);
    const copyMs = performance.now() - began;
    isOver = true;
    await Promise.all(busy);
    assert.deepEqual([made.code, made.stderr], [0, ""]);
    assert.match(made.stdout, /^Copied .+twins\.db to .+copy\.db: [\d,]{10,} bytes\.\n$/);
    await server.logged("a backup was made");
    await server.stop();
    waits.sort((one, other) => one - other);
    const slowest = waits.at(-1) ?? 0;
    assert.ok(slowest < copyMs / 3, `the slowest of ${waits.length} answers took ${slowest} of ${copyMs} ms`);

    const restored = await startServer([...flags.slice(0, 2), "--database", `sqlite:${target}`]);
    const list = messages.replace(server.url, restored.url);
    const there = new Set<string>();
    for (let page = 1; ; page++) {
      const { data } = await (await call(`${list}?limit=100&page=${page}`, "GET", key)).json();
      for (const { content } of data) there.add(content);
      if (data.length < 100) break;
    }
    await restored.stop();
    const missing = acknowledged.slice(0, before).filter((content) => !there.has(content));
    assert.deepEqual(missing, [], "what was acknowledged before the backup began");
  });

  test("a kill -9 in the midst of it leaves no copy, and the database as it was", {
    skip: withoutSignals,
    timeout: 120_000,
  }, async () => {
    const { folder, flags } = await scratch();
    await fill(folder, 60);
    const server = await startServer(flags);
    const key = await createKey(server, await mint(flags));
    const target = join(folder, "copy.db");
    const making = runServer(["backup", target, ...flags]);
    while (!(await readdir(folder)).includes("copy.db.partial")) await pause(1);
    await server.stop("SIGKILL");
    const { code, stderr } = await making;
    assert.match(
      stderr,
      /^twin-service: The server that has .+twins\.db open stopped before the backup was done\.\n$/,
    );
    assert.equal(code, 1);
    await assert.rejects(access(target));

    const again = await startServer(flags);
    const twins = await call(`${again.url}/api/v1/twins`, "GET", key);
    assert.equal(twins.status, 200);
    assert.equal((await runServer(["backup", target, ...flags])).code, 0);
    await again.stop();
    assert.deepEqual((await readdir(folder)).sort(), ["copy.db", "data", "twins"]);
    assert.deepEqual(
      (await readdir(join(folder, "data"))).filter((name) => name.includes("backup")),
      [],
    );
    const restored = await startServer([...flags.slice(0, 2), "--database", `sqlite:${target}`]);
    assert.equal((await call(`${restored.url}/api/v1/twins`, "GET", key)).status, 200);
    await restored.stop();
  });

  test("without a server, the command makes it, and the server starts on it", async () => {
    const { folder, flags } = await scratch();
    const made = await runServer(["key", "--sub", "alice", "--new", ...flags]);
    const target = join(folder, "copy.db");
    assert.equal((await runServer(["backup", target, ...flags])).code, 0);
    const server = await startServer([...flags.slice(0, 2), "--database", `sqlite:${target}`]);
    assert.equal((await call(`${server.url}/api/v1/twins`, "GET", made.stdout.trim())).status, 200);
    await server.stop();
  });

  test("what cannot be is one line, and nothing is made", async () => {
    const { folder, flags } = await scratch();
    const to = (file: string) => ["backup", join(folder, file)];
    assertRefusal(await runServer([...to("copy.db"), ...flags]), /there is no database at .+twins\.db\.$/m);
    await fill(folder, 1);
    await writeFile(join(folder, "there.db"), "precious");
    const memory = ["--database", "memory:"];
    const postgres = ["--database", "postgres://nobody@127.0.0.1:1/none"];
    assertRefusal(await runServer([...to("copy.db"), ...memory]), /memory: has no file/);
    assertRefusal(await runServer([...to("copy.db"), ...postgres]), /pg_dump copies PostgreSQL/);
    assertRefusal(await runServer(["backup", ...flags]), /backup needs the file to write/);
    const server = await startServer(flags);
    for (const [file, pattern] of [
      ["there.db", /there\.db exists already, and a backup overwrites nothing\.$/m],
      ["none/copy.db", /cannot be created: there is no folder .+none\.$/m],
    ] as const) {
      assertRefusal(await runServer([...to(file), ...flags]), pattern);
    }
    await server.stop();
    assert.deepEqual((await readdir(folder)).sort(), ["data", "there.db", "twins"]);
  });
});
