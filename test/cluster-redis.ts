/**
 * A Redis of the tests' own, which they may stop, pause and fill.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Why no Redis can be started here, or false. */
export const skipWithoutRedis: string | false =
  spawnSync("redis-server", ["--version"]).status === 0 ? false : "there is no redis-server on this machine";

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

/**
 * A port that nobody listens on, and that no outgoing connection is given before it is used: systems assign those
 * from 32768 up. Two calls in a row return two different ports.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    lastPort = lastPort < 32_000 ? lastPort + 1 : 20_000;
    if (await isFree(lastPort)) return lastPort;
  }
}

let lastPort = randomInt(20_000, 32_000);

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** Resolves once a port accepts connections. Rejects after 10 seconds. */
export async function untilListening(port: number): Promise<void> {
  await until(`something listens on port ${port}`, 10_000, () => {
    return new Promise<boolean>((resolve) => {
      const socket = createConnection(port, "127.0.0.1");
      socket.once("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
  });
}

/** Polls until `ask` says yes, and rejects if that takes too long. Returns how long it took, in milliseconds. */
export async function until(
  what: string,
  milliseconds: number,
  ask: () => Promise<boolean> | boolean,
): Promise<number> {
  const startedAt = performance.now();
  while (!(await ask())) {
    if (performance.now() - startedAt > milliseconds)
      throw new Error(`Not within ${milliseconds} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return Math.round(performance.now() - startedAt);
}
