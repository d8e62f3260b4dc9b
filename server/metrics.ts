/**
 * Metrics for Prometheus, and the listener that shows them: `GET /metrics` on a port of its own, so that a proxy in front
 * of the API cannot expose them by mistake.
 *
 * @module
 */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { urlOf } from "../adapters/servers/running-server.ts";
import { systemClock, within } from "../core/base/clock.ts";
import type { Observer } from "../core/base/observe.ts";

/** Metrics that a service's callbacks feed. */
export interface Metrics {
  /** For `createService({ observe })`. */
  readonly observe: Observer;
  /** All metrics, in the format that {@link Metrics.contentType} names. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Upper bounds in seconds: requests take milliseconds, but a normal send waits for its whole reply. */
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Upper bounds in seconds: models begin after a tenth of a second to a minute, and reply for up to five. */
const replyBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300];

/** What is looked at whenever the metrics are read. */
export interface StorageState {
  /** Whether limits are those of all processes. */
  limitsAreShared(): boolean;
  /** Rejects if the store cannot be used. */
  pingStore(): Promise<void>;
  /** In how many conversations a question waits for a person, and since when, in milliseconds. */
  countWaiting(): Promise<{ readonly count: number; readonly since: number | null }>;
  /** How many deliveries to webhooks are pending. Absent: webhooks are off. */
  countPending?(): Promise<number>;
}

/** How long the store may take to answer, in milliseconds: well within the time that a scrape may take. */
const pingMs = 2_000;

/**
 * Creates the metrics of one server. No label has an owner, a key, an end user or a twin that an owner made: their number has no
 * bound, and metrics are no place for what identifies people.
 */
export function createMetrics(storage?: StorageState): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  if (storage) addStorageGauges(registry, storage);
  const instruments = createInstruments(registry);
  return {
    observe: { ...requestCallbacks(instruments), ...replyCallbacks(instruments) },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function addStorageGauges(
  registry: Registry,
  { limitsAreShared, pingStore, countWaiting, countPending }: StorageState,
): void {
  new Gauge({
    name: "twin_limits_shared",
    help: "1: hourly limits are those of all processes; 0: what they share is away, and this process limits alone.",
    registers: [registry],
    collect() {
      this.set(limitsAreShared() ? 1 : 0);
    },
  });
  new Gauge({
    name: "twin_store_available",
    help: "1: the store answered when the metrics were read; 0: it did not, within two seconds.",
    registers: [registry],
    async collect() {
      const answered = await within(
        systemClock,
        pingMs,
        pingStore().then(() => true),
      ).catch(() => false);
      this.set(answered === true ? 1 : 0);
    },
  });
  addReading(registry, {
    name: "twin_conversations_waiting",
    help: "Conversations in which a question waits for a person.",
    read: async () => (await countWaiting()).count,
  });
  addReading(registry, {
    name: "twin_longest_wait_seconds",
    help: "How long the first of them has waited; 0: none waits.",
    async read() {
      const { since } = await countWaiting();
      return since === null ? 0 : Math.max(0, systemClock.now() - since) / 1000;
    },
  });
  if (!countPending) return;
  addReading(registry, {
    name: "twin_webhook_pending",
    help: "Deliveries to webhooks that are tried, or will be, by all processes.",
    read: countPending,
  });
}

/** A number that is read from the store with the metrics, and is not there where that cannot be told. */
function addReading(
  registry: Registry,
  { name, help, read }: { readonly name: string; readonly help: string; read(): Promise<number> },
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await within(systemClock, pingMs, read()).catch(() => undefined);
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

type Instruments = ReturnType<typeof createInstruments>;

// A table: one entry for each metric.
function createInstruments(registry: Registry) {
  const registers = [registry];
  return {
    replies: new Counter({
      name: "twin_replies_total",
      help: "Replies that this process ended, by twin, engine and how they ended.",
      labelNames: ["twin", "engine", "status"],
      registers,
    }),
    running: new Gauge({
      name: "twin_replies_running",
      help: "Replies that this process produces.",
      registers,
    }),
    streams: new Gauge({
      name: "twin_streams_open",
      help: "Streams of replies and conversations that clients follow.",
      registers,
    }),
    firstText: new Histogram({
      name: "twin_reply_first_text_seconds",
      help: "Time from the beginning of a reply to its first text.",
      buckets: replyBuckets,
      registers,
    }),
    replyDuration: new Histogram({
      name: "twin_reply_duration_seconds",
      help: "Time from the beginning of a reply to its end.",
      buckets: replyBuckets,
      registers,
    }),
    tokens: new Counter({
      name: "twin_tokens_total",
      help: "Tokens as the models counted them, by twin and type (input, output, and cached_input as a part of input).",
      labelNames: ["twin", "type"],
      registers,
    }),
    toolCalls: new Counter({
      name: "twin_tool_calls_total",
      help: "Tools that models called, by how the call ended (done, failed).",
      labelNames: ["tool", "status"],
      registers,
    }),
    toolDuration: new Histogram({
      name: "twin_tool_call_seconds",
      help: "Time from a model's call of a tool to its result.",
      labelNames: ["tool"],
      buckets: replyBuckets,
      registers,
    }),
    limited: new Counter({
      name: "twin_rate_limited_total",
      help: "Requests refused with 429, by the scope of their key (none: creating keys).",
      labelNames: ["scope"],
      registers,
    }),
    refused: new Counter({
      name: "twin_refused_credentials_total",
      help: "Requests whose key, client token or JWT was refused with 401, by the reason.",
      labelNames: ["reason"],
      registers,
    }),
    takenOver: new Counter({
      name: "twin_replies_taken_over_total",
      help: "Replies that this process took over from one that stopped renewing its lease.",
      registers,
    }),
    webhookTries: new Counter({
      name: "twin_webhook_deliveries_total",
      help: "Tries of deliveries to webhooks, by event and what became of the delivery (delivered, pending, failed).",
      labelNames: ["event", "status"],
      registers,
    }),
    requests: new Histogram({
      name: "http_server_request_duration_seconds",
      help: "Time from a request to its answer: of a stream, to its head.",
      labelNames: ["method", "route", "status"],
      buckets: requestBuckets,
      registers,
    }),
  };
}

const knownMethods = new Set(["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT"]);

function requestCallbacks({ requests, limited, refused, streams, webhookTries }: Instruments): Observer {
  return {
    requestEnded({ method, route = "none", status, durationMs }) {
      // A client may send any method: it must not make as many time series.
      const labels = { method: knownMethods.has(method) ? method : "other", route, status };
      requests.observe(labels, durationMs / 1000);
    },
    rateLimited: ({ scope = "none" }) => limited.inc({ scope }),
    credentialRefused: ({ reason }) => refused.inc({ reason }),
    streamOpened: () => streams.inc(),
    streamClosed: () => streams.dec(),
    webhookTried: ({ event, status }) => webhookTries.inc({ event, status }),
  };
}

/** What twins that owners make are called together: it is no id. */
const ownTwins = "(own)";

function replyCallbacks({
  replies,
  running,
  firstText,
  replyDuration,
  tokens,
  toolCalls,
  toolDuration,
  takenOver,
}: Instruments): Observer {
  return {
    replyBegan({ attempt }) {
      running.inc();
      if (attempt > 1) takenOver.inc();
    },
    replyFirstText: ({ durationMs }) => firstText.observe(durationMs / 1000),
    toolCalled({ tool, status, durationMs }) {
      toolCalls.inc({ tool, status });
      toolDuration.observe({ tool }, durationMs / 1000);
    },
    replyEnded({ twinId, isOwn, engine, status, usage, durationMs }) {
      const twin = isOwn ? ownTwins : twinId;
      running.dec();
      replies.inc({ twin, engine, status });
      replyDuration.observe(durationMs / 1000);
      if (!usage) return;
      tokens.inc({ twin, type: "input" }, usage.inputTokens);
      tokens.inc({ twin, type: "output" }, usage.outputTokens);
      tokens.inc({ twin, type: "cached_input" }, usage.cachedInputTokens ?? 0);
    },
  };
}

/** A listener that shows metrics. */
export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves `GET /metrics` and nothing else. Rejects if it cannot listen. */
export async function serveMetrics(metrics: Metrics, host: string, port: number): Promise<MetricsServer> {
  const server = createServer(async (request, response) => {
    response.setHeader("X-Content-Type-Options", "nosniff");
    const [path] = request.url?.split("?") ?? []; // a scrape may have parameters
    if (path !== "/metrics") return void response.writeHead(404).end("Metrics are at /metrics.\n");
    if (request.method !== "GET") return void response.writeHead(405, { Allow: "GET" }).end();
    response.writeHead(200, { "Content-Type": metrics.contentType, "Cache-Control": "no-store" });
    response.end(await metrics.text());
  });
  server.listen(port, host);
  await once(server, "listening"); // rejects if the server emits an error first
  const bound = server.address() as AddressInfo;
  return { url: `${urlOf(bound.address, bound.port)}/metrics`, close: () => close(server) };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
