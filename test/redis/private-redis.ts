/**
 * A Redis of the tests' own, which they may stop, pause and fill.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, untilListening } from "../support/ports.ts";

const version = spawnSync("redis-server", ["--version"], { encoding: "utf8" });

/** Why no Redis can be started here, or false. */
export const skipWithoutRedis: string | false =
  version.status === 0 ? false : "there is no redis-server on this machine";

/**
 * Why no cluster can be started here, or false. Its nodes need a second port each, which Redis chooses itself before
 * version 7: one that an outgoing connection may have.
 */
export const skipWithoutCluster: string | false =
  skipWithoutRedis || (/v=[1-6]\./.test(version.stdout) && "Redis before version 7 has no --cluster-port");

/** A private Redis on a free port. */
export interface PrivateRedis {
  readonly url: string;
  readonly port: number;
  /** Starts it, or restarts it if it was stopped. Resolves once it accepts connections. */
  start(): Promise<void>;
  /** Ends it without warning, as `kill -9` does. */
  stop(): Promise<void>;
  /** Keeps its connections open but answers nothing until `goOn`. */
  pause(): void;
  goOn(): void;
  dispose(): Promise<void>;
}

/** Prepares a Redis, which runs once {@link PrivateRedis.start} is called. */
export async function createRedis(...flags: string[]): Promise<PrivateRedis> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "twins-redis-"));
  let server: ChildProcess | undefined;

  async function stop(): Promise<void> {
    const stopping = server;
    server = undefined;
    if (!stopping || stopping.exitCode !== null) return;
    const ended = new Promise((resolve) => stopping.once("exit", resolve));
    stopping.kill("SIGKILL");
    await ended;
  }

  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    async start() {
      const alone = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder];
      server = spawn("redis-server", [...alone, ...flags], { stdio: "ignore" });
      await untilListening(port);
    },
    stop,
    pause: () => void server?.kill("SIGSTOP"),
    goOn: () => void server?.kill("SIGCONT"),
    async dispose() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}
