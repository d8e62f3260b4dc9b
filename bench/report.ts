/**
 * Results, and how they are written as text.
 *
 * @module
 */

import type { DiskWait } from "./disk.ts";
import type { Spread } from "./spread.ts";

/** A contender in a result's table. */
export interface Row extends Spread {
  readonly name: string;
  /** Usually the first contender's figure as a multiple of this one's: the median of the rounds' ratios. */
  readonly ratio?: number;
  readonly goal?: string;
  readonly met?: boolean;
  /** Other figures, by their headings. */
  readonly more: Readonly<Record<string, number>>;
}

/** Headings of {@link Row.more} that goals and notes look up. */
export const headings = {
  serverCpu: "server CPU %",
  loadCpu: "load CPU %",
  /** How late the load generator's own timers were. */
  lag: "load's own lag p99 ms",
  delay: "delay p99 ms",
} as const;

/** What a scenario found. */
export interface Result {
  readonly scenario: string;
  readonly title: string;
  readonly unit: string;
  readonly rows: readonly Row[];
  /** What the rows' ratio is. Default: the first row's figure as a multiple of this one's. */
  readonly ratioName?: string;
  /** What the figures alone do not say. */
  readonly notes?: readonly string[];
}

/** The machine and the run that the figures come from. */
export interface Machine {
  readonly when: string;
  readonly node: string;
  /** The packages of the servers that it is compared with, and their versions. */
  readonly peers: Readonly<Record<string, string>>;
  readonly cpu: string;
  readonly cores: number;
  readonly pinned: boolean;
  readonly disk: DiskWait;
  readonly seconds: number;
  readonly rounds: number;
}

/** All results as Markdown. */
export function toMarkdown(machine: Machine, results: readonly Result[]): string {
  return [`# Results\n\n${toHead(machine)}\n`, ...results.map(toTable)].join("\n");
}

/** What the figures were measured on, and how. */
export function toHead({ node, peers, cpu, cores, pinned, seconds, rounds, when, disk }: Machine): string {
  const versions = Object.entries(peers).map((peer) => peer.join(" "));
  const cpus = pinned ? "server and load generator on a core each" : "server and load generator not pinned";
  return `${when}, Node ${node}, ${cpu}, ${cores} cores, ${cpus}, ${rounds} rounds of ${seconds} s.
One write of 4 KB that waits for the disk (fdatasync) takes ${disk.p50.toFixed(2)} ms here, p99 ${disk.p99.toFixed(2)} ms.
Compared with ${versions.join(", ")}.`;
}

/** One result as a Markdown table. */
export function toTable({ title, unit, rows, ratioName = "first row ÷ this", notes = [] }: Result): string {
  const remarks = notes.map((note) => `\n${note}\n`).join("");
  if (rows.length === 0) return `## ${title}\n${remarks}`;
  const hasRatios = rows.some(({ ratio }) => ratio !== undefined);
  const hasGoals = rows.some(({ goal }) => goal !== undefined);
  const more = [...new Set(rows.flatMap((row) => Object.keys(row.more)))];
  const titles = ["", unit, "lowest – highest"];
  if (hasRatios) titles.push(ratioName);
  if (hasGoals) titles.push("goal");
  const cells = (row: Row) => {
    const line = [row.name, figure(row.median), `${figure(row.low)} – ${figure(row.high)}`];
    if (hasRatios) line.push(row.ratio === undefined ? "" : `${row.ratio.toFixed(2)} ×`);
    if (hasGoals) line.push(goalOf(row));
    return [...line, ...more.map((name) => (name in row.more ? figure(row.more[name] ?? 0) : ""))];
  };
  titles.push(...more);
  const rule = titles.map((heading) => (heading === "" || heading === "goal" ? "---" : "---:"));
  const lines = [titles, rule, ...rows.map(cells)];
  return `## ${title}\n\n${lines.map((line) => `| ${line.join(" | ")} |`).join("\n")}\n${remarks}`;
}

function goalOf({ goal, met }: Row): string {
  return goal === undefined ? "" : `${goal}: ${met ? "met" : "**missed**"}`;
}

function figure(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
