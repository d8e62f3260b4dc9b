/**
 * Tables in Markdown, which has one row of names and no cells that span others.
 *
 * @module
 */

import type { Repeats } from "./repeats.ts";

/** A cell as it is written. */
export interface Cell {
  readonly text: string;
  readonly isHead: boolean;
  /** How many columns and rows it spans. */
  readonly columns: number;
  readonly rows: number;
}

/** A row as it is written. */
export interface Row {
  readonly cells: readonly Cell[];
  readonly inHead: boolean;
}

/** No one means more, and a hostile page could have as many as it likes for nothing. */
const mostColumns = 100;
/** What a place that is repeated takes besides its text, for the work. */
const ofPlace = 64;

/**
 * Writes a table: a cell stands in each place that it spans, as far as texts may be repeated, and rows of names are joined.
 * What only arranges text on a page is written as that text: one column, or cells with headings or tables (`isLayout`).
 */
export function writeTable(rows: readonly Row[], isLayout: boolean, repeats: Repeats): string {
  const shown = rows.filter(({ cells }) => cells.length > 0);
  if (isLayout || isColumn(shown))
    return shown
      .flatMap(({ cells }) => cells.map(({ text }) => text))
      .filter((text) => text !== "")
      .join("\n\n");
  const grid = toGrid(
    shown.map(({ cells }) => cells),
    repeats,
  );
  const heads = countHeads(shown);
  const names = joinNames(grid.slice(0, heads));
  const body = grid.slice(heads).filter((row) => row.some((text) => text !== ""));
  const width = grid.reduce((most, row) => Math.max(most, row.length), 0);
  while (names.length < width) names.push("");
  const toLine = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [toLine(names), toLine(names.map(() => "---")), ...body.map(toLine)].join("\n");
}

/** What columns are called by rows of names, each name once. */
function joinNames([first = [], ...others]: readonly (readonly string[])[]): string[] {
  if (others.length === 0) return [...first];
  const names: Set<string>[] = [];
  for (const row of [first, ...others])
    for (const [column, name] of row.entries()) {
      names[column] ??= new Set();
      if (name !== "") names[column].add(name);
    }
  return names.map((above) => [...above].join(" "));
}

/** Whether rows have one cell each, which is no name. */
export function isColumn(rows: readonly Row[]): boolean {
  return rows.every(({ cells: [cell, other] }) => other === undefined && !cell?.isHead);
}

/** How many rows of names a table has. Where no row is one, it is the first: few authors say so. */
export function countHeads(rows: readonly Row[]): number {
  const plain = rows.findIndex(({ cells, inHead }) => !inHead && !cells.every((cell) => cell.isHead));
  return Math.max(1, plain);
}

/** The texts of all places, by rows, which may be shorter than others. */
function toGrid(rows: readonly (readonly Cell[])[], repeats: Repeats): string[][] {
  const grid: string[][] = rows.map(() => []);
  for (const [at, cells] of rows.entries()) {
    let column = 0;
    for (const { text, columns, rows: spanned } of cells) {
      while (grid[at]?.[column] !== undefined) column++;
      if (column >= mostColumns) break;
      const words = text.replace(/\s+/gu, " ").replaceAll("|", "\\|");
      const size = words.length + ofPlace;
      // Beyond its own place, a text is repeated. As in HTML, 0 rows are all that follow.
      const places = 1 + Math.floor(repeats.left / size);
      const width = Math.min(mostColumns - column, Math.max(1, columns), places);
      const height = Math.min(
        rows.length - at,
        spanned === 0 ? rows.length : Math.max(1, spanned),
        Math.floor(places / width),
      );
      repeats.left -= (width * height - 1) * size;
      for (const line of grid.slice(at, at + height))
        for (let place = column; place < column + width; place++) line[place] ??= words;
      column += width;
    }
  }
  return grid.map((row) => Array.from(row, (text) => text ?? ""));
}
