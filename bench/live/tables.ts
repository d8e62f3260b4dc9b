/**
 * What was found about live streams, as tables.
 *
 * @module
 */

import { atMost, columnAtMost, type Goal, timesAtMost, withGoal } from "../report/goals.ts";
import { loadNotes } from "../report/notes.ts";
import { median, spread } from "../report/spread.ts";
import { headings, type Part, type Row } from "../report/tables.ts";
import { limitMs } from "./capacity.ts";
import { type Cell, cells, type Findings, takesPart } from "./findings.ts";
import type { Stretch } from "./session.ts";

/** The tables: the summary first, which the chart is drawn from. */
export function liveParts(all: readonly Findings[], cells: readonly Cell[], diskMs: number): Part[] {
  return [summary(all), firstTokens(all, diskMs), ...cells.map((cell) => cellPart(cell, all))];
}

const server = (all: readonly Findings[]) =>
  all.filter(({ session }) => session.contender.folder !== "no-server");

function summary(all: readonly Findings[]): Part {
  const direct = all.at(-1)?.first?.p50 ?? 0;
  const rows = server(all).map((findings): Row => {
    const { capacity, first, perStream, session } = findings;
    const { carried = Number.NaN, tooMany = Number.NaN } = capacity ?? {};
    const more: Record<string, number> = {};
    for (const cell of cells.filter(({ perSecond }) => perSecond === 20)) {
      const stretches = findings.cells.get(cell);
      if (!stretches?.length) continue;
      more[`CPU µs a token, ${cell.streams} streams`] = median(stretches.map(({ cost }) => cost));
      more[`delay p99 ms, ${cell.streams} streams`] = median(stretches.map(({ delayP99 }) => delayP99));
    }
    if (first) more["first token added ms"] = first.p50 - direct;
    if (perStream) more[kilobytes] = perStream / 1024;
    const row = { name: session.contender.name, median: carried, low: carried, high: tooMany, more };
    return session.contender.folder === "twin-service" ? withGoal(row, columnAtMost(kilobytes, 32)) : row;
  });
  const notes = all.flatMap(({ session, failure }) =>
    failure ? [`${session.contender.name}: ${failure}`] : [],
  );
  const own = all.find(({ session }) => session.contender.folder === "no-server")?.capacity;
  if (own)
    notes.unshift(`Without a server, the benchmark itself carries ${own.carried.toLocaleString("en")}.`);
  const title = `Streams of 20 tokens a second that one core carries before p99 of the delay passes ${limitMs} ms`;
  return { title, unit: "streams", rangeName: "carried – too many", rows, notes };
}

const kilobytes = "KB a silent stream";

function firstTokens(all: readonly Findings[], diskMs: number): Part {
  const pipe = all.find(({ session }) => session.contender.folder === "node-pipe")?.first?.p50;
  const rows = all.flatMap(({ session, first }): Row[] => {
    if (!first) return [];
    const row = { name: session.contender.name, ...spread([first.p50]), more: { "p99 ms": first.p99 } };
    if (pipe === undefined || session.contender.folder !== "twin-service") return [row];
    const bar = Number((pipe + 0.5 + diskMs).toFixed(2));
    return [withGoal(row, atMost(bar, `ms (the pipe's + 0.5 + ${diskMs.toFixed(2)} for the disk)`))];
  });
  const note = "A question is on disk before its stream begins: this service's time includes that wait.";
  return { title: "Time to the first token, one client", unit: "p50 ms", rows, notes: [note] };
}

/** What this service may cost, as a multiple of the others. */
function goalFor(folder: string, { streams, perSecond }: Cell): Goal | undefined {
  if (perSecond !== 20 || streams > 1000) return undefined;
  if (folder === "node-pipe") return timesAtMost(streams === 200 ? 1.6 : 1.25);
  if (folder === "portkey") return timesAtMost(0.5);
  return ["ai-sdk-hono", "langgraph", "mastra"].includes(folder) ? timesAtMost(0.2) : undefined;
}

function cellPart(cell: Cell, all: readonly Findings[]): Part {
  const own = all[0]?.cells.get(cell);
  const rows = all.flatMap((findings, index): Row[] => {
    const stretches = findings.cells.get(cell);
    if (!stretches?.length) return [];
    const row = cellRow(findings, stretches, index > 0 ? own : undefined);
    return [withGoal(row, goalFor(findings.session.contender.folder, cell))];
  });
  const absent = all
    .filter((findings) => !takesPart(findings, cell))
    .map(({ session }) => session.contender.name);
  const notes = loadNotes(rows);
  if (absent.length > 0) notes.push(`Not measured, as they fell behind with less: ${absent.join("; ")}.`);
  const streams = cell.streams.toLocaleString("en");
  return {
    title: `${streams} streams of ${cell.perSecond} tokens a second`,
    unit: "CPU µs a token",
    rows,
    notes,
  };
}

function cellRow({ session }: Findings, own: readonly Stretch[], first: readonly Stretch[] | undefined): Row {
  const of = (figure: keyof Stretch) => own.map((stretch) => stretch[figure]);
  const ratios = own.map(({ cost }, round) => (first?.[round]?.cost ?? cost) / cost);
  return {
    name: session.contender.name,
    ...spread(of("cost")),
    ...(first && session.contender.folder !== "no-server" && { ratio: median(ratios) }),
    more: {
      "delay p50 ms": median(of("delayP50")),
      [headings.delay]: median(of("delayP99")),
      "tokens/s": median(of("tokensPerSecond")),
      [headings.serverCpu]: median(of("serverShare")),
      [headings.loadCpu]: median(of("loadShare")),
      [headings.lag]: median(of("lagP99")),
    },
  };
}
