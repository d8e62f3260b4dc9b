/**
 * Results as text.
 *
 * @module
 */

import type { Result, Row } from "./measure.ts";

/** Where the figures come from. */
export interface Machine {
  readonly when: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly pinned: boolean;
  readonly seconds: number;
  readonly rounds: number;
}

/** All results as Markdown. */
export function toMarkdown(machine: Machine, results: readonly Result[]): string {
  const { node, cpu, cores, pinned, seconds, rounds, when } = machine;
  const cpus = pinned ? "server and load on a core each" : "server and load not pinned";
  const head = `${when}, Node ${node}, ${cpu}, ${cores} cores, ${cpus}, ${rounds} rounds of ${seconds} s.`;
  return [`# Results\n\n${head}\n`, ...results.map(toTable)].join("\n");
}

/** One result as a Markdown table. */
export function toTable({ title, unit, rows }: Result): string {
  const hasRatios = rows.some(({ ratio }) => ratio !== undefined);
  const hasGoals = rows.some(({ goal }) => goal !== undefined);
  const more = Object.keys(rows[0]?.more ?? {});
  const headings = ["", unit, "lowest – highest"];
  if (hasRatios) headings.push("service ÷ this");
  if (hasGoals) headings.push("goal");
  const cells = (row: Row) => {
    const line = [row.name, figure(row.median), `${figure(row.low)} – ${figure(row.high)}`];
    if (hasRatios) line.push(row.ratio === undefined ? "" : `${row.ratio.toFixed(2)} ×`);
    if (hasGoals) line.push(row.goal ?? "");
    return [...line, ...more.map((name) => figure(row.more[name] ?? 0))];
  };
  const lines = [[...headings, ...more], [...headings, ...more].map(() => "---"), ...rows.map(cells)];
  return `## ${title}\n\n${lines.map((line) => `| ${line.join(" | ")} |`).join("\n")}\n`;
}

function figure(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
