/**
 * Makes the kept databases of a version, from which later versions must be able to go on: a server fills a new SQLite file
 * and a new PostgreSQL database over HTTP. Once a step has landed, its kept databases stay as they are.
 *
 * `node --import tsx test/upgrades/keep.ts`, in the commit that adds the step. `… keep.ts <version> <folder>`: of an
 * earlier version, whose checkout is in the folder.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { schemaVersion } from "../../adapters/sql/schema.ts";
import { startToolServer } from "../mcp-servers/tool-server.ts";
import { begin, call, createModelServer, delta, endMarker, finish } from "../openai-models/model-server.ts";
import { startModeration } from "../openai-models/moderation-server.ts";
import { createDatabase } from "../postgres/database.ts";
import { surroundings } from "../support/child-process.ts";
import { fixtureSecret } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { fill, keptOrder, keptTwins } from "./fill.ts";
import { digestOf, keptFolder } from "./kept.ts";

const [version = schemaVersion, folder = "."] = process.argv.slice(2);
const kept = keptFolder(Number(version));
const scratch = await mkdtemp(join(tmpdir(), "twins-kept-"));
for (const [name, text] of Object.entries(keptTwins)) await writeFile(join(scratch, name), text);
await mkdir(kept, { recursive: true });

// It looks at the stock, then asks for the order, which waits for a person's yes.
const model = createModelServer("scripted", ({ question, results }, response) => {
  if (!question.startsWith(keptOrder.question)) return void response.writeHead(400).end();
  begin(response);
  const { input } = keptOrder;
  if (results === 0) response.write(call("call-stock", "stock_find", input));
  else response.write(results === 1 ? call(keptOrder.call, "orders_find", input) : delta("It is sent."));
  response.end(finish(results < 2 ? "tool_calls" : "stop") + endMarker);
});
await using moderation = await startModeration();
const tools = await startToolServer();
const { url } = tools;
await writeFile(
  join(scratch, "mcp.json"),
  JSON.stringify({ mcpServers: { orders: { url }, stock: { url } } }),
);
const settings = {
  MODEL_BASE_URL: `http://127.0.0.1:${await listen(model)}/v1`,
  MODERATION_BASE_URL: moderation.baseUrl,
  MODERATION_MODEL: "scripted",
  MCP_SERVERS: join(scratch, "mcp.json"),
};

const file = join(scratch, "twins.db");
await fillBy("sqlite", `sqlite:${file}`);
await writeFile(join(kept, "sqlite.db.gz"), gzipSync(await readFile(file), { level: 9 }));

await using database = await createDatabase();
await fillBy("postgres", database.url);
const dump = execFileSync("pg_dump", ["--inserts", "--no-owner", "--no-privileges", database.url], {
  encoding: "utf8",
});
const sql = dump.replace(/^(?:--.*|\\.*|)\n/gm, ""); // comments, commands of psql
await writeFile(join(kept, "postgres.sql"), sql);

await writeFile(join(kept, "step.txt"), `${digestOf(Number(version))}\n`);
await rm(scratch, { recursive: true });
await tools.close();
model.close();
model.closeAllConnections();

/** Lets a server of that version fill a database, and writes down what it answers. */
async function fillBy(kind: string, address: string): Promise<void> {
  const args = ["--import", "tsx", "server.ts", "--port", "0", "--twins", scratch, "--database", address];
  const server = spawn(process.execPath, args, {
    cwd: folder,
    env: {
      ...{ ...surroundings, ...settings },
      ...{ JWT_SECRET: fixtureSecret, LOG_LEVEL: "warn", WEBHOOK_HOSTS: "127.0.0.1:9" },
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  const [line] = await once(server.stdout.setEncoding("utf8"), "data");
  const contents = await fill(String(line).trim().replace("listening on ", "")).finally(() => server.kill());
  assert.deepEqual(await ended, [0, null]);
  await writeFile(join(kept, `${kind}.json`), `${JSON.stringify(contents, null, 1)}\n`);
}
