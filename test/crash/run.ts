/**
 * Kills the server with SIGKILL in the middle of its work, again and again, and checks what is left: everything
 * it acknowledged, exactly once; cut-off replies go on, and streams that reconnect end with the whole reply; no call of a
 * tool ran twice; nothing is busy after that.
 *
 * `CRASH_CYCLES=1000` runs more than the default of 50. It needs no network but 127.0.0.1.
 */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { signToken } from "../../core/auth/jwt.ts";
import { startToolServer, type ToolServer } from "../mcp-servers/tool-server.ts";
import { type ServerProcess, startServer } from "../server/process.ts";
import { Journal } from "./journal.ts";
import { startModel } from "./model.ts";

const cycles = Number(process.env.CRASH_CYCLES ?? 50);
const secret = "a secret for the crash test, 32 bytes long";
const clients = 4;

/** How often the tool ran, by its input. */
const runs = new Map<number, number>();

/** A tool that counts its runs, and takes its time, before it does and after. */
function startTool(): Promise<ToolServer> {
  return startToolServer(async ({ arguments: input }) => {
    const { number } = input as { number: number };
    await pause(Math.random() * 15);
    runs.set(number, (runs.get(number) ?? 0) + 1);
    await pause(Math.random() * 30);
    return { content: [{ type: "text", text: "Counted." }] };
  });
}

/** One cycle: clients work until the server is killed. */
async function work(server: ServerProcess, journal: Journal): Promise<void> {
  const token = await signToken({ secret, sub: journal.owner, expiresInSeconds: 600 });
  await journal.createKey(server.url, token);
  const working = Promise.all(Array.from({ length: clients }, () => journal.work(server.url)));
  await journal.busy;
  await pause(Math.random() * 700);
  journal.stop();
  await server.stop("SIGKILL");
  await working;
}

const folder = await mkdtemp(join(tmpdir(), "twins-crash-"));
const model = await startModel();
const tool = await startTool();
const startedAt = performance.now();
const totals = { acknowledged: 0, continued: 0, resumed: 0, interrupted: 0 };
/** The last server's log, printed when something fails. */
let lastLog = "";
try {
  await mkdir(join(folder, "twins"));
  await writeFile(join(folder, "twins", "slow.md"), "---\nname: Slow\nengine: openai\n---\nAnswer slowly.\n");
  await writeFile(join(folder, "twins", "echo.md"), "---\nname: Echo\nengine: echo\n---\nRepeat.\n");
  await writeFile(
    join(folder, "twins", "clerk.md"),
    "---\nname: Clerk\nengine: openai\ntools: [orders]\n---\nCount.\n",
  );
  await writeFile(join(folder, "mcp.json"), JSON.stringify({ mcpServers: { orders: { url: tool.url } } }));
  const settings = {
    MCP_SERVERS: join(folder, "mcp.json"),
    TWINS_DIR: join(folder, "twins"),
    DATABASE_URL: `sqlite:${join(folder, "twins.db")}`,
    JWT_SECRET: secret,
    MODEL_BASE_URL: `http://127.0.0.1:${model.port}/v1`,
    CONTINUE_REPLIES: "prefix",
    LOG_LEVEL: "error",
  };
  let previous: Journal | undefined;
  for (let cycle = 1; cycle <= cycles + 1; cycle++) {
    const server = await startServer([], settings);
    try {
      if (previous) {
        const { acknowledged, continued, resumed, interrupted } = await previous.verify(server.url, runs);
        totals.acknowledged += acknowledged;
        totals.continued += continued;
        totals.resumed += resumed;
        totals.interrupted += interrupted;
      }
      previous = new Journal(`owner-${cycle}`);
      if (cycle <= cycles) await work(server, previous);
    } finally {
      lastLog = (await server.stop("SIGKILL")).stderr;
    }
  }
} catch (error) {
  process.stderr.write(lastLog);
  throw error;
} finally {
  model.server.close();
  model.server.closeAllConnections();
  await tool.close();
  await rm(folder, { recursive: true, force: true });
}
const wereCutOff = totals.continued > 0 && totals.resumed > 0 && totals.interrupted > 0;
assert.ok(totals.acknowledged > cycles && (cycles < 10 || wereCutOff), "the clients did work");
const seconds = Math.round((performance.now() - startedAt) / 1000);
process.stdout.write(
  `${cycles} crashes in ${seconds} s: all ${totals.acknowledged} acknowledged facts are still there, and ` +
    `${totals.continued} replies that were cut off went on to their ends; ${totals.resumed} streams were resumed. ` +
    `${runs.size} calls of a tool ran once, none twice; ${totals.interrupted} replies that had called it were interrupted.\n`,
);
