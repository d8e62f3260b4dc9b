/**
 * The process that the server runs in: what it is written in and started with, its output, and its signals.
 *
 * @module
 */

import { basename, relative } from "node:path";
import process from "node:process";
import type { Log } from "./core/log.ts";
import packageInfo from "./package.json" with { type: "json" };

type Runtime = "node" | "deno" | "bun";

/** What runs this process. */
export const runtime: Runtime = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node";

/** What a shell in this folder starts this program with. */
export function programWords(): readonly string[] {
  const name = basename(process.execPath, ".exe"); // which npm's Bun has on every system, but its command has not
  const command = runtime === "deno" ? ["deno", "run", "-A"] : [name, ...process.execArgv];
  const path = process.argv[1] ?? "server.ts";
  const near = relative("", path);
  return [...command, near.startsWith("..") ? path : near];
}

/** The same for people to read, who started the package's command by its name. */
export function shownProgram(): string {
  const isCommand = basename(process.argv[1] ?? "") === packageInfo.name;
  return isCommand ? packageInfo.name : programWords().map(quoteForShell).join(" ");
}

/** A word as a POSIX shell reads it. */
export function quoteForShell(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Writes lines to stderr, those of one turn of the event loop at once. */
export function createLineWriter(): (line: string) => void {
  let pending = "";
  const flush = (): void => {
    if (pending !== "") process.stderr.write(pending);
    pending = "";
  };
  process.on("exit", flush);
  // A reader of the log that went away must not take the server with it. A disk that is full may have room again.
  process.stderr.on("error", () => {});
  return (line) => {
    if (pending === "") setImmediate(flush);
    pending += line;
  };
}

/** An error that nobody caught leaves the process in a state that nobody knows. */
export function exitOnStrayErrors(log: Log): void {
  const leave = (message: string) => (error: unknown) => {
    log("error", message, { error });
    process.exit(1);
  };
  process.on("uncaughtException", leave("an exception was not caught"));
  process.on("unhandledRejection", leave("a rejection was not handled"));
}

/**
 * Logs what the runtime and packages warn of: Node would print it as plain text, of any number of lines. Not what is
 * experimental, as SQLite is for Node 22: that was chosen here, and whoever reads the log can do nothing about it.
 */
export function logWarnings(log: Log): void {
  process.removeAllListeners("warning");
  process.on("warning", (error) => {
    if (error.name !== "ExperimentalWarning") log("warn", "the runtime or a package warns", { error });
  });
}

/** How close together one signal may arrive twice: whoever signals the whole group has npm pass it on as well. */
const sameSignalMs = 200;

/** The first signal stops the server in peace, the second at once. `stop` resolves with whether all went well. */
export function stopOnSignals(log: Log, stop: () => Promise<boolean>): void {
  let stoppingSince: number | undefined;

  async function onSignal(signal: NodeJS.Signals): Promise<void> {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince < sameSignalMs) return;
      log("warn", "stopped immediately by a second signal", { signal });
      process.exit(1);
    }
    stoppingSince = performance.now();
    log("info", "stopping", { signal });
    const stopped = await stop();
    log("info", "stopped");
    process.exit(stopped ? 0 : 1);
  }
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}
