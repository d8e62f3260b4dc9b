/**
 * What is measured, and who takes part.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { compareEncodings } from "./encode.ts";
import { type Arena, type Contender, compare, type Effort, type Result } from "./measure.ts";
import { compareMemory, compareTokens } from "./open-streams.ts";
import { tokens } from "./servers/reply.ts";

/** One scenario. */
export interface Scenario {
  readonly title: string;
  run(arena: Arena, effort: Effort): Promise<readonly Result[]>;
}

const streamPath = "/api/v1/conversations/{id}/messages/stream";
const stream = { method: "POST", path: "/stream", kind: "stream" } as const;

function service(twin: string, env: Readonly<Record<string, string>> = {}): Contender {
  const more = { TWIN: twin, KEYS: "640", CONVERSATIONS: "60", ...env };
  return { ...stream, name: "this service", file: "service.ts", path: streamPath, env: more };
}

/** The service with a conversation for each of many streams at once. */
function open(twin: string, env: Readonly<Record<string, string>> = {}): Contender {
  return service(twin, { KEYS: "220", CONVERSATIONS: "50", ...env });
}

function raw(name: string, path: string, goal?: number): Contender {
  const aim = goal === undefined ? {} : { goal };
  return { ...stream, name, file: "raw.ts", path, ...aim };
}

const bursts: readonly Contender[] = [
  service("burst"),
  raw("node:http, a write a token", "/each", 4),
  { ...stream, name: "Hono", file: "hono.mjs", goal: 12 },
  { ...stream, name: "Fastify", file: "fastify.mjs", goal: 5 },
  { ...stream, name: "h3", file: "h3.mjs", goal: 11 },
  { ...stream, name: "better-sse", file: "better-sse.mjs", goal: 7 },
  { ...stream, name: "Express, a write a token", file: "express.mjs" },
  raw("node:http, a write a turn", "/joined", 1),
  raw("node:http, a ready-made body", "/ready", 0.2),
];

const list = { method: "GET", path: "/twins?limit=20", kind: "twins" } as const;
const manyKeys = { KEYS: "2000", CONVERSATIONS: "1" };
const serviceList: Contender = { ...service("burst", manyKeys), ...list, path: "/api/v1/twins?limit=20" };

const lists: readonly Contender[] = [
  serviceList,
  { ...list, name: "node:http", file: "raw.ts", goal: 1 },
  { ...list, name: "Hono", file: "hono.mjs", goal: 1.4 },
  { ...list, name: "Fastify", file: "fastify.mjs", goal: 1.4 },
  { ...list, name: "Express", file: "express.mjs" },
];

const sends: readonly Contender[] = [
  { ...service("burst"), path: "/api/v1/conversations/{id}/messages", kind: "message" },
  { ...serviceList, name: "this service, GET /twins?limit=20", goal: 0.5 },
];

/** All scenarios, by name, in the order in which they run. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  burst: {
    title: `Streamed replies of ${tokens.length} tokens that are all there at once`,
    async run(arena, effort) {
      const rows = await compare(bursts, { connections: 64 }, arena, effort);
      return [{ scenario: "burst", title: `${this.title}, 64 connections`, unit: "replies/s", rows }];
    },
  },
  first: {
    title: "Time to first token, one client",
    async run(arena, effort) {
      const contenders = bursts
        .filter(({ file }) => file === "service.ts" || file === "raw.ts")
        .map(({ goal: _, ...contender }) => contender);
      const rows = await compare(contenders, { connections: 1 }, arena, effort);
      return [{ scenario: "first", title: this.title, unit: "replies/s", rows }];
    },
  },
  step: {
    title: "A model's step that gives one token to each of 256 live streams",
    async run(arena, effort) {
      const contenders = [service("step"), raw("node:http", "/step", 1.2)];
      const load = { connections: 256, worth: tokens.length };
      const rows = await compare(contenders, load, arena, effort);
      return [{ scenario: "step", title: this.title, unit: "tokens/s", rows }];
    },
  },
  json: {
    title: "GET /twins?limit=20, 64 connections",
    async run(arena, effort) {
      const rows = await compare(lists, { connections: 64 }, arena, effort);
      return [{ scenario: "json", title: this.title, unit: "answers/s", rows }];
    },
  },
  send: {
    title: "Normal sends, 64 connections",
    async run(arena, effort) {
      const rows = await compare(sends, { connections: 64 }, arena, effort);
      return [{ scenario: "send", title: this.title, unit: "answers/s", rows }];
    },
  },
  live: {
    title: "A token's cost while many streams are live, 20 tokens a second each",
    async run(arena, effort) {
      const contender = open("live");
      const all = [
        { contender, streams: 1000 },
        { contender, streams: 100 },
        { contender, streams: 5000 },
        { contender: raw("node:http", "/live"), streams: 1000 },
      ];
      const rows = await compareTokens(all, arena, effort);
      return [{ scenario: "live", title: this.title, unit: "CPU µs a token", rows }];
    },
  },
  relay: {
    title: "Passing on a model's tokens, 1,000 streams of 20 tokens a second",
    async run(arena, effort) {
      const url = await arena.load.order<string>({ order: "model", kind: "paced" });
      const node = { ...raw("node:http", "/relay"), env: { MODEL: url } };
      const all = [
        { contender: open("relay", { MODEL: url }), streams: 1000 },
        { contender: node, streams: 1000, most: 1.2 },
      ];
      const rows = await compareTokens(all, arena, effort);
      return [{ scenario: "relay", title: this.title, unit: "CPU µs a token", rows }];
    },
  },
  idle: {
    title: "Memory of an open, silent stream",
    async run(arena, effort) {
      const url = await arena.load.order<string>({ order: "model", kind: "silent" });
      // A relayed stream takes two descriptors of the process, which has 20,000 on many machines.
      const all = [
        { contender: open("silent"), streams: 10_000 },
        {
          contender: { ...open("relay", { MODEL: url }), name: "this service, asking a model" },
          streams: 9000,
        },
        { contender: raw("node:http", "/silent"), streams: 10_000 },
      ];
      const rows = await compareMemory(all, arena, effort);
      return [{ scenario: "idle", title: this.title, unit: "KB a stream", rows }];
    },
  },
  encode: {
    title: "Writing one delta event",
    async run(_, effort) {
      return [{ scenario: "encode", title: this.title, unit: "ns", rows: compareEncodings(effort) }];
    },
  },
  listing: {
    title: "Lists and histories of one owner, small and large (bench/listing.ts)",
    async run() {
      const file = fileURLToPath(new URL("listing.ts", import.meta.url));
      // It prints its own table. A million conversations take minutes: by hand, without the number.
      const listing = spawnSync(process.execPath, ["--import", "tsx", file, "100000"], { stdio: "inherit" });
      if (listing.status !== 0) throw new Error("bench/listing.ts failed.");
      return [];
    },
  },
};
