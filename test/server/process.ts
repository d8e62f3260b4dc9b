/**
 * The reference server as a process of its own, started as its users start it.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import type { Readable } from "node:stream";
import { quoteForShell } from "../../server/process.ts";
import {
  collectOutput,
  type Ended,
  limitedTime,
  surroundings,
  type Variables,
} from "../support/child-process.ts";
import { serverCommand } from "./program.ts";

const [program = "", ...programArguments] = serverCommand;

/** A server that is listening. */
export interface ServerProcess {
  readonly url: string;
  /** Its log entry with this message, as soon as there is one. */
  logged(message: string): Promise<Record<string, unknown>>;
  signal(signal: NodeJS.Signals): void;
  /** Closes our end of its standard output, or of its log. */
  hangUp(output: "stdout" | "stderr"): void;
  /** Tells it to stop, and waits until it has. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** `input`: what it reads from its standard input. `cwd`: its working folder. */
function launch(
  args: readonly string[],
  variables: Variables,
  { input = "", cwd }: { readonly input?: string; readonly cwd?: string } = {},
) {
  const child = spawn(program, [...programArguments, ...args], {
    env: { ...surroundings, ...variables },
    stdio: ["pipe", "pipe", "pipe"],
    ...(cwd !== undefined && { cwd }),
    ...limitedTime,
  });
  child.stdin.on("error", () => {}).end(input);
  return { child, ...collectOutput(child) };
}

/** Runs the program until it ends by itself. */
export async function runServer(
  args: readonly string[],
  variables: Variables = {},
  options: { readonly input?: string; readonly cwd?: string } = {},
): Promise<Ended> {
  const { child, ended } = launch(args, variables, options);
  child.stdout.once("data", () => {
    if (
      args.every(
        (argument) =>
          !/^(token|keys?|revoke|chat|check|tests|copy|backup|-h|--help|--version)$/.test(argument),
      )
    )
      child.kill("SIGKILL"); // it serves
  });
  return ended;
}

/** Runs the program with its standard output going to a file. Returns its exit code and standard error. */
export function runInto(file: string, args: readonly string[]): Omit<Ended, "stdout"> {
  const output = openSync(file, "w");
  const { status, stderr } = spawnSync(program, [...programArguments, ...args], {
    env: surroundings,
    stdio: ["ignore", output, "pipe"],
    encoding: "utf8",
  });
  closeSync(output);
  return { code: status, stderr };
}

/** Starts the server after a shell command that it is subject to, such as a limit. Its log is appended to a file. */
export async function startServerAfter(before: string, args: readonly string[], log = "/dev/stderr") {
  const words = [...serverCommand, "--port", "0", ...args];
  const child = spawn("sh", ["-c", `${before} && exec "$@" 2>>"$0"`, log, ...words], {
    env: surroundings,
    stdio: ["ignore", "pipe", "inherit"],
    ...limitedTime,
  });
  const exited = once(child, "exit").then(([code]) => code as number | null);
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return {
    url: String(line).trim().replace("listening on ", ""),
    stop() {
      sendSignal(child, "SIGTERM");
      return exited;
    },
  };
}

/** Starts the server with a terminal as its standard error, and waits until that shows a match. */
export async function startServerInTerminal(args: readonly string[], shows: RegExp) {
  const words = [...serverCommand, "--port", "0", ...args];
  const command = `exec ${words.map(quoteForShell).join(" ")} >/dev/null`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: surroundings,
    stdio: ["pipe", "pipe", "inherit"],
    ...limitedTime,
  });
  const exited = once(child, "exit").then(([code]) => code as number | null);
  let shown = "";
  for await (const text of child.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    shown += text.replaceAll("\r\n", "\n");
    if (shows.test(shown)) break;
  }
  child.stdout.resume();
  return {
    shown,
    /** Presses Ctrl+C. */
    stop() {
      child.stdin.write("\x03");
      return exited;
    },
  };
}

/** A server that may not be listening yet. */
type LaunchedServer = Omit<ServerProcess, "url">;

/** Starts the server without waiting until it listens. */
export function launchServer(args: readonly string[], variables: Variables = {}): LaunchedServer {
  return control(launch(["--port", "0", ...args], variables));
}

/** Starts the server on a free port and waits until it listens. */
export async function startServer(
  args: readonly string[],
  variables: Variables = {},
  options: { readonly cwd?: string } = {},
): Promise<ServerProcess> {
  const launched = launch(["--port", "0", ...args], variables, options);
  const { child, output } = launched;
  const find = () => /^listening on (\S+)\n/.exec(output.stdout)?.[1];
  return { ...control(launched), url: await heard(launched, child.stdout, find) };
}

type Launched = ReturnType<typeof launch>;

/** What `find` finds in the output, as soon as it does. Rejects if the process ends first. */
async function heard<Found>(
  { ended }: Launched,
  stream: Readable,
  find: () => Found | undefined,
): Promise<Found> {
  const early: Promise<never> = ended.then(({ code, stderr }) => {
    throw new Error(`The server ended with ${code} before it printed what the test waits for: ${stderr}`);
  });
  early.catch(() => {}); // it always ends; only those who wait for something need to know
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    await Promise.race([once(stream, "data"), early]);
  }
}

/** Not with `child.kill()`: on Deno, it would report the signal instead of the code that the process ended with. */
function sendSignal({ exitCode, signalCode, pid }: ChildProcess, name: NodeJS.Signals): void {
  const runs = exitCode === null && signalCode === null;
  if (pid !== undefined && runs) process.kill(pid, name);
}

function control(launched: Launched): LaunchedServer {
  const { child, output, ended } = launched;
  const log = (): Record<string, unknown>[] => {
    const whole = output.stderr.slice(0, output.stderr.lastIndexOf("\n") + 1);
    return whole
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };
  return {
    logged: (message) =>
      heard(launched, child.stderr, () => log().find((logged) => logged.message === message)),
    signal: (name) => sendSignal(child, name),
    hangUp: (output) => void child[output].destroy(),
    stop(name = "SIGTERM") {
      sendSignal(child, name);
      return ended;
    },
  };
}
