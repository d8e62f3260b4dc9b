/**
 * What becomes of replies when their clients leave and when the server is killed, and what a repeated request does.
 *
 * @module
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Contender, type Conversation, inBatches } from "../contenders/contender.ts";
import { type ServerProcess, startServer } from "../harness/servers.ts";
import { requestOf, type Stage } from "../live/session.ts";
import type { SeenReply } from "../load/replies.ts";
import { replyQuestion } from "../model/script.ts";
import type { ReplyCounts } from "../model/server.ts";

/** What is left of some replies, and what repeating their requests did. */
export interface Fate {
  /** The server has the whole text. */
  readonly finished: number;
  /** It has a part. */
  readonly kept: number;
  /** It has nothing. */
  readonly lost: number;
  /** When the request was sent again, the model was asked once more. */
  readonly doubled: number;
  /** The client that sent it again got the whole text. */
  readonly got: number;
}

const tokens = 40;
const perSecond = 20;

/** When something happens to a reply, in milliseconds after its first token: it is half finished. */
const happensAfterMs = 1000;

/** What happens to replies, and how long a server that stores them may take for what it does about it. */
export interface Event {
  readonly name: string;
  readonly settlingMs: number;
  happen(server: ServerProcess): Promise<void>;
}

/** The clients leave. */
export const leaving: Event = { name: "left", settlingMs: 3000, happen: async () => {} };

/** The server is killed and started again on its data. What it does about its replies then may take a while. */
export const killing: Event = { name: "killed", settlingMs: 10_000, happen: (server) => server.restart() };

/** The fate of one contender's replies in each event: each has replies of its own. */
export async function fatesOf(
  contender: Contender,
  events: readonly Event[],
  replies: number,
  stage: Stage,
): Promise<Fate[]> {
  const server = await startServer(contender, stage.model.url);
  const fates: Fate[] = [];
  try {
    for (const event of events) fates.push(await fateOf({ contender, server, stage, replies }, event));
    return fates;
  } finally {
    await server.stop();
  }
}

interface Run {
  readonly contender: Contender;
  readonly server: ServerProcess;
  readonly stage: Stage;
  readonly replies: number;
}

/** Begins replies, has something happen to them, and looks what is left; then sends the same requests again. */
async function fateOf({ contender, server, stage, replies }: Run, event: Event): Promise<Fate> {
  const { load } = stage;
  const prefix = `${contender.name.replace(/\W+/g, "-")}-${event.name}-`;
  const conversations = await contender.prepare(server, replies);
  const requests = conversations.map((conversation, index) =>
    requestOf(conversation, replyQuestion(`${prefix}${index}`, tokens, perSecond)),
  );
  await load.order({ order: "open", group: prefix, port: server.port, requests });
  await sleep(happensAfterMs);
  await event.happen(server);
  await load.order({ order: "close", group: prefix });
  if (conversations.some(({ stored }) => stored)) await sleep(event.settlingMs);
  const before = await countsAtRest(stage, prefix);
  const stored = await inBatches(replies, (index) => storedTokens(conversations[index]));
  const again = await load.order<SeenReply[]>({ order: "ask", port: server.port, requests, atOnce: 50 });
  const after = await countsAtRest(stage, prefix);
  return {
    finished: stored.filter((count) => count === tokens).length,
    kept: stored.filter((count) => count > 0 && count < tokens).length,
    lost: stored.filter((count) => count === 0).length,
    doubled: Object.keys(after).filter((id) => (after[id] ?? 0) > (before[id] ?? 0)).length,
    got: again.filter((seen) => seen.tokens === tokens).length,
  };
}

/**
 * How often the model was asked for each of these replies, once it streams none of them any more: they are finished, or
 * were given up.
 */
async function countsAtRest({ model }: Stage, prefix: string): Promise<ReplyCounts["asked"]> {
  const until = performance.now() + (tokens / perSecond) * 1000 + 30_000;
  for (;;) {
    const { running, asked } = await model.order<ReplyCounts>({ order: "count", prefix });
    if (running === 0 || performance.now() > until) return asked;
    await sleep(100);
  }
}

/** How many of a reply's tokens the server has. */
async function storedTokens(conversation: Conversation | undefined): Promise<number> {
  const text = (await conversation?.stored?.()) ?? "";
  return new Set(text.match(/~\w+(?=:)/g)).size;
}
