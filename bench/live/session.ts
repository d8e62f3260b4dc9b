/**
 * The live streams of one contender: opened in steps, and measured while the model gives them tokens.
 *
 * @module
 */

import type { Contender, Conversation } from "../contenders/contender.ts";
import { type ServerProcess, startServer } from "../harness/servers.ts";
import type { Load, Model } from "../harness/workers.ts";
import { requestText } from "../load/http-connection.ts";
import type { WatchReport } from "../load/live.ts";
import { liveQuestion } from "../model/script.ts";

/** The model, and the load generator, which all sessions share. */
export interface Stage {
  readonly model: Model;
  readonly load: Load;
}

/** How long and how often to measure. */
export interface Effort {
  /** Seconds of one round with one contender. */
  readonly seconds: number;
  readonly rounds: number;
  /** Whether a figure is wanted soon: up to 1,000 streams of 20 tokens a second, and no search for the most. */
  readonly isBrief: boolean;
  /** Gets a line about each step. */
  readonly progress: (line: string) => void;
}

/** What was found in one stretch of time. */
export interface Stretch {
  /** Microseconds of the server's CPU for each token. */
  readonly cost: number;
  /** How long a token was under way from the model's write to the client, in milliseconds. */
  readonly delayP50: number;
  readonly delayP99: number;
  readonly tokensPerSecond: number;
  /** In percent of a core. */
  readonly serverShare: number;
  readonly loadShare: number;
  /** How late the load generator's own timers were, in milliseconds. */
  readonly lagP99: number;
}

/** One contender's streams. */
export interface Session {
  readonly contender: Contender;
  /** The requests for conversations that are used by nothing else. */
  requests(count: number, question: (index: number) => string): Promise<string[]>;
  readonly port: number;
  /** Opens more streams until there are so many. */
  open(streams: number): Promise<void>;
  /** Has the model give tokens to the first `streams` of them, and measures. */
  measure(streams: number, perSecond: number, seconds: number): Promise<Stretch>;
  /** Memory of the server after it has collected its garbage, in bytes. */
  memory(): Promise<number>;
  close(): Promise<void>;
}

/** How long tokens flow before they count: a server that has waited for its turn is slow at first. */
const runInSeconds = 0.7;

/** Starts a contender. */
export async function openSession(contender: Contender, stage: Stage): Promise<Session> {
  return createSession(contender, await startServer(contender, stage.model.url), stage);
}

type Target = Pick<ServerProcess, "port" | "cpu" | "memory" | "stop" | "url" | "modelUrl">;

/** The session of a contender that is running, or of the model itself. */
export function createSession(contender: Contender, server: Target, { model, load }: Stage): Session {
  const group = contender.name.replaceAll(/\W+/g, "-");
  const question = liveQuestion(group);
  let opened = 0;

  async function requests(count: number, ask: (index: number) => string): Promise<string[]> {
    const conversations = await contender.prepare(server, count);
    return conversations.map((conversation, index) => requestOf(conversation, ask(index)));
  }

  async function watched(seconds: number): Promise<Stretch> {
    await load.order({ order: "watch", group, seconds: runInSeconds });
    const before = server.cpu();
    const report = await load.order<WatchReport>({ order: "watch", group, seconds });
    return stretchOf(report, server.cpu() - before);
  }

  return {
    contender,
    port: server.port,
    requests,
    async open(streams) {
      const missing = streams - opened;
      if (missing <= 0) return;
      const texts = await requests(missing, () => question);
      await load.order({ order: "open", group, port: server.port, requests: texts });
      opened = streams;
    },
    async measure(streams, perSecond, seconds) {
      await model.order({ order: "run", group, streams, perSecond });
      const stretch = await watched(seconds).finally(() => model.order({ order: "pause", group }));
      await load.order({ order: "drain", group });
      return stretch;
    },
    memory: () => server.memory(),
    async close() {
      await load.order({ order: "close", group });
      await model.order({ order: "end", group });
      await server.stop();
    },
  };
}

/** A conversation's question as bytes on the wire. */
export function requestOf(conversation: Conversation, question: string): string {
  return requestText({ method: "POST", ...conversation.ask(question) });
}

function stretchOf(report: WatchReport, cpu: number): Stretch {
  return {
    cost: cpu / report.tokens,
    delayP50: report.delayP50,
    delayP99: report.delayP99,
    tokensPerSecond: report.tokens / report.seconds,
    serverShare: cpu / report.seconds / 10_000,
    loadShare: report.cpu / report.seconds / 10_000,
    lagP99: report.lagP99,
  };
}
