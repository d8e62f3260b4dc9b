/**
 * How slow a server is after it had nothing to do, with several flags of Node.
 *
 * @module
 */

import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { wholeAtLeast } from "./command-line/arguments.ts";
import { messageOf } from "./command-line/errors.ts";
import type { Contender } from "./contenders/contender.ts";
import { nodePipe } from "./contenders/node-pipe/contender.ts";
import { twinService } from "./contenders/twin-service/contender.ts";
import { buildAll } from "./harness/build.ts";
import { startLoad, startModel } from "./harness/workers.ts";
import { openSession, type Session, type Stage } from "./live/session.ts";
import type { SeenReply } from "./load/replies.ts";
import { replyQuestion } from "./model/script.ts";
import { inTurn, median, spread } from "./report/spread.ts";
import { type Row, toTable } from "./report/tables.ts";

const help = `Usage: node --import tsx bench/cold.ts [rounds]

Measures the first requests to a server that was idle for 1, 5 and 60 seconds, one client at a time: the time to the
first token of the first one, and the median and the CPU time of the first ten. rounds: how often; default 3, a minute
and a half each.
`;

const idleSeconds = [1, 5, 60] as const;
const firstRequests = 10;

/** Replies that make a server warm: all its code paths are compiled. */
const warmUps = 1500;
const warmUpsAtOnce = 8;

/** This service without a disk, whose waits differ by more than what is measured. */
const withoutDisk: Contender = {
  ...twinService,
  async launch(place) {
    const launch = await twinService.launch(place);
    return { ...launch, env: { ...launch.env, DATABASE_URL: "memory:" } };
  },
};

interface Variant {
  readonly name: string;
  readonly contender: Contender;
  readonly flags: readonly string[];
}

const flagsToTry = [
  ["--no-memory-reducer"],
  ["--no-flush-bytecode"],
  ["--no-memory-reducer", "--no-flush-bytecode"],
  ["--min-semi-space-size=16"],
] as const;

const variants: readonly Variant[] = [
  { name: "this service, in memory", contender: withoutDisk, flags: [] },
  ...flagsToTry.map((flags) => ({ name: `the same, ${flags.join(" ")}`, contender: withoutDisk, flags })),
  { name: "node:http, bytes piped", contender: nodePipe, flags: [] },
];

/** What was found about one variant; times in milliseconds, CPU for each request in microseconds. */
interface Times {
  readonly name: string;
  readonly session: Session;
  /** While it is warm: the median to the first token, and CPU. */
  readonly warm: number[];
  readonly warmCpu: number[];
  /** After so many seconds of idleness. */
  readonly first: Map<number, number[]>;
  readonly firstTen: Map<number, number[]>;
  readonly cpu: Map<number, number[]>;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: "boolean", default: false } },
  });
  if (values.help) return console.log(help);
  const rounds = wholeAtLeast(1, positionals[0] ?? "3", "The rounds");
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  await buildAll();
  const stage = { load: startLoad(), model: await startModel() };
  const all = await Promise.all(variants.map((variant) => openVariant(variant, stage)));
  for (let round = 0; round < rounds; round++) {
    for (const seconds of idleSeconds) await measureAll(inTurn(all, round), seconds, stage);
  }
  for (const { session } of all) await session.close();
  console.log(
    toTable({
      scenario: "cold",
      title: "First tokens after idleness",
      unit: "warm ms",
      rows: all.map(rowOf),
    }),
  );
}

async function openVariant({ name, contender, flags }: Variant, stage: Stage): Promise<Times> {
  const session = await openSession(contender, stage, flags);
  const found = { warm: [], warmCpu: [], first: new Map(), firstTen: new Map(), cpu: new Map() };
  return { name, session, ...found };
}

/** Long idleness is shared by all; while it is short, warming the others would make it longer. */
async function measureAll(all: readonly Times[], seconds: number, stage: Stage): Promise<void> {
  if (seconds >= 30) return measure(all, seconds, stage);
  for (const times of all) await measure([times], seconds, stage);
}

/** Warms servers, lets them be idle, and sends each its first requests. */
async function measure(all: readonly Times[], seconds: number, stage: Stage): Promise<void> {
  const prepared: (readonly string[])[] = [];
  for (const { session, warm, warmCpu } of all) {
    prepared.push(await session.requests(firstRequests, question));
    await send(session, await session.requests(warmUps, question), warmUpsAtOnce, stage);
    const last = await send(session, await session.requests(50, question), 1, stage);
    warm.push(median(last.times));
    warmCpu.push(last.cpu);
  }
  await sleep(seconds * 1000);
  for (const [index, { name, session, first, firstTen, cpu }] of all.entries()) {
    const sent = await send(session, prepared[index] ?? [], 1, stage);
    add(first, seconds, sent.times[0] ?? Number.NaN);
    add(firstTen, seconds, median(sent.times));
    add(cpu, seconds, sent.cpu);
    const times = sent.times.map((time) => time.toFixed(1)).join(" ");
    console.error(`  ${seconds} s idle: ${name}: ${times} ms, ${sent.cpu.toFixed(0)} µs of CPU each`);
  }
}

function question(index: number): string {
  return replyQuestion(`cold-${index}`, 3, 0);
}

/** Sends requests. Returns the times to the first token, and the CPU time of each. */
async function send(session: Session, requests: readonly string[], atOnce: number, { load }: Stage) {
  const before = session.cpu();
  const seen = await load.order<SeenReply[]>({ order: "ask", port: session.port, requests, atOnce });
  const times = seen.map(({ firstMs = Number.NaN }) => firstMs);
  return { times, cpu: (session.cpu() - before) / requests.length };
}

function add(map: Map<number, number[]>, key: number, value: number): void {
  map.set(key, [...(map.get(key) ?? []), value]);
}

function rowOf({ name, warm, warmCpu, first, firstTen, cpu }: Times): Row {
  const more: Record<string, number> = { "warm CPU µs": median(warmCpu) };
  for (const seconds of idleSeconds) {
    more[`first after ${seconds} s, ms`] = median(first.get(seconds) ?? []);
    more[`ten after ${seconds} s, ms`] = median(firstTen.get(seconds) ?? []);
    more[`their CPU µs after ${seconds} s`] = median(cpu.get(seconds) ?? []);
  }
  return { name, ...spread(warm), more };
}

try {
  await main();
  process.exit();
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}
