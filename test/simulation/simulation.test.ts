/**
 * `SIMULATION_SEEDS=100000` runs more seeds, `SIMULATION_FROM=50001` those from this one on (so that several processes
 * share them), `SIMULATION_SEED=853` only one, with its history.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "./mod.ts";

const only = process.env.SIMULATION_SEED;
const first = Number(process.env.SIMULATION_FROM ?? 1);
const last = Number(process.env.SIMULATION_SEEDS ?? 140);
const seeds = last - first + 1;

function tell(seed: number, failure: unknown): string {
  const what = failure instanceof Error ? failure.stack : String(failure);
  return `Seed ${seed}: ${what}\nIts history: SIMULATION_SEED=${seed} node --import tsx --test test/simulation/simulation.test.ts`;
}

function add<Name extends string>(
  sums: Record<Name, number>,
  more: Readonly<Record<NoInfer<Name>, number>>,
): void {
  for (const name in sums) sums[name] += more[name];
}

if (only !== undefined) {
  test(`seed ${only} keeps every promise`, async () => {
    const { failure, lines } = await simulate(Number(only));
    if (failure) assert.fail(`${lines.join("\n")}\n${tell(Number(only), failure)}`);
  });
} else {
  test(`whatever fails, every promise is kept (seeds ${first} to ${last})`, async () => {
    const sums = { replies: 0, takenOver: 0, continued: 0, watched: 0, versions: 0 };
    const people = { alone: 0, waiting: 0, handedOver: 0, replaced: 0, yielded: 0 };
    const failed: number[] = [];
    for (let seed = first; seed <= last; seed++) {
      const result = await simulate(seed);
      if (result.failure) {
        failed.push(seed);
        console.log(tell(seed, result.failure));
      }
      add(sums, result);
      add(people, result);
    }
    const { replies, takenOver, continued, watched, versions } = sums;
    const { alone, waiting, handedOver, replaced, yielded } = people;
    console.log(
      `# ${replies} replies, ${takenOver} taken over, ${continued} streams that went on with another attempt, ` +
        `${handedOver} handed over, ${replaced} in whose place a message came, ` +
        `${yielded} of which another process had; ${alone} messages without a twin, ` +
        `${waiting} of which waited for a person; ${watched} events told to devices that look on; ` +
        `${versions} versions of twins`,
    );
    assert.deepEqual(failed, [], "these seeds break a promise");
    assert.ok(replies > seeds, "the clients of the simulation begin replies");
    assert.ok(takenOver > seeds / 20, "processes take over replies");
    assert.ok(continued > 0, "streams go on with another attempt");
    assert.ok(watched > seeds, "devices look on");
    assert.ok(versions > seeds, "authors make versions");
    for (const [what, count] of Object.entries(people)) assert.ok(count > 0, `some are ${what}`);
  });

  // Two processes had a message take the place of the same reply; the one that produced it told its own end of it.
  test("a seed that broke a promise once keeps it", async () => {
    assert.equal((await simulate(2224)).failure, undefined);
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
