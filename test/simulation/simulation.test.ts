/**
 * `SIMULATION_SEEDS=100000` runs more seeds, `SIMULATION_FROM=50001` those from this one on (so that several processes
 * share them), `SIMULATION_SEED=853` only one, with its history.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "./mod.ts";

const only = process.env.SIMULATION_SEED;
const first = Number(process.env.SIMULATION_FROM ?? 1);
const last = Number(process.env.SIMULATION_SEEDS ?? 200);
const seeds = last - first + 1;

function tell(seed: number, failure: unknown, lines: readonly string[]): string {
  const what = failure instanceof Error ? failure.stack : String(failure);
  const replay = `SIMULATION_SEED=${seed} node --import tsx --test test/simulation/simulation.test.ts`;
  return `Seed ${seed}: ${what}\n${lines.slice(-60).join("\n")}\nTo reproduce: ${replay}`;
}

if (only !== undefined) {
  test(`seed ${only} keeps every promise`, async () => {
    const { failure, lines } = await simulate(Number(only));
    if (failure) assert.fail(tell(Number(only), failure, lines));
  });
} else {
  test(`whatever fails, every promise is kept (seeds ${first} to ${last})`, async () => {
    let [replies, takenOver, continued] = [0, 0, 0];
    for (let seed = first; seed <= last; seed++) {
      const result = await simulate(seed);
      if (result.failure) assert.fail(tell(seed, result.failure, result.lines));
      replies += result.replies;
      takenOver += result.takenOver;
      continued += result.continued;
    }
    console.log(
      `# ${replies} replies, ${takenOver} taken over, ${continued} streams that went on with another attempt`,
    );
    assert.ok(replies > seeds, "the clients of the simulation begin replies");
    assert.ok(takenOver > seeds / 10, "processes take over replies");
    assert.ok(continued > 0, "streams go on with another attempt");
  });

  test("the same seed produces the same history, and another seed a different one", async () => {
    const hashes = new Set<string>();
    for (let seed = 1; seed <= 20; seed++) {
      const { hash } = await simulate(seed);
      const again = await simulate(seed);
      assert.equal(again.hash, hash, `seed ${seed}`);
      hashes.add(hash);
    }
    assert.equal(hashes.size, 20);
  });
}
