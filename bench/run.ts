/**
 * The benchmark's command line.
 *
 * @module
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname } from "node:path";
import process from "node:process";
import { atLeast, wholeAtLeast } from "./command-line/arguments.ts";
import { firstSentenceOf, messageOf } from "./command-line/errors.ts";
import {
  defaultQuestion,
  helpText,
  readArguments,
  refuseMixture,
  type Values,
  withHelp,
} from "./command-line/options.ts";
import { listenForStop } from "./command-line/stop-signals.ts";
import type { Contender } from "./contenders/contender.ts";
import { install, packagesOf } from "./contenders/install.ts";
import { benchFile, buildAll } from "./harness/build.ts";
import { measureDisk } from "./harness/disk.ts";
import { pinned } from "./harness/pinning.ts";
import { newFolder } from "./harness/servers.ts";
import { startLoad, startModel } from "./harness/workers.ts";
import { toSvg } from "./report/chart.ts";
import { type Machine, type Part, type Result, toHead, toMarkdown, toTable } from "./report/tables.ts";
import { type Scenario, type ScenarioEffort, scenarios } from "./scenarios.ts";
import { visit } from "./visit/visit.ts";

const resultsName = `bench/results/node${process.versions.node.split(".")[0]}.json`;
const resultsFile = benchFile(`../${resultsName}`);

async function main(): Promise<void> {
  const { values, positionals } = readArguments();
  if (values.help) return console.log(helpText(resultsName));
  refuseMixture(values, positionals);
  if (values.url === undefined) await compareServers(positionals, values);
  else await visitServer(values.url, values);
}

async function visitServer(url: string, values: Values): Promise<void> {
  const { key = process.env.TWIN_KEY, twin, content = defaultQuestion } = values;
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
  const options = { url, key, twin, content, seconds, streams, stop };
  const visiting = visit(options, (line) => console.error(line), progress);
  console.log(await visiting.finally(() => hasProgress && process.stderr.write("\n")));
}

function readEffort({ quick, seconds, rounds, servers }: Values): ScenarioEffort {
  return {
    seconds: atLeast(0.2, seconds ?? (quick ? "0.5" : "2"), "--seconds"),
    rounds: wholeAtLeast(1, rounds ?? (quick ? "1" : "3"), "--rounds"),
    isBrief: servers !== undefined,
    replies: quick ? 10 : 100,
    progress: (line) => console.error(line),
  };
}

async function compareServers(names: readonly string[], values: Values): Promise<void> {
  const effort = readEffort(values);
  const chosen = choose(names, values.servers?.split(","));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  const contenders = new Set(chosen.flatMap(([, scenario]) => Object.values(scenario.contenders)));
  const { ready, leftOut } = install([...contenders], effort.progress);
  for (const { contender, reason } of leftOut) effort.progress(`${contender.name} is left out: ${reason}.`);
  await buildAll();
  const machine = {
    ...describeMachine(effort),
    contenders: ready.map((contender) => describe(contender)),
    leftOut: leftOut.map(({ contender, reason }) => `${contender.name}: ${reason}`),
  };
  console.log(toHead(machine));
  const results = await runScenarios(chosen, ready, effort);
  const isComplete = names.length === 0 && values.servers === undefined && !values.quick;
  const { json = isComplete ? resultsFile : undefined } = values;
  if (json !== undefined) save(json, machine, results);
}

type NamedScenario = readonly [name: string, scenario: Scenario];

/** The scenarios, with the servers of the command line. Default: all, with all. */
function choose(names: readonly string[], servers: readonly string[] | undefined): NamedScenario[] {
  const unknown = names.find((name) => !(name in scenarios));
  if (unknown !== undefined) {
    throw new Error(`There is no scenario ${unknown}.\n\n${helpText(resultsName)}`);
  }
  const all = Object.values(scenarios).flatMap(({ contenders }) => Object.keys(contenders));
  const nobody = servers?.find((name) => !all.includes(name));
  if (nobody !== undefined) throw new Error(`There is no server ${nobody}.\n\n${helpText(resultsName)}`);
  return Object.entries(scenarios)
    .filter(([name]) => names.length === 0 || names.includes(name))
    .map(([name, scenario]): NamedScenario => {
      const taking = Object.entries(scenario.contenders).filter(([key]) => servers?.includes(key) ?? true);
      return [name, { ...scenario, contenders: Object.fromEntries(taking) }];
    })
    .filter(([, { contenders }]) => Object.keys(contenders).length > 0);
}

function describe(contender: Contender): Machine["contenders"][number] {
  const { name, about, note } = contender;
  return { name, about: note ? `${about} ${note}` : about, packages: packagesOf(contender).join(", ") };
}

/** Runs one scenario after the other. A failure is reported in the scenario's place, and the others still run. */
async function runScenarios(
  chosen: readonly NamedScenario[],
  ready: readonly Contender[],
  effort: ScenarioEffort,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [name, scenario] of chosen) {
    effort.progress(`${name}: ${scenario.title}`);
    const contenders = Object.values(scenario.contenders).filter((contender) => ready.includes(contender));
    const parts = await runScenario(scenario, contenders, effort);
    const found = parts.map((part) => ({ scenario: name, title: scenario.title, ...part }));
    for (const result of found) console.log(`\n${toTable(result)}`);
    results.push(...found);
  }
  return results;
}

async function runScenario(
  scenario: Scenario,
  contenders: readonly Contender[],
  effort: ScenarioEffort,
): Promise<readonly Part[]> {
  const load = startLoad();
  const model = await startModel();
  try {
    return await scenario.run(contenders, { load, model }, effort);
  } catch (error) {
    process.exitCode = 1;
    return [{ unit: "", rows: [], notes: [`It failed: ${messageOf(error)}`] }];
  } finally {
    await load.stop();
    await model.stop();
  }
}

function describeMachine({ seconds, rounds }: ScenarioEffort): Omit<Machine, "contenders" | "leftOut"> {
  return {
    when: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    pinned,
    disk: measureDisk(newFolder()),
    seconds,
    rounds,
  };
}

function save(file: string, machine: Machine, results: readonly Result[]): void {
  const besides = (extension: string) => file.replace(/(\.json)?$/, extension);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ machine, results }, null, 2)}\n`);
  writeFileSync(besides(".md"), toMarkdown(machine, results));
  const [summary] = results.filter(({ scenario, rows }) => scenario === "live" && rows.length > 0);
  if (summary) writeFileSync(besides(".svg"), toSvg(summary));
  console.log(`Written to ${file}, and as Markdown${summary ? " and a chart" : ""} beside it.`);
}

try {
  await main();
  process.exit(); // with 1 if a scenario failed
} catch (error) {
  const isUsage = error instanceof TypeError && "code" in error; // a flag that parseArgs does not know
  console.error(isUsage ? withHelp(firstSentenceOf(error)) : messageOf(error));
  process.exit(1);
}
