/**
 * The second table: requests that follow each other as fast as they are answered, and lists that grow.
 *
 * @module
 */

import type { Contender } from "../contenders/contender.ts";
import { fastify, hono, nodeHttp } from "../contenders/frameworks.ts";
import {
  createClients,
  observedService,
  requestsPerKey,
  twinService,
} from "../contenders/twin-service/contender.ts";
import { newFolder } from "../harness/servers.ts";
import { type Load, runAlone } from "../harness/workers.ts";
import type { RequestParts } from "../load/http-connection.ts";
import { questionsPerConversation } from "../load/requests.ts";
import { timesAtLeast, timesAtMost } from "../report/goals.ts";
import { loadNotes } from "../report/notes.ts";
import type { Part, Row } from "../report/tables.ts";
import { compare, type Effort, type Entry } from "./compare.ts";
import { tokens } from "./reply.ts";

const question = { method: "POST", body: { content: tokens.join("") } } as const;
const stream: RequestParts = { ...question, path: "/stream" };
const list: RequestParts = { method: "GET", path: "/twins?limit=20" };

/** A request into the service's conversations with a twin that repeats the question. */
function sending(path: string, more: Pick<Entry, "kind">): Entry {
  return {
    contender: twinService,
    request: { ...question, path: `/api/v1/conversations/{id}/${path}` },
    perSecond: 12_000,
    async clients(url, requests) {
      const each = Math.floor(requestsPerKey / (questionsPerConversation + 1));
      const count = Math.ceil(requests / (each * questionsPerConversation));
      return { clients: await createClients(url, count, each, "twin-10"), requestsPerKey };
    },
    ...more,
  };
}

const listing: Entry = {
  contender: twinService,
  request: { ...list, path: "/api/v1/twins?limit=20" },
  kind: "twins",
  perSecond: 50_000,
  async clients(url, requests) {
    const count = Math.ceil(requests / requestsPerKey);
    return { clients: await createClients(url, count, 0, "twin-10"), requestsPerKey };
  },
};

const streamed = { request: stream, kind: "deltas" } as const;
const listed = { request: list, kind: "twins" } as const;

const ownBursts: readonly Entry[] = [
  sending("messages/stream", { kind: "reply" }),
  { ...sending("messages/stream", { kind: "reply" }), contender: observedService, goal: timesAtMost(1.03) },
];

const bursts: readonly Entry[] = [
  { ...streamed, contender: nodeHttp },
  { ...streamed, contender: fastify },
  { ...streamed, contender: hono },
];

const lists: readonly Entry[] = [
  { ...listed, contender: nodeHttp, goal: timesAtLeast(0.9) },
  { ...listed, contender: fastify, goal: timesAtLeast(1) },
  { ...listed, contender: hono, goal: timesAtLeast(1) },
];

/** Compares the service with those that can take part. */
async function compared(
  own: readonly Entry[],
  others: readonly Entry[],
  unit: string,
  load: Load,
  taking: readonly Contender[],
  effort: Effort,
): Promise<Part[]> {
  const entries = others.filter(({ contender }) => taking.includes(contender));
  const rows = await compare([...own, ...entries], load, effort);
  return [{ unit, rows, notes: loadNotes(rows) }];
}

/** Streamed replies whose text is there at once. */
export function burst(load: Load, taking: readonly Contender[], effort: Effort): Promise<Part[]> {
  return compared(ownBursts, bursts, "replies/s", load, taking, effort);
}

/** `GET /twins?limit=20`. */
export function json(load: Load, taking: readonly Contender[], effort: Effort): Promise<Part[]> {
  return compared([listing], lists, "answers/s", load, taking, effort);
}

/** Normal sends. */
export function send(load: Load, effort: Effort): Promise<Part[]> {
  return compared([sending("messages", { kind: "message" })], [], "answers/s", load, [], effort);
}

/** One owner's lists, with many conversations and with few. */
export async function growingLists(conversations: number): Promise<Part[]> {
  const rows = await runAlone<Row[]>("requests/listing.ts", {
    CONVERSATIONS: String(conversations),
    DATABASE: `${newFolder()}/lists`,
  });
  return [{ unit: `µs with ${conversations.toLocaleString("en")}`, rows, ratioName: "few ÷ many" }];
}
