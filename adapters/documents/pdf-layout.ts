/**
 * What the pieces of text on a PDF's pages are to a reader: columns, tables, lines.
 *
 * @module
 */

/** A piece of text in a line, as if the page was turned so that the line goes from left to right. In points. */
export interface Piece {
  readonly text: string;
  /** Its left and right end. */
  readonly x: number;
  readonly end: number;
  /** The height of its line on the page, from below. */
  readonly y: number;
  readonly size: number;
  readonly isBold: boolean;
  /** The direction of its line in quarters of a turn. */
  readonly turn: number;
}

/** A line of a column, or a row of what is no table. */
export type Line = Omit<Piece, "turn">;

/** A part of a page: lines of one column, from above, or the rows of a table. */
export type Region =
  | { readonly kind: "lines"; readonly lines: readonly Line[] }
  | { readonly kind: "table"; readonly rows: readonly (readonly Line[])[]; readonly names: boolean };

/** The lines of a page that stand at one height, by their places: with wide gaps between them. */
export type Row = readonly Line[];

/** A gap that is wider than this many letters' heights divides cells or columns. */
const wideGap = 1.2;
/** Pages with more rows are drawn by machines: their columns are not looked for. */
const mostRows = 1_000;

/** The rows of a page, from above: of most of its text, then of what is turned in other ways, but for what lies across. */
export function toRows(pieces: readonly Piece[]): Row[] {
  const counts = new Map<number, number>();
  for (const { turn, text } of pieces) counts.set(turn, (counts.get(turn) ?? 0) + text.length);
  const turns = [...counts].sort(([, one], [, other]) => other - one).map(([turn]) => turn);
  return turns
    .filter((turn, at) => at === 0 || Number.isInteger(turn))
    .flatMap((turn) => rowsOf(pieces.filter((piece) => piece.turn === turn)));
}

function rowsOf(pieces: readonly Piece[]): Row[] {
  const sorted = pieces.toSorted((one, other) => other.y - one.y || one.x - other.x);
  const rows: Piece[][] = [];
  let anchor: Piece | undefined;
  for (const piece of sorted) {
    // Raised and lowered letters are smaller, and belong to the line.
    const near = 0.45 * Math.max(piece.size, anchor?.size ?? 0);
    if (anchor && anchor.y - piece.y < Math.min(near, 0.6 * anchor.size)) {
      rows.at(-1)?.push(piece);
      if (piece.size > anchor.size) anchor = piece;
    } else {
      rows.push([piece]);
      anchor = piece;
    }
  }
  return rows.map(joinPieces);
}

const rightToLeft = /[\u0590-\u08ff]/gu;

/** Joins pieces of a row that are near each other, in the order that they are read in. */
function joinPieces(pieces: readonly Piece[]): Line[] {
  const groups: Piece[][] = [];
  let end = 0;
  for (const piece of pieces.toSorted((one, other) => one.x - other.x)) {
    const last = groups.at(-1);
    if (last && piece.x - end < wideGap * Math.max(piece.size, last[0]?.size ?? 0)) last.push(piece);
    else groups.push([piece]);
    end = groups.at(-1) === last ? Math.max(end, piece.end) : piece.end;
  }
  return groups.map((group) => {
    const written = group.map(({ text }) => text).join("");
    const isRightToLeft =
      2 * (written.match(rightToLeft)?.length ?? 0) > (written.match(/\p{L}/gu)?.length ?? 0);
    const ordered = isRightToLeft ? group.toReversed() : group;
    let text = "";
    let last: Piece | undefined;
    for (const piece of ordered) {
      const gap = last ? Math.max(piece.x - last.end, last.x - piece.end) : 0;
      text += (last && gap > 0.12 * piece.size ? " " : "") + piece.text;
      last = piece;
    }
    const main = group.reduce((one, other) => (other.text.length > one.text.length ? other : one));
    const isBold = group.every((piece) => piece.isBold || piece.text.length < 3);
    return {
      text,
      x: Math.min(...group.map(({ x }) => x)),
      end: Math.max(...group.map((piece) => piece.end)),
      y: main.y,
      size: main.size,
      isBold,
    };
  });
}

/** The regions of a page in the order that they are read in. */
export function toRegions(rows: readonly Row[]): Region[] {
  const regions: Region[] = [];
  let plain: Line[] = [];
  const flush = () => {
    if (plain.length > 0) regions.push({ kind: "lines", lines: plain });
    plain = [];
  };
  for (let at = 0; at < rows.length; ) {
    const band = rows.length > mostRows ? undefined : bandAt(rows, at);
    if (!band) {
      plain.push(joinRow(rows[at] ?? []));
      at++;
      continue;
    }
    const cells = rows.slice(at, band.to);
    const columns = columnsOf(cells, band.gaps);
    if (isProse(columns)) {
      flush();
      const isReversed = columns
        .flat()
        .map(({ text }) => text)
        .join("")
        .match(rightToLeft);
      for (const column of isReversed ? columns.toReversed() : columns)
        regions.push(...toRegions(column.map((line) => [line])));
    } else if (isMarked(columns)) {
      plain.push(...cells.map(joinRow));
    } else {
      flush();
      regions.push(toTable(cells, band.gaps));
    }
    at = band.to;
  }
  flush();
  return regions;
}

/** A row that is no part of a table. */
function joinRow(row: Row): Line {
  const [first, ...others] = row as [Line, ...Line[]];
  if (others.length === 0) return first;
  let text = first.text;
  for (const [at, cell] of others.entries()) {
    const isJoined = (at === 0 && listMark.test(text)) || leading.test(text) || leading.test(cell.text);
    text += `${isJoined ? " " : " | "}${cell.text}`;
  }
  const size = Math.max(...row.map((cell) => cell.size));
  return {
    ...first,
    text,
    size,
    end: others.at(-1)?.end ?? first.end,
    isBold: row.every((cell) => cell.isBold),
  };
}

const listMark = /^(?:[•·▪●◦‣○■□–—*-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]|\d+(?:\.\d+)+\.?|[§¶]+\s*\d+)$/u;
/** Dots that lead to what stands at the end of the row. */
const leading = /(?:[.·…_]\s?){4,}\s*$|^(?:[.·…_]\s?){4,}/u;

interface Interval {
  readonly from: number;
  readonly to: number;
}

/** From a row on, the rows that have wide gaps in common, and these gaps. Undefined: it has none with the next ones. */
function bandAt(rows: readonly Row[], at: number): { to: number; gaps: Interval[] } | undefined {
  const first = rows[at] ?? [];
  let covered: Interval[] = [];
  let [to, gaps, most]: [number, Interval[], number] = [at, [], 0];
  for (let row = at; row < rows.length; row++) {
    const cells = rows[row] ?? [];
    const size = Math.max(...cells.map((cell) => cell.size), 1);
    // A line of other letters than the rows beside it is a heading.
    const isOther = row > at && Math.abs((cells[0]?.size ?? 0) - (first[0]?.size ?? 0)) > 0.12 * size;
    if (isOther && (cells.length === 1 || first.length === 1)) break;
    // What follows far below is another part of the page.
    const above = rows[row - 1]?.[0];
    if (row > at && above && above.y - (cells[0]?.y ?? 0) > 5 * size) break;
    covered = cover([...covered, ...cells.map(({ x, end }) => ({ from: x, to: end }))]);
    const open = gapsIn(covered, 0.9 * size);
    // A gap that goes on over few rows is lost to none that goes on over more.
    if (open.length === 0) {
      if (row - at >= 2 || cells.length > 1) break;
      if (first.length > 1 || row > at) break;
      continue;
    }
    if (row > at + 1 && open.length < most && most > 1 && cells.length === 1) break;
    [to, gaps, most] = [row + 1, open, Math.max(most, open.length)];
  }
  const several = rows.slice(at, to).filter((row) => row.length > 1).length;
  const isTogether = several >= 2 || (to - at >= 4 && alternates(rows.slice(at, to), gaps));
  return to - at >= 2 && isTogether && first.length >= 1 ? { to, gaps } : undefined;
}

/** Whether rows of one line stand now on one side of a gap, now on the other: columns whose lines are not level. */
function alternates(rows: readonly Row[], gaps: readonly Interval[]): boolean {
  const sides = rows.map(([line]) => gaps.filter(({ to }) => (line?.x ?? 0) >= to - 1).length);
  return sides.filter((side, at) => at > 0 && side !== sides[at - 1]).length >= rows.length / 2;
}

function cover(intervals: readonly Interval[]): Interval[] {
  const merged: Interval[] = [];
  for (const interval of intervals.toSorted((one, other) => one.from - other.from)) {
    const last = merged.at(-1);
    if (last && interval.from <= last.to)
      merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, interval.to) };
    else merged.push(interval);
  }
  return merged;
}

function gapsIn(covered: readonly Interval[], least: number): Interval[] {
  return covered.slice(1).flatMap(({ from }, at) => {
    const end = covered[at]?.to ?? from;
    return from - end >= least ? [{ from: end, to: from }] : [];
  });
}

function columnsOf(rows: readonly Row[], gaps: readonly Interval[]): Line[][] {
  const columns: Line[][] = [...gaps.map((): Line[] => []), []];
  for (const row of rows) {
    const cells = toCells(row, gaps);
    for (const [at, line] of cells.entries()) if (line) columns[at]?.push(line);
  }
  return columns;
}

/** The cells of a row by columns. */
function toCells(row: Row, gaps: readonly Interval[]): (Line | undefined)[] {
  const cells: (Line | undefined)[] = [...gaps, undefined].map(() => undefined);
  for (const line of row) {
    const at = gaps.filter(({ to }) => line.x >= to - 1).length;
    const before = cells[at];
    cells[at] = before ? { ...before, text: `${before.text} ${line.text}`, end: line.end } : line;
  }
  return cells;
}

/** Whether columns have text that goes on from line to line, and not the cells of a table. */
function isProse(columns: readonly (readonly Line[])[]): boolean {
  return columns.every((lines) => {
    const widths = lines.map(({ x, end, size }) => (end - x) / size);
    const average = widths.reduce((sum, width) => sum + width, 0) / widths.length;
    if (lines.length < 3 || average < 8 || average < 0.5 * Math.max(...widths)) return false;
    const next = lines.slice(1).map(({ text }) => text);
    const cased = next.filter((text) => /^[\p{Ll}\p{Lu}]/u.test(text));
    if (cased.length < next.length / 3) return average > 0.8 * Math.max(...widths);
    return next.filter((text) => /^\p{Ll}/u.test(text)).length > 0.3 * cased.length;
  });
}

/** Whether the first column has but the signs or numbers of items, or the lines end with numbers after dots. */
function isMarked([first = [], ...others]: readonly (readonly Line[])[]): boolean {
  const isDotted =
    [first, ...others].flat().filter(({ text }) => leading.test(text)).length >= first.length / 2;
  return isDotted || (others.length === 1 && first.every(({ text }) => listMark.test(text)));
}

function toTable(rows: readonly Row[], gaps: readonly Interval[]): Region {
  const empty = { text: "", x: 0, end: 0, y: 0, size: 0, isBold: false };
  const grid: Line[][] = [];
  let last: Row | undefined;
  for (const row of rows) {
    const cells = toCells(row, gaps).map((cell) => cell ?? empty);
    const above = grid.at(-1);
    const [first] = row;
    const isNear = first && last?.[0] && last[0].y - first.y < 1.6 * first.size;
    // A row without a first cell, near the one above, goes on with its cells.
    if (above && isNear && cells[0]?.text === "" && grid.length > 1) {
      for (const [at, cell] of cells.entries()) {
        const own = above[at];
        if (own && cell.text !== "") above[at] = { ...own, text: `${own.text} ${cell.text}`.trim() };
      }
    } else grid.push(cells);
    last = row;
  }
  return { kind: "table", rows: grid, names: hasNames(grid) };
}

/** Whether the first row has the names of the columns: it looks otherwise, or stands above numbers without being one. */
function hasNames([first = [], ...others]: readonly (readonly Line[])[]): boolean {
  if (others.length === 0) return false;
  const isNumber = ({ text }: Line) => /^\D{0,3}\d[\d.,\s%–-]*\D{0,4}$/u.test(text);
  if (
    first.every(({ isBold, text }) => isBold || text === "") &&
    !others.flat().every(({ isBold }) => isBold)
  )
    return true;
  if (first.some(isNumber)) return false;
  return first.length > 2 || others.every((row) => row.slice(1).some(isNumber));
}
