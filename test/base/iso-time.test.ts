import assert from "node:assert/strict";
import { test } from "node:test";
import { isoTime } from "../../core/base/clock.ts";

const day = 86_400_000;

test("a time is formatted as by Date, whatever was formatted before", () => {
  const farthest = 8_640_000_000_000_000;
  const edges = [
    0,
    -1,
    1,
    day - 1,
    day,
    -day,
    Date.UTC(2024, 1, 29, 23, 59, 59, 999),
    Date.UTC(2026, 11, 31),
  ];
  const years = [
    -farthest,
    farthest,
    Date.UTC(9999, 11, 31, 23, 59, 59, 999),
    Date.UTC(10_000, 0),
    -62_198_755_200_000,
  ];
  const spread = Array.from(
    { length: 5000 },
    (_, index) => ((index * 7_919_777_777) % (400 * 365 * day)) - 100 * 365 * day,
  );
  const parts = [0.5, -0.5, 999.999, day - 0.25, Date.UTC(2026, 0, 1) + 7.75, -1234.5]; // as in file times
  for (const time of [...edges, ...parts, ...years, ...spread, ...edges]) {
    assert.equal(isoTime(time), new Date(time).toISOString());
  }
});

test("an invalid time is a RangeError", () => {
  for (const time of [Number.NaN, Number.POSITIVE_INFINITY, -9e15]) {
    assert.throws(() => isoTime(time), RangeError);
  }
});
