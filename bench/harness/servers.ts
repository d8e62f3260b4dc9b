/**
 * The servers under test: each a process, perhaps with children, on the first core.
 *
 * @module
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Contender, Launch, Place, Running } from "../contenders/contender.ts";
import { benchFile } from "./build.ts";
import { onCore } from "./pinning.ts";
import { collectGarbage, cpuOf, memoryOf, processTree } from "./usage.ts";

/** A running server. */
export interface ServerProcess extends Running {
  readonly port: number;
  /** CPU time that it has used, in microseconds. */
  cpu(): number;
  /** Memory that it occupies after it has collected its garbage, in bytes. */
  memory(): Promise<number>;
  /** Kills it with SIGKILL and starts it again on its data. */
  restart(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

const data = benchFile("data");
const readyMs = 120_000;
const groups = new Set<number>();
let used = 0;

process.on("exit", () => {
  for (const group of groups) killGroup(group);
  rmSync(join(data, String(process.pid)), { recursive: true, force: true, maxRetries: 5 });
});

/** A new folder on the project's own disk: a temporary folder may be in memory, where a sync is free. */
export function newFolder(): string {
  const folder = join(data, String(process.pid), String(++used));
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Flags for Node in every server under test: each has one core, for which docs/operating.md names the first; and a profiler's. */
const nodeFlags = ["--single-threaded-gc", ...(process.env.BENCH_NODE_FLAGS?.split(" ") ?? [])];

/** Starts a contender and waits until it is ready. */
export async function startServer(contender: Contender, modelUrl: string): Promise<ServerProcess> {
  const node = [process.execPath, ...nodeFlags];
  const place = { node, port: await freePort(), modelUrl, data: newFolder() };
  const launch = await contender.launch(place);
  let child = await launched(contender.name, launch, place);
  const pid = () => child.pid ?? 0;
  return {
    port: place.port,
    url: `http://127.0.0.1:${place.port}`,
    modelUrl,
    cpu: () => cpuOf(pid()),
    async memory() {
      for (let time = 0; time < 3; time++) {
        collectGarbage(pid());
        await sleep(400);
      }
      return memoryOf(pid());
    },
    async restart() {
      await kill(child);
      child = await launched(contender.name, launch, place);
    },
    async stop() {
      await kill(child);
      rmSync(place.data, { recursive: true, force: true });
    },
  };
}

async function launched(name: string, launch: Launch, place: Place): Promise<ChildProcess> {
  const [program, parameters] = onCore(0, launch.command);
  const log = openSync(join(place.data, "log.txt"), "a");
  const child = spawn(program, parameters, {
    cwd: launch.cwd ?? place.data,
    detached: true, // a group of its own, so that its children end with it
    stdio: ["ignore", log, log],
    env: environment({ PORT: String(place.port), MODEL_URL: place.modelUrl, ...launch.env }),
  });
  closeSync(log);
  groups.add(child.pid ?? 0);
  await ready(child, `http://127.0.0.1:${place.port}${launch.ready}`).catch((error: Error) => {
    const end = readFileSync(join(place.data, "log.txt"), "utf8").slice(-500);
    throw new Error(`${name} did not start: ${error.message}\n${end}`);
  });
  return child;
}

function environment(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  const NODE_OPTIONS = `--import ${new URL("collect.mjs", import.meta.url)}`;
  return { PATH, HOME, TMPDIR, NODE_ENV: "production", NODE_OPTIONS, ...more };
}

async function ready(child: ChildProcess, url: string): Promise<void> {
  const until = performance.now() + readyMs;
  while (performance.now() < until) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}.`);
    const response = await fetch(url).catch(() => undefined); // refused: not listening yet
    await response?.body?.cancel();
    if (response && response.status < 500) return;
    await sleep(50);
  }
  throw new Error(`${url} did not answer within ${readyMs / 1000} s.`);
}

async function kill(child: ChildProcess): Promise<void> {
  const pid = child.pid ?? 0;
  const all = processTree(pid);
  killGroup(pid);
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  while (all.some(isRunning)) await sleep(10); // a child of it may still hold the port
  groups.delete(pid);
}

function killGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // it has ended by itself
  }
}

function isRunning(pid: number): boolean {
  return processTree(pid).length > 0;
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Runs a command of a contender, such as its build, until it ends. */
export function runToEnd(command: readonly string[], { cwd, env }: Pick<Launch, "cwd" | "env">): void {
  const [program = "", ...parameters] = command;
  const ended = spawnSync(program, parameters, { cwd, env: environment(env ?? {}), stdio: "pipe" });
  if (ended.status === 0) return;
  throw new Error(
    `${command.slice(-2).join(" ")} ended with ${ended.status}: ${ended.stderr.toString().slice(-500)}`,
  );
}
