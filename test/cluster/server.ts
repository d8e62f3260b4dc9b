/**
 * Server processes for the tests of several processes, and the slow model that their twins ask.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { signToken } from "../../core/auth/jwt.ts";
import { begin, createModelServer, delta, endMarker, finish } from "../openai-models/model-server.ts";
import { serverCommand } from "../server/program.ts";
import { surroundings } from "../support/child-process.ts";
import { listen } from "../support/ports.ts";

const secret = "the secret of all servers of a cluster";

/** A JWT that every server of a cluster accepts. */
export function token(sub: string): Promise<string> {
  return signToken({ secret, sub, expiresInSeconds: 3600 });
}

/** A running server. */
export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** Ends it; resolves with its exit code, null if the signal ended it. */
  kill(signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
}

/** What the servers of a cluster share. */
export interface Cluster {
  /** Starts a server, on a port of its own unless one is given. */
  start(port?: number): Promise<ServerProcess>;
  dispose(): Promise<void>;
}

/** Prepares a cluster whose twins are `echo` and `slow`, which asks the model. */
export async function createCluster(settings: Readonly<Record<string, string>>): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "twins-cluster-"));
  await writeFile(join(folder, "echo.md"), "---\nname: Echo\nengine: echo\n---\nRepeat.");
  await writeFile(
    join(folder, "slow.md"),
    "---\nname: Slow\nengine: openai\nmodel: slow\n---\nTake your time.",
  );
  const running = new Set<ChildProcess>();
  const env = { JWT_SECRET: secret, TWINS_DIR: folder, LOG_LEVEL: "warn", ...settings };

  async function start(port = 0): Promise<ServerProcess> {
    const [program = "", ...flags] = serverCommand;
    const child = spawn(program, flags, {
      env: { ...surroundings, ...env, PORT: String(port) },
      stdio: "pipe",
    });
    running.add(child);
    const exited = new Promise<number | null>((resolve) => {
      child.once("exit", (code) => {
        running.delete(child);
        resolve(code);
      });
    });
    if (process.env.CLUSTER_LOG) child.stderr.pipe(process.stderr);
    return {
      url: await listeningUrl(child),
      pid: child.pid ?? 0,
      kill(signal) {
        child.kill(signal);
        return exited;
      },
    };
  }

  return {
    start,
    async dispose() {
      for (const child of running) child.kill("SIGKILL");
      await rm(folder, { recursive: true });
    },
  };
}

function listeningUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    let log = "";
    child.stderr?.on("data", (chunk) => {
      log += chunk;
    });
    child.once("close", (code) => reject(new Error(`The server ended with ${code}: ${log}`)));
    child.stdout?.on("data", (chunk) => {
      text += chunk;
      const url = /^listening on (\S+)$/m.exec(text)?.[1];
      if (url) resolve(url);
    });
  });
}

/** A model that streams as many words as it is asked for, one every 50 ms. Each word is the time it was sent. */
export interface SlowModel {
  readonly url: string;
  /** How many replies it is streaming now. */
  readonly streaming: number;
  close(): void;
}

const wordMs = 50;

export async function createSlowModel(): Promise<SlowModel> {
  let streaming = 0;
  const server = createModelServer("slow", ({ question, partial }, response) => {
    const words = Number(question);
    begin(response);
    let sent = partial.split(" ").length - 1; // of which it is told
    streaming++;
    const timer = setInterval(() => {
      if (sent++ < words) {
        response.write(delta(`${Date.now()} `));
        return;
      }
      clearInterval(timer);
      response.end(finish("stop") + endMarker);
    }, wordMs);
    response.once("close", () => {
      clearInterval(timer);
      streaming--;
    });
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}/v1`,
    get streaming() {
      return streaming;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
