/**
 * What pages show of two versions of a text, and how two changes of one text are put together.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { compareLines, mergeTexts, withLineEnds } from "../../web/playground/twins/difference.ts";

const text = fc
  .array(fc.constantFrom("", "a", "b", "c", "## A", "d"), { minLength: 1, maxLength: 30 })
  .map((lines) => lines.join("\n"));

const shown = (before: string, after: string) =>
  compareLines(before, after).map(({ kind, text }) => ({ same: " ", gone: "-", new: "+" })[kind] + text);

describe("the difference of two texts", () => {
  test("shows lines that are gone before those that are new, and what is the same once", () => {
    assert.deepEqual(shown("a\nb\nc\nd", "a\nx\nc\nd\ne"), [" a", "-b", "+x", " c", " d", "+e"]);
    assert.deepEqual(shown("a", "a"), [" a"]);
    assert.deepEqual(shown("", "a"), ["-", "+a"]);
  });

  test("has all lines of both, in order, whatever they are", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = compareLines(before, after);
        const of = (other: string) =>
          lines
            .filter(({ kind }) => kind !== other)
            .map(({ text }) => text)
            .join("\n");
        assert.equal(of("new"), before);
        assert.equal(of("gone"), after);
      }),
      { seed: 63, numRuns: 2_000 },
    );
  });

  test("finds as many lines that are the same as there can be", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const same = compareLines(before, after).filter(({ kind }) => kind === "same").length;
        assert.equal(same, longestCommon(before.split("\n"), after.split("\n")));
      }),
      { seed: 63, numRuns: 1_000 },
    );
  });

  test("of long texts that have nothing in common replaces all lines", () => {
    const lines = (from: number) => Array.from({ length: 20_000 }, (_, at) => `line ${from + at}`).join("\n");
    const compared = compareLines(lines(0), lines(50_000));
    assert.equal(compared.length, 40_000);
  });
});

describe("two changes of a text", () => {
  test("are put together where they are of other lines", () => {
    assert.equal(mergeTexts("a\nb\nc\nd", "a\nB\nc\nd", "a\nb\nc\nd\ne"), "a\nB\nc\nd\ne");
    assert.equal(mergeTexts("a\nb\nc", "a\nB\nc", "a\nB\nc"), "a\nB\nc");
  });

  test("of the same lines, or of lines beside each other, are left to a person", () => {
    assert.equal(mergeTexts("a\nb\nc", "a\nB\nc", "a\nX\nc"), undefined);
    assert.equal(mergeTexts("a\nb", "a\nb\nmine", "a\nb\ntheirs"), undefined);
    assert.equal(mergeTexts("a\nb\nc\nd", "A\nb\nc\nd", "a\nB\nc\nd"), undefined);
  });

  test("one of which is none are the other", () => {
    fc.assert(
      fc.property(text, text, (base, other) => {
        assert.equal(mergeTexts(base, base, other), other);
        assert.equal(mergeTexts(base, other, base), other);
      }),
      { seed: 63, numRuns: 1_000 },
    );
  });

  test("put together lose no line that either has added", () => {
    fc.assert(
      fc.property(text, text, text, (base, mine, theirs) => {
        const merged = mergeTexts(base, mine, theirs);
        if (merged === undefined) return;
        const count = (of: string, line: string) => of.split("\n").filter((each) => each === line).length;
        for (const line of new Set([...mine.split("\n"), ...theirs.split("\n")])) {
          const least = Math.min(count(base, line), count(mine, line), count(theirs, line));
          assert.ok(count(merged, line) >= least, line);
        }
      }),
      { seed: 63, numRuns: 1_000 },
    );
  });
});

describe("line ends", () => {
  test("of a text that was edited in a field stay, and new lines have that of the first", () => {
    assert.equal(withLineEnds("a\r\nb\r\nc", "a\nx\nb\nc"), "a\r\nx\r\nb\r\nc");
    assert.equal(withLineEnds("a\r\nb\nc\n", "a\nb\nc\nd\n"), "a\r\nb\nc\nd\r\n");
    assert.equal(withLineEnds("", "a\nb"), "a\nb");
    assert.equal(withLineEnds("a\rb", "a\nb\nc"), "a\rb\rc");
  });

  test("of a text that was not edited are those that it had", () => {
    const ends = fc.array(fc.tuple(fc.constantFrom("", "a", "b"), fc.constantFrom("\n", "\r\n", "\r")), {
      minLength: 1,
    });
    fc.assert(
      fc.property(ends, (lines) => {
        const written = lines.flat().join("");
        assert.equal(withLineEnds(written, written.replaceAll(/\r\n|\r/g, "\n")), written);
      }),
      { seed: 63, numRuns: 1_000 },
    );
  });
});

/** The length of the longest sequence that both have, by the book. */
function longestCommon(one: readonly string[], other: readonly string[]): number {
  let row = new Array<number>(other.length + 1).fill(0);
  for (const line of one) {
    const next = [0];
    for (const [at, each] of other.entries())
      next.push(line === each ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
    row = next;
  }
  return row.at(-1) ?? 0;
}
