/**
 * The benchmark's options, and what `--help` says about them.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { scenarios } from "../scenarios.ts";

/** What is sent to a server unless `--content` says otherwise. */
export const defaultQuestion = "Tell me about yourself.";

const seeHelp = "See npm run bench -- --help.";

/** The text of `--help`. `results`: the file that a complete run writes. */
export function helpText(results: string): string {
  const names = Object.entries(scenarios).map(([name, { title }]) => `  ${name.padEnd(8)} ${title}`);
  const servers = [...new Set(Object.values(scenarios).flatMap(({ contenders }) => Object.keys(contenders)))];
  return `Usage: npm run bench -- [scenario …] [--servers a,b] [--quick] [--seconds n] [--rounds n] [--json file]

Scenarios (default: all):
${names.join("\n")}

  --servers a,b      only these servers; of live up to 1,000 streams of 20 tokens a second, in about a minute for two:
                     ${servers.slice(0, 5).join(", ")},
                     ${servers.slice(5).join(", ")}
  --quick            one short round of everything, to see that it works: the figures are worth little
  --seconds n        length of one round with one server, in seconds; default 2
  --rounds n         number of rounds; default 3
  --json file        file for the figures, with Markdown and the chart beside it; default, if everything is run:
                     ${results}

A server of your own: TWIN_KEY=twin_… npm run bench -- --url http://127.0.0.1:8787 [--twin id]

  TWIN_KEY        an API key with the scope full_access. --key key does the same, but everyone on the machine
                  can see a command line
  --twin id       the twin to talk to; default: the first in the list
  --streams n     number of concurrent conversations; default 4
  --seconds n     time after which no reply is begun; default 20. The run also ends when the key's hourly limit
                  is nearly used up: use a key that nobody else needs
  --content text  text to send, over and over; default: "${defaultQuestion}"

  The run creates its own conversations and deletes them at the end. Ctrl-C ends it early: it abandons running
  replies, deletes the conversations, and prints the figures so far.
`;
}

/** Reads the command line. */
export function readArguments() {
  return parseArgs({
    allowPositionals: true,
    options: {
      servers: { type: "string" },
      quick: { type: "boolean", default: false },
      seconds: { type: "string" },
      rounds: { type: "string" },
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

/** The options as they were given. */
export type Values = ReturnType<typeof readArguments>["values"];

/** Options for a server of one's own cannot be combined with those for the scenarios. */
export function refuseMixture(values: Values, scenarioNames: readonly string[]): void {
  const isGiven = (name: keyof Values) => values[name] !== undefined && values[name] !== false;
  const ofServer = (["key", "twin", "streams", "content"] as const).find(isGiven);
  const ofScenarios = (["servers", "quick", "rounds", "json"] as const).find(isGiven);
  if (values.url === undefined) {
    if (ofServer)
      throw new Error(`--${ofServer} is for a server of your own: give its address with --url. ${seeHelp}`);
  } else if (ofScenarios ?? scenarioNames[0]) {
    const misplaced = ofScenarios ? `--${ofScenarios}` : `The scenario ${scenarioNames[0]}`;
    throw new Error(`${misplaced} does not work with --url, which measures a server of your own. ${seeHelp}`);
  }
}

/** What is said about a flag that `parseArgs` does not know, from its error. */
export function withHelp(sentence: string): string {
  return `${sentence} ${seeHelp}`;
}
