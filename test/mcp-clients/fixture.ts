/**
 * What the tests of the MCP endpoint share: a service whose engine the test plays, and messages to `/mcp`.
 */

import { createMcpApi } from "../../adapters/mcp-clients/mod.ts";
import type { ServiceOptions } from "../../core/mod.ts";
import { type Chat, openChat } from "../support/chat.ts";
import type { Transport } from "../support/harness.ts";

/** The revision without a handshake, as a request says it. */
export const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A JSON-RPC response. */
export interface Answered {
  readonly id?: string | number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A call's result. */
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: { readonly reply: string; readonly conversation: string };
  readonly isError?: boolean;
}

/** A service with an MCP endpoint, and a twin whose engine the test plays. */
export interface McpFixture extends AsyncDisposable {
  readonly chat: Chat;
  /** Sends a body, as it is, or as JSON. */
  post(body: unknown, headers?: Readonly<Record<string, string>>, init?: RequestInit): Promise<Response>;
  /** A request of 2025-11-25. */
  legacy(method: string, params?: object, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** A request of 2026-07-28. */
  modern(method: string, params?: object, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Calls `ask_twin` in the modern way, and resolves with the result. */
  ask(given: object, headers?: Readonly<Record<string, string>>): Promise<ToolResult>;
  another(): Promise<McpFixture>;
}

export async function openMcp(
  transport: Transport,
  options: Partial<Omit<ServiceOptions, "clock">> = {},
): Promise<McpFixture> {
  return fixtureOn(await openChat(transport, { mcpApi: createMcpApi(), ...options }), options.basePath);
}

function fixtureOn(chat: Chat, basePath = ""): McpFixture {
  const post: McpFixture["post"] = (body, headers = {}, init = {}) => {
    const { url, service } = chat.fixture;
    const target = `${url || "http://twins.test"}${basePath}/mcp`;
    const request = {
      method: "POST",
      headers: { Authorization: `Bearer ${chat.key}`, "Content-Type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...init,
    };
    return url === "" ? service.fetch(new Request(target, request)) : fetch(target, request);
  };
  const modern: McpFixture["modern"] = (method, params = {}, headers = {}) =>
    post(
      { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: { ...modernMeta, ...metaOf(params) } } },
      {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        ...("name" in params && { "Mcp-Name": String(params.name) }),
        ...headers,
      },
    );
  return {
    chat,
    post,
    modern,
    legacy: (method, params, headers = {}) =>
      post({ jsonrpc: "2.0", id: 1, method, params }, { "MCP-Protocol-Version": "2025-11-25", ...headers }),
    async ask(given, headers) {
      const response = await modern("tools/call", { name: "ask_twin", arguments: given }, headers);
      return (await resultOf(response)) as unknown as ToolResult;
    },
    another: async () => fixtureOn(await chat.another(), basePath),
    [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose](),
  };
}

function metaOf(params: object): object {
  return "_meta" in params ? (params._meta as object) : {};
}

/** The messages of an answer: one document, or the events of a stream. */
export async function messagesOf(response: Response): Promise<Answered[]> {
  const text = await response.text();
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return [JSON.parse(text)];
  return text
    .split("\n\n")
    .filter((event) => event.startsWith("data: "))
    .map((event) => JSON.parse(event.slice(6)));
}

/** The result of the last message, which must be one. */
export async function resultOf(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const last = (await messagesOf(response)).at(-1);
  if (!last?.result) throw new Error(`There is no result: ${JSON.stringify(last)}`);
  return last.result;
}

/** The error of an answer. */
export async function errorOf(
  response: Response,
): Promise<{ status: number; code: number | undefined; id: unknown; data: unknown }> {
  const { id, error } = (await response.json()) as Answered;
  return { status: response.status, code: error?.code, id, data: error?.data };
}
