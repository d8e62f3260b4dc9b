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
  /** When the request was sent again, the model was asked a second time. */
  readonly doubled: number;
  /** The client that sent it again got the whole text. */
  readonly got: number;
}

/** The fates of one contender's replies. */
export interface Fates {
  readonly left: Fate;
  readonly killed: Fate;
}

const tokens = 40;
const perSecond = 20;

/** When something happens to a reply, in milliseconds after its first token: it is half finished. */
const happensAfterMs = 1000;

/** How long a server may take for what it does with replies that it was not able to finish. */
const settlingMs = 3000;

/** One contender's replies: first their clients leave, then, with others, the server is killed. */
export async function fatesOf(contender: Contender, replies: number, stage: Stage): Promise<Fates> {
  const server = await startServer(contender, stage.model.url);
  const run = { contender, server, stage, replies };
  try {
    const left = await fateOf(run, "left", async () => {});
    const killed = await fateOf(run, "killed", () => server.restart());
    return { left, killed };
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
async function fateOf(run: Run, what: string, happen: () => Promise<void>): Promise<Fate> {
  const { contender, server, stage, replies } = run;
  const { load, model } = stage;
  const prefix = `${contender.folder}-${what}-`;
  const conversations = await contender.prepare(server, replies);
  const requests = conversations.map((conversation, index) =>
    requestOf(conversation, replyQuestion(`${prefix}${index}`, tokens, perSecond)),
  );
  await load.order({ order: "open", group: prefix, port: server.port, requests });
  await sleep(happensAfterMs);
  await happen();
  await load.order({ order: "close", group: prefix });
  await untilModelRests(stage, prefix);
  await sleep(settlingMs);
  const stored = await inBatches(replies, (index) => storedTokens(conversations[index]));
  const again = await load.order<SeenReply[]>({ order: "ask", port: server.port, requests, atOnce: 50 });
  const { asked } = await model.order<ReplyCounts>({ order: "count", prefix });
  return {
    finished: stored.filter((count) => count === tokens).length,
    kept: stored.filter((count) => count > 0 && count < tokens).length,
    lost: stored.filter((count) => count === 0).length,
    doubled: Object.values(asked).filter((times) => times > 1).length,
    got: again.filter((seen) => seen.tokens === tokens).length,
  };
}

/** Waits until the model streams none of these replies any more: they are finished, or were given up. */
async function untilModelRests({ model }: Stage, prefix: string): Promise<void> {
  const until = performance.now() + (tokens / perSecond) * 1000 + 30_000;
  while (performance.now() < until) {
    const { running } = await model.order<ReplyCounts>({ order: "count", prefix });
    if (running === 0) return;
    await sleep(100);
  }
}

/** How many of a reply's tokens the server has. */
async function storedTokens(conversation: Conversation | undefined): Promise<number> {
  const text = (await conversation?.stored?.()) ?? "";
  return new Set(text.match(/~\w+(?=:)/g)).size;
}
