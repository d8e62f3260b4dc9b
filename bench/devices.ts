/**
 * What devices that look on cost: the memory of one that is told nothing, and how far behind the first device a second one is,
 * on the process that has the reply and on another.
 *
 * @module
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { loadavg } from "node:os";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { createParts } from "../server/lifecycle.ts";
import { call, newConversation, newKey } from "../test/cluster/clients.ts";
import { createCluster, createSlowModel, type ServerProcess } from "../test/cluster/server.ts";
import { createDatabase } from "../test/postgres/database.ts";
import { cpuOfDatabase } from "./cluster/database-usage.ts";
import { readNumber, wholeAtLeast } from "./command-line/arguments.ts";
import { messageOf } from "./command-line/errors.ts";
import { collectGarbage, cpuOf, memoryOf } from "./harness/usage.ts";
import { follow } from "./load/device.ts";

/** How many conversations are followed at once for the delays, and how many words each reply has. */
const [conversations, words] = [10, 60];

const help = `Usage: node --import tsx bench/devices.ts [devices]

Measures the memory of devices that look on, and how far behind the first device of a conversation a second one is.

  devices            how many look on when their memory is measured; default 2000
  TEST_DATABASE_URL  address of the PostgreSQL server, as for bench/cluster.ts

It needs Linux.
`;

const settings = {
  MAX_CONVERSATION_STREAMS: "100000",
  FULL_ACCESS_PER_HOUR: "1000000",
  MODEL_NAME: "slow",
  NODE_OPTIONS: `--import ${new URL("harness/collect.mjs", import.meta.url)}`,
};

async function settledMemory({ pid }: ServerProcess): Promise<number> {
  for (let time = 0; time < 3; time++) {
    collectGarbage(pid);
    await pause(1000);
  }
  return memoryOf(pid);
}

/** Prints the memory of a device that is told nothing, each in a conversation of its own. */
async function measureMemory(server: ServerProcess, key: string, devices: number): Promise<void> {
  const leaving: (() => void)[] = [];
  const open = async (count: number) => {
    for (let from = leaving.length; from < count; from = leaving.length) {
      const some = Array.from({ length: Math.min(50, count - from) }, async () => {
        const path = await newConversation(server, key, "slow");
        const { response, leave } = await follow(`${server.url}/api/v1${path}`, key);
        response.resume();
        return leave;
      });
      leaving.push(...(await Promise.all(some)));
    }
    return settledMemory(server);
  };
  const few = Math.min(200, devices / 2);
  const [before, after] = [await open(few), await open(devices)];
  const each = (after - before) / (devices - few) / 1024;
  console.log(`memory of an idle device, from ${few} to ${devices}: ${each.toFixed(1)} KB`);
  for (const leave of leaving) leave();
}

/** Notes when each word of a reply arrives. */
function noteWords(response: IncomingMessage, arrived: number[]): void {
  let rest = "";
  response.setEncoding("utf8").on("data", (text: string) => {
    const now = performance.now();
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, content = ""] = /"type":"delta".*"content":"([^"]*)"/.exec(block) ?? [];
      for (let word = content.split(" ").length - 1; word > 0; word--) arrived.push(now);
    }
  });
}

/** How far behind the first device each word arrives at a second one, in milliseconds, in order. */
async function measureDelays(first: ServerProcess, second: ServerProcess, key: string): Promise<number[]> {
  const delays = Array.from({ length: conversations }, async () => {
    const path = await newConversation(first, key, "slow");
    const device = await follow(`${second.url}/api/v1${path}`, key);
    const [here, there]: [number[], number[]] = [[], []];
    noteWords(device.response, there);
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const url = `${first.url}/api/v1${path}/messages/stream`;
    const asked = request(url, { agent: false, method: "POST", headers });
    asked.end(JSON.stringify({ content: String(words) }));
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    noteWords(response, here);
    await once(response, "end");
    while (there.length < words) await once(device.response, "data");
    device.leave();
    assert.deepEqual([here.length, there.length], [words, words]);
    return there.map((at, word) => at - (here[word] ?? 0));
  });
  return (await Promise.all(delays)).flat().sort((one, other) => one - other);
}

async function main(): Promise<void> {
  const devices = readNumber(help, "2000", (text) => wholeAtLeast(2, text, "The devices"));
  if (devices === "help") return console.log(help);
  const parts = createParts((_, message, fields) => console.error(message, fields));
  try {
    const { url } = await parts.open("database", createDatabase(), ({ drop }) => drop());
    const model = await parts.open("model", createSlowModel(), async ({ close }) => close());
    const all = { ...settings, DATABASE_URL: url, MODEL_BASE_URL: model.url };
    const cluster = await parts.open("cluster", createCluster(all), ({ dispose }) => dispose());
    const [here, there] = [await cluster.start(), await cluster.start()];
    const { key } = await newKey(here, "bench");
    await (await call(here, "GET", "/twins", key)).text();
    for (const [name, second] of [
      ["the same process", here],
      ["another process, by PostgreSQL", there],
    ] as const) {
      await measureDelays(here, second, key); // warm
      const used = () =>
        [cpuOfDatabase(new URL(url).pathname.slice(1)), cpuOf(here.pid) + cpuOf(there.pid)] as const;
      const [database, servers] = used();
      const startedAt = performance.now();
      const delays = await measureDelays(here, second, key);
      const replySeconds = ((performance.now() - startedAt) / 1000) * conversations;
      const costs = used().map((cpu, at) =>
        ((cpu - (at === 0 ? database : servers)) / 1000 / replySeconds).toFixed(2),
      );
      const at = (part: number) => (delays[Math.floor(part * (delays.length - 1))] ?? 0).toFixed(1);
      console.log(`CPU time of a second of a reply: PostgreSQL ${costs[0]} ms, both servers ${costs[1]} ms`);
      console.log(
        `behind the first device, on ${name}: ${at(0.5)} ms (median), ${at(0.99)} ms (99 %), ${at(1)} ms at most, ${delays.length} words`,
      );
    }
    await measureMemory(there, key, devices);
    console.log(`load average: ${loadavg()[0]?.toFixed(1)}`);
  } finally {
    await parts.close();
  }
}

try {
  await main();
  process.exit();
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}
