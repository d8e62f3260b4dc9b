/**
 * The table of all endpoints.
 *
 * @module
 */

import type { Route } from "../http/route.ts";
import { apiKeyRoutes } from "./api-keys.ts";
import { clientTokenRoutes } from "./client-tokens.ts";
import { conversationRoutes } from "./conversations.ts";
import { endUserRoutes } from "./end-users.ts";
import { messageRoutes } from "./messages.ts";
import { statusRoutes } from "./status.ts";
import { twinRoutes } from "./twins.ts";

/** Every endpoint, once. */
export const routes = [
  ...twinRoutes,
  ...conversationRoutes,
  ...messageRoutes,
  ...apiKeyRoutes,
  ...clientTokenRoutes,
  ...endUserRoutes,
  ...statusRoutes,
];

/** The name of an endpoint, as in the OpenAPI document. */
export type OperationId = (typeof routes)[number]["operationId"];

// Nothing but a route's own declaration may depend on which route it is.
routes satisfies readonly Route[];
