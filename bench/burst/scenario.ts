/**
 * The third scenario: streamed replies whose text is there at once follow each other as fast as they are answered.
 *
 * @module
 */

import type { Contender } from "../contenders/contender.ts";
import { nodeHttp } from "../contenders/node-http/contender.ts";
import { createClients, observedService, requestsPerKey } from "../contenders/twin-service/contender.ts";
import type { Effort, Stage } from "../live/session.ts";
import { questionsPerConversation } from "../load/requests.ts";
import { timesAtMost } from "../report/goals.ts";
import { loadNotes } from "../report/notes.ts";
import type { Part } from "../report/tables.ts";
import { compare, type Entry } from "./compare.ts";
import { tokens } from "./reply.ts";

const question = { method: "POST", body: { content: tokens.join("") } } as const;

/** Compares contenders. */
export async function burst(
  contenders: readonly Contender[],
  { load }: Stage,
  effort: Effort,
): Promise<Part[]> {
  const rows = await compare(contenders.map(entryOf), load, effort);
  return [{ unit: "replies/s", rows, notes: loadNotes(rows) }];
}

function entryOf(contender: Contender): Entry {
  if (contender === nodeHttp)
    return { contender, request: () => ({ ...question, path: "/" }), kind: "deltas" };
  return {
    contender,
    request: () => ({ ...question, path: "/api/v1/conversations/{id}/messages/stream" }),
    kind: "reply",
    perSecond: 12_000,
    async clients(url, requests) {
      const each = Math.floor(requestsPerKey / (questionsPerConversation + 1));
      const count = Math.ceil(requests / (each * questionsPerConversation));
      return { clients: await createClients(url, count, each, "echo"), requestsPerKey };
    },
    ...(contender === observedService && { goal: timesAtMost(1.03) }),
  };
}
