/**
 * Who takes part.
 *
 * @module
 */

import { aiSdk } from "./ai-sdk-hono/contender.ts";
import type { Contender } from "./contender.ts";
import { fastify, hono, nodeHttp } from "./frameworks.ts";
import { langgraph } from "./langgraph/contender.ts";
import { mastra } from "./mastra/contender.ts";
import { nodePipe } from "./node-pipe/contender.ts";
import { nodeRelay } from "./node-relay/contender.ts";
import { portkey } from "./portkey/contender.ts";
import { twinService } from "./twin-service/contender.ts";

/** Those that put a model's replies on the wire. This service is the first, the floor the second. */
export const relays: readonly Contender[] = [
  twinService,
  nodePipe,
  nodeRelay,
  portkey,
  aiSdk,
  langgraph,
  mastra,
];

/** Those that only answer requests. */
export const frameworks: readonly Contender[] = [nodeHttp, hono, fastify];
