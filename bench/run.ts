/**
 * The benchmark's command line.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { atLeast, wholeAtLeast } from "./arguments.ts";
import { buildAll } from "./build.ts";
import { toSvg } from "./chart.ts";
import { measureDisk } from "./disk.ts";
import { firstSentenceOf, messageOf } from "./errors.ts";
import type { Arena } from "./measure.ts";
import { databases, pinned, type ServerProcess, startLoad, startServer } from "./processes.ts";
import { type Machine, type Result, toHead, toMarkdown, toTable } from "./report.ts";
import { type Part, type Scenario, type ScenarioEffort, scenarios } from "./scenarios.ts";
import { listenForStop } from "./stop-signals.ts";
import { visit } from "./visit.ts";

const nodeMajor = process.versions.node.split(".")[0];

const seeHelp = "See npm run bench -- --help.";

/** What is sent to a server unless `--content` says otherwise. */
const question = "Tell me about yourself.";

const help = `Usage: npm run bench -- [scenario …] [--seconds n] [--rounds n] [--json file]

Scenarios (default: all):
${Object.entries(scenarios)
  .map(([name, { title }]) => `  ${name.padEnd(8)} ${title}`)
  .join("\n")}

  --seconds n        length of one round with one contender, in seconds; default 1.5
  --rounds n         number of rounds; default 5
  --conversations n  how many conversations "listing" creates; default 100000
  --json file        file for the figures, with Markdown and the chart of "burst" beside it; default, if all
                     scenarios are run: bench/results/node${nodeMajor}.json

A server of your own: TWIN_KEY=twin_… npm run bench -- --url http://127.0.0.1:8787 [--twin id]

  TWIN_KEY        an API key with the scope full_access. --key key does the same, but everyone on the machine
                  can see a command line
  --twin id       the twin to talk to; default: the first in the list
  --streams n     number of concurrent conversations; default 4
  --seconds n     time after which no reply is begun; default 20. The run also ends when the key's hourly budget
                  is nearly used up: use a key that nobody else needs
  --content text  text to send, over and over; default: "${question}"

  The run creates its own conversations and deletes them at the end. Ctrl-C ends it early: it abandons running
  replies, deletes the conversations, and prints the figures so far.
`;

async function main(): Promise<void> {
  const { values, positionals } = readArguments();
  if (values.help) return console.log(help);
  refuseMixture(Object.keys(values), positionals);
  if (values.url === undefined) await compareServers(positionals, values);
  else await visitServer(values.url, values);
}

function readArguments() {
  return parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: "string" },
      rounds: { type: "string" },
      conversations: { type: "string" },
      json: { type: "string" },
      url: { type: "string" },
      key: { type: "string" },
      twin: { type: "string" },
      streams: { type: "string" },
      content: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
}

type Values = ReturnType<typeof readArguments>["values"];

async function visitServer(url: string, values: Values): Promise<void> {
  const { key = process.env.TWIN_KEY, twin, content = question } = values;
  if (!key) {
    throw new Error(
      "--url needs an API key with the scope full_access, in the variable TWIN_KEY or in --key.",
    );
  }
  const seconds = atLeast(1, values.seconds ?? "20", "--seconds");
  const streams = wholeAtLeast(1, values.streams ?? "4", "--streams");
  const stop = listenForStop();
  stop.addEventListener("abort", () => {
    console.error("\nStopping, and deleting the conversations. Another signal ends it immediately.");
  });
  let hasProgress = false;
  const progress = (line: string) => {
    hasProgress = true;
    process.stderr.write(`\r${line} `);
  };
  const visiting = visit({ url, key, twin, content, seconds, streams, stop }, progress);
  console.log(await visiting.finally(() => hasProgress && process.stderr.write("\n")));
}

async function compareServers(chosen: readonly string[], values: Values): Promise<void> {
  const names = chosen.length > 0 ? chosen : Object.keys(scenarios);
  const effort: ScenarioEffort = {
    seconds: atLeast(0.2, values.seconds ?? "1.5", "--seconds"),
    rounds: wholeAtLeast(1, values.rounds ?? "5", "--rounds"),
    conversations: wholeAtLeast(1000, values.conversations ?? "100000", "--conversations"),
    progress: (line) => console.error(line),
  };
  const unknown = names.filter((name) => !(name in scenarios));
  if (unknown.length > 0) throw new Error(`There is no scenario ${unknown.join(", ")}.\n\n${help}`);
  process.on("exit", removeDatabases);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  if (names.some((name) => withPeers.includes(name))) installPeers();
  await buildAll();
  const machine = describeMachine(effort);
  console.log(toHead(machine));
  const results = await runScenarios(names, effort);
  const { json = chosen.length === 0 ? local(`results/node${nodeMajor}.json`) : undefined } = values;
  if (json !== undefined) save(json, machine, results);
}

/** Options for a server of one's own cannot be combined with those for the scenarios. */
function refuseMixture(flags: readonly string[], scenarioNames: readonly string[]): void {
  const ofServer = ["key", "twin", "streams", "content"].find((name) => flags.includes(name));
  const ofScenarios = ["rounds", "conversations", "json"].find((name) => flags.includes(name));
  if (!flags.includes("url")) {
    if (ofServer)
      throw new Error(`--${ofServer} is for a server of your own: give its address with --url. ${seeHelp}`);
  } else if (ofScenarios ?? scenarioNames[0]) {
    const misplaced = ofScenarios ? `--${ofScenarios}` : `The scenario ${scenarioNames[0]}`;
    throw new Error(`${misplaced} does not work with --url, which measures a server of your own. ${seeHelp}`);
  }
}

function local(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/** The scenarios that servers from packages take part in. */
const withPeers = ["burst", "json"];

/** The servers to compare with are not dependencies of the project: they are installed when first needed. */
function installPeers(): void {
  if (existsSync(local("node_modules"))) return;
  console.error("Installing the servers to compare with (bench/package.json) …");
  const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd: local("."),
    stdio: "inherit",
    shell: process.platform === "win32", // where npm is a script
  });
  if (npm.status !== 0) throw new Error("The servers to compare with could not be installed.");
}

/** Runs one scenario after the other. A failure is reported in the scenario's place, and the others still run. */
async function runScenarios(names: readonly string[], effort: ScenarioEffort): Promise<Result[]> {
  const results: Result[] = [];
  for (const name of names) {
    const scenario = scenarios[name];
    if (!scenario) continue;
    effort.progress(`${name}: ${scenario.title}`);
    const parts = await runScenario(scenario, effort);
    const found = parts.map((part) => ({ scenario: name, title: scenario.title, ...part }));
    for (const result of found) console.log(`\n${toTable(result)}`);
    results.push(...found);
  }
  return results;
}

async function runScenario(scenario: Scenario, effort: ScenarioEffort): Promise<readonly Part[]> {
  const load = startLoad();
  const servers: ServerProcess[] = [];
  const arena: Arena = {
    load,
    async startServer(...given) {
      const server = await startServer(...given);
      servers.push(server);
      return server;
    },
  };
  try {
    return await scenario.run(arena, effort);
  } catch (error) {
    process.exitCode = 1;
    return [{ unit: "", rows: [], notes: [`It failed: ${messageOf(error)}`] }];
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await load.stop();
  }
}

function describeMachine({ seconds, rounds }: ScenarioEffort): Machine {
  return {
    when: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    peers: JSON.parse(readFileSync(local("package.json"), "utf8")).dependencies,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    pinned,
    disk: measureDisk(databases),
    seconds,
    rounds,
  };
}

function save(file: string, machine: Machine, results: readonly Result[]): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ machine, results }, null, 2)}\n`);
  writeFileSync(file.replace(/(\.json)?$/, ".md"), toMarkdown(machine, results));
  const streams = results.find(({ scenario, rows }) => scenario === "burst" && rows.length > 0);
  if (streams) writeFileSync(file.replace(/(\.json)?$/, ".svg"), toSvg(streams));
  console.log(`Written to ${file}, and as Markdown${streams ? " and a chart" : ""} beside it.`);
}

/** Removes the databases that an interrupted run leaves behind. */
function removeDatabases(): void {
  if (!existsSync(databases)) return;
  for (const name of readdirSync(databases)) {
    if (name.startsWith(`${process.pid}-`)) rmSync(`${databases}${name}`);
  }
}

try {
  await main();
  process.exit(); // with 1 if a scenario failed
} catch (error) {
  const isUsage = error instanceof TypeError && "code" in error; // a flag that parseArgs does not know
  console.error(isUsage ? `${firstSentenceOf(error)} ${seeHelp}` : messageOf(error));
  process.exit(1);
}
