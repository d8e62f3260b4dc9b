/**
 * Results, and how they are written as text.
 *
 * @module
 */

import type { DiskWait } from "../harness/disk.ts";
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
  /** What {@link Row.low} and {@link Row.high} are. Default: the lowest and the highest round. */
  readonly rangeName?: string;
  /** What the figures alone do not say. */
  readonly notes?: readonly string[];
}

/** One table of a scenario. Default title: the scenario's. */
export type Part = Omit<Result, "scenario" | "title"> & { readonly title?: string };

/** The machine and the run that the figures come from. */
export interface Machine {
  readonly when: string;
  readonly node: string;
  /** Who took part: what each does and does not do, and its packages. */
  readonly contenders: readonly {
    readonly name: string;
    readonly about: string;
    readonly packages: string;
  }[];
  /** Who could not take part, and why. */
  readonly leftOut: readonly string[];
  readonly cpu: string;
  readonly cores: number;
  readonly pinned: boolean;
  readonly disk: DiskWait;
  readonly seconds: number;
  readonly rounds: number;
}

/** All results as Markdown. */
export function toMarkdown(machine: Machine, results: readonly Result[]): string {
  return [`# Results\n\n${toHead(machine)}\n`, ...results.map(toTable), whoTookPart(machine)].join("\n");
}

/** What the figures were measured on, and how. */
export function toHead({ node, cpu, cores, pinned, seconds, rounds, when, disk }: Machine): string {
  const cpus = pinned ? "the server on a core of its own" : "the server not pinned to a core";
  return `${when}, Node ${node}, ${cpu}, ${cores} cores, ${cpus}, ${rounds} rounds of ${seconds} s.
One write of 4 KB that waits for the disk (fdatasync) takes ${disk.p50.toFixed(2)} ms here, p99 ${disk.p99.toFixed(2)} ms.`;
}

function whoTookPart({ contenders, leftOut }: Machine): string {
  const lines = contenders.map(({ name, about, packages }) => `| ${name} | ${about} | ${packages} |`);
  const table = ["| | what it does | packages |", "| --- | --- | --- |", ...lines].join("\n");
  return ["## Who took part", table, ...leftOut.map((line) => `Left out: ${line}.`)]
    .join("\n\n")
    .concat("\n");
}

/** One result as a Markdown table. */
export function toTable({ title, rows, notes = [], ...names }: Result): string {
  const remarks = notes.map((note) => `\n${note}\n`).join("");
  if (rows.length === 0) return `## ${title}\n${remarks}`;
  const columns = columnsOf(rows, names);
  const lines = [
    columns.map(({ heading }) => heading),
    columns.map(({ isText }) => (isText ? "---" : "---:")),
    ...rows.map((row) => columns.map(({ cell }) => cell(row))),
  ];
  return `## ${title}\n\n${lines.map((line) => `| ${line.join(" | ")} |`).join("\n")}\n${remarks}`;
}

interface Column {
  readonly heading: string;
  readonly isText?: boolean;
  cell(row: Row): string;
}

/** The columns that at least one of the rows needs. */
function columnsOf(
  rows: readonly Row[],
  { unit, ratioName, rangeName }: Omit<Result, "title" | "rows">,
): Column[] {
  const columns: Column[] = [
    { heading: "", isText: true, cell: ({ name }) => name },
    { heading: unit, cell: ({ median }) => figure(median) },
  ];
  if (rows.some(({ low, high }) => low !== high)) {
    const cell = ({ low, high }: Row) => `${figure(low)} – ${figure(high)}`;
    columns.push({ heading: rangeName ?? "lowest – highest", cell });
  }
  if (rows.some(({ ratio }) => ratio !== undefined)) {
    const cell = ({ ratio }: Row) => (ratio === undefined ? "" : `${ratio.toFixed(2)} ×`);
    columns.push({ heading: ratioName ?? "first row ÷ this", cell });
  }
  if (rows.some(({ goal }) => goal !== undefined)) {
    columns.push({ heading: "goal", isText: true, cell: goalOf });
  }
  const more = [...new Set(rows.flatMap((row) => Object.keys(row.more)))];
  return [...columns, ...more.map((heading) => ({ heading, cell: moreOf(heading) }))];
}

function moreOf(heading: string): (row: Row) => string {
  return ({ more: { [heading]: value } }) => (value === undefined ? "" : figure(value));
}

function goalOf({ goal, met }: Row): string {
  return goal === undefined ? "" : `${goal}: ${met ? "met" : "**missed**"}`;
}

function figure(value: number): string {
  if (Number.isNaN(value)) return "not found";
  if (value === Number.POSITIVE_INFINITY) return "none";
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
