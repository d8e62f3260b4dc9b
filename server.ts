/**
 * The reference server: reads the settings, assembles the parts, and runs until it is told to stop.
 *
 * @module
 */

import { hash } from "node:crypto";
import { resolve } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { createMcpApi } from "./adapters/mcp-clients/mod.ts";
import { createOpenAIApi } from "./adapters/openai-clients/mod.ts";
import type { RunningServer } from "./adapters/servers/node/mod.ts";
import { codeOf } from "./adapters/system.ts";
import type { TwinFiles } from "./adapters/twin-files/mod.ts";
import { createWebhooks } from "./adapters/webhooks/mod.ts";
import type { Log } from "./core/base/log.ts";
import { maskCredentials } from "./core/base/mask.ts";
import { visibleLine } from "./core/base/visible.ts";
import { createService, type Service } from "./core/service.ts";
import type { ServiceOptions } from "./core/service-options.ts";
import packageInfo from "./package.json" with { type: "json" };
import { readConfig } from "./server/command-line.ts";
import { backup } from "./server/commands/backup.ts";
import { answerBackupRequests, type BackupRequests } from "./server/commands/backup-requests.ts";
import { talk } from "./server/commands/chat.ts";
import { check } from "./server/commands/check.ts";
import { copy } from "./server/commands/copy.ts";
import { makeKey, manageKeys } from "./server/commands/keys.ts";
import { pull, push } from "./server/commands/own-twins.ts";
import { countRetention } from "./server/commands/retention.ts";
import { printTests } from "./server/commands/tests.ts";
import { printToken } from "./server/commands/token.ts";
import { createEngines, createGuard, type Engines, warnOfModel } from "./server/engines.ts";
import { loadEnvironmentFile, logEnvironmentFile } from "./server/environment-file.ts";
import { firstSteps } from "./server/first-steps.ts";
import { createParts, type Parts } from "./server/lifecycle.ts";
import { openLog } from "./server/log.ts";
import type { Metrics } from "./server/metrics.ts";
import { ownTwinsOf } from "./server/own-twins.ts";
import { isLoopback, pagesOf } from "./server/playground/pages.ts";
import { createSignIn } from "./server/playground/sign-in.ts";
import { besideStarters } from "./server/playground/starters.ts";
import {
  exitOnStrayErrors,
  logStderr,
  runtime,
  shownProgram,
  stopOnSignals,
  useProxies,
  writeToStderr,
} from "./server/process.ts";
import { rulesOf } from "./server/rules.ts";
import { ConfigError, changedSettings, nameOf, type Settings, shownSettings } from "./server/settings.ts";
import { blameDatabase, logNewFile, openStorage, type Storage } from "./server/storage.ts";
import { logTokens, openTokens, tokenSource } from "./server/tokens.ts";
import { connectMcpServers, type OwnerToolProblem } from "./server/tools.ts";
import { findTwins, openTwins, warnOfSamples } from "./server/twins.ts";
import { usage } from "./server/usage.ts";

/** The sample twins, next to this file. */
const samples = fileURLToPath(new URL("./twins", import.meta.url));

async function main(): Promise<void> {
  const environmentNames = loadEnvironmentFile();
  const config = readConfig(process.argv.slice(2), process.env);
  process.stdout.on("error", (error) => {
    // EPIPE: the program behind a pipe has read enough. The server must not end because of that.
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
      return printToken(config);
    case "check":
      return check(config, samples);
    case "key":
      return makeKey(config);
    case "keys":
    case "revoke":
    case "rotate":
      return manageKeys(config);
    case "chat":
      return talk(config, samples);
    case "tests":
      return printTests(config, samples);
    case "push":
      return push(config, samples);
    case "pull":
      return pull(config, samples);
    case "backup":
      return backup(config);
    case "retention":
      return countRetention(config);
    case "copy":
      return copy(config);
    case "serve":
      return run(config.settings, environmentNames);
  }
}

/** Starts the server. Resolves once it listens; the signal handlers end the process. */
async function run(settings: Settings, environmentNames: readonly string[] | undefined): Promise<void> {
  const log = openLog(settings);
  logEnvironmentFile(environmentNames, log);
  logStderr(log);
  exitOnStrayErrors(log);
  const parts = createParts(log);
  stopOnSignals(log, parts.close); // before anything is open: a signal may arrive in the meantime

  await useProxies();
  let twinFiles: TwinFiles | undefined;
  const connecting = connectMcpServers(settings, log, () => void twinFiles?.reload());
  const { tools, toolProblem, ownerToolProblem } = await parts.open("tools", connecting, async (opened) =>
    opened.tools?.close(),
  );
  const engines = await createEngines(settings, log, tools);
  const guard = await createGuard(settings, log);
  const twinsDir = findTwins(settings, samples);
  const openingTwins = openTwins(twinsDir, engines, log, toolProblem);
  const twins = await parts.open("twins", openingTwins, (files) => files.close());
  twinFiles = twins;
  const opening = openStorage(settings, { log, signal: parts.closing });
  let backups: BackupRequests | undefined;
  const storage = await parts.open("storage", opening, async (opened) => {
    await opened.close();
    await backups?.stop();
  });
  const { secret, verifyToken } = await openTokens(settings, log);
  const metrics = await openMetrics(settings, storage, parts);
  const given = {
    storage,
    twins,
    engines,
    guard,
    verifyToken,
    log,
    observe: metrics?.observe,
    ownerToolProblem,
  };
  const service = createService(serviceOptions(settings, given));
  const { shutdownGraceMs: graceMs, shutdownDelayMs: delayMs } = settings;
  const ready = service.ready().catch(blameDatabase(settings));
  await parts.open("replies", ready, () => service.close({ graceMs }));
  const signIn = createSignIn(settings, secret, log);
  const served = besideStarters(signIn?.beside(service) ?? service, settings, twins);
  const server = await parts.open("server", listen(served, settings), async (running) => {
    service.drain();
    await pause(delayMs);
    await running.close({ graceMs });
  });

  if (storage.backup && settings.database.kind === "sqlite")
    backups = answerBackupRequests(settings.database.path, storage.backup, log);
  process.stdout.write(`listening on ${server.url}\n`);
  if (process.stderr.isTTY)
    writeToStderr(await firstSteps({ settings, secret, twins, signIn, url: server.url }));
  logNewFile(storage, log);
  warnOfSamples(settings, twinsDir, log);
  logStart(settings, twinsDir, log);
  logTokens(settings, log);
  void warnOfModel(settings, log, parts.closing);
}

/** What the service is made of besides its settings. */
type Given = Pick<ServiceOptions, "guard" | "verifyToken" | "log" | "observe"> & {
  readonly storage: Storage;
  readonly twins: TwinFiles;
  readonly engines: Engines;
  readonly ownerToolProblem: OwnerToolProblem;
};

function serviceOptions(
  settings: Settings,
  { storage, twins, engines, guard, verifyToken, log, observe, ownerToolProblem }: Given,
): ServiceOptions {
  return {
    store: storage.store,
    twins,
    ownTwins: ownTwinsOf(settings, engines, ownerToolProblem),
    engines,
    guard,
    pages: pagesOf(settings),
    limiter: storage.limiter,
    verifyToken,
    sha256: (text) => hash("sha256", text),
    log,
    observe,
    basePath: settings.basePath,
    corsOrigins: settings.corsOrigins,
    ...rulesOf(settings),
    retentionDays: settings.retentionDays,
    maxConversationStreams: settings.maxConversationStreams,
    heartbeatMs: settings.heartbeatMs,
    onDisconnect: settings.onDisconnect,
    ...(settings.webhooks === "on" && { webhooks: createWebhooks({ hosts: settings.webhookHosts }) }),
    ...(settings.mcp === "on" && { mcpApi: createMcpApi({ loopbackOrigins: isLoopback(settings.host) }) }),
    ...(settings.openaiApi === "on" && {
      openaiApi: createOpenAIApi({
        maxMessageCharacters: settings.maxMessageCharacters,
      }),
    }),
  };
}

/** The metrics of this process, shown on a port of their own. Undefined if none is set. */
async function openMetrics(
  { host, metricsPort: port, webhooks }: Settings,
  { store, limitsAreShared }: Storage,
  parts: Parts,
): Promise<Metrics | undefined> {
  if (port === undefined) return undefined;
  const { createMetrics, serveMetrics } = await import("./server/metrics.ts");
  const metrics = createMetrics({
    limitsAreShared,
    pingStore: () => store.ping(),
    countWaiting: () => store.countWaiting(),
    ...(webhooks === "on" && { countPending: () => store.countPendingDeliveries() }),
  });
  const serving = serveMetrics(metrics, host, port).catch((error: unknown) => {
    throw cannotListen({ host, port, name: "metricsPort" }, error);
  });
  await parts.open("metrics", serving, (metrics) => metrics.close());
  return metrics;
}

/** Logs the settings in use, where a misspelt variable shows up with its default; to people only those that they changed. */
function logStart(settings: Settings, twinsDir: string, log: Log): void {
  const { database, redisUrl, modelBaseUrl } = settings;
  log("info", "started", {
    version: packageInfo.version,
    runtime,
    database: database.kind,
    file: database.kind === "sqlite" ? resolve(database.path) : undefined,
    limits: redisUrl === undefined ? database.kind : "redis",
    twins: twinsDir,
    model: modelBaseUrl !== undefined,
    tokens: tokenSource(settings),
    settings: process.stderr.isTTY ? changedSettings(settings) : shownSettings(settings),
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
      return (await import("./adapters/servers/deno.ts")).serve;
    case "bun":
      return (await import("./adapters/servers/bun.ts")).serve;
    case "node":
      return (await import("./adapters/servers/node/mod.ts")).serve;
  }
}

interface Listening {
  readonly host: string;
  readonly port: number;
  /** The setting that the port comes from. */
  readonly name: "port" | "metricsPort";
}

/** What runtimes call a host that has no address, or that of another machine. */
const notHere = ["ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL", "AddrNotAvailable"];

function cannotListen({ host, port, name }: Listening, cause: unknown): Error {
  // Deno distinguishes errors by name, the others by code.
  const kind = codeOf(cause) ?? (cause instanceof Error ? cause.name : String(cause));
  if (kind === "EADDRINUSE" || kind === "AddrInUse") {
    const free = name === "port" ? "choose another, or 0 for any free one" : "choose another";
    return new ConfigError(`${nameOf(name)}: port ${port} on ${host} is in use; ${free}.`, { cause });
  }
  if (notHere.includes(kind)) {
    const accepted = "an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all that it has";
    return new ConfigError(`${nameOf("host")} must be ${accepted}, not ${host}.`, { cause });
  }
  const accepted = "HOST must be an address of this machine, and the port one that this process may use";
  const problem = `cannot listen on port ${port} on ${host} (${kind}); ${accepted}`;
  return new ConfigError(`${nameOf("host")}, ${nameOf(name)}: ${problem}.`, { cause });
}

function fail(error: unknown): never {
  const [line] = (error instanceof Error ? error.message : String(error)).split("\n");
  writeToStderr(`twin-service: ${visibleLine(maskCredentials(line ?? ""))}\n`);
  process.exit(1);
}

if (isMainThread) main().catch(fail); // threads begin with the file that the server is bundled into
