/**
 * The first scenario: a model gives tokens at a steady rate to many streams, and each server puts them on the wire.
 *
 * @module
 */

import { messageOf } from "../command-line/errors.ts";
import type { Contender } from "../contenders/contender.ts";
import { measureDisk } from "../harness/disk.ts";
import { descriptorLimit } from "../harness/pinning.ts";
import { newFolder } from "../harness/servers.ts";
import { inTurn } from "../report/spread.ts";
import type { Part } from "../report/tables.ts";
import { limitMs, narrow } from "./capacity.ts";
import { directSession } from "./direct.ts";
import { type Cell, cells, type Findings, knownBounds, slow, takesPart } from "./findings.ts";
import { measureFirstTokens } from "./first-token.ts";
import { type Effort, openSession, type Session, type Stage } from "./session.ts";
import { liveParts } from "./tables.ts";

/** Streams that are open before the memory of further ones is measured, and after. */
const memorySteps = { from: 100, to: 1000 } as const;
const mostStreams = 6000;
const warmUpSeconds = 3;

/** Measures live streams of all contenders. */
export async function live(contenders: readonly Contender[], stage: Stage, effort: Effort): Promise<Part[]> {
  const all = await startAll(contenders, stage, effort);
  try {
    await measureFirst(all, stage, effort);
    const chosen = cells.filter(
      ({ streams, perSecond }) => !effort.isBrief || (streams <= memorySteps.to && perSecond === slow),
    );
    for (const streams of new Set(chosen.map((cell) => cell.streams))) {
      await atOnce(
        chosen.filter((cell) => cell.streams === streams),
        all,
        effort,
      );
    }
    for (const findings of all) await findCapacity(findings, effort);
    return liveParts(all, chosen, measureDisk(newFolder()).p50);
  } finally {
    for (const { session } of all) await session.close();
  }
}

async function startAll(contenders: readonly Contender[], stage: Stage, effort: Effort): Promise<Findings[]> {
  const sessions: Session[] = [];
  for (const contender of contenders) {
    effort.progress(`  ${contender.name}: starting`);
    sessions.push(await openSession(contender, stage));
  }
  return [...sessions, directSession(stage)].map((session) => ({ session, cells: new Map() }));
}

/** Does something with a contender. If that fails, it takes no further part, and the others go on. */
async function attempt(findings: Findings, effort: Effort, act: () => Promise<void>): Promise<void> {
  if (findings.failure !== undefined) return;
  try {
    await act();
  } catch (error) {
    findings.failure = messageOf(error);
    effort.progress(`  ${findings.session.contender.name}: ${findings.failure}`);
  }
}

async function measureFirst(all: readonly Findings[], stage: Stage, effort: Effort): Promise<void> {
  const found = await measureFirstTokens(
    all.map(({ session }) => session),
    stage,
    effort.rounds,
  );
  for (const findings of all) {
    const first = found.get(findings.session);
    if (first) findings.first = first;
    effort.progress(`  ${findings.session.contender.name}: first token after ${first?.p50.toFixed(2)} ms`);
  }
}

/** Opens as many streams as these cells have, and measures them at each rate. */
async function atOnce(own: readonly Cell[], all: readonly Findings[], effort: Effort): Promise<void> {
  const streams = own[0]?.streams ?? 0;
  for (const findings of all) {
    const wanted = own.some((cell) => takesPart(findings, cell)) || streams <= memorySteps.to;
    if (wanted) await attempt(findings, effort, () => openMore(findings, streams, effort));
  }
  for (const cell of own) {
    const taking = all.filter((findings) => findings.failure === undefined && takesPart(findings, cell));
    for (const findings of taking) findings.cells.set(cell, []);
    for (let round = 0; round < effort.rounds; round++) {
      for (const findings of inTurn(taking, round)) {
        await attempt(findings, effort, () => measureCell(findings, cell, round, effort));
      }
    }
  }
}

async function openMore(findings: Findings, streams: number, { progress }: Effort): Promise<void> {
  const { session } = findings;
  const { name, mostStreams = Number.POSITIVE_INFINITY } = session.contender;
  if (streams > mostStreams) return;
  if (findings.memoryBefore === undefined) await openFirst(findings);
  const startedAt = performance.now();
  await session.open(streams);
  const seconds = (performance.now() - startedAt) / 1000;
  progress(`  ${name}: ${streams} streams open after ${seconds.toFixed(1)} s`);
  if (streams !== Math.min(memorySteps.to, mostStreams)) return;
  findings.perStream =
    ((await session.memory()) - (findings.memoryBefore ?? 0)) / (streams - memorySteps.from);
}

/** Opens the first streams: what a process needs once, such as compiled code, is not a cost of a stream. */
async function openFirst(findings: Findings): Promise<void> {
  const { session } = findings;
  await session.open(memorySteps.from);
  await session.measure(memorySteps.from, slow, warmUpSeconds);
  findings.memoryBefore = await session.memory();
}

async function measureCell(findings: Findings, cell: Cell, round: number, effort: Effort): Promise<void> {
  const stretch = await findings.session.measure(cell.streams, cell.perSecond, effort.seconds);
  findings.cells.get(cell)?.push(stretch);
  const what = `${cell.streams} × ${cell.perSecond}, round ${round + 1}: ${findings.session.contender.name}`;
  effort.progress(`  ${what}: ${stretch.cost.toFixed(1)} µs, p99 ${stretch.delayP99.toFixed(1)} ms`);
}

/** Finds how many streams of 20 tokens a second a contender carries, or what is known of that. */
async function findCapacity(findings: Findings, effort: Effort): Promise<void> {
  const { session } = findings;
  const affordable = Math.floor((descriptorLimit() - 500) / 2);
  const most = effort.isBrief
    ? 0
    : Math.min(mostStreams, affordable, session.contender.mostStreams ?? mostStreams);
  const carries = async (streams: number): Promise<boolean> => {
    await session.open(streams);
    const delay = async () => (await session.measure(streams, slow, effort.seconds)).delayP99;
    const carried = (await delay()) <= limitMs || (await delay()) <= limitMs;
    effort.progress(
      `  ${session.contender.name}: ${streams} streams ${carried ? "carried" : "are too many"}`,
    );
    return carried;
  };
  await attempt(findings, effort, async () => {
    findings.capacity = await narrow(knownBounds(findings), most, carries);
  });
}
