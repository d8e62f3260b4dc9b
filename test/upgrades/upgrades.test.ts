/**
 * Databases of earlier versions: each opens, and has all that was in it.
 */

import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { createOpenAIEngine } from "../../adapters/openai-models/mod.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { schemaVersion } from "../../adapters/sql/schema.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { noLog } from "../../core/base/log.ts";
import {
  createEchoEngine,
  createMemoryLimiter,
  createTwinList,
  type RateLimiter,
  type Tool,
} from "../../core/mod.ts";
import type { Store } from "../../core/store/mod.ts";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";
import * as model from "../openai-models/model-server.ts";
import { serverThat } from "../openai-models/tools-fixture.ts";
import { connect, createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { makeFolder } from "../sqlite/fixture.ts";
import { createManualClock, type ManualClock } from "../support/clock.ts";
import { inProcess, jsonRequest, newTwin, openFixture } from "../support/harness.ts";
import { type KeptAnswer, type KeptContents, type KeptRequest, keptOrder, keptWord, parse } from "./fill.ts";
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

const twins = [
  newTwin({ id: "echo" }),
  newTwin({ id: "guide", engine: "knowledge" }),
  newTwin({ id: "clerk", engine: "openai", tools: ["orders", "stock"], confirm: ["orders/find"] }),
];

/** Tools that note what they are called with. */
function toolsThat(note: (called: readonly [name: string, input: object]) => void): Tool[] {
  return ["orders/find", "stock/find"].map((name) => ({
    name,
    description: "Finds an order.",
    inputSchema: { type: "object", properties: { number: { type: "integer" } } },
    run(input) {
      note([name, input]);
      return "found";
    },
  }));
}

/** A service of this version on a kept database. */
async function openService({ store, limiter }: Opened, clock: ManualClock, { secrets }: KeptContents) {
  const called: (readonly [name: string, input: object])[] = [];
  const transport = serverThat(() => model.completion("It is sent."));
  const tools = toolsThat((call) => called.push(call));
  const openai = createOpenAIEngine({ baseUrl: "http://127.0.0.1:1/v1", transport, tools, log: noLog });
  const options = {
    store,
    limiter,
    twins: createTwinList(twins),
    engines: { echo: createEchoEngine(), knowledge: createKnowledgeEngine(), openai },
    openaiApi: createOpenAIApi(),
    ownTwins: { reader: createTwinReader() },
  };
  const fixture = await openFixture(inProcess, options, clock);
  const token = await fixture.token();
  return {
    ...fixture,
    called,
    /** What the model was told last. */
    told: () => transport.asked.at(-1)?.messages ?? [],
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

/** Goes on where the model is told what no request reads: the round before a call that waits, and no question that was stopped. */
async function goOnAsTold(
  service: Awaited<ReturnType<typeof openService>>,
  { waiting, stopped }: NonNullable<KeptContents["told"]>,
): Promise<void> {
  const say = async (path: string, body: object) => {
    const sent = { method: "POST", path: `${path}/messages`, credential: "main", body };
    const { status, answer } = await service.send(sent);
    assert.equal(status, 200, JSON.stringify(answer));
    return service.told();
  };
  const decided = await say(waiting, { calls: { [keptOrder.call]: "approve" } });
  assert.deepEqual(service.called, [["orders/find", keptOrder.input]]);
  assert.deepEqual(
    decided.map(({ role, tool_calls: [call] = [], tool_call_id: id }) => [role, call?.id ?? id]),
    [
      ["system", undefined],
      ["user", undefined],
      ["assistant", "call-stock"],
      ["tool", "call-stock"],
      ["assistant", keptOrder.call],
      ["tool", keptOrder.call],
    ],
  );
  const spared = await say(stopped, { content: "And now?" });
  assert.deepEqual(
    spared.filter(({ role }) => role !== "system").map(({ content }) => content),
    ["And now?"],
    `nothing ${keptWord} is told`,
  );
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
        if (contents.told) await goOnAsTold(service, contents.told);
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
