/**
 * The Model Context Protocol (https://modelcontextprotocol.io/specification) as this door speaks it: one JSON-RPC message in
 * a POST, without sessions, in the revision 2026-07-28 and, after its handshake, in those before.
 *
 * @module
 */

import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { ApiError, type ErrorCode } from "../../core/wire/errors.ts";
import { jsonPieces } from "../../core/wire/json.ts";
import { encodeJson } from "../../core/wire/sse.ts";

/** The revision in which each request says everything about itself. */
const modernRevision = "2026-07-28";

/** Those that begin with `initialize`, newest first: all with this transport. */
const handshakeRevisions: readonly unknown[] = ["2025-11-25", "2025-06-18", "2025-03-26"];
const supported = [modernRevision, ...handshakeRevisions];

/** The header fields of the protocol, and the one that says which answers a client takes. */
export const headerNames = {
  revision: "MCP-Protocol-Version",
  method: "Mcp-Method",
  name: "Mcp-Name",
  accept: "Accept",
} as const;

type HeaderValues = Readonly<Record<string, string | null | undefined>>;

const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;

/** Who answers. The version is that of the HTTP API. */
const serverInfo = { name: "twin-service", version: "1" };
const capabilities = { tools: {} };
const instructions =
  "Ask the twins that list_twins names. A conversation goes on if its id is given back to ask_twin.";

/** What names a request. */
type RpcId = string | number;

/** A request. */
export interface RpcRequest {
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject;
  readonly meta: JsonObject;
}

/** A request in a revision that this door speaks. */
export interface KnownRequest extends RpcRequest {
  /** Whether that is the one without a handshake. */
  readonly modern: boolean;
}

/** Whether a value names something in the protocol: a request, or whose progress is meant. */
export function isId(value: unknown): value is RpcId {
  return isString(value) || Number.isSafeInteger(value);
}

/** Codes of JSON-RPC 2.0, and of the protocol. */
const rpcCodes = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedRevision: -32022,
} as const;
type RpcError = keyof typeof rpcCodes;

/** An error of the protocol, which HTTP tells as well: 404 for an unknown method, else 400. */
export function rpcError(id: RpcId | undefined, name: RpcError, message: string, data?: unknown): ApiError {
  const code = name === "methodNotFound" ? "not_found" : "invalid_request";
  return new ApiError(code, message, { details: { rpc: { id, code: rpcCodes[name], data } } });
}

/** The codes of JSON-RPC 2.0 for what is wrong outside of a message. */
const codeOf: Readonly<Partial<Record<ErrorCode, number>>> = { invalid_json: -32700, internal_error: -32603 };

/** An error as the body of its answer. What JSON-RPC has no code for has the status of HTTP as its code. */
export function errorBody({ code, status, message, details = {} }: ApiError): string {
  const { rpc = { code: codeOf[code] ?? status, data: { code, ...details } } } = details;
  const { id, ...error } = rpc as JsonObject;
  return JSON.stringify({ jsonrpc: "2.0", id, error: { message, ...error } });
}

/** The request in a body. Undefined: a notification or a response, to which there is no answer. */
export function readRequest(body: unknown): RpcRequest | undefined {
  const { jsonrpc, id, method, params: given, ...more }: JsonObject = isJsonObject(body) ? body : {};
  const params = given ?? {}; // some clients send null
  const isResponse = method === undefined && ("result" in more || "error" in more);
  if (jsonrpc !== "2.0" || !(isResponse || isString(method))) {
    throw rpcError(undefined, "invalidRequest", "The body must be one JSON-RPC 2.0 message.");
  }
  if (isResponse || id === undefined) return undefined;
  if (!isId(id)) throw rpcError(undefined, "invalidRequest", "id must be a string or a whole number.");
  if (!isJsonObject(params)) throw rpcError(id, "invalidParams", "params must be an object.");
  return { id, method: String(method), params, meta: isJsonObject(params._meta) ? params._meta : {} };
}

/**
 * Finds out the revision of a request. One without a handshake says so in `_meta`, and its header fields must say the same
 * as its body.
 *
 * @throws {ApiError} 400 for another revision, for missing metadata, and for header fields that differ.
 */
export function requireRevision(request: RpcRequest, headers: HeaderValues): KnownRequest {
  const { id, method, params, meta } = request;
  const { revision = null } = headers;
  const named = meta[metaKey("protocolVersion")];
  const unsupported = (requested: string) =>
    rpcError(id, "unsupportedRevision", "Unsupported protocol version", { supported, requested });
  // Proxies put a header field of their own before a handshake, which has the revision in its body.
  if (named === undefined && method === "initialize") return { ...request, modern: false };
  if (named === undefined && revision !== modernRevision && method !== "server/discover") {
    if (revision !== null && !handshakeRevisions.includes(revision)) throw unsupported(revision);
    return { ...request, modern: false };
  }
  if (!isString(named) || !isJsonObject(meta[metaKey("clientCapabilities")])) {
    const message =
      "params._meta needs the protocolVersion and clientCapabilities of io.modelcontextprotocol.";
    throw rpcError(id, "invalidParams", message);
  }
  const said = {
    revision: named,
    method,
    ...(method === "tools/call" && isString(params.name) && { name: params.name }),
  };
  const given: HeaderValues = { ...headers, name: decoded(headers.name) };
  const differing = Object.entries(said).find(([name, value]) => given[name] !== value);
  if (differing) {
    const message = `Header mismatch: the ${differing[0]} must be what the body says.`;
    throw rpcError(id, "headerMismatch", message);
  }
  if (named !== modernRevision) throw unsupported(named);
  return { ...request, modern: true };
}

const encodedPattern = /^=\?base64\?((?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=)?)\?=$/i;

/** A value that is written in Base64, because a header field cannot have it as it is. */
function decoded(value: string | null | undefined): string | null | undefined {
  const [, base64] = encodedPattern.exec(value ?? "") ?? [];
  if (base64 === undefined) return value;
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
}

/** A response with a result, as JSON without line breaks. */
export function resultDocument({ id, modern }: KnownRequest, result: object): Generator<string> {
  const more = modern ? { resultType: "complete", _meta: { [metaKey("serverInfo")]: serverInfo } } : {};
  return jsonPieces({ jsonrpc: "2.0", id, result: { ...more, ...result } }, encodeJson);
}

/** What may be kept for an hour, and is the same for all. */
const cacheHints = { ttlMs: 3_600_000, cacheScope: "public" } as const;

/**
 * Answers what is asked about the server itself.
 *
 * @throws {ApiError} 404 for a method that there is not in this revision: 200 for clients that do not expect that.
 */
export function describeServer(request: KnownRequest, tools: readonly object[]): string | Generator<string> {
  const { id, method, params, modern } = request;
  const asked = handshakeRevisions.find((revision) => revision === params.protocolVersion);
  const protocolVersion = asked ?? handshakeRevisions[0];
  const results: Readonly<Record<string, object>> = modern
    ? {
        "server/discover": { supportedVersions: supported, capabilities, instructions, ...cacheHints },
        "tools/list": { tools, ...cacheHints },
      }
    : {
        initialize: { protocolVersion, capabilities, serverInfo, instructions },
        "tools/list": { tools },
        ping: {},
      };
  if (Object.hasOwn(results, method)) return resultDocument(request, results[method] ?? {});
  const error = rpcError(id, "methodNotFound", `Method not found: ${method.slice(0, 100)}`);
  if (modern) throw error;
  return errorBody(error);
}
