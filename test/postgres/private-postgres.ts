/**
 * A PostgreSQL of the tests' own, which they may stop and restart.
 */

import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "../support/ports.ts";

const packaged = "/usr/lib/postgresql";

/** The folder of PostgreSQL's programs: the newest installed by Debian, or else the one on the PATH. */
function programs(): string {
  try {
    const [newest] = readdirSync(packaged).sort((one, other) => Number(other) - Number(one));
    return newest === undefined ? "" : `${packaged}/${newest}/bin/`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

// PostgreSQL refuses to run as root.
const asPostgres =
  process.getuid?.() === 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];

function run(program: string, ...parameters: string[]): void {
  const [command = "", ...rest] = [...asPostgres, `${programs()}${program}`, ...parameters];
  const { status, error, stderr } = spawnSync(command, rest, {
    stdio: ["ignore", "ignore", "pipe"],
    cwd: "/",
  });
  if (status !== 0) throw error ?? new Error(`${program} failed: ${stderr}`);
}

/** Why no PostgreSQL can be started here, or false. */
export const skipWithoutPrograms: string | false =
  spawnSync(`${programs()}initdb`, ["--version"]).status === 0 ? false : "there is no initdb on this machine";

/** A private PostgreSQL on a free port. */
export interface PrivatePostgres extends AsyncDisposable {
  readonly url: string;
  start(): void;
  /** Ends all connections and stops. */
  stop(): void;
  /** Stops at once, as `kill -9` of all its processes does. */
  crash(): void;
  dispose(): Promise<void>;
}

/** Creates a database cluster, which runs once {@link PrivatePostgres.start} is called. */
export async function createPostgres(): Promise<PrivatePostgres> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "twins-postgres-"));
  const data = join(folder, "data");
  chmodSync(folder, 0o777);
  run(
    "initdb",
    "--pgdata",
    data,
    "--username",
    "postgres",
    "--auth",
    "trust",
    "--no-sync",
    "--encoding",
    "UTF8",
  );
  // So that a write that does not wait for its log is certain to be lost in a crash, not only if it is recent.
  const lazy = "-c wal_writer_delay=10s";
  const flags = `${lazy} -p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`;
  let running = false;
  async function dispose(): Promise<void> {
    stop();
    await rm(folder, { recursive: true });
  }

  function stop(mode = "fast"): void {
    if (running) run("pg_ctl", "stop", "--pgdata", data, "--mode", mode, "--wait");
    running = false;
  }

  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start() {
      run("pg_ctl", "start", "--pgdata", data, "--wait", "--log", join(folder, "log"), "--options", flags);
      running = true;
    },
    stop: () => stop(),
    crash: () => stop("immediate"),
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}
