/**
 * Scenarios of streams that stay open: what a token costs while many are live, what a silent stream costs, and
 * what it costs to relay a model's tokens, and how much that delays them.
 *
 * @module
 */

import { type Goal, withGoal } from "./goals.ts";
import type { WatchReport } from "./load.ts";
import { type Arena, type Contender, type Effort, inTurn } from "./measure.ts";
import type { ServerProcess } from "./processes.ts";
import { headings, type Row } from "./report.ts";
import { tokens } from "./servers/reply.ts";
import { median, spread } from "./spread.ts";

/** How many streams a contender gets. */
export interface OpenStreams {
  readonly contender: Contender;
  readonly streams: number;
  readonly goal?: Goal;
}

const conversationsPerKey = 50;

/** How long streams are live before anything counts: each round has a new process, whose code is not compiled yet. */
const warmUpSeconds = 3;

/** Starts a contender and opens its streams; before them, opens and closes `left` others. */
async function openStreams({ contender, streams }: OpenStreams, { load, startServer }: Arena, left = 0) {
  const { name, file, env, method, path, kind } = contender;
  const keys = String(Math.ceil((streams + left) / conversationsPerKey));
  const server = await startServer(file, {
    env: { KEYS: keys, CONVERSATIONS: String(conversationsPerKey), ...env },
  });
  const { port, clients } = server;
  const target = { name, port, method, path, kind, clients, turns: 1, length: tokens.length };
  await load.order({ order: "target", target });
  if (left > 0) {
    await load.order({ order: "open", name, streams: left });
    await load.order({ order: "close" });
  }
  await server.usage("collect");
  const before = await server.usage("collect");
  await load.order({ order: "open", name, streams });
  return { server, before };
}

async function closeStreams(server: ServerProcess, { load }: Arena): Promise<void> {
  await load.order({ order: "close" });
  await server.stop();
}

/** What one round found about one contender. */
interface Watched {
  /** Microseconds of CPU per token. */
  readonly cost: number;
  readonly serverShare: number;
  readonly report: WatchReport;
}

/**
 * CPU that one token costs while streams are live, in microseconds. With a model in the load generator, also
 * how long a token takes from the model's write to the client, in milliseconds.
 */
export async function compareTokens(
  all: readonly OpenStreams[],
  arena: Arena,
  effort: Effort,
): Promise<Row[]> {
  const watched = all.map((): Watched[] => []);
  for (let round = 0; round < effort.rounds; round++) {
    for (const [index, open] of inTurn([...all.entries()], round)) {
      const seen = await watchRound(open, arena, effort);
      watched[index]?.push(seen);
      effort.progress(`  round ${round + 1}: ${nameOf(open)}: ${seen.cost.toFixed(1)} µs per token`);
    }
  }
  return all.map((open, index) => rowOf(open, watched[index] ?? [], index > 0 ? watched[0] : undefined));
}

async function watchRound(open: OpenStreams, arena: Arena, { seconds }: Effort): Promise<Watched> {
  const { server } = await openStreams(open, arena);
  await server.usage("start");
  await arena.load.order({ order: "watch", seconds: warmUpSeconds });
  const before = await server.usage();
  const report = await arena.load.order<WatchReport>({ order: "watch", seconds });
  const cpu = (await server.usage()).cpu - before.cpu;
  await closeStreams(server, arena);
  return { cost: cpu / report.tokens, serverShare: cpu / report.seconds / 10_000, report };
}

function rowOf(open: OpenStreams, own: readonly Watched[], first: readonly Watched[] | undefined): Row {
  const of = (figure: (seen: Watched) => number) => median(own.map(figure));
  const delayP99 = of(({ report }) => report.delayP99);
  const delays = { "delay p50 ms": of(({ report }) => report.delayP50), [headings.delay]: delayP99 };
  const row: Row = {
    name: nameOf(open),
    ...spread(own.map(({ cost }) => cost)),
    ...(first && { ratio: median(own.map(({ cost }, round) => (first[round]?.cost ?? cost) / cost)) }),
    more: {
      "tokens/s": of(({ report }) => report.tokens / report.seconds),
      ...(delayP99 > 0 && delays),
      [headings.serverCpu]: of(({ serverShare }) => serverShare),
      [headings.loadCpu]: of(({ report }) => report.cpu / report.seconds / 10_000),
      [headings.lag]: of(({ report }) => report.lagP99),
    },
  };
  return withGoal(row, open.goal);
}

/** Streams before those that count: what a process needs once, such as compiled code, is not a cost of a stream. */
const streamsBefore = 500;

/** Memory of one silent stream, in KB: of the whole process, and of its JavaScript heap. */
export async function compareMemory(
  all: readonly OpenStreams[],
  arena: Arena,
  effort: Effort,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const open of all) {
    effort.progress(`  ${nameOf(open)}: opening`);
    const { server, before } = await openStreams(open, arena, streamsBefore);
    // Garbage from opening streams is not a cost of an open one. Heartbeats continue meanwhile, as in production.
    await arena.load.order({ order: "watch", seconds: 6 });
    await server.usage("collect");
    const after = await server.usage("collect");
    await closeStreams(server, arena);
    const memory = (after.rss - before.rss) / open.streams / 1024;
    const heap = (after.heap - before.heap) / open.streams / 1024;
    effort.progress(`  ${nameOf(open)}: ${memory.toFixed(1)} KB`);
    const row = { name: nameOf(open), ...spread([memory]), more: { "of which JavaScript KB": heap } };
    rows.push(withGoal(row, open.goal));
  }
  return rows;
}

function nameOf({ contender, streams }: OpenStreams): string {
  return `${contender.name}, ${streams.toLocaleString("en")} streams`;
}
