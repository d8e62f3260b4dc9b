/**
 * Tools from servers of the Model Context Protocol (https://modelcontextprotocol.io), over streamable HTTP. Needs the
 * package `@modelcontextprotocol/client`.
 *
 * @module
 */

import type { Client } from "@modelcontextprotocol/client";
import { type Clock, longestTimerMs } from "../../core/base/clock.ts";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { consoleLog, type Log } from "../../core/base/log.ts";
import {
  clockRule,
  functionThat,
  logRule,
  optional,
  type RulesFor,
  requireOptions,
} from "../../core/base/rules.ts";
import type { Tool, ToolContext, ToolSource } from "../../core/twins/tools.ts";
import { brokenOff, createBoundedFetch, schemaText, sessionGone } from "./bounded-fetch.ts";

/** A server of tools, as the usual files of MCP clients describe it. */
export interface McpServer {
  /** An http or https address, without credentials. */
  readonly url: string;
  /** Header fields of every request, such as `Authorization`. They appear nowhere else. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether the server learns, in each call's `_meta`, whom the reply is for. Default: false. */
  readonly person?: boolean | undefined;
}

/** Options of {@link connectTools}. */
export interface ConnectToolsOptions {
  /** By their names: a tool is called `server/tool`. */
  readonly servers: Readonly<Record<string, McpServer>>;
  /** Receives a warning when a server is away, and a line when it is back. Default: the console. */
  readonly log?: Log | undefined;
  /** Called when the tools of a server are others than before. */
  readonly changed?: (() => void) | undefined;
  /** The clock for waits. Default: the system's, with timers that do not keep the process alive. */
  readonly clock?: Clock | undefined;
}

/** The tools of connected servers. */
export interface ConnectedTools extends ToolSource, AsyncDisposable {
  /**
   * What is wrong with a name under a twin's `tools`, as the end of a sentence. Undefined: nothing, or the server is away and
   * only its own name can be judged.
   */
  problemOf(name: string): string | undefined;
  /** Ends all connections. */
  close(): Promise<void>;
}

const rules: RulesFor<ConnectToolsOptions> = {
  servers: {
    expected: "servers by name, each with a url, and headers (texts) or person (true or false)",
    accepts: (value) => isJsonObject(value) && Object.values(value).every(isServer),
  },
  log: optional(logRule),
  changed: optional(functionThat("takes nothing")),
  clock: optional(clockRule),
};

/** How long a server may take to say what tools it has, in milliseconds. */
const connectMs = 5_000;
const noAnswer = "no answer within 5 s";
/** The pause before one that is away is tried again, in milliseconds. */
const retryMs = 8_000;
/** The pause before a list that has changed is asked for, in milliseconds: a server may say so again and again. */
const changedMs = 2_000;

const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, callback) {
    const timer: { unref?(): void } | number = setTimeout(callback, Math.min(milliseconds, longestTimerMs));
    if (typeof timer === "object") timer.unref?.();
    return () => clearTimeout(timer as number);
  },
};

/**
 * Connects to servers of tools, in either revision of the protocol (2026-07-28, or 2025-11-25 with its handshake). Those
 * that do not answer within 5 seconds are away: the log says so, and they are tried again until they are there.
 *
 * @example
 * ```ts
 * import { connectTools } from "twin-service/mcp";
 * import { createOpenAIEngine } from "twin-service/openai";
 *
 * const servers = { orders: { url: "https://shop.example/mcp", headers: { Authorization: `Bearer ${token}` } } };
 * const tools = await connectTools({ servers });
 * const openai = createOpenAIEngine({ baseUrl: "https://api.openai.com/v1", apiKey, tools });
 * ```
 *
 * @throws {TypeError} for options that cannot be used.
 * @throws if the package `@modelcontextprotocol/client` is missing.
 */
export async function connectTools(options: ConnectToolsOptions): Promise<ConnectedTools> {
  requireOptions("connectTools", options, rules);
  const servers = new Map(
    Object.entries(options.servers).map(([name, server]) => [name, new ServerOfTools(name, server, options)]),
  );
  await Promise.all([...servers.values()].map((server) => server.connect()));
  const close = async () => {
    await Promise.all([...servers.values()].map((server) => server.close()));
  };
  return {
    list: () => [...servers.values()].flatMap(({ tools }) => tools ?? []),
    problemOf(name) {
      const [serverName = ""] = name.split("/", 1);
      const server = servers.get(serverName);
      if (!server)
        return `there is no MCP server ${JSON.stringify(serverName)}; there are ${namesOf(servers.keys())}`;
      if (name === serverName || !server.tools || server.tools.some((tool) => tool.name === name))
        return undefined;
      const own = server.tools.map((tool) => tool.name);
      return `the MCP server ${JSON.stringify(serverName)} has no tool ${JSON.stringify(name)}; it has ${namesOf(own)}`;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Names for a message that is one line. */
function namesOf(names: Iterable<string>): string {
  return [...names].slice(0, 20).join(", ") || "none";
}

function isServer(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { url, headers = {}, person = false, ...others } = value;
  if (!isString(url) || !/^https?:\/\/[^@]+$/i.test(url) || !URL.canParse(url)) return false;
  if (!isJsonObject(headers) || !Object.values(headers).every(isString)) return false;
  return typeof person === "boolean" && Object.keys(others).length === 0;
}

/** One server, which may be away. */
class ServerOfTools {
  /** Undefined: it is away. */
  tools: readonly Tool[] | undefined;
  readonly #name: string;
  readonly #server: McpServer;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #changed: () => void;
  #client: Client | undefined;
  #cancelRetry = () => {};
  #connecting: Promise<void> | undefined;
  #away = false;
  #closed = false;

  constructor(
    name: string,
    server: McpServer,
    { log = consoleLog, clock = systemClock, changed }: ConnectToolsOptions,
  ) {
    this.#name = name;
    this.#server = server;
    this.#log = log;
    this.#clock = clock;
    this.#changed = changed ?? (() => {});
  }

  /** Asks the server for its tools, now and until it has answered. Resolves after the first attempt. */
  connect(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<void> {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const { url, headers = {} } = this.#server;
    const client = new Client(
      { name: "twin-service", version: "0" },
      {
        versionNegotiation: { mode: "auto" },
        listChanged: {
          tools: {
            debounceMs: changedMs,
            onChanged: (_error, tools) => this.#take(client, tools ?? undefined),
          },
        },
      },
    );
    client.onerror = () => {}; // what fails is reported where it is asked for
    const fetch = createBoundedFetch((count) => {
      const message =
        "tools of an MCP server are left out: they are not as the protocol has them, or too many";
      this.#log("warn", message, { server: this.#name, count });
    });
    try {
      const transport = new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { ...headers } },
        fetch,
      });
      const listing = async () => {
        await client.connect(transport, { timeout: connectMs });
        if (!client.getServerCapabilities()?.tools) return [];
        return (await client.listTools({}, { timeout: connectMs })).tools;
      };
      const tools = await this.#inTime(listing());
      const before = this.#client;
      this.#client = client;
      this.#take(client, tools);
      void before?.close().catch(() => {});
    } catch (error) {
      void client.close().catch(() => {});
      this.#isAway(error);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRetry();
    this.tools = undefined;
    await this.#client?.close().catch(() => {});
  }

  #inTime<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(connectMs, () => reject(new Error(noAnswer)));
      work.then(resolve, reject).finally(cancel);
    });
  }

  #take(client: Client, listed: Awaited<ReturnType<Client["listTools"]>>["tools"] | undefined): void {
    if (this.#closed || client !== this.#client || !listed) return;
    const before = JSON.stringify(this.tools);
    this.tools = listed.map(({ name, title, description = title ?? name, inputSchema }) => ({
      name: `${this.#name}/${name}`,
      description,
      inputSchema: JSON.parse(String(inputSchema[schemaText])) as JsonObject,
      run: (input, context) => this.#call(name, input, context),
    }));
    if (this.#away) this.#log("info", "an MCP server is back", { server: this.#name });
    this.#away = false;
    if (JSON.stringify(this.tools) !== before) this.#changed();
  }

  /** Only the kind of failure is logged: others may quote header fields. */
  #isAway(error: unknown): void {
    if (this.#closed) return;
    this.tools = undefined;
    this.#client = undefined;
    const reason = reasonOf(error);
    if (!this.#away)
      this.#log("warn", "an MCP server is away, so twins answer without its tools", {
        server: this.#name,
        reason,
      });
    this.#away = true;
    this.#cancelRetry();
    this.#cancelRetry = this.#clock.after(retryMs, () => void this.connect());
  }

  /**
   * Calls a tool. Where the server has forgotten the session, as after a restart, or the connection breaks before an answer, it
   * connects anew and asks once more; what a person has allowed, only in the first case, as it has not run then.
   */
  async #call(name: string, input: JsonObject, context: ToolContext): Promise<string> {
    const { ProtocolError, SdkError, SdkHttpError } = await import("@modelcontextprotocol/client");
    const _meta = this.#server.person ? metaOf(context) : undefined;
    // The context's signal limits the time.
    const limits = { signal: context.signal, timeout: longestTimerMs };
    for (let isLast = false; ; isLast = true) {
      await this.#connecting;
      const client = this.#client;
      if (!client) throw new Error(unreachable);
      try {
        const asked = { name, arguments: input, ...(_meta && { _meta }) };
        const { content = [], isError } = await client.callTool(asked, limits);
        const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
        if (isError) throw new ToolFailure(text);
        return text;
      } catch (error) {
        context.signal.throwIfAborted();
        if (error instanceof ToolFailure) throw error;
        const isBroken = error instanceof ProtocolError && error.code === brokenOff;
        if (error instanceof ProtocolError && !isBroken) throw new Error(error.message); // without what the package adds
        const isHttp = error instanceof SdkHttpError;
        const isOther = error instanceof SdkError && !isHttp && error.code !== "CONNECTION_CLOSED";
        if (isOther) throw new Error("the server's answer is not as the protocol has it.");
        const mayHaveRun = !isHttp && context.isAllowed === true;
        const mayPass = isHttp ? error.status === sessionGone : !mayHaveRun;
        if (client === this.#client) {
          if (mayPass && !isLast) await this.connect();
          else {
            void client.close().catch(() => {});
            this.#isAway(error);
          }
        }
        if (!mayPass || isLast) throw new Error(mayHaveRun ? unanswered : unreachable);
      }
    }
  }
}

const unreachable = "the server cannot be reached.";
const unanswered = "the connection broke before the server had answered: it may have run.";

/** A call that its tool answered with an error. */
class ToolFailure extends Error {
  override readonly name = "Error";
}

/** What a server learns of the person. */
function metaOf({ owner, endUser, conversationId, messageId }: ToolContext): Record<string, unknown> {
  const known = { owner, endUser, conversationId, messageId };
  return Object.fromEntries(
    Object.entries(known).flatMap(([name, value]) =>
      value === undefined ? [] : [[`twin-service/${name}`, value]],
    ),
  );
}

/** A short reason: a status, or the code or kind of the first cause. No message, which may quote what was sent. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  if (error.message === noAnswer) return noAnswer;
  if ("status" in error && typeof error.status === "number") return `status ${error.status}`;
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return "code" in error && isString(error.code) ? error.code : error.name;
}
