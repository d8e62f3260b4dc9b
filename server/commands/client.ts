/**
 * Clients for the commands `key` and `chat`: of a running server, or of a service in this process on its database.
 *
 * @module
 */

import { NotFoundError, TwinClient } from "../../client/mod.ts";
import type { Log } from "../../core/base/log.ts";
import { createService } from "../../core/service.ts";
import type { WebhookDelivery } from "../../core/store/deliverer.ts";
import type { Guard } from "../../core/twins/guard.ts";
import type { OwnTwinsOptions } from "../../core/twins/own-twins.ts";
import { createTwinList, type TwinSource } from "../../core/twins/twins.ts";
import type { TwinResource } from "../../core/wire/schemas.ts";
import { createEngines, createGuard, type Engines } from "../engines.ts";
import { openQuietLog } from "../log.ts";
import { ownTwinsOf } from "../own-twins.ts";
import { useProxies } from "../process.ts";
import { rulesOf } from "../rules.ts";
import { ConfigError, type Settings } from "../settings.ts";
import { logNewFile, openStorage } from "../storage.ts";
import { foreignSecret, isRefused, makeSecret, makeToken } from "../tokens.ts";
import { connectMcpServers } from "../tools.ts";
import { findTwins, openTwins, warnOfSamples } from "../twins.ts";
import { quote } from "./mod.ts";

/** A client, and what it holds open. */
export interface ConnectedClient {
  readonly client: TwinClient;
  /** Sends a request to a path below `/api/v1`, as who manages the owner's twins. */
  manage(path: string, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

/** Does some work with what is opened, and closes it whatever comes of that. */
export async function whileOpen<Opened extends { close(): Promise<void> }, Result>(
  opening: Promise<Opened>,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const opened = await opening;
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** The owner that the client speaks for, and what it is connected to. */
export interface ConnectionOptions {
  readonly sub: string;
  readonly log: Log;
  /** The twins that can be talked to. Default: none. */
  readonly twins?: TwinSource;
  readonly engines?: Engines;
  /** Default: none. */
  readonly guard?: Guard | undefined;
  /** Default: owners make none. */
  readonly ownTwins?: OwnTwinsOptions;
}

/** What webhooks are told of a command is for the servers on the database to deliver: this process ends too soon. */
const leftToServers: WebhookDelivery = {
  check: async () => undefined,
  open: () => ({ told() {}, async start() {}, async deliverDue() {}, async close() {} }),
};

/** A client of a service in this process. No credential is checked: whoever can open the database needs none. */
async function connectLocally(
  settings: Settings,
  { sub: owner, log, twins = createTwinList([]), engines = {}, guard, ownTwins }: ConnectionOptions,
): Promise<ConnectedClient> {
  await makeSecret(settings); // a new database begins with its server's secret
  const opening = openStorage(settings, { log, signal: new AbortController().signal });
  const storage = await opening.catch(nameTheServer);
  logNewFile(storage, log);
  const service = createService({
    // Replies of a server that died are for its next start to go on with: this process ends too soon.
    store: { ...storage.store, findAbandonedReplies: async () => [] },
    limiter: storage.limiter,
    twins,
    engines,
    guard,
    ownTwins,
    log,
    ...rulesOf(settings),
    verifyToken: async () => ({ owner, requestsPerHour: settings.maxPerHour }),
    authenticate: () => ({ owner, manages: true }),
    ...(settings.webhooks === "on" && { webhooks: leftToServers }),
  });
  const client = new TwinClient({
    baseUrl: "http://localhost",
    apiKey: "none",
    fetch: (input, init) => service.fetch(readAlong(input, init)),
  });
  return {
    client,
    manage: (path, init) => service.fetch(new Request(`http://localhost/api/v1${path}`, init)),
    async close() {
      await service.close({ graceMs: 0 });
      await storage.close();
    },
  };
}

/** The twin with this id. Rejects with a line that names those there are, if it is none of them. */
export async function findTwin(client: TwinClient, twinId: string): Promise<TwinResource> {
  try {
    return await client.twins.get(twinId);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const { data, pagination } = await client.twins.list({ limit: 100 });
    const more = pagination.hasMore ? ", …" : "";
    const known = data.map(({ id }) => id).join(", ") || "none";
    throw new ConfigError(`There is no twin ${quote(twinId)}; the twins are: ${known}${more}.`);
  }
}

/** A request of a person who reads replies as they are written. */
function readAlong(input: RequestInfo | URL, init?: RequestInit): Request {
  const request = new Request(input, init);
  request.headers.set("Prefer", "reading-pace");
  return request;
}

/** A database that is in use is usually a server's: ask the server instead. */
function nameTheServer(error: unknown): never {
  if (!(error instanceof ConfigError) || !error.message.includes("is in use already")) throw error;
  throw new ConfigError(`${error.message} Or ask the server that uses it: --url http://127.0.0.1:8787`, {
    cause: error,
  });
}

/** A client that manages an owner's keys, at a running server or in the database. */
export async function connectToKeys({
  settings,
  sub,
  url,
}: TwinsRequest): Promise<Pick<ConnectedClient, "client" | "close">> {
  if (url === undefined) return connectLocally(settings, { sub, log: openQuietLog(settings) });
  return { client: await connectForKeys(settings, url, sub), close: async () => {} };
}

/** A client that creates keys at a running server. */
async function connectForKeys(settings: Settings, url: string, sub: string): Promise<TwinClient> {
  const token = await makeToken(settings, {
    sub,
    expiresInSeconds: 600,
    requestsPerHour: settings.maxPerHour,
  });
  if (await isRefused(url, token)) throw foreignSecret(`the server at ${url}`);
  return new TwinClient({ baseUrl: url, apiKey: token });
}

/** A client of a running server, with a key of its own that lasts as long as the connection. */
async function connectRemotely(settings: Settings, url: string, sub: string): Promise<ConnectedClient> {
  const { keys } = await connectForKeys(settings, url, sub);
  const { id, key } = await keys.create({ name: "command line", scope: "full_access", expiresInDays: 1 });
  const token = await makeToken(settings, { sub, expiresInSeconds: 3_600 });
  return {
    manage(path, init = {}) {
      const headers = { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${token}` };
      return fetch(`${url}/api/v1${path}`, { ...init, headers }).catch((cause: unknown) => {
        throw new ConfigError(`The server at ${url} cannot be reached any more.`, { cause });
      });
    },
    client: new TwinClient({
      baseUrl: url,
      apiKey: key,
      fetch: (input, init) => fetch(readAlong(input, init)),
    }),
    async close() {
      const { keys } = await connectForKeys(settings, url, sub); // the first token may have expired
      await keys.revoke(id);
    },
  };
}

/** Whose twins or keys, and at which running server. */
interface TwinsRequest {
  readonly settings: Settings;
  readonly sub: string;
  /** Undefined: at none, but in this process. */
  readonly url: string | undefined;
}

/** A client for talking to twins. `samples`: the folder of those that are served where there are no others. */
export async function connectToTwins(
  { settings, sub, url }: TwinsRequest,
  samples: string,
): Promise<ConnectedClient> {
  if (url !== undefined) return connectRemotely(settings, url, sub);
  const log = openQuietLog(settings);
  await useProxies();
  const { tools, toolProblem, ownerToolProblem } = await connectMcpServers(settings, log, () => {});
  const engines = await createEngines(settings, log, tools);
  const guard = await createGuard(settings, log);
  const twinsDir = findTwins(settings, samples);
  warnOfSamples(settings, twinsDir, log);
  const twins = await openTwins(twinsDir, engines, log, toolProblem);
  const ownTwins = ownTwinsOf(settings, engines, ownerToolProblem);
  const options = { sub, log, twins, ownTwins, engines, guard };
  const { client, manage, close } = await connectLocally(settings, options);
  return {
    client,
    manage,
    async close() {
      await close();
      await twins.close();
      await tools?.close();
    },
  };
}
