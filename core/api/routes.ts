/**
 * The table of all endpoints, and the routes of pages for people beside them.
 *
 * @module
 */

import { type Route, route, type StaticText } from "../http/route.ts";
import { answerStatic } from "../http/static-text.ts";
import { ApiError } from "../wire/errors.ts";
import type { RequestHeaders } from "../wire/request.ts";
import { apiKeyRoutes } from "./api-keys.ts";
import { clientTokenRoutes } from "./client-tokens.ts";
import { conversationRoutes } from "./conversations.ts";
import { endUserRoutes } from "./end-users.ts";
import { memoryRoutes } from "./memories.ts";
import { messageRoutes } from "./messages.ts";
import { ownTwinRoutes } from "./own-twins.ts";
import { reviewRoutes } from "./review.ts";
import { statusRoutes } from "./status.ts";
import { twinRoutes } from "./twins.ts";
import { webhookRoutes } from "./webhooks.ts";

/** Every endpoint, once. */
export const routes = [
  ...twinRoutes,
  ...ownTwinRoutes,
  ...conversationRoutes,
  ...messageRoutes,
  ...reviewRoutes,
  ...apiKeyRoutes,
  ...webhookRoutes,
  ...clientTokenRoutes,
  ...endUserRoutes,
  ...memoryRoutes,
  ...statusRoutes,
];

/** The name of an endpoint, as in the OpenAPI document. */
export type OperationId = (typeof routes)[number]["operationId"];

// Nothing but a route's own declaration may depend on which route it is.
routes satisfies readonly Route[];

/** A page, or what a page loads. */
export interface ServedPage extends StaticText {
  /** What clients get as JSON whose `Accept` does not name HTML. Absent: the same. */
  readonly data?: object;
}

/** A page, or what chooses it by a request's header fields. Undefined: there is none for this request. */
export type PageSource = ServedPage | ((headers: RequestHeaders) => ServedPage | undefined);

/** The routes of pages, by their paths. */
export function pageRoutes(pages: Readonly<Record<string, PageSource>>): Route[] {
  return Object.entries(pages).map(([path, source]) =>
    route({
      operationId: `page ${path}`,
      method: "GET",
      path,
      summary: "Show a page",
      credential: "none",
      success: { status: 200, description: "The page." },
      async handle({ request: { headers } }) {
        const page = typeof source === "function" ? source(headers) : source;
        if (!page) throw new ApiError("not_found", "There is nothing at this path.");
        if (page.data === undefined) return answerStatic(page, headers);
        if (headers.get("Accept")?.includes("text/html")) return answerStatic(page, headers, ["Accept"]);
        return { data: page.data, headers: { Vary: "Accept", "Cache-Control": "no-cache" } };
      },
    }),
  );
}
