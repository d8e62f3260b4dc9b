/**
 * Who takes part.
 *
 * @module
 */

import { timesAtLeast } from "./goals.ts";
import type { Contender } from "./measure.ts";

const stream = { method: "POST", path: "/stream", kind: "deltas" } as const;

/** The service with everything it does in production. */
export function service(twin: string, more: Partial<Contender> = {}): Contender {
  const { env, ...rest } = more;
  return {
    name: "this service",
    file: "service.ts",
    method: "POST",
    path: "/api/v1/conversations/{id}/messages/stream",
    kind: "reply",
    perSecond: 30_000,
    ...rest,
    env: { TWIN: twin, CONVERSATIONS: "60", ...env },
  };
}

/** The same without a disk to wait for, to see what the service itself costs. */
export function inMemory(contender: Contender): Contender {
  const { name, env } = contender;
  return { ...contender, name: `${name}, in memory`, env: { ...env, DATABASE: "memory" } };
}

/** The same with an engine that has to wait, so that a reply is stored in two steps. */
export function waiting(contender: Contender): Contender {
  const { name, env } = contender;
  return { ...contender, name: `${name}, an engine that waits`, env: { ...env, TWIN: "later" } };
}

/** The least that the same send can be: HTTP and the store, nothing else. */
export function storeOnly(contender: Contender): Contender {
  const { name, env } = contender;
  return { ...contender, name: `${name}, HTTP and store alone`, env: { ...env, STORE_ONLY: "yes" } };
}

/** Raw node:http. */
export function raw(name: string, path: string, more: Partial<Contender> = {}): Contender {
  return { ...stream, name: `node:http, ${name}`, file: "raw.ts", path, ...more };
}

/** Streamed replies whose tokens are all available at once. */
export const bursts: readonly Contender[] = [
  service("burst"),
  waiting(service("burst")),
  service("burst", { name: "this service, old conversations", env: { SCATTERED: "yes" } }),
  inMemory(service("burst")),
  storeOnly(service("burst")),
  raw("one write per token", "/each", { goal: timesAtLeast(4) }),
  { ...stream, name: "Hono", file: "hono.mjs", goal: timesAtLeast(12) },
  { ...stream, name: "Fastify", file: "fastify.mjs", goal: timesAtLeast(5) },
  { ...stream, name: "h3", file: "h3.mjs", goal: timesAtLeast(11) },
  { ...stream, name: "h3, one push of all tokens", file: "h3.mjs", path: "/joined" },
  { ...stream, name: "better-sse", file: "better-sse.mjs", goal: timesAtLeast(7) },
  { ...stream, name: "better-sse, one batch", file: "better-sse.mjs", path: "/joined" },
  { ...stream, name: "Express, one write per token", file: "express.mjs" },
  raw("one write per turn", "/joined", { goal: timesAtLeast(1) }),
  raw("ready-made body", "/ready", { goal: timesAtLeast(0.2) }),
];

const list = { method: "GET", path: "/twins?limit=20", kind: "twins" } as const;

/** The service's list of twins. */
export const serviceList: Contender = service("burst", {
  ...list,
  path: "/api/v1/twins?limit=20",
  perSecond: 120_000,
  env: { CONVERSATIONS: "0" },
});

/** `GET /twins?limit=20`. */
export const lists: readonly Contender[] = [
  serviceList,
  { ...list, name: "node:http", file: "raw.ts", goal: timesAtLeast(1) },
  { ...list, name: "Hono", file: "hono.mjs", goal: timesAtLeast(1.4) },
  { ...list, name: "Fastify", file: "fastify.mjs", goal: timesAtLeast(1.4) },
  { ...list, name: "Express", file: "express.mjs" },
];

/** The service's normal sends. */
export const send: Contender = service("burst", {
  path: "/api/v1/conversations/{id}/messages",
  kind: "message",
});

/** A runtime's own server. */
export function bare(runtime: string, command: readonly string[], path: string): Contender {
  const name = `${runtime}, bare, ${path === "/each" ? "one chunk per token" : "one chunk"}`;
  return { ...stream, name, file: "bare.ts", path, command };
}
