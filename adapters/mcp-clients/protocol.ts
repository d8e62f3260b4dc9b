/**
 * The Model Context Protocol (https://modelcontextprotocol.io/specification) as this door speaks it: one JSON-RPC message in
 * a POST, without sessions, in the revision 2026-07-28 and, after its handshake, in those before.
 *
 * @module
 */

import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { ApiError, type ErrorCode } from "../../core/wire/errors.ts";
import { encodeJson } from "../../core/wire/sse.ts";

/** The revision in which each request says everything about itself. */
const modernRevision = "2026-07-28";

/** Those that begin with `initialize`, newest first. Older ones let clients send several messages at once. */
const handshakeRevisions: readonly unknown[] = ["2025-11-25", "2025-06-18"];

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

/** A request. */
export interface RpcRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
  readonly meta: JsonObject;
}

/** Codes of JSON-RPC 2.0, and of the protocol. */
const rpcCodes = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedRevision: -32022,
} as const;

/** An error of the protocol, which HTTP tells as well: 404 for an unknown method, else 400. */
function rpcError(id: RpcRequest["id"] | undefined, code: number, message: string, data?: unknown): ApiError {
  const status = code === rpcCodes.methodNotFound ? "not_found" : "invalid_request";
  return new ApiError(status, message, { details: { rpc: { id, code, data } } });
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
  const { jsonrpc, id, method, params = {}, ...more }: JsonObject = isJsonObject(body) ? body : {};
  const isResponse = method === undefined && ("result" in more || "error" in more);
  if (jsonrpc !== "2.0" || !(isResponse || isString(method))) {
    throw rpcError(undefined, rpcCodes.invalidRequest, "The body must be one JSON-RPC 2.0 message.");
  }
  if (isResponse || id === undefined) return undefined;
  if (!isString(id) && !Number.isSafeInteger(id)) {
    throw rpcError(undefined, rpcCodes.invalidRequest, "id must be a string or a whole number.");
  }
  const known = id as RpcRequest["id"];
  if (!isJsonObject(params)) throw rpcError(known, rpcCodes.invalidParams, "params must be an object.");
  return { id: known, method: String(method), params, meta: isJsonObject(params._meta) ? params._meta : {} };
}

/**
 * Whether a request is of the revision without a handshake, which it says in `_meta`. Its header fields must then say the
 * same as its body.
 *
 * @throws {ApiError} 400 for another revision, for missing metadata, and for header fields that differ.
 */
export function isModern({ id, method, params, meta }: RpcRequest, headers: HeaderValues): boolean {
  const { revision = null } = headers;
  const named = meta[metaKey("protocolVersion")];
  const unsupported = (requested: string) =>
    rpcError(id, rpcCodes.unsupportedRevision, "Unsupported protocol version", {
      supported: [modernRevision, ...handshakeRevisions],
      requested,
    });
  if (named === undefined && revision !== modernRevision && method !== "server/discover") {
    if (revision !== null && !handshakeRevisions.includes(revision)) throw unsupported(revision ?? "");
    return false;
  }
  if (!isString(named) || !isJsonObject(meta[metaKey("clientCapabilities")])) {
    throw rpcError(
      id,
      rpcCodes.invalidParams,
      "params._meta must have the protocolVersion and clientCapabilities of io.modelcontextprotocol.",
    );
  }
  const said = { revision: named, method, ...(method === "tools/call" && { name: params.name }) };
  const given: HeaderValues = { ...headers, name: decoded(headers.name) };
  const differing = Object.entries(said).find(([name, value]) => given[name] !== value);
  if (differing) {
    const message = `Header mismatch: the ${differing[0]} must be what the body says.`;
    throw rpcError(id, rpcCodes.headerMismatch, message);
  }
  if (named !== modernRevision) throw unsupported(named);
  return true;
}

const encodedPattern = /^=\?base64\?((?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=)?)\?=$/i;

/** A value that is written in Base64, because a header field cannot have it as it is. */
function decoded(value: string | null | undefined): string | null | undefined {
  const [, base64] = encodedPattern.exec(value ?? "") ?? [];
  if (base64 === undefined) return value;
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
}

/** A response with a result, as JSON without line breaks. */
export function resultDocument({ id }: RpcRequest, result: object, modern: boolean): string {
  const more = modern ? { resultType: "complete", _meta: { [metaKey("serverInfo")]: serverInfo } } : {};
  return encodeJson({ jsonrpc: "2.0", id, result: { ...more, ...result } });
}

/** What may be kept for an hour, and is the same for all. */
const cacheHints = { ttlMs: 3_600_000, cacheScope: "public" } as const;

/**
 * Answers what is asked about the server itself.
 *
 * @throws {ApiError} 404 for a method that there is not in this revision: 200 for clients that do not expect that.
 */
export function describeServer(request: RpcRequest, modern: boolean, tools: readonly object[]): string {
  const { id, method, params } = request;
  const asked = handshakeRevisions.find((revision) => revision === params.protocolVersion);
  const protocolVersion = asked ?? handshakeRevisions[0];
  const results: Readonly<Record<string, object>> = modern
    ? {
        "server/discover": { supportedVersions: [modernRevision], capabilities, instructions, ...cacheHints },
        "tools/list": { tools, ...cacheHints },
      }
    : {
        initialize: { protocolVersion, capabilities, serverInfo, instructions },
        "tools/list": { tools },
        ping: {},
      };
  const result = Object.hasOwn(results, method) ? results[method] : undefined;
  if (result) return resultDocument(request, result, modern);
  const error = rpcError(id, rpcCodes.methodNotFound, `Method not found: ${method.slice(0, 100)}`);
  if (modern) throw error;
  return errorBody(error);
}

/** The error for a tool that there is not. */
export function unknownTool({ id, params }: RpcRequest): string {
  return errorBody(
    rpcError(id, rpcCodes.invalidParams, `Unknown tool: ${String(params.name).slice(0, 100)}`),
  );
}
