/**
 * What a large twin takes: 20 MB of text in 20 documents, of 60,000 words that are as frequent as a language's, with a
 * heading every 120 words.
 */

import { hash } from "node:crypto";
import { cpuUsage, memoryUsage } from "node:process";
import { type Clock, systemClock } from "../../core/base/clock.ts";
import { twinRevision } from "../../core/twins/twins.ts";
import { createKnowledgeIndex } from "../../knowledge/mod.ts";
import { createRandom, type Random } from "../simulation/world.ts";
import { collectGarbage } from "../support/garbage.ts";
import { newTwin } from "../support/harness.ts";

/** Milliseconds of the processor, garbage collection included; sizes in bytes. */
export interface Bounds {
  readonly text: number;
  readonly indexing: number;
  /** The longest time in which nothing else got a turn. */
  readonly block: number;
  /** What the index keeps in memory, besides the text. */
  readonly kept: number;
  /** The median and the 95th percentile of a hundred questions. */
  readonly question: number;
  readonly slowQuestion: number;
  /** Of the digest that replies name, with the digest of the server. */
  readonly revision: number;
}

/** Measures a twin with documents of a million characters each. */
export async function measureBounds(documents = 20): Promise<Bounds> {
  const random = createRandom(1);
  const vocabulary = Array.from({ length: 60_000 }, () => word(random));
  const texts = Array.from({ length: documents }, (_, index) => ({
    path: `part-${index}.md`,
    text: document(random, vocabulary),
  }));
  const twin = newTwin({ id: "large", name: "Large", engine: "knowledge", language: "en", documents: texts });
  const before = await memoryInUse();
  let [block, since] = [0, performance.now()];
  const clock: Clock = {
    now: systemClock.now,
    after(milliseconds, callback) {
      block = Math.max(block, performance.now() - since);
      return systemClock.after(milliseconds, () => {
        since = performance.now();
        callback();
      });
    },
  };
  const [index, indexing] = await timed(() => createKnowledgeIndex(twin, { clock }));
  block = Math.max(block, performance.now() - since);
  const kept = (await memoryInUse()) - before;
  const times: number[] = [];
  for (let asked = 0; asked < 100; asked++) {
    const question = Array.from({ length: 8 }, () => pick(random, vocabulary)).join(" ");
    times.push((await timed(async () => index.search(`What is ${question}?`)))[1]);
  }
  times.sort((one, other) => one - other);
  const [question = 0, slowQuestion = 0] = [times[50], times[95]];
  const [, revision] = await timed(async () => twinRevision(twin, (text) => hash("sha256", text)));
  const text = texts.reduce((sum, each) => sum + each.text.length, 0);
  return { text, indexing, block, kept, question, slowQuestion, revision };
}

/** The bytes of the heap and of the arrays outside it that are still reachable. */
async function memoryInUse(): Promise<number> {
  await collectGarbage();
  const { heapUsed, arrayBuffers } = memoryUsage();
  return heapUsed + arrayBuffers;
}

async function timed<Value>(run: () => Promise<Value>): Promise<[Value, number]> {
  const before = cpuUsage();
  const value = await run();
  const { user, system } = cpuUsage(before);
  return [value, (user + system) / 1000];
}

function word(random: Random): string {
  const letters = Array.from({ length: random.between(2, 5) }, () => {
    const consonant = random.pick([..."bcdfghklmnprstvwz"] as [string, ...string[]]);
    return consonant + random.pick(["a", "e", "i", "o", "u"]);
  });
  return letters.join("");
}

/** A word, those at the beginning most often (Zipf's law). */
function pick(random: Random, vocabulary: readonly string[]): string {
  return vocabulary[Math.floor(vocabulary.length ** random.next()) - 1] ?? "";
}

function document(random: Random, vocabulary: readonly string[]): string {
  const parts: string[] = [];
  for (let length = 0; length < 1_000_000; ) {
    const words = Array.from({ length: 120 }, () => pick(random, vocabulary));
    const part = `## ${words.slice(0, 3).join(" ")}\n\n${words.join(" ")}.\n\n`;
    parts.push(part);
    length += part.length;
  }
  return parts.join("");
}
