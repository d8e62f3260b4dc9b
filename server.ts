/**
 * The reference server: reads the settings, assembles the parts, and runs until it is told to stop.
 *
 * @module
 */

import { hash } from "node:crypto";
import { access } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createJsonLog } from "./adapters/json-log.ts";
import type { RunningServer } from "./adapters/node/mod.ts";
import { codeOf } from "./adapters/system.ts";
import { checkTwins, openTwinFiles } from "./adapters/twin-files/mod.ts";
import type { Log } from "./core/base/log.ts";
import { createOpenAIApi } from "./core/openai-api/mod.ts";
import { createService, type Service } from "./core/service.ts";
import packageInfo from "./package.json" with { type: "json" };
import { readConfig } from "./server/command-line.ts";
import { type CopyRequest, copyDatabase } from "./server/copy.ts";
import { createEngines, type Engines, warnOfModel } from "./server/engines.ts";
import { firstSteps } from "./server/first-steps.ts";
import { createParts, type Parts } from "./server/lifecycle.ts";
import type { Metrics } from "./server/metrics.ts";
import { pacedEngines, withPacedTwins } from "./server/playground/pacing.ts";
import { pagesOf } from "./server/playground/pages.ts";
import {
  createLineWriter,
  exitOnStrayErrors,
  logWarnings,
  runtime,
  shownProgram,
  stopOnSignals,
  useProxies,
} from "./server/process.ts";
import { ConfigError, nameOf, type Settings, shownSettings } from "./server/settings.ts";
import { blameDatabase, openStorage } from "./server/storage.ts";
import { logTokens, makeToken, openTokens, tokenSource } from "./server/tokens.ts";
import { usage } from "./server/usage.ts";

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env);
  process.stdout.on("error", (error) => {
    // A reader that closed the pipe has what it wanted, and must not take the server down.
    if (config.command !== "serve" && codeOf(error) !== "EPIPE") fail(error);
  });
  switch (config.command) {
    case "help":
      process.stdout.write(usage(shownProgram()));
      return;
    case "version":
      process.stdout.write(`${packageInfo.version}\n`);
      return;
    case "token":
      process.stdout.write(`${await makeToken(config.settings, config)}\n`);
      return;
    case "check":
      return check(config.settings);
    case "copy":
      return copy(config);
    case "serve":
      return run(config.settings);
  }
}

async function check(settings: Settings): Promise<void> {
  const twinsDir = settings.twinsDir ?? (await findTwins(openLog(settings)));
  const { lines, passed } = await checkTwins(twinsDir).catch(blameTwinsDir(twinsDir));
  process.stdout.write(`${lines.join("\n")}\n`);
  if (!passed) process.exitCode = 1;
}

async function copy({ settings, ...request }: CopyRequest & { settings: Settings }): Promise<void> {
  const show = (line: string) => void process.stderr.write(`${line}\n`);
  process.stdout.write(`${await copyDatabase(request, { log: openLog(settings), show })}\n`);
}

/** Starts the server. Resolves once it listens; the signal handlers end the process. */
async function run(settings: Settings): Promise<void> {
  const log = openLog(settings);
  exitOnStrayErrors(log);
  const parts = createParts(log);
  stopOnSignals(log, parts.close); // before anything is open: a signal may arrive in the meantime

  await useProxies();
  const opening = openStorage(settings, { log, signal: parts.closing });
  const storage = await parts.open("storage", opening, ({ close }) => close());
  const { secret, verifyToken } = await openTokens(settings, log);
  const engines = await createEngines(settings, log);
  const twinsDir = settings.twinsDir ?? (await findTwins(log));
  const twins = await parts.open("twins", openTwins(twinsDir, engines, log), ({ close }) => close());
  const metrics = await openMetrics(settings, parts);
  const service = createService({
    store: storage.store,
    twins: withPacedTwins(twins),
    engines: { ...engines, ...pacedEngines() },
    pages: pagesOf(settings),
    limiter: storage.limiter,
    verifyToken,
    sha256: (text) => hash("sha256", text),
    log,
    observe: metrics?.observe,
    basePath: settings.basePath,
    corsOrigins: settings.corsOrigins,
    requestsPerHour: { read_only: settings.readOnlyPerHour, full_access: settings.fullAccessPerHour },
    heartbeatMs: settings.heartbeatMs,
    maxReplyMs: settings.maxReplyMs,
    leaseMs: settings.leaseMs,
    onDisconnect: settings.onDisconnect,
    ...(settings.openaiApi === "on" && {
      openaiApi: createOpenAIApi({
        conversationHeader: settings.openaiConversationHeader,
        endUserHeader: settings.openaiEndUserHeader,
      }),
    }),
  });
  const { shutdownGraceMs: graceMs } = settings;
  const ready = service.ready().catch(blameDatabase(settings));
  await parts.open("replies", ready, () => service.close({ graceMs }));
  const server = await parts.open("server", listen(service, settings), ({ close }) => close({ graceMs }));

  process.stdout.write(`listening on ${server.url}\n`);
  logStart(settings, twinsDir, log);
  logTokens(settings, log);
  void warnOfModel(settings, log, parts.closing);
  if (process.stderr.isTTY)
    process.stderr.write(await firstSteps({ settings, secret, twins, url: server.url }));
}

/** The log of this process, which from now on has its warnings, too. */
function openLog({ logLevel }: Settings): Log {
  const log = createJsonLog({ level: logLevel, write: createLineWriter() });
  logWarnings(log);
  return log;
}

/** The metrics of this process, shown on a port of their own. Undefined if none is set. */
async function openMetrics(
  { host, metricsPort: port }: Settings,
  parts: Parts,
): Promise<Metrics | undefined> {
  if (port === undefined) return undefined;
  const { createMetrics, serveMetrics } = await import("./server/metrics.ts");
  const metrics = createMetrics();
  const serving = serveMetrics(metrics, host, port).catch((error: unknown) => {
    throw cannotListen({ host, port, name: "metricsPort" }, error);
  });
  await parts.open("metrics", serving, ({ close }) => close());
  return metrics;
}

/** Logs the settings in use, where a misspelt variable shows up with its default. */
function logStart(settings: Settings, twinsDir: string, log: Log): void {
  const { database, redisUrl, modelBaseUrl } = settings;
  log("info", "started", {
    version: packageInfo.version,
    runtime,
    database: database.kind,
    limits: redisUrl === undefined ? database.kind : "redis",
    twins: twinsDir,
    model: modelBaseUrl !== undefined,
    tokens: tokenSource(settings),
    settings: shownSettings(settings),
  });
}

async function listen(service: Service, { host, port }: Settings): Promise<RunningServer> {
  const serve = await importServe();
  return serve(service, { host, port }).catch((error: unknown) => {
    throw cannotListen({ host, port, name: "port" }, error);
  });
}

async function importServe() {
  switch (runtime) {
    case "deno":
      return (await import("./adapters/web/deno.ts")).serve;
    case "bun":
      return (await import("./adapters/web/bun.ts")).serve;
    case "node":
      return (await import("./adapters/node/mod.ts")).serve;
  }
}

async function openTwins(twinsDir: string, engines: Engines, log: Log) {
  const defaultEngine = engines.openai ? "openai" : "knowledge";
  return openTwinFiles(twinsDir, { defaultEngine, engines, log }).catch(blameTwinsDir(twinsDir));
}

/** Explains a folder of twin files that cannot be read. */
function blameTwinsDir(twinsDir: string): (error: unknown) => never {
  return (error) => {
    if (codeOf(error) === undefined) throw error; // already a one-line error about a twin file
    const problem = `the folder ${twinsDir} cannot be read (${codeOf(error)})`;
    const accepted = "choose a folder of Markdown files that this process can read";
    throw new ConfigError(`${nameOf("twinsDir")}: ${problem}; ${accepted}.`, { cause: error });
  };
}

/** `./twins`, or the samples next to this file if that folder does not exist. */
async function findTwins(log: Log): Promise<string> {
  const own = "./twins";
  const samples = fileURLToPath(new URL("./twins", import.meta.url));
  if ((await exists(own)) || !(await exists(samples))) return own;
  log("warn", "there is no folder ./twins, so the sample twins are served", { folder: samples });
  return samples;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

interface Listening {
  readonly host: string;
  readonly port: number;
  /** The setting that the port comes from. */
  readonly name: "port" | "metricsPort";
}

function cannotListen({ host, port, name }: Listening, cause: unknown): Error {
  // Deno distinguishes errors by name, the others by code.
  const kind = codeOf(cause) ?? (cause instanceof Error ? cause.name : String(cause));
  if (kind === "EADDRINUSE" || kind === "AddrInUse") {
    const free = name === "port" ? "choose another, or 0 for any free one" : "choose another";
    return new ConfigError(`${nameOf(name)}: port ${port} on ${host} is in use; ${free}.`, { cause });
  }
  const accepted = "HOST must be an address of this machine, and the port one that this process may use";
  const problem = `cannot listen on port ${port} on ${host} (${kind}); ${accepted}`;
  return new ConfigError(`${nameOf("host")}, ${nameOf(name)}: ${problem}.`, { cause });
}

function fail(error: unknown): never {
  const [line] = (error instanceof Error ? error.message : String(error)).split("\n");
  process.stderr.write(`twin-service: ${line}\n`);
  process.exit(1);
}

main().catch(fail);
