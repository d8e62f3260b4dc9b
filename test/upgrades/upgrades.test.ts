/**
 * Databases of earlier versions: each opens, and has all that was in it.
 */

import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { schemaVersion } from "../../adapters/sql/schema.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { createEchoEngine, createMemoryLimiter, createTwinList, type RateLimiter } from "../../core/mod.ts";
import type { Store } from "../../core/store/mod.ts";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";
import { connect, createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { makeFolder } from "../sqlite/fixture.ts";
import { createManualClock, type ManualClock } from "../support/clock.ts";
import { inProcess, jsonRequest, newTwin, openFixture } from "../support/harness.ts";
import { type KeptAnswer, type KeptContents, type KeptRequest, parse } from "./fill.ts";
import { digestOf, firstVersion, keptFolder } from "./kept.ts";

const folder = await makeFolder();
const versions = Array.from({ length: schemaVersion - firstVersion + 1 }, (_, index) => firstVersion + index);

/** A kept database that was opened. */
interface Opened extends AsyncDisposable {
  readonly store: Store;
  readonly limiter: RateLimiter;
}

async function contentsOf(version: number, kind: string): Promise<KeptContents> {
  return JSON.parse(await readFile(join(keptFolder(version), `${kind}.json`), "utf8"));
}

async function openSqliteCopy(version: number, clock: ManualClock): Promise<Opened> {
  const path = folder.newPath();
  await writeFile(path, gunzipSync(await readFile(join(keptFolder(version), "sqlite.db.gz"))));
  const { store, buckets, close } = await openSqlite(path);
  return { store, limiter: createMemoryLimiter({ clock, buckets }), [Symbol.asyncDispose]: close };
}

async function openPostgresCopy(version: number): Promise<Opened> {
  const database = await createDatabase();
  await using loading = await connect(database.url);
  await loading.query(await readFile(join(keptFolder(version), "postgres.sql"), "utf8"));
  const { store, limiter, close } = await openPostgres(database.url);
  return {
    store,
    limiter,
    async [Symbol.asyncDispose]() {
      await close();
      await database.drop();
    },
  };
}

const twins = [newTwin({ id: "echo" }), newTwin({ id: "guide", engine: "knowledge" })];

/** A service of this version on a kept database. */
async function openService({ store, limiter }: Opened, clock: ManualClock, { secrets }: KeptContents) {
  const options = {
    store,
    limiter,
    twins: createTwinList(twins),
    engines: { echo: createEchoEngine(), knowledge: createKnowledgeEngine() },
    openaiApi: createOpenAIApi(),
    ownTwins: { reader: createTwinReader() },
  };
  const fixture = await openFixture(inProcess, options, clock);
  const token = await fixture.token();
  return {
    ...fixture,
    async send({ method, path, credential, body, headers }: KeptRequest) {
      const init = { method, ...jsonRequest(secrets[credential] ?? token, body, headers) };
      const response = await fixture.service.fetch(new Request(`http://twins.test${path}`, init));
      return { status: response.status, answer: parse(await response.text()) };
    },
  };
}

/** Fails unless all that was answered is answered still. There may be more. */
function assertStill(now: unknown, kept: unknown, where: string): void {
  if (Array.isArray(kept)) {
    assert.ok(Array.isArray(now) && now.length === kept.length, `${where}: ${JSON.stringify(now)}`);
    for (const [index, item] of kept.entries()) assertStill(now[index], item, `${where}[${index}]`);
  } else if (typeof kept === "object" && kept !== null) {
    assert.ok(typeof now === "object" && now !== null, `${where}: ${JSON.stringify(now)}`);
    for (const [name, value] of Object.entries(kept)) {
      assertStill((now as Record<string, unknown>)[name], value, `${where}.${name}`);
    }
  } else assert.equal(now, kept, where);
}

/** A key's last use is stored with its next one. */
function without(members: RegExp, { answer }: Pick<KeptAnswer, "answer">): unknown {
  return JSON.parse(JSON.stringify(answer, (name, value) => (members.test(name) ? undefined : value)));
}

for (const [kind, open, skip] of [
  ["sqlite", openSqliteCopy, false],
  ["postgres", openPostgresCopy, await skipWithoutPostgres()],
] as const) {
  describe(`a kept database in ${kind}`, { skip }, () => {
    for (const version of versions) {
      test(`of version ${version} opens with all that was in it, and goes on`, async () => {
        const contents = await contentsOf(version, kind);
        const clock = createManualClock(contents.madeAt);
        await using opened = await open(version, clock);
        const service = await openService(opened, clock, contents);
        for (const request of contents.answers) {
          // A full bucket is reset now. PostgreSQL's go by its own clock, and are full.
          const members =
            kind === "postgres" ? /^(lastUsedAt|remaining|used|resetAt)$/ : /^(lastUsedAt|resetAt)$/;
          const now = await service.send(request);
          const where = `${request.method} ${request.path} as ${request.credential}`;
          assert.equal(now.status, request.status, `${where}: ${JSON.stringify(now.answer)}`);
          assertStill(without(members, now), without(members, request), where);
          // Earlier versions stored no documents with the sources: these say so.
          assert.doesNotMatch(JSON.stringify(now.answer), /"heading":"[^"]*","score"/u, where);
        }
        const list = { method: "GET", path: "/api/v1/conversations?limit=100", credential: "main" };
        const before = await service.send(list);
        const named = {
          method: "POST",
          path: "/v1/chat/completions",
          credential: "main",
          body: { model: "echo", messages: [{ role: "user", content: "Still there?" }] },
          headers: { "X-Conversation-Id": "chat 1" },
        };
        assert.equal((await service.send(named)).status, 200);
        const after = await service.send(list);
        const total = (answer: unknown) => (answer as { pagination: { total: number } }).pagination.total;
        assert.equal(total(after.answer), total(before.answer), "the named conversation went on");
        await service[Symbol.asyncDispose]();
      });
    }
  });
}

describe("steps", () => {
  test("each has its kept databases: node --import tsx test/upgrades/keep.ts makes those of a new one", async () => {
    const found = (await readdir(join(keptFolder(firstVersion), ".."))).sort();
    assert.deepEqual(found, versions.map(String));
    for (const version of versions) {
      assert.deepEqual((await readdir(keptFolder(version))).sort(), [
        "postgres.json",
        "postgres.sql",
        "sqlite.db.gz",
        "sqlite.json",
        "step.txt",
      ]);
    }
  });

  for (const version of versions) {
    test(`step ${version} is what it was when its databases were kept: change the tables by a new one`, async () => {
      const kept = await readFile(join(keptFolder(version), "step.txt"), "utf8");
      assert.equal(`${digestOf(version)}\n`, kept);
    });
  }
});
