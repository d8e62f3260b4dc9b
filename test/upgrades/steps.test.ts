/**
 * Steps between versions: whole or not at all, one process after the other, beside processes of earlier versions or not.
 */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { openConnections } from "../../adapters/postgres/connections.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { type Step, schemaVersion, steps } from "../../adapters/sql/schema.ts";
import { connect as connectSqlite } from "../../adapters/sqlite/connection.ts";
import { openSqliteFile } from "../../adapters/sqlite/file.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { type Log, noLog } from "../../core/base/log.ts";
import { connect, createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { makeFolder, runProcess } from "../sqlite/fixture.ts";
import { keptFolder } from "./kept.ts";

const folder = await makeFolder();

const addTable: Step = {
  earlierProcesses: "go on",
  statements: () => ["CREATE TABLE extra (id TEXT)", "INSERT INTO extra VALUES ('first')"],
};
const addAlone: Step = { ...addTable, earlierProcesses: "must end" };
const failing: Step = {
  earlierProcesses: "go on",
  statements: () => ["CREATE TABLE extra (id TEXT)", "INSERT INTO nowhere VALUES (1)"],
};

/**
 * The version of a closed SQLite file, and whether it has the table of the step. Read from its bytes: `libsql` may keep a
 * file locked for a while.
 */
async function inspect(path: string): Promise<[version: number, isChanged: boolean]> {
  const bytes = await readFile(path);
  return [bytes.readUInt32BE(60), bytes.includes("CREATE TABLE extra")];
}

/** A kept SQLite file, closed. */
async function copyOfFirst(): Promise<string> {
  const path = folder.newPath();
  await writeFile(path, gunzipSync(await readFile(join(keptFolder(100), "sqlite.db.gz"))));
  return path;
}

/** A log, and what it was told at the level `info`. */
function createRecorder() {
  const told: unknown[] = [];
  const log: Log = (level, message, fields) => void (level === "info" && told.push([message, fields]));
  return { log, told };
}

const broughtFrom = (from: number, to: number) => [
  ["the database's tables were brought to a newer version", { from, to }],
];

describe("a step in SQLite", () => {
  test("a file that is brought to a newer version is told of once, and a new one is not", async () => {
    const { log, told } = createRecorder();
    await (await openSqlite(folder.newPath(), { log })).close();
    assert.deepEqual(told, []);
    const path = await copyOfFirst();
    await (await openSqlite(path, { log })).close();
    await (await openSqlite(path, { log })).close();
    assert.deepEqual(told, broughtFrom(100, schemaVersion));
  });

  test("one that fails leaves the file as it was", async () => {
    const path = folder.newPath();
    await (await openSqlite(path)).close();
    await assert.rejects(openSqliteFile(path, noLog, { steps: [...steps, failing] }));
    assert.deepEqual(await inspect(path), [schemaVersion, false]);
  });

  test("kill -9 in its midst leaves the file as it was, and the next start goes on", async () => {
    const path = folder.newPath();
    await (await openSqlite(path)).close();
    runProcess(
      path,
      `import { openSqliteFile } from "./adapters/sqlite/file.ts";
      import { steps } from "./adapters/sql/schema.ts";
      const killed = {
        earlierProcesses: "go on",
        *statements() {
          yield "CREATE TABLE extra (id TEXT)";
          yield "INSERT INTO extra SELECT id FROM messages";
          process.kill(process.pid, "SIGKILL");
        },
      };
      await openSqliteFile(path, () => {}, { steps: [...steps, killed] });`,
    );
    assert.deepEqual(await inspect(path), [schemaVersion, false]);
    (await openSqliteFile(path, noLog, { steps: [...steps, addTable] })).close();
    assert.deepEqual(await inspect(path), [schemaVersion + 1, true]);
  });

  test("a file of a newer version is refused by a program of an earlier one, and stays as it is", async () => {
    const path = folder.newPath();
    (await openSqliteFile(path, noLog, { steps: [...steps, addTable] })).close();
    await assert.rejects(openSqlite(path), {
      message:
        `${path} has version ${schemaVersion + 1}, made by a newer version of this program; this one knows ` +
        `${schemaVersion} at most. Run the newer program, or restore a backup made before the upgrade.`,
    });
    assert.deepEqual(await inspect(path), [schemaVersion + 1, true]);
  });

  for (const number of [2, 8, 99]) {
    test(`a file of the unreleased version ${number} is refused as that, and not as a newer one`, async () => {
      const path = await copyOfFirst();
      const connection = await connectSqlite(path);
      connection.exec(`PRAGMA user_version = ${number}`);
      connection.close();
      await assert.rejects(openSqlite(path), {
        message:
          `${path} was made by an unreleased version before 28 November 2026 (version ${number} of its tables), ` +
          "which nothing upgrades; use another database.",
      });
      assert.deepEqual(await inspect(path), [number, false]);
    });
  }

  for (const change of [
    "ALTER TABLE messages DROP COLUMN review_twin",
    "ALTER TABLE memories ADD COLUMN more TEXT",
    "DROP INDEX api_keys_by_prefix",
    "DROP TABLE memories",
  ]) {
    test(`a file of version 1 is refused as an unreleased one if its tables are others: ${change}`, async () => {
      const path = await copyOfFirst();
      const connection = await connectSqlite(path);
      if (change.includes("review_twin"))
        connection.exec("DROP INDEX messages_rated; DROP INDEX messages_unanswered");
      connection.exec(change);
      connection.close();
      await assert.rejects(
        openSqlite(path),
        /was made by an unreleased version .* \(version 1 of its tables\)/,
      );
    });
  }
});

/** The oldest version that goes on beside this one's. */
const oldest = 100 + steps.findLastIndex(({ earlierProcesses }) => earlierProcesses === "must end");

describe("a step in PostgreSQL", { skip: await skipWithoutPostgres() }, () => {
  const open = (url: string, known: readonly Step[] = steps) =>
    openConnections(url, { log: noLog, steps: known });
  const later = [...steps, addTable];

  async function versionOf(url: string) {
    await using client = await connect(url);
    const { rows } = await client.query(
      "SELECT version, oldest, to_regclass('extra') IS NOT NULL AS changed FROM schema_version",
    );
    return rows[0];
  }

  test("one that fails leaves the database as it was", async () => {
    await using database = await createDatabase();
    await (await open(database.url)).close();
    await assert.rejects(open(database.url, [...steps, failing]), /relation "nowhere" does not exist/);
    assert.deepEqual(await versionOf(database.url), { version: schemaVersion, oldest, changed: false });
  });

  test("several processes that upgrade at once make it once, and tell of it once", async () => {
    await using database = await createDatabase();
    const { log, told } = createRecorder();
    await (await openConnections(database.url, { log, steps })).close();
    assert.deepEqual(told, [], "a new database");
    const opening = Array.from({ length: 5 }, () => openConnections(database.url, { log, steps: later }));
    const opened = await Promise.all(opening);
    assert.deepEqual(told, broughtFrom(schemaVersion, schemaVersion + 1));
    await Promise.all(opened.map((connections) => connections.close()));
    assert.deepEqual(await versionOf(database.url), {
      version: schemaVersion + 1,
      oldest,
      changed: true,
    });
    await using client = await connect(database.url);
    assert.equal((await client.query("SELECT FROM extra")).rowCount, 1);
  });

  test("a process of the version before goes on beside it, and another one starts, which leaves the version", async () => {
    await using database = await createDatabase();
    await using running = await openPostgres(database.url);
    await (await open(database.url, later)).close();
    await running.store.ping();
    await using restarted = await openPostgres(database.url);
    await restarted.store.ping();
    assert.deepEqual(await versionOf(database.url), {
      version: schemaVersion + 1,
      oldest,
      changed: true,
    });
  });

  test("one that earlier processes cannot go on beside waits for nobody: it is refused while they run", async () => {
    await using database = await createDatabase();
    await using running = await openPostgres(database.url);
    await running.store.ping(); // it is connected
    await assert.rejects(
      open(database.url, [...steps, addAlone]),
      /^Error: The PostgreSQL database cannot be used: it is in use by processes of an earlier version \(connections: \d+\), which cannot go on beside this one; stop them first\.$/,
    );
    await running.store.ping();
    assert.deepEqual(await versionOf(database.url), { version: schemaVersion, oldest, changed: false });
    await running.close();
    const opened = await Promise.all(
      Array.from({ length: 3 }, () => open(database.url, [...steps, addAlone])),
    );
    await Promise.all(opened.map((connections) => connections.close()));
    const alone = schemaVersion + 1;
    assert.deepEqual(await versionOf(database.url), { version: alone, oldest: alone, changed: true });
    await assert.rejects(openPostgres(database.url), {
      message:
        `The PostgreSQL database cannot be used: it has version ${alone}, made by a newer version of this program; ` +
        `this one knows ${schemaVersion} at most. Run the newer program, or restore a backup made before the upgrade.`,
    });
  });

  for (const change of [
    "UPDATE schema_version SET version = 8",
    "ALTER TABLE messages DROP COLUMN review_twin",
    "DROP INDEX api_keys_by_prefix",
    "DROP TABLE memories",
  ]) {
    test(`a database of version 1 or less than 100 is refused as an unreleased one: ${change}`, async () => {
      await using database = await createDatabase();
      await using client = await connect(database.url);
      await client.query(await readFile(join(keptFolder(100), "postgres.sql"), "utf8"));
      await client.query("SET search_path = public");
      await client.query(change);
      await assert.rejects(
        openPostgres(database.url),
        /it was made by an unreleased version before 28 November 2026/,
      );
    });
  }

  test("a role that may not change the tables is told which one may", async () => {
    await using database = await createDatabase();
    await using admin = await connect(database.url);
    await (await open(database.url)).close();
    const role = new URL(database.url).pathname.slice(1);
    await admin.query(`CREATE ROLE ${role}`);
    try {
      await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`);
      const change: Step = {
        earlierProcesses: "go on",
        statements: () => ["ALTER TABLE messages ADD COLUMN more TEXT"],
      };
      await assert.rejects(
        open(`${database.url}?options=-c%20role%3D${role}`, [...steps, change]),
        /must be owner of table messages\. The first process of a version needs the role that owns the tables$/,
      );
    } finally {
      await admin.query(`DROP OWNED BY ${role}`);
      await admin.query(`DROP ROLE ${role}`);
    }
  });
});
