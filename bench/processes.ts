/**
 * The benchmark's child processes: the contenders on one core, the load generator on the other.
 *
 * @module
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { built } from "./build.ts";
import type { Order } from "./load.ts";
import type { Client, ProcessUsage, Question } from "./servers/reply.ts";

/** Whether servers and load generator each run on their own core. Without `taskset` (Linux), the system decides. */
export const pinned: boolean =
  availableParallelism() > 1 &&
  ["0", "1"].every((core) => spawnSync("taskset", ["-c", core, "true"]).status === 0);

/** Allows more file descriptors than most scenarios need; if the system refuses, as many as it permits. */
const raiseLimit = `ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -Hn)" 2>/dev/null`;

const hasShell = process.platform !== "win32";

/** How many files and sockets a child may have open at once. */
export function descriptorLimit(): number {
  if (!hasShell) return Number.POSITIVE_INFINITY;
  const limit = spawnSync("sh", ["-c", `${raiseLimit}; ulimit -n`])
    .stdout.toString()
    .trim();
  return limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
}

/** How Node runs a file. `BENCH_NODE_FLAGS` adds flags, such as `--cpu-prof`. */
const node: readonly string[] = [
  process.execPath,
  "--expose-gc",
  ...(process.env.BENCH_NODE_FLAGS?.split(" ") ?? []),
];

interface Start {
  /** The core it runs on. */
  readonly core: number;
  /** A source file of `bench`, whose built form is run. */
  readonly file: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What runs the file. Default: this Node. */
  readonly command?: readonly string[];
}

function start({ core, file, env = {}, command = node }: Start): ChildProcess {
  const run = [...command, built + file.replace(/\.(ts|mjs)$/, ".mjs")];
  const onCore = pinned ? ["taskset", "-c", String(core), ...run] : run;
  const raised = hasShell ? ["sh", "-c", `${raiseLimit}; exec "$@"`, "sh", ...onCore] : onCore;
  const [program = "", ...parameters] = raised;
  return spawn(program, parameters, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, NODE_ENV: "production", ...env },
    cwd: fileURLToPath(new URL("..", import.meta.url)),
  });
}

/** The next message from a process. Rejects if the process ends instead. */
function nextMessage<Message>(child: ChildProcess, name: string): Promise<Message> {
  return new Promise((resolve, reject) => {
    const exited = () => reject(new Error(`${name} ended unexpectedly.`));
    child.once("exit", exited);
    child.once("message", (message) => {
      child.off("exit", exited);
      resolve(message as Message);
    });
  });
}

/** Asks a process, and waits for its next message. */
async function ask<Answer>(child: ChildProcess, name: string, question: Question | Order): Promise<Answer> {
  if (!child.connected) throw new Error(`${name} has ended.`);
  child.send(question);
  return nextMessage(child, name);
}

/** A contender's process. */
export interface ServerProcess {
  readonly port: number;
  readonly clients: readonly Client[];
  /** What it has used; `collect` collects garbage first, `start` starts its paced streams. */
  usage(question?: Question): Promise<ProcessUsage>;
  stop(): Promise<void>;
}

let used = 0;

/** A folder for databases on the project's own disk: a temporary folder may be in memory, where a sync is free. */
export const databases: string = fileURLToPath(new URL("data/", import.meta.url));

/** The path of a new database. Whatever begins with it is removed by {@link removeDatabase}. */
function newDatabase(): string {
  mkdirSync(databases, { recursive: true });
  return `${databases}${process.pid}-${++used}.db`;
}

function removeDatabase(database: string): void {
  for (const name of readdirSync(databases)) {
    if (`${databases}${name}`.startsWith(database)) rmSync(`${databases}${name}`);
  }
}

/** What a server is started with. */
export interface ServerOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
}

/** Starts a server of `bench/servers` and waits until it listens. */
export async function startServer(file: string, { env, ...how }: ServerOptions = {}): Promise<ServerProcess> {
  const database = newDatabase();
  const child = start({ core: 0, file: `servers/${file}`, env: { DATABASE: database, ...env }, ...how });
  const { port, clients } = await nextMessage<{ port: number; clients: Client[] }>(child, file);
  return {
    port,
    clients,
    usage: (question = "usage") => ask(child, file, question),
    async stop() {
      await stop(child);
      removeDatabase(database);
    },
  };
}

/** Runs a scenario that needs no server in a process of its own, and returns what it sends. */
export async function runAlone<Answer>(file: string, env: Readonly<Record<string, string>>): Promise<Answer> {
  const database = newDatabase();
  const child = start({ core: 0, file, env: { DATABASE: database, ...env } });
  const answer = await nextMessage<Answer>(child, file);
  await stop(child);
  removeDatabase(database);
  return answer;
}

/** The load generator's process. */
export interface LoadProcess {
  order<Report>(order: Order): Promise<Report>;
  stop(): Promise<void>;
}

/** Starts the load generator. */
export function startLoad(): LoadProcess {
  const child = start({ core: 1, file: "load.ts" });
  return {
    async order<Report>(order: Order): Promise<Report> {
      const answer = await ask<{ report: Report; error?: string }>(child, "The load generator", order);
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.report;
    },
    stop: () => stop(child),
  };
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    if (child.connected) child.disconnect();
  });
}
