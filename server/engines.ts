/**
 * The engines that the settings ask for, and whether the model behind one of them answers.
 *
 * @module
 */

import { createEmbeddings } from "../adapters/openai-models/embeddings.ts";
import { createOpenAIEngine, type Embed } from "../adapters/openai-models/mod.ts";
import { probeModel } from "../adapters/openai-models/probe.ts";
import type { Log } from "../core/base/log.ts";
import { createEchoEngine, type TwinEngine } from "../core/twins/engine.ts";
import type { Guard } from "../core/twins/guard.ts";
import type { ToolSource } from "../core/twins/tools.ts";
import { createEmbeddingFiles, embeddingsFolder } from "./embedding-files.ts";
import { runtime } from "./process.ts";
import { ConfigError, nameOf, type Settings } from "./settings.ts";

/** Engines by the names that twin files use. */
export type Engines = Readonly<Record<string, TwinEngine>>;

/** Creates the engines: those that need no network always, `openai`, which may use tools, if a model's address is set. */
export async function createEngines(settings: Settings, log: Log, tools?: ToolSource): Promise<Engines> {
  const { modelBaseUrl, modelApiKey, modelName, continueReplies } = settings;
  const embed = modelBaseUrl === undefined ? undefined : embeddingsOf(settings, modelBaseUrl, log);
  const offline = { knowledge: loadKnowledgeEngine(embed), echo: createEchoEngine() };
  if (modelBaseUrl === undefined) {
    const idle = (["modelApiKey", "modelName", "modelEmbeddings", "mcpServers"] as const).filter(
      (name) => settings[name] !== undefined,
    );
    const names = idle.map(nameOf).join(" and ");
    if (idle.length > 0)
      log("warn", `${names} ${idle.length > 1 ? "do" : "does"} nothing without MODEL_BASE_URL`);
    return offline;
  }
  if (new URL(modelBaseUrl).pathname === "/") {
    log("warn", "MODEL_BASE_URL has no path; most servers need it to end in /v1");
  }
  // On Deno and Bun, the runtime's own fetch knows proxies.
  const transport =
    runtime === "node"
      ? (await import("../adapters/openai-models/node-transport.ts")).createNodeTransport()
      : undefined;
  const openai = createOpenAIEngine({
    baseUrl: modelBaseUrl,
    apiKey: modelApiKey,
    model: modelName,
    continueReplies,
    tools,
    embed,
    transport,
    log,
  });
  return { ...offline, openai };
}

/**
 * What decides what twins are asked and what they say. Undefined: nothing does.
 *
 * @throws {ConfigError} if there is a model for it, and no address
 */
export async function createGuard(settings: Settings, log: Log): Promise<Guard | undefined> {
  const { moderationModel: model, moderationBaseUrl, moderationApiKey, modelBaseUrl, modelApiKey } = settings;
  if (model === undefined) {
    const names = (["moderationBaseUrl", "moderationApiKey"] as const).filter(
      (name) => settings[name] !== undefined,
    );
    for (const name of names) log("warn", `${nameOf(name)} does nothing without MODERATION_MODEL`);
    return undefined;
  }
  const baseUrl = moderationBaseUrl ?? modelBaseUrl;
  if (baseUrl === undefined) {
    const wanted = "it needs an address: set MODERATION_BASE_URL or MODEL_BASE_URL";
    throw new ConfigError(`${nameOf("moderationModel")}: ${wanted}.`);
  }
  // A key is for its own server alone.
  const apiKey = moderationApiKey ?? (baseUrl === modelBaseUrl ? modelApiKey : undefined);
  const { createModeration } = await import("../adapters/openai-models/moderation.ts");
  return createModeration({ baseUrl, apiKey, model });
}

/** What makes vectors of texts, kept beside the database. Undefined: no model for it is set. */
function embeddingsOf(
  { modelEmbeddings: model, modelApiKey: apiKey, database }: Settings,
  baseUrl: string,
  log: Log,
): Embed | undefined {
  if (model === undefined) return undefined;
  const cache =
    database.kind === "memory" ? undefined : createEmbeddingFiles(embeddingsFolder(database), log);
  return createEmbeddings({ baseUrl, apiKey, model, cache, log });
}

/** The knowledge engine, loaded once a twin names it: a start does not wait for it. */
function loadKnowledgeEngine(embed: Embed | undefined): TwinEngine {
  let loaded: Promise<TwinEngine> | undefined;
  const load = () => {
    loaded ??= import("../knowledge/mod.ts").then(({ createKnowledgeEngine }) =>
      createKnowledgeEngine({ embed }),
    );
    return loaded;
  };
  return {
    continues: "exact",
    asksModel: false,
    prepare(twins) {
      if (twins.length > 0) void load().then((engine) => engine.prepare?.(twins));
    },
    async reply(turn, output) {
      return (await load()).reply(turn, output);
    },
  };
}

/** Warns of a model that does not answer or does not exist, before replies fail. Never rejects. */
export async function warnOfModel(settings: Settings, log: Log, closing: AbortSignal): Promise<void> {
  const { modelBaseUrl: address, modelApiKey: apiKey, modelName: model } = settings;
  if (address === undefined) return;
  const signal = AbortSignal.any([closing, AbortSignal.timeout(probeMs)]);
  const problem = await probeModel({ baseUrl: address, apiKey, model, signal });
  if (problem === undefined || closing.aborted) return;
  log("warn", "replies of a model may fail", { address, model: model ?? null, problem });
}

/** How long the model's server may take to answer, in milliseconds. */
const probeMs = 10_000;
