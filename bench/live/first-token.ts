/**
 * Time to the first token of a reply, one client at a time.
 *
 * @module
 */

import type { SeenReply } from "../load/replies.ts";
import { replyQuestion } from "../model/script.ts";
import { inTurn, percentile } from "../report/spread.ts";
import type { Session, Stage } from "./session.ts";

/** Times to the first token, in milliseconds. */
export interface FirstTokens {
  readonly p50: number;
  readonly p99: number;
}

const warmUps = 200;
const warmUpsAtOnce = 8;
const perRound = 50;
const tokens = 3;

/** Measures all sessions in rounds of alternating order. The model answers each request at once. */
export async function measureFirstTokens(
  sessions: readonly Session[],
  { load }: Stage,
  rounds: number,
): Promise<Map<Session, FirstTokens>> {
  const times = new Map<Session, number[]>(sessions.map((session) => [session, []]));
  for (const session of sessions) await ask(session, warmUps, warmUpsAtOnce);
  for (let round = 0; round < rounds; round++) {
    for (const session of inTurn(sessions, round)) {
      await ask(session, 10, 1);
      times.get(session)?.push(...(await ask(session, perRound, 1)));
    }
  }
  return new Map(
    [...times].map(([session, all]) => [session, { p50: percentile(all, 0.5), p99: percentile(all, 0.99) }]),
  );

  async function ask(session: Session, count: number, atOnce: number): Promise<number[]> {
    const requests = await session.requests(count, (index) => replyQuestion(`first-${index}`, tokens, 0));
    const { port } = session;
    const seen = await load.order<SeenReply[]>({ order: "ask", port, requests, atOnce });
    const wrong = seen.find((reply) => reply.tokens !== tokens);
    if (wrong)
      throw new Error(`A reply had ${wrong.tokens} of ${tokens} tokens, with status ${wrong.status}.`);
    return seen.map(({ firstMs = Number.NaN }) => firstMs);
  }
}
