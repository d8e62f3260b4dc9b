/**
 * The process that the server runs in: its runtime and command, its output, and its signals.
 *
 * @module
 */

import { Console } from "node:console";
import { writeSync } from "node:fs";
import { basename, relative, sep } from "node:path";
import process from "node:process";
import { Writable } from "node:stream";
import { codeOf } from "../adapters/system.ts";
import type { Log, LogLevel } from "../core/base/log.ts";
import packageInfo from "../package.json" with { type: "json" };

type Runtime = "node" | "deno" | "bun";

/** The runtime of this process. */
export const runtime: Runtime = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node";

/** The words of the command that starts this program from this folder. */
export function programWords(): readonly string[] {
  const name = basename(process.execPath, ".exe"); // npm's Bun has this ending on every system, but its command does not
  const command = runtime === "deno" ? ["deno", "run", "-A"] : [name, ...process.execArgv];
  const path = process.argv[1] ?? "server.ts";
  const near = relative("", path);
  return [...command, near.startsWith("..") ? path : near.replaceAll(sep, "/")]; // slashes need no quotes in any shell
}

/** The command for people to read: just its name if the program was started as the package's command. */
export function shownProgram(): string {
  const isCommand = basename(process.argv[1] ?? "") === packageInfo.name;
  return isCommand ? packageInfo.name : programWords().map(quoteForShell).join(" ");
}

/** Where to find a POSIX shell. */
export const posixShell: string = process.platform === "win32" ? "Git Bash" : "another terminal";

/** Quotes a word for a POSIX shell, if needed. */
export function quoteForShell(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The text of a file that people write: in UTF-8, or with a byte order mark in UTF-16, as PowerShell and Notepad make it. */
export function decodeText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  return new TextDecoder().decode(bytes); // without the mark, if there is one
}

/** Writes to stderr, also where what packages write there is logged. */
export const writeToStderr = process.stderr.write.bind(process.stderr) as (text: string) => unknown;

/**
 * Writes lines to stderr, those of one turn of the event loop at once. Loses what cannot be written: a reader of the log
 * that closed the pipe must not take the server down, and a full disk may have room again later.
 */
export function createLineWriter(): (line: string) => void {
  let pending = "";
  const write = runtime === "deno" ? writeOnDeno : writeToStderr;
  const flush = (): void => {
    if (pending !== "") write(pending);
    pending = "";
  };
  process.on("exit", flush);
  process.stderr.on("error", () => {});
  return (line) => {
    if (pending === "") setImmediate(flush);
    pending += line;
  };
}

/** Deno's `process.stderr` throws when the disk is full, and then writes nothing more. */
function writeOnDeno(text: string): void {
  try {
    writeSync(process.stderr.fd, text);
  } catch {} // there is no other place to say so
}

/**
 * Whether an exception is that of undici before 8, which `fetch` goes over where a proxy is named, for a server that closes its
 * connection while the answer is being read: in an event of the socket, where nobody can catch it. Only that answer is lost, and
 * ends with its time.
 */
function isEndWhilePaused(error: unknown): boolean {
  // The parser asserts there that it is not paused, in words that are not in a bundle.
  const [, where = ""] = /\n\s+at (\S+)/.exec((error instanceof Error && error.stack) || "") ?? [];
  return codeOf(error) === "ERR_ASSERTION" && where.endsWith(".finish");
}

/** Logs uncaught errors and exits, because they leave the process in an unknown state. */
export function exitOnStrayErrors(log: Log): void {
  const leave = (message: string) => (error: unknown) => {
    log("error", message, { error });
    process.exit(1);
  };
  const leaveUncaught = leave("an exception was not caught");
  process.on("uncaughtException", (error) => {
    if (!isEndWhilePaused(error)) return leaveUncaught(error);
    log("warn", "a server closed a connection while its answer was being read", { error });
  });
  process.on("unhandledRejection", leave("a rejection was not handled"));
}

/**
 * Logs warnings of the runtime and of packages: Node would print them as plain text of any number of lines. Leaves out
 * warnings about experimental features, such as SQLite in Node 22: they are used on purpose, and operators cannot act on them.
 */
export function logWarnings(log: Log): void {
  process.removeAllListeners("warning");
  process.on("warning", (error) => {
    if (error.name !== "ExperimentalWarning") log("warn", "the runtime or a package warns", { error });
  });
}

/**
 * Logs what packages print, such as a reader of PDF: their lines would stand between those of the log, or in an output.
 */
export function logConsole(log: Log): void {
  const printed = (level: LogLevel) =>
    new Writable({
      decodeStrings: false,
      write(text, _encoding, done) {
        logPrinted(log, level, text);
        done();
      },
    });
  Object.assign(
    console,
    new Console({ stdout: printed("debug"), stderr: printed("warn"), colorMode: false }),
  );
}

/** Logs what packages write to stderr themselves. What is the server's own goes there by {@link writeToStderr}. */
export function logStderr(log: Log): void {
  process.stderr.write = (text: string | Uint8Array, encoding?: unknown, done = encoding) => {
    logPrinted(log, "debug", text);
    if (typeof done === "function") queueMicrotask(() => done());
    return true;
  };
}

function logPrinted(log: Log, level: LogLevel, text: string | Uint8Array): void {
  const lines = typeof text === "string" ? text : new TextDecoder().decode(text);
  log(level, "a package prints", { text: lines.replace(/\n$/, "") });
}

/**
 * The time within which a second signal counts as the same one, in milliseconds. npm passes on a signal that the whole
 * process group has already received; other programs that run scripts of a `package.json` set this variable, too.
 */
const sameSignalMs = process.env.npm_lifecycle_event === undefined ? 0 : 200;

/**
 * What tells the server to stop: a supervisor, Ctrl-C, a terminal that closes, Ctrl-\ and the images that stop by it.
 * Windows has no SIGQUIT, and Deno refuses to listen for it there.
 */
const stopSignals: readonly NodeJS.Signals[] =
  process.platform === "win32" ? ["SIGTERM", "SIGINT", "SIGHUP"] : ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"];

/**
 * The first signal stops the server gracefully, the second one immediately. `stop` resolves with whether it succeeded.
 */
export function stopOnSignals(log: Log, stop: () => Promise<boolean>): void {
  let stoppingSince: number | undefined;

  async function onSignal(signal: NodeJS.Signals): Promise<void> {
    if (stoppingSince !== undefined) {
      // A terminal that closes says so more than once: by the shell, and by the system.
      if (signal === "SIGHUP" || performance.now() - stoppingSince < sameSignalMs) return;
      log("warn", "stopped immediately by a second signal", { signal });
      process.exit(1);
    }
    stoppingSince = performance.now();
    log("info", "stopping", { signal });
    const stopped = await stop();
    log("info", "stopped");
    process.exit(stopped ? 0 : 1);
  }
  for (const signal of stopSignals) process.on(signal, onSignal);
}

/**
 * Lets `fetch` use the proxies that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name. Deno and Bun do that by themselves. Where
 * there is none, `fetch` stays Node's own, which {@link isEndWhilePaused} does not befall.
 */
export async function useProxies(): Promise<void> {
  const { HTTP_PROXY, HTTPS_PROXY, http_proxy, https_proxy } = process.env;
  if (runtime !== "node" || !(HTTP_PROXY || HTTPS_PROXY || http_proxy || https_proxy)) return;
  const { EnvHttpProxyAgent, setGlobalDispatcher } = await import("undici");
  setGlobalDispatcher(new EnvHttpProxyAgent({ proxyTunnel: false })); // only https needs a tunnel
}
