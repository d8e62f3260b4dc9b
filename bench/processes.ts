/**
 * The benchmark's child processes: the contenders on one core, the load generator on the other.
 *
 * @module
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import type { Order } from "./load.ts";
import type { Client, ProcessUsage } from "./servers/reply.ts";

const canPin = availableParallelism() > 1 && spawnSync("taskset", ["-c", "0", "true"]).status === 0;

/** Whether servers and load run on a core each. Without `taskset` (Linux), the system decides. */
export const pinned: boolean = canPin;

function start(core: number, file: string, env: Readonly<Record<string, string>>, flags: readonly string[]) {
  const node = [process.execPath, "--import", "tsx", ...flags, fileURLToPath(new URL(file, import.meta.url))];
  const [command = "", ...parameters] = pinned ? ["taskset", "-c", String(core), ...node] : node;
  return spawn(command, parameters, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, NODE_ENV: "production", ...env },
    cwd: fileURLToPath(new URL("..", import.meta.url)),
  });
}

/** The next message of a process. Rejects if the process ends instead. */
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

/** A contender's process. */
export interface ServerProcess {
  readonly port: number;
  readonly clients: readonly Client[];
  /** What it has used; `collect` collects garbage before. */
  usage(question?: "usage" | "collect"): Promise<ProcessUsage>;
  stop(): Promise<void>;
}

let servers = 0;

/** A folder for databases on the project's own disk: a temporary folder may be memory, which never syncs. */
const databases = fileURLToPath(new URL("data/", import.meta.url));

/** Starts a server of `bench/servers` and waits until it listens. */
export async function startServer(
  file: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const flags = ["--expose-gc", ...(process.env.BENCH_NODE_FLAGS?.split(" ") ?? [])];
  const database = `${databases}${process.pid}-${++servers}.db`;
  mkdirSync(databases, { recursive: true });
  const child = start(0, `servers/${file}`, { DATABASE: database, ...env }, flags);
  const { port, clients } = await nextMessage<{ port: number; clients: Client[] }>(child, file);
  return {
    port,
    clients,
    usage(question = "usage") {
      child.send(question);
      return nextMessage(child, file);
    },
    async stop() {
      await stop(child);
      for (const name of readdirSync(databases)) {
        if (`${databases}${name}`.startsWith(database)) rmSync(`${databases}${name}`);
      }
    },
  };
}

/** The load generator's process. */
export interface LoadProcess {
  order<Report>(order: Order): Promise<Report>;
  stop(): Promise<void>;
}

/** Starts the load generator. */
export function startLoad(): LoadProcess {
  const child = start(1, "load.ts", {}, []);
  return {
    async order<Report>(order: Order): Promise<Report> {
      child.send(order);
      const answer = await nextMessage<{ report: Report; error?: string }>(child, "The load generator");
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.report;
    },
    stop: () => stop(child),
  };
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.disconnect();
  });
}
