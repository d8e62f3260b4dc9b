/**
 * Measures contenders against each other: all of them run at the same time, but one is loaded at a time, in rounds of
 * alternating order, so that a slow minute of the machine affects them all.
 *
 * @module
 */

import type { AnswerKind } from "./answers.ts";
import { type Goal, withGoal } from "./goals.ts";
import type { RepeatReport } from "./load.ts";
import type { LoadProcess, ServerProcess, startServer } from "./processes.ts";
import { headings, type Row } from "./report.ts";
import { requestsPerKey } from "./requests.ts";
import { tokens } from "./servers/reply.ts";
import { median, spread } from "./spread.ts";

/** One way to answer a scenario's requests. */
export interface Contender {
  readonly name: string;
  /** A file of `bench/servers`. */
  readonly file: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What runs the file. Default: this Node. */
  readonly command?: readonly string[];
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly kind: AnswerKind;
  /** How many tokens a reply has. Default: as many as {@link tokens}. */
  readonly length?: number;
  /** How many messages are sent into a conversation. Default 8. */
  readonly turns?: number;
  /** An upper limit of its answers a second, for which it gets enough keys. Default: `KEYS` of `env`. */
  readonly perSecond?: number;
  readonly goal?: Goal;
}

/** How long and how often to measure. */
export interface Effort {
  /** Seconds of one round with one contender. */
  readonly seconds: number;
  readonly rounds: number;
  /** Gets a line about each step. */
  readonly progress: (line: string) => void;
}

/** Where contenders run. */
export interface Arena {
  readonly load: LoadProcess;
  readonly startServer: typeof startServer;
}

/** What is measured in each round. CPU time is per answer or per token. */
export type Figure =
  | "per second"
  | "first token p50 ms"
  | "answer p50 ms"
  | "answer p99 ms"
  | "CPU µs"
  | typeof headings.serverCpu
  | typeof headings.loadCpu;

/** What load is applied. */
export interface Load {
  /** How many connections send requests. */
  readonly connections: number;
  /** What the rate and the CPU time refer to. Default: answers. */
  readonly per?: "answer" | "token";
  /** The table's main figure. Default: the rate. */
  readonly figure?: Figure;
}

/** How long each contender is loaded before anything counts, so that all of its code paths are compiled. */
const warmUpSeconds = 2;

/**
 * How long it is loaded again before each round: while a server waits half a minute for its turn, V8 frees memory, which
 * makes the first second by far the slowest.
 */
const runInSeconds = 1;

type Round = Readonly<Record<Figure, number>>;

interface Standing {
  readonly contender: Contender;
  readonly server: ServerProcess;
  readonly rounds: Round[];
}

/** Measures all contenders; the others are compared with the first. */
export async function compare(
  contenders: readonly Contender[],
  load: Load,
  arena: Arena,
  effort: Effort,
): Promise<Row[]> {
  const { rounds, progress } = effort;
  const standings: Standing[] = [];
  for (const contender of contenders) {
    progress(`  ${contender.name}: starting`);
    standings.push({ contender, server: await warmedUp(contender, load, arena, effort), rounds: [] });
  }
  const { figure = "per second" } = load;
  for (let round = 0; round < rounds; round++) {
    for (const standing of inTurn(standings, round)) {
      const measured = await measureRound(standing, load, arena, effort);
      standing.rounds.push(measured);
      const value = Number(measured[figure].toPrecision(4));
      progress(`  round ${round + 1}: ${standing.contender.name}: ${value} ${figure}`);
    }
  }
  const rows: Row[] = [];
  for (const standing of standings) {
    rows.push(await rowOf(standing, standings[0] ?? standing, figure));
    await standing.server.stop();
  }
  return rows;
}

async function warmedUp(contender: Contender, { connections }: Load, arena: Arena, effort: Effort) {
  const { name, file, env, command, method, path, kind, length = tokens.length, turns = 8 } = contender;
  const keys = keysFor(contender, effort);
  const how = { env: { ...env, ...keys }, ...(command && { command }) };
  const server = await arena.startServer(file, how);
  const { port, clients } = server;
  const target = { name, port, method, path, kind, clients, turns, length };
  await arena.load.order({ order: "target", target });
  await arena.load.order({ order: "repeat", name, connections: 1, seconds: 0 }); // check one answer first
  await arena.load.order({ order: "repeat", name, connections, seconds: warmUpSeconds });
  return server;
}

function keysFor({ perSecond }: Contender, { rounds, seconds }: Effort): Readonly<Record<string, string>> {
  if (perSecond === undefined) return {};
  const requests = perSecond * (warmUpSeconds + rounds * (runInSeconds + seconds));
  return { KEYS: String(40 + Math.ceil(requests / requestsPerKey)) };
}

async function measureRound(
  { contender, server }: Standing,
  { connections, per = "answer" }: Load,
  { load }: Arena,
  { seconds }: Effort,
): Promise<Round> {
  const order = { order: "repeat", name: contender.name, connections } as const;
  await load.order({ ...order, seconds: runInSeconds });
  const before = await server.usage();
  const report = await load.order<RepeatReport>({ ...order, seconds });
  const cpu = (await server.usage()).cpu - before.cpu;
  const worth = per === "token" ? (contender.length ?? tokens.length) : 1;
  return {
    "per second": (report.answers / report.seconds) * worth,
    "first token p50 ms": report.firstTokenP50,
    "answer p50 ms": report.totalP50,
    "answer p99 ms": report.totalP99,
    "CPU µs": cpu / report.answers / worth,
    [headings.serverCpu]: cpu / report.seconds / 10_000,
    [headings.loadCpu]: report.cpu / report.seconds / 10_000,
  };
}

/** The items, in reverse order in every second round. */
export function inTurn<Item>(items: readonly Item[], round: number): readonly Item[] {
  return round % 2 === 0 ? items : items.toReversed();
}

async function rowOf({ contender, server, rounds }: Standing, first: Standing, figure: Figure): Promise<Row> {
  const of = (heading: Figure) => rounds.map((round) => round[heading]);
  const figures = Object.keys(rounds[0] ?? {}) as Figure[];
  const others = figures.filter(
    (heading) => heading !== figure && rounds.some((round) => round[heading] > 0),
  );
  const ratios = rounds.map((round, index) => (first.rounds[index] ?? round)[figure] / round[figure]);
  const row: Row = {
    name: contender.name,
    ...spread(of(figure)),
    ...(first.contender !== contender && { ratio: median(ratios) }),
    more: {
      ...Object.fromEntries(others.map((heading) => [heading, median(of(heading))])),
      "peak MB": (await server.usage()).peakRss / 1e6,
    },
  };
  return withGoal(row, contender.goal);
}

/** From this share of a core, in percent, and this lateness of timers, in milliseconds, a note mentions them. */
const busy = 90;
const late = 10;

/** A load generator of this share of a core, busier than the server, may be the limit, too. */
const nearlyBusy = 75;

/** Says which figures may be the load generator's limit, and which are those of a full core. */
export function loadNotes(rows: readonly Row[]): string[] {
  const notes: string[] = [];
  const note = (what: string, named: readonly Row[], meaning: string) => {
    if (named.length > 0) notes.push(`${what} with: ${named.map(({ name }) => name).join("; ")}. ${meaning}`);
  };
  const limited = rows.filter(
    ({ more: { [headings.loadCpu]: load = 0, [headings.serverCpu]: server = 0 } }) =>
      load >= busy || (load >= nearlyBusy && load > server),
  );
  note("The load generator used up its core, or nearly,", limited, "Their figures may be its limit.");
  const open = rows.filter(({ more }) => headings.lag in more); // offered tokens at a fixed rate
  const lagging = open.filter(({ more }) => (more[headings.lag] ?? 0) >= late);
  note("The load generator was late itself", lagging, "Their delays include that.");
  const full = open.filter(({ more }) => (more[headings.serverCpu] ?? 0) >= busy);
  note(
    "The server used up its core",
    full,
    "It falls behind and combines more tokens into each write, so a token costs less than its share; delays are those of a queue.",
  );
  return notes;
}
