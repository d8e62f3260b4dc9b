/**
 * Who takes part.
 *
 * @module
 */

import { aiSdk } from "./ai-sdk-hono/contender.ts";
import type { Contender } from "./contender.ts";
import { fastify } from "./fastify/contender.ts";
import { hono } from "./hono/contender.ts";
import { langgraph } from "./langgraph/contender.ts";
import { mastra } from "./mastra/contender.ts";
import { nodeHttp } from "./node-http/contender.ts";
import { nodePipe } from "./node-pipe/contender.ts";
import { nodeRelay } from "./node-relay/contender.ts";
import { portkey } from "./portkey/contender.ts";
import {
  completionsService,
  observedService,
  twinService,
  watchedService,
} from "./twin-service/contender.ts";

/** Those that put a model's replies on the wire. This service is the first, the floor the second. */
const relays = {
  "twin-service": twinService,
  "node-pipe": nodePipe,
  "node-relay": nodeRelay,
  portkey,
  "ai-sdk": aiSdk,
  langgraph,
  mastra,
};

/** Who takes part in each scenario, by the names that `--servers` takes. */
export const contenders = {
  live: { ...relays, "twin-service-v1": completionsService },
  devices: { "twin-service-devices": watchedService }, // without peers: the devices are never idle
  fate: relays,
  burst: { "twin-service": twinService, "twin-service-metrics": observedService, "node-http": nodeHttp },
  list: { "twin-service": twinService, fastify, hono },
} satisfies Record<string, Readonly<Record<string, Contender>>>;
