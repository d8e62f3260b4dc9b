/** What the measured set must show, on the half that was held out: `npm run knowledge` prints the details. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Measured, measureKnowledge, type Verdict } from "./measured-set.ts";

test("most questions are answered from the right section, and most others are refused", async () => {
  const held = (await measureKnowledge()).filter(({ half }) => half === "held");
  const answerable = held.filter((one) => one.answerable);
  const others = held.filter((one) => !one.answerable);
  assert.deepEqual([answerable.length, others.length], [120, 30]);
  const share = (of: readonly Measured[], verdict: Verdict) =>
    of.filter((one) => one.verdict === verdict).length / of.length;
  assert.ok(share(answerable, "right") >= 0.7, "right");
  assert.ok(share(answerable, "wrong") <= 0.05, "wrong");
  assert.ok(share(others, "refused") >= 0.9, "refused");
});
