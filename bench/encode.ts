/**
 * What writing one event costs, in a process of its own. `ROUNDS`: how many rounds, each of `SECONDS`.
 *
 * @module
 */

import process from "node:process";
import { encodeEvent, encodeJson } from "../core/wire/sse.ts";
import type { Row } from "./report.ts";
import { spread } from "./spread.ts";

const { ROUNDS, SECONDS } = process.env;

const samples: Readonly<Record<string, string>> = {
  "a token": " shell",
  "256 tokens, ASCII": "The sea takes what it wants. ".repeat(44),
  "256 tokens, quotes and line ends": 'The "sea"\ntakes what\tit wants. '.repeat(40),
  "256 tokens, Japanese": "海は欲しいものを奪い、貝殻を返す。".repeat(40),
  "256 tokens, U+2028 within": "The sea\u2028takes what it wants. ".repeat(44),
};

/** Nanoseconds for one delta event. */
function compareEncodings(rounds: number, seconds: number): Row[] {
  return Object.entries(samples).map(([name, text]) => {
    measure(text, 100);
    const times = Array.from({ length: rounds }, () => measure(text, (seconds * 1000) / 5));
    return { name, ...spread(times), more: { "characters/µs": (text.length / spread(times).median) * 1000 } };
  });
}

/** Nanoseconds of CPU time, so that whatever else the machine does meanwhile does not count. */
function measure(content: string, milliseconds: number): number {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  let events = 0;
  let length = 0;
  while (performance.now() - startedAt < milliseconds) {
    for (let repeated = 0; repeated < 100; repeated++) {
      length += encodeEvent(events, `{"type":"delta","content":${encodeJson(content)}}`).length;
      events++;
    }
  }
  if (length < events * content.length) throw new Error("Text was lost.");
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / events;
}

process.on("disconnect", () => process.exit(0));
process.send?.(compareEncodings(Number(ROUNDS), Number(SECONDS)));
