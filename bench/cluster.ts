/**
 * What replies and requests cost on PostgreSQL, with one and with two server processes. Linux's /proc says how much
 * CPU time each process has used: on a machine that is also doing other things, that is worth more than the rates.
 *
 * @module
 */

import process from "node:process";
import { createParts, type Parts } from "../server/lifecycle.ts";
import { skipWithoutPostgres } from "../test/postgres/database.ts";
import { benchmark } from "./cluster/servers.ts";
import { countStatements } from "./cluster/statements.ts";
import { atLeast, readNumber } from "./command-line/arguments.ts";
import { messageOf } from "./command-line/errors.ts";
import { listenForStop } from "./command-line/stop-signals.ts";

const help = `Usage: node --import tsx bench/cluster.ts [seconds]

Measures one and two server processes on PostgreSQL, and counts the statements that each request takes.

  seconds            how long to measure for each figure; default 5
  TEST_DATABASE_URL  address of the PostgreSQL server, with a user who may create databases; default: user
                     postgres at 127.0.0.1:5432. The benchmark works in a database of its own, which it drops
                     at the end

It needs Linux. Ctrl-C ends the servers and drops the database; a second Ctrl-C leaves both behind.
`;

async function main(): Promise<void> {
  const seconds = readNumber(help, "5", (text) => atLeast(1, text, "The seconds"));
  if (seconds === "help") return console.log(help);
  const missing = await skipWithoutPostgres();
  if (missing) throw new Error(`There is ${missing}. Set TEST_DATABASE_URL for another one; see --help.`);

  const stop = listenForStop();
  const stopped = new Promise<never>((_, reject) => {
    stop.addEventListener("abort", () =>
      reject(new Error("Stopped by a signal, or because nobody reads the output.")),
    );
  });
  await inParts(countStatements, stopped);
  for (const processes of [1, 2]) await inParts((parts) => benchmark(parts, seconds, processes), stopped);
}

/** Does work, then closes what it has opened, whether the work has finished, failed or been stopped. */
async function inParts(work: (parts: Parts) => Promise<void>, stopped: Promise<never>): Promise<void> {
  const parts = createParts((_, message, fields) => console.error(message, fields));
  try {
    await Promise.race([work(parts), stopped]);
  } finally {
    await parts.close();
  }
}

try {
  await main();
  process.exit();
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}
