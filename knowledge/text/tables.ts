/**
 * Tables in Markdown, which has one row of names and no cells that span others.
 *
 * @module
 */

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
const mostCells = 200_000;

/**
 * Writes a table: a cell stands in each place that it spans, and rows of names are joined. What only arranges text on a
 * page is written as that text: one column, or cells with headings or tables (`isLayout`).
 */
export function writeTable(rows: readonly Row[], isLayout: boolean): string {
  const shown = rows.filter(({ cells }) => cells.length > 0);
  if (isLayout || isColumn(shown))
    return shown
      .flatMap(({ cells }) => cells.map(({ text }) => text))
      .filter((text) => text !== "")
      .join("\n\n");
  const grid = toGrid(shown.map(({ cells }) => cells));
  const heads = countHeads(shown);
  const width = Math.max(...grid.map((row) => row.length));
  const names = Array.from({ length: width }, (_, column) => {
    const above = grid.slice(0, heads).map((row) => row[column] ?? "");
    return [...new Set(above)].filter((name) => name !== "").join(" ");
  });
  const body = grid.slice(heads).filter((row) => row.some((text) => text !== ""));
  const toLine = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    toLine(names),
    toLine(names.map(() => "---")),
    ...body.map((row) => toLine(names.map((_, at) => row[at] ?? ""))),
  ].join("\n");
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

/** The texts of all places, by rows. */
function toGrid(rows: readonly (readonly Cell[])[]): string[][] {
  const grid: string[][] = rows.map(() => []);
  let left = mostCells;
  for (const [at, cells] of rows.entries()) {
    let column = 0;
    for (const { text, columns, rows: height } of cells) {
      while (grid[at]?.[column] !== undefined) column++;
      const words = text.replace(/\s+/gu, " ").replaceAll("|", "\\|");
      const right = Math.min(mostColumns, column + Math.max(1, columns));
      // As in HTML, 0 rows are all that follow.
      const below = height === 0 ? rows.length : Math.min(rows.length, at + Math.max(1, height));
      for (let row = at; row < below && left > 0; row++)
        for (let place = column; place < right && left > 0; place++, left--) {
          const line = grid[row];
          if (line) line[place] ??= words;
        }
      column = right;
    }
  }
  return grid.map((row) => Array.from(row, (text) => text ?? ""));
}
