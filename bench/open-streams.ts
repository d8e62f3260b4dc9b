/**
 * Scenarios of streams that stay open: what a token costs while many are live, what a silent stream costs, and
 * what passing a model's tokens on costs and delays.
 *
 * @module
 */

import type { WatchReport } from "./load.ts";
import { type Arena, type Contender, type Effort, median, type Row, spread } from "./measure.ts";
import type { ServerProcess } from "./processes.ts";

/** How many streams a contender gets, and how its figures are headed. */
export interface OpenStreams {
  readonly contender: Contender;
  readonly streams: number;
  /** The most that the first contender's figure should be, as a multiple of this one's. */
  readonly most?: number;
}

/** Starts a contender with as many open streams. */
async function openStreams({ contender, streams }: OpenStreams, { load, startServer }: Arena) {
  const { name, file, env, method, path, kind } = contender;
  const server = await startServer(file, env);
  const { port, clients } = server;
  await load.order({ order: "target", target: { name, port, method, path, kind, clients, turns: 1 } });
  const before = await server.usage("collect");
  await load.order({ order: "open", name, streams });
  return { server, before };
}

async function closeStreams(server: ServerProcess, { load }: Arena): Promise<void> {
  await load.order({ order: "close" });
  await server.stop();
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
  const costs = all.map((): number[] => []);
  const reports = all.map((): WatchReport[] => []);
  for (let round = 0; round < effort.rounds; round++) {
    for (const [index, open] of inTurn([...all.entries()], round)) {
      const { server } = await openStreams(open, arena);
      await arena.load.order({ order: "watch", seconds: 1 });
      const before = await server.usage();
      const report = await arena.load.order<WatchReport>({ order: "watch", seconds: effort.seconds });
      const after = await server.usage();
      await closeStreams(server, arena);
      const cost = (after.cpu - before.cpu) / report.tokens;
      costs[index]?.push(cost);
      reports[index]?.push(report);
      effort.progress(`  round ${round + 1}: ${nameOf(open)}: ${cost.toFixed(1)} µs a token`);
    }
  }
  return all.map((open, index) => {
    const own = costs[index] ?? [];
    const ratios = own.map((cost, round) => (costs[0]?.[round] ?? cost) / cost);
    const seen = reports[index] ?? [];
    return {
      name: nameOf(open),
      ...spread(own),
      ...(index > 0 && { ratio: median(ratios) }),
      ...(open.most !== undefined && { goal: `≤ ${open.most} ×` }),
      more: {
        "tokens/s": median(seen.map(({ tokens, seconds }) => tokens / seconds)),
        "delay p50 ms": median(seen.map(({ delayP50 }) => delayP50)),
        "delay p99 ms": median(seen.map(({ delayP99 }) => delayP99)),
      },
    };
  });
}

/** Memory of one silent stream, in KB: of the whole process, and of its JavaScript heap. */
export async function compareMemory(
  all: readonly OpenStreams[],
  arena: Arena,
  effort: Effort,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const open of all) {
    effort.progress(`  ${nameOf(open)}: opening`);
    const { server, before } = await openStreams(open, arena);
    // Garbage of the openings is no cost of an open stream. Heartbeats go on meanwhile, as they would.
    await arena.load.order({ order: "watch", seconds: 6 });
    await server.usage("collect");
    const after = await server.usage("collect");
    await closeStreams(server, arena);
    const memory = (after.rss - before.rss) / open.streams / 1024;
    const heap = (after.heap - before.heap) / open.streams / 1024;
    effort.progress(`  ${nameOf(open)}: ${memory.toFixed(1)} KB`);
    rows.push({ name: nameOf(open), ...spread([memory]), more: { "of it JavaScript KB": heap } });
  }
  return rows;
}

function nameOf({ contender, streams }: OpenStreams): string {
  return `${contender.name}, ${streams.toLocaleString("en")} streams`;
}

function inTurn<Item>(items: readonly Item[], round: number): readonly Item[] {
  return round % 2 === 0 ? items : items.toReversed();
}
