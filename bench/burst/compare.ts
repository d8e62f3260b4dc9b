/**
 * Measures servers against each other with requests that follow one another: all of them run at the same time, but one
 * is loaded at a time, in rounds of alternating order, so that a slow minute of the machine affects them all.
 *
 * @module
 */

import type { Contender } from "../contenders/contender.ts";
import { type ServerProcess, startServer } from "../harness/servers.ts";
import type { Load } from "../harness/workers.ts";
import type { Effort } from "../live/session.ts";
import type { AnswerKind } from "../load/answers.ts";
import type { RequestParts } from "../load/http-connection.ts";
import type { RepeatReport } from "../load/repeat.ts";
import type { Target } from "../load/requests.ts";
import { type Goal, withGoal } from "../report/goals.ts";
import { inTurn, median, spread } from "../report/spread.ts";
import { headings, type Row } from "../report/tables.ts";

/** How a contender is asked. */
export interface Entry {
  readonly contender: Contender;
  /** The request, to a server that has started. */
  request(url: string): RequestParts | Promise<RequestParts>;
  readonly kind: AnswerKind;
  /** Creates what the requests need: keys, and conversations. Default: they need nothing. */
  clients?(url: string, requests: number): Promise<Pick<Target, "clients" | "requestsPerKey">>;
  /** An upper limit of its answers a second, for which it gets enough keys. */
  readonly perSecond?: number;
  readonly goal?: Goal;
}

const connections = 64;

/** How long each is loaded before anything counts, and again until it has answered so often that its code is compiled. */
const warmUpSeconds = 2;
const warmUpAnswers = 20_000;

/**
 * How long it is loaded again before each round: while a server waits half a minute for its turn, V8 frees memory, which
 * makes the first second by far the slowest.
 */
const runInSeconds = 1;

interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of CPU for each answer. */
  readonly cost: number;
  readonly serverShare: number;
  readonly loadShare: number;
}

interface Standing {
  readonly entry: Entry;
  readonly name: string;
  readonly server: ServerProcess;
  readonly rounds: Round[];
}

/** Measures all entries; the others are compared with the first. `figure`: in what. */
export async function compare(
  entries: readonly Entry[],
  load: Load,
  effort: Effort,
  figure: "perSecond" | "cost" = "perSecond",
): Promise<Row[]> {
  const { rounds, progress } = effort;
  const standings: Standing[] = [];
  try {
    for (const entry of entries) standings.push(await warmedUp(entry, load, effort));
    for (let round = 0; round < rounds; round++) {
      for (const standing of inTurn(standings, round)) {
        const measured = await measureRound(standing, load, effort);
        standing.rounds.push(measured);
        progress(`  round ${round + 1}: ${standing.name}: ${measured.perSecond.toFixed(0)}/s`);
      }
    }
    return standings.map((standing) => rowOf(standing, standings[0] ?? standing, figure));
  } finally {
    await Promise.all(standings.map(({ server }) => server.stop()));
  }
}

async function warmedUp(entry: Entry, load: Load, effort: Effort): Promise<Standing> {
  const { contender, kind, perSecond = 0 } = entry;
  const { name } = contender;
  effort.progress(`  ${name}: starting`);
  const server = await startServer(contender, "http://127.0.0.1:9/v1");
  try {
    const seconds = warmUpSeconds + effort.rounds * (runInSeconds + effort.seconds);
    const made = await entry.clients?.(server.url, perSecond * seconds);
    const { clients = [], requestsPerKey = 0 } = made ?? {};
    const request = await entry.request(server.url);
    const target = { name, port: server.port, kind, request, clients, requestsPerKey };
    await load.order({ order: "target", target });
    await load.order({ order: "repeat", name, connections: 1, seconds: 0 }); // check one answer first
    for (let answers = 0; answers < warmUpAnswers; ) {
      const order = { order: "repeat", name, connections, seconds: warmUpSeconds } as const;
      answers += (await load.order<RepeatReport>(order)).answers;
    }
    return { entry, name, server, rounds: [] };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function measureRound({ name, server }: Standing, load: Load, { seconds }: Effort): Promise<Round> {
  const order = { order: "repeat", name, connections } as const;
  await load.order({ ...order, seconds: runInSeconds });
  const before = server.cpu();
  const report = await load.order<RepeatReport>({ ...order, seconds });
  const cpu = server.cpu() - before;
  return {
    perSecond: report.answers / report.seconds,
    p50: report.totalP50,
    p99: report.totalP99,
    cost: cpu / report.answers,
    serverShare: cpu / report.seconds / 10_000,
    loadShare: report.cpu / report.seconds / 10_000,
  };
}

function rowOf({ entry, name, rounds }: Standing, first: Standing, figure: "perSecond" | "cost"): Row {
  const of = (figure: keyof Round) => rounds.map((round) => round[figure]);
  const ratios = rounds.map((round, index) => (first.rounds[index] ?? round)[figure] / round[figure]);
  const row: Row = {
    name,
    ...spread(of(figure)),
    ...(first.entry !== entry && { ratio: median(ratios) }),
    more: {
      "answer p50 ms": median(of("p50")),
      "answer p99 ms": median(of("p99")),
      ...(figure === "cost" ? { "answers/s": median(of("perSecond")) } : { "CPU µs": median(of("cost")) }),
      [headings.serverCpu]: median(of("serverShare")),
      [headings.loadCpu]: median(of("loadShare")),
    },
  };
  return withGoal(row, entry.goal);
}
