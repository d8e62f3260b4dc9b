/**
 * What differs between two texts, line by line, and two changes of one text put together.
 *
 * Of our own, as each is a screenful: E. Myers, "An O(ND) difference algorithm and its variations", 1986.
 *
 * @module
 */

/** A line of either text, or of both. */
export interface ComparedLine {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** Beyond so many lines that differ, all of them count as replaced: the search is quadratic in them. */
const mostDiffering = 1_000;

/** All lines of both texts, in order; those that are gone before those that are new. */
export function compareLines(before: string, after: string): ComparedLine[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const compared: ComparedLine[] = [];
  let [at, nowAt] = [0, 0];
  const take = (until: number, nowUntil: number) => {
    for (; at < until; at++) compared.push({ kind: "gone", text: old[at] ?? "" });
    for (; nowAt < nowUntil; nowAt++) compared.push({ kind: "new", text: now[nowAt] ?? "" });
  };
  for (const [same, nowSame] of commonLines(old, now)) {
    take(same, nowSame);
    compared.push({ kind: "same", text: old[at++] ?? "" });
    nowAt++;
  }
  take(old.length, now.length);
  return compared;
}

/** A part of a text that has become other lines. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Both changes of a text in one. Undefined: they are of the same lines, or of lines beside each other. */
export function mergeTexts(base: string, mine: string, theirs: string): string | undefined {
  const lines = base.split("\n");
  const all = [...changesOf(lines, mine), ...changesOf(lines, theirs)].sort(
    (one, other) => one.from - other.from || one.to - other.to,
  );
  const merged: string[] = [];
  let at = 0;
  let before: Change | undefined;
  for (const change of all) {
    if (before && JSON.stringify(before) === JSON.stringify(change)) continue;
    if (before && change.from <= before.to) return undefined;
    merged.push(...lines.slice(at, change.from), ...change.lines);
    at = change.to;
    before = change;
  }
  return [...merged, ...lines.slice(at)].join("\n");
}

/**
 * A text that was edited where all line ends are alike, as in a text field: lines that were there before have the ends
 * that they had, and others that of the first line.
 */
export function withLineEnds(before: string, edited: string): string {
  const parts = before.split(/(\r\n|\r|\n)/);
  const [old, ends] = [0, 1].map((odd) => parts.filter((_, index) => index % 2 === odd)) as [
    string[],
    string[],
  ];
  const now = edited.split("\n");
  const same = new Map(commonLines(old, now).map(([at, nowAt]) => [nowAt, at]));
  return now
    .map((line, index) => {
      if (index === now.length - 1) return line;
      return line + (ends[same.get(index) ?? 0] ?? ends[0] ?? "\n");
    })
    .join("");
}

function changesOf(lines: readonly string[], other: string): Change[] {
  const now = other.split("\n");
  const changes: Change[] = [];
  let [at, nowAt] = [0, 0];
  for (const [same, nowSame] of [...commonLines(lines, now), [lines.length, now.length] as const]) {
    if (same > at || nowSame > nowAt) changes.push({ from: at, to: same, lines: now.slice(nowAt, nowSame) });
    [at, nowAt] = [same + 1, nowSame + 1];
  }
  return changes;
}

/** The positions of lines that both have, in order: as many as there can be. */
function commonLines(old: readonly string[], now: readonly string[]): (readonly [number, number])[] {
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start++;
  let ending = 0;
  while (ending < shorter - start && old.at(-1 - ending) === now.at(-1 - ending)) ending++;
  const middle = commonOf(old.slice(start, old.length - ending), now.slice(start, now.length - ending));
  return [
    ...Array.from({ length: start }, (_, index) => [index, index] as const),
    ...middle.map(([at, nowAt]) => [start + at, start + nowAt] as const),
    ...Array.from(
      { length: ending },
      (_, index) => [old.length - ending + index, now.length - ending + index] as const,
    ),
  ];
}

function commonOf(old: readonly string[], now: readonly string[]): (readonly [number, number])[] {
  const most = Math.min(old.length + now.length, mostDiffering);
  /** How far one gets in the old text, by how much further one is in it than in the new one. */
  const reached = new Int32Array(2 * most + 3);
  const origin = most + 1;
  const steps: Int32Array[] = [];
  const isDown = (furthest: Int32Array, middle: number, diagonal: number, step: number) =>
    diagonal === -step ||
    (diagonal !== step && (furthest[middle + diagonal - 1] ?? 0) < (furthest[middle + diagonal + 1] ?? 0));
  for (let step = 0; step <= most; step++) {
    steps.push(reached.slice(origin - step - 1, origin + step + 2));
    for (let diagonal = -step; diagonal <= step; diagonal += 2) {
      let at = isDown(reached, origin, diagonal, step)
        ? (reached[origin + diagonal + 1] ?? 0)
        : (reached[origin + diagonal - 1] ?? 0) + 1;
      while (at < old.length && at - diagonal < now.length && old[at] === now[at - diagonal]) at++;
      reached[origin + diagonal] = at;
      if (at >= old.length && at - diagonal >= now.length) return wayBack();
    }
  }
  return [];

  function wayBack(): (readonly [number, number])[] {
    const common: (readonly [number, number])[] = [];
    let [at, nowAt] = [old.length, now.length];
    for (let step = steps.length - 1; step >= 0; step--) {
      const furthest = steps[step] ?? reached;
      const diagonal = at - nowAt;
      const from = isDown(furthest, step + 1, diagonal, step) ? diagonal + 1 : diagonal - 1;
      const [fromAt, fromNow] =
        step === 0 ? [0, 0] : [furthest[step + 1 + from] ?? 0, (furthest[step + 1 + from] ?? 0) - from];
      while (at > fromAt && nowAt > fromNow) common.push([--at, --nowAt]);
      [at, nowAt] = [fromAt, fromNow];
    }
    return common.reverse();
  }
}
