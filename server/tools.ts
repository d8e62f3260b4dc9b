/**
 * The servers of tools that the settings name.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import process from "node:process";
import type { ConnectedTools, McpServer } from "../adapters/mcp-servers/mod.ts";
import { codeOf } from "../adapters/system.ts";
import { isJsonObject, isString, type JsonObject } from "../core/base/json.ts";
import type { Log } from "../core/base/log.ts";
import { decodeText } from "./process.ts";
import { ConfigError, nameOf, type Settings } from "./settings.ts";

/** What is wrong with a name under a twin's `tools`, as the end of a sentence. Undefined: nothing that is known. */
export type ToolProblem = (name: string) => string | undefined;

/** The same for the twin of an owner, who may use what the operator has opened. */
export type OwnerToolProblem = (name: string, owner: string) => string | undefined;

/** A server of the file. */
export interface ListedServer extends McpServer {
  /** The owners whose own twins may use its tools. */
  readonly owners: "all" | readonly string[];
}

/**
 * Reads the file of MCP servers, with its variables. Undefined: there is no such setting.
 *
 * @throws {ConfigError} if the file, or a server in it, cannot be used.
 */
export async function readMcpServers({
  mcpServers: file,
}: Settings): Promise<Readonly<Record<string, ListedServer>> | undefined> {
  if (file === undefined) return undefined;
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw wrong(`the file ${file} cannot be read (${codeOf(cause)}); name a JSON file of MCP servers`, cause);
  });
  let value: unknown;
  try {
    value = JSON.parse(decodeText(bytes));
  } catch {
    throw wrong(`the file ${file} is not JSON`);
  }
  const servers = isJsonObject(value) ? value.mcpServers : undefined;
  if (!isJsonObject(servers)) throw wrong(`the file ${file} must have {"mcpServers": {<name>: {"url": …}}}`);
  return Object.fromEntries(Object.entries(servers).map(([name, entry]) => [name, readServer(name, entry)]));
}

/** What only the names of servers say, without asking any. */
export function judgeByServers(servers: Readonly<Record<string, McpServer>> | undefined): ToolProblem {
  if (!servers) return () => "MCP_SERVERS is not set";
  return (tool) => {
    const [name = ""] = tool.split("/", 1);
    const known = Object.keys(servers).join(", ") || "none";
    return Object.hasOwn(servers, name)
      ? undefined
      : `MCP_SERVERS has no server ${JSON.stringify(name)}; it has ${known}`;
  };
}

/** What the file opens to the twins that owners make. */
export function judgeByOwners(servers: Readonly<Record<string, ListedServer>> = {}): OwnerToolProblem {
  return (tool, owner) => {
    const [name = ""] = tool.split("/", 1);
    const open = Object.entries(servers).flatMap(([server, { owners }]) =>
      owners === "all" || owners.includes(owner) ? server : [],
    );
    if (open.includes(name)) return undefined;
    return `${JSON.stringify(name)} is not open to you; the servers that are: ${open.join(", ") || "none"}`;
  };
}

/**
 * Connects to the servers, if there is a model to call their tools. `changed` is called when the tools of one are others
 * than before.
 */
export async function connectMcpServers(
  settings: Settings,
  log: Log,
  changed: () => void,
): Promise<{
  readonly tools: ConnectedTools | undefined;
  readonly toolProblem: ToolProblem;
  readonly ownerToolProblem: OwnerToolProblem;
}> {
  const listed = await readMcpServers(settings);
  const ownerToolProblem = judgeByOwners(listed);
  if (!listed || settings.modelBaseUrl === undefined) {
    return { tools: undefined, toolProblem: judgeByServers(listed), ownerToolProblem };
  }
  const servers: Record<string, McpServer> = {};
  for (const [name, { owners: _, ...server }] of Object.entries(listed)) servers[name] = server;
  const { connectTools } = await import("../adapters/mcp-servers/mod.ts");
  const tools = await connectTools({ servers, log, changed }).catch((cause: unknown) => {
    if (!/MODULE_NOT_FOUND|Cannot find (module|package)/.test(`${codeOf(cause)} ${cause}`)) throw cause;
    throw wrong(
      "it needs the package @modelcontextprotocol/client: npm install @modelcontextprotocol/client",
      cause,
    );
  });
  const toolProblem: ToolProblem = (name) => judgeByServers(listed)(name) ?? tools.problemOf(name);
  return { tools, toolProblem, ownerToolProblem };
}

/** Files of MCP clients also name the transport. Others than HTTP would run programs on this machine. */
const httpTypes = new Set<unknown>([undefined, "http", "streamable-http", "streamableHttp"]);

function readServer(name: string, entry: unknown): ListedServer {
  const of = `the server ${JSON.stringify(name)}`;
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw wrong(
      `${of} must have a name of up to 64 letters, digits, "-" and "_", with a letter or digit first`,
    );
  }
  const {
    url,
    headers = {},
    person = false,
    owners = [],
    type,
    ...others
  }: JsonObject = isJsonObject(entry) ? entry : {};
  if (!isString(url) || !httpTypes.has(type))
    throw wrong(`${of} must have a url, and be reached over streamable HTTP`);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw wrong(
      `${of} has ${JSON.stringify(unknown)}, which is not known; the members are url, headers, owners, person, type`,
    );
  }
  if (!isJsonObject(headers) || !Object.values(headers).every(isString)) {
    throw wrong(`${of} must have headers whose values are texts`);
  }
  if (typeof person !== "boolean") throw wrong(`${of} must have true or false as person`);
  if (owners !== "all" && !(Array.isArray(owners) && owners.every(isString)))
    throw wrong(`${of} must have "all" or a list of owners as owners`);
  const address = withVariables(url, of);
  if (!/^https?:\/\/[^@]+$/i.test(address) || !URL.canParse(address)) {
    throw wrong(`${of} must have an http: or https: address as url, without a user or password`);
  }
  const fields = Object.entries(headers).map(([field, value]) => [field, withVariables(String(value), of)]);
  return { url: address, headers: Object.fromEntries(fields), person, owners };
}

/** Puts the environment's values in place of `${NAME}`. */
function withVariables(text: string, of: string): string {
  return text.replaceAll(/\$\{([^}]*)\}/g, (_, variable: string) => {
    const value = process.env[variable];
    if (value === undefined) throw wrong(`${of} needs the variable ${variable}, which is not set`);
    return value;
  });
}

function wrong(problem: string, cause?: unknown): ConfigError {
  return new ConfigError(`${nameOf("mcpServers")}: ${problem}.`, { cause });
}
