/**
 * Twins for MCP clients, at `/mcp`: they list twins and ask them. See https://modelcontextprotocol.io/specification.
 *
 * @module
 */

import { optional, requireOptions } from "../../core/base/rules.ts";
import { type ApiExtension, route } from "../../core/http/route.ts";
import { ApiError } from "../../core/wire/errors.ts";
import { describeServer, errorBody, headerNames, readRequest, requireRevision } from "./protocol.ts";
import { callTool, tools } from "./tools.ts";

/** Options of {@link createMcpApi}. */
export interface McpApiOptions {
  /**
   * Whether pages of this machine may call, such as an inspector's at `http://localhost:6274`. Only for a server that listens
   * on this machine alone. Default `false`: of pages, only those of the service's `corsOrigins` may.
   */
  readonly loopbackOrigins?: boolean | undefined;
}

/**
 * Creates the endpoint for MCP clients.
 *
 * @example
 * ```ts
 * import { createService } from "twin-service";
 * import { createMcpApi } from "twin-service/mcp-api";
 *
 * const service = createService({ ...options, mcpApi: createMcpApi() });
 * ```
 *
 * @throws {TypeError} for an option that is unknown or cannot be used.
 */
export function createMcpApi(options: McpApiOptions = {}): ApiExtension {
  const isFlag = { expected: "true or false", accepts: (value: unknown) => typeof value === "boolean" };
  requireOptions<McpApiOptions>("createMcpApi", options, { loopbackOrigins: optional(isFlag) });
  const endpoint = route({
    operationId: "callMcp",
    method: "POST",
    path: "/mcp",
    allow: "POST",
    summary: "Send a message of the Model Context Protocol",
    credential: "api_key",
    scope: "read_only",
    // A page whose name was rebound to this machine's address is one of those that are not listed.
    admit({ origin }, listed) {
      if (origin === null || listed.includes(origin)) return;
      if (options.loopbackOrigins && loopback.test(origin)) return;
      throw new ApiError("cross_site_request", "Pages of this origin may not call this endpoint.");
    },
    readBody: readRequest,
    headers: headerNames,
    success: { status: 200, description: "The response, or its event stream.", events: true },
    async handle(call, context) {
      if (!call.body) return { status: 202 };
      const request = requireRevision(call.body, call.headers);
      if (request.method === "tools/call") return callTool(request, call, context);
      return { document: describeServer(request, tools) };
    },
  });
  return { prefix: "/mcp", routes: [endpoint], errorBody };
}

const loopback = /^https?:\/\/(localhost|\[::1\]|127(\.\d{1,3}){3})(:\d{1,5})?$/;
