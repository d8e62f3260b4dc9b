/**
 * Measuring contenders against one another: all of them alive at once, one loaded at a time, in rounds whose
 * order turns, so that a slow minute of the machine hits all alike.
 *
 * @module
 */

import type { AnswerKind } from "./answers.ts";
import type { RepeatReport } from "./load.ts";
import type { LoadProcess, ServerProcess, startServer } from "./processes.ts";

/** One way to answer a scenario's requests. */
export interface Contender {
  readonly name: string;
  /** A file of `bench/servers`. */
  readonly file: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly kind: AnswerKind;
  /** The least that the first contender's figure should be, as a multiple of this one's. */
  readonly goal?: number;
}

/** A contender in a result's table. */
export interface Row {
  readonly name: string;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** The first contender's figure as a multiple of this one's: the median of the rounds' own. */
  readonly ratio?: number;
  readonly goal?: string;
  /** Other figures, by their headings. */
  readonly more: Readonly<Record<string, number>>;
}

/** What a scenario found. */
export interface Result {
  readonly scenario: string;
  readonly title: string;
  readonly unit: string;
  readonly rows: readonly Row[];
}

/** How long and how often to measure. */
export interface Effort {
  /** Seconds of one round with one contender. */
  readonly seconds: number;
  readonly rounds: number;
  /** Told of what happens. */
  readonly progress: (line: string) => void;
}

/** Where contenders run. */
export interface Arena {
  readonly load: LoadProcess;
  readonly startServer: typeof startServer;
}

/** How a load is put on: how many connections ask, and what one answer counts for. */
export interface Load {
  readonly connections: number;
  /** What one answer counts for, such as its tokens. Default 1. */
  readonly worth?: number;
}

/** How long each contender is loaded before anything counts: until the compiler has seen all of its paths. */
const warmUpSeconds = 3;

interface Standing {
  readonly contender: Contender;
  readonly server: ServerProcess;
  readonly reports: RepeatReport[];
  readonly cpu: number[];
}

/** Measures answers a second of all contenders; the first is the one that the others are compared with. */
export async function compare(
  contenders: readonly Contender[],
  { connections, worth = 1 }: Load,
  { load, startServer }: Arena,
  { seconds, rounds, progress }: Effort,
): Promise<Row[]> {
  const standings: Standing[] = [];
  for (const contender of contenders) {
    const { name, file, env, method, path, kind } = contender;
    progress(`  ${name}: starting`);
    const server = await startServer(file, env);
    standings.push({ contender, server, reports: [], cpu: [] });
    const { port, clients } = server;
    await load.order({ order: "target", target: { name, port, method, path, kind, clients, turns: 8 } });
    await load.order({ order: "repeat", name, connections: 1, seconds: 0 }); // the right answer first
    await load.order({ order: "repeat", name, connections, seconds: warmUpSeconds });
  }
  for (let round = 0; round < rounds; round++) {
    for (const { contender, server, reports, cpu } of inTurn(standings, round)) {
      const before = await server.usage();
      const report = await load.order<RepeatReport>({
        order: "repeat",
        name: contender.name,
        connections,
        seconds,
      });
      const after = await server.usage();
      reports.push(report);
      cpu.push((after.cpu - before.cpu) / report.answers / worth);
      progress(`  round ${round + 1}: ${contender.name}: ${Math.round(rate(report) * worth)}/s`);
    }
  }
  const rows: Row[] = [];
  for (const standing of standings) {
    rows.push(await rowOf(standing, standings[0], worth));
    await standing.server.stop();
  }
  return rows;
}

function inTurn<Item>(items: readonly Item[], round: number): readonly Item[] {
  return round % 2 === 0 ? items : items.toReversed();
}

function rate({ answers, seconds }: RepeatReport): number {
  return answers / seconds;
}

async function rowOf(
  { contender, server, reports, cpu }: Standing,
  first: Standing | undefined,
  worth: number,
): Promise<Row> {
  const rates = reports.map((report) => rate(report) * worth);
  const ratios = reports.map((report, round) => rate(first?.reports[round] ?? report) / rate(report));
  const { goal } = contender;
  return {
    name: contender.name,
    ...spread(rates),
    ...(first?.contender !== contender && { ratio: median(ratios) }),
    ...(goal !== undefined && { goal: `≥ ${goal} ×` }),
    more: {
      "first token p50 ms": median(reports.map(({ firstTokenP50 }) => firstTokenP50)),
      "answer p50 ms": median(reports.map(({ totalP50 }) => totalP50)),
      "answer p99 ms": median(reports.map(({ totalP99 }) => totalP99)),
      "CPU µs": median(cpu),
      "peak MB": (await server.usage()).peakRss / 1e6,
    },
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? 0) + high) / 2;
}

/** Median, lowest and highest. */
export function spread(values: readonly number[]): Pick<Row, "median" | "low" | "high"> {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) };
}
