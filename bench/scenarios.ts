/**
 * What is measured.
 *
 * @module
 */

import {
  bare,
  bursts,
  inMemory,
  lists,
  raw,
  send,
  service,
  serviceList,
  storeOnly,
  waiting,
} from "./contenders.ts";
import { measureDisk } from "./disk.ts";
import { atMost, columnAtMost, flat, type Goal, timesAtLeast, timesAtMost, withGoal } from "./goals.ts";
import { type Arena, type Contender, compare, type Effort, loadNotes } from "./measure.ts";
import { compareMemory, compareTokens } from "./open-streams.ts";
import { databases, descriptorLimit, runAlone } from "./processes.ts";
import { headings, type Result, type Row } from "./report.ts";
import { fetchRuntimes } from "./runtimes.ts";
import { tokens } from "./servers/reply.ts";

/** One scenario. */
export interface Scenario {
  readonly title: string;
  run(arena: Arena, effort: ScenarioEffort): Promise<readonly Part[]>;
}

/** How much to measure. */
export interface ScenarioEffort extends Effort {
  /** How many conversations `listing` creates. */
  readonly conversations: number;
}

/** One table of a scenario. Default title: the scenario's. */
export type Part = Omit<Result, "scenario" | "title"> & { readonly title?: string };

const connections = 64;

function withGoals(rows: readonly Row[], goals: readonly Goal[]): Row[] {
  return rows.map((row, index) => withGoal(row, goals[index]));
}

/** Scenarios of requests that follow each other as fast as they are answered. */
const asked: Readonly<Record<string, Scenario>> = {
  burst: {
    title: `Streamed replies of ${tokens.length} tokens that are all available at once, ${connections} connections`,
    async run(arena, effort) {
      const rows = await compare(bursts, { connections }, arena, effort);
      return [{ unit: "replies/s", rows, notes: loadNotes(rows) }];
    },
  },
  first: {
    title: "Time to first token",
    async run(arena, effort) {
      const unit = "first token p50 ms";
      const contenders = [service("burst"), inMemory(service("burst")), raw("one write per token", "/each")];
      const before = measureDisk(databases).p50;
      const alone = await compare(contenders, { connections: 1, figure: unit }, arena, effort);
      const disk = (before + measureDisk(databases).p50) / 2;
      const durable = atMost(Number((1 + disk).toFixed(2)), `ms (1 + ${disk.toFixed(2)} of disk)`);
      const one = withGoals(alone, [durable, atMost(1, "ms")]);
      const crowd = await compare(contenders, { connections, figure: unit }, arena, effort);
      const bar = atMost(Number(crowd.at(-1)?.median.toPrecision(3)), "ms (node:http's)");
      const many = withGoals(crowd, [bar, bar]);
      const note =
        "A durable question is on disk before its stream is answered: its time includes that wait.";
      return [
        { title: `${this.title}, one client`, unit, rows: one, notes: [note] },
        {
          title: `${this.title}, ${connections} clients`,
          unit,
          rows: many,
          notes: [note, ...loadNotes(many)],
        },
      ];
    },
  },
  step: {
    title: "A model's step that gives one token to each of 256 live streams",
    async run(arena, effort) {
      const contenders = [service("step"), raw("one write per token", "/step", { goal: timesAtLeast(1.2) })];
      const rows = await compare(contenders, { connections: 256, per: "token" }, arena, effort);
      return [{ unit: "tokens/s", rows, notes: loadNotes(rows) }];
    },
  },
  json: {
    title: `GET /twins?limit=20, ${connections} connections`,
    async run(arena, effort) {
      const rows = await compare(lists, { connections }, arena, effort);
      return [{ unit: "answers/s", rows, notes: loadNotes(rows) }];
    },
  },
  send: {
    title: `Normal sends, ${connections} connections`,
    async run(arena, effort) {
      const unit = "answers/s";
      const goal = timesAtLeast(0.5);
      const durable = [send, { ...serviceList, name: "this service, GET /twins?limit=20", goal }];
      const rows = await compare(
        [...durable, waiting(send), storeOnly(send)],
        { connections },
        arena,
        effort,
      );
      const memoryRows = await compare(durable.map(inMemory), { connections }, arena, effort);
      return [
        { title: `${this.title}, durable`, unit, rows, notes: loadNotes(rows) },
        { title: `${this.title}, in memory`, unit, rows: memoryRows, notes: loadNotes(memoryRows) },
      ];
    },
  },
  runtimes: {
    title: `Streamed replies of ${tokens.length} tokens on other runtimes, ${connections} connections`,
    async run(arena, effort) {
      const parts: Part[] = [];
      for (const { name, command, reason } of fetchRuntimes(effort.progress)) {
        const unit = "replies/s";
        const title = `${this.title}: ${name}`;
        if (!command) {
          parts.push({
            title,
            unit,
            rows: [],
            notes: [`Left out: ${name} is not there (${reason}).`],
          });
          continue;
        }
        const own = service("burst", { name: `this service on ${name}`, command });
        const each = { ...bare(name, command, "/each"), goal: timesAtLeast(1) };
        const contenders = [own, inMemory(own), storeOnly(own), each, bare(name, command, "/joined")];
        const rows = await compare(contenders, { connections }, arena, effort);
        parts.push({ title, unit, rows, notes: loadNotes(rows) });
      }
      return parts;
    },
  },
  long: {
    title: "A long reply, one token per turn of the event loop",
    async run(arena, effort) {
      const contenders = [2000, 20_000, 200_000].map((length, index) =>
        service("step", {
          name: `this service, ${length.toLocaleString("en")} tokens`,
          length,
          turns: 1,
          perSecond: 100,
          env: { LENGTH: String(length), CONVERSATIONS: "200" },
          ...(index > 0 && { goal: flat }),
        }),
      );
      const rows = await compare(
        contenders,
        { connections: 1, per: "token", figure: "CPU µs" },
        arena,
        effort,
      );
      return [{ unit: "CPU µs per token", rows }];
    },
  },
  history: {
    title: "A normal send in a conversation of many messages, one client",
    async run(arena, effort) {
      const among = (messages: number, conversations: number, more: Partial<Contender> = {}) => ({
        ...send,
        name: `this service, among ${messages.toLocaleString("en")} messages`,
        perSecond: 1500,
        ...more,
        env: { ...send.env, MESSAGES: String(messages), CONVERSATIONS: String(conversations), ...more.env },
      });
      const contenders = [
        among(10_000, 1, { turns: 490, env: { SHARED: "yes" } }),
        among(100, 1, { turns: 490, goal: timesAtMost(1.2) }),
        among(10, 60),
      ];
      const rows = await compare(contenders, { connections: 1, figure: "CPU µs" }, arena, effort);
      const note = "An engine gets the last 50 messages: where there are ten, it has fewer to read.";
      return [{ unit: "CPU µs per send", rows, notes: [note] }];
    },
  },
};

const descriptorsToSpare = 200;

/** As many streams as wanted, or as a process's file descriptors allow if each stream takes `each` of them. */
function affordable(streams: number, each: number, { progress }: Effort): number {
  const limit = descriptorLimit();
  const most = Math.floor((limit - descriptorsToSpare) / each / 100) * 100;
  if (most < streams)
    progress(`  a process may open ${limit} files here (ulimit -n): ${most} streams instead of ${streams}`);
  return Math.min(streams, most);
}

/** Opening thousands of streams takes longer than watching them. */
function fewerRounds(effort: Effort): Effort {
  return { ...effort, rounds: Math.min(3, effort.rounds) };
}

/** Scenarios of streams that stay open. */
const held: Readonly<Record<string, Scenario>> = {
  live: {
    title: "A token's cost while many streams are live, 20 tokens a second each",
    async run(arena, effort) {
      const unit = "CPU µs per token";
      const few = fewerRounds(effort);
      const growing = [100, 1000, 2500, 5000].map((streams, index) => ({
        contender: service("live"),
        streams,
        ...(index > 0 && { goal: flat }),
      }));
      const rows = await compareTokens(growing, arena, few);
      const node = { contender: raw("one write per token", "/live"), streams: 1000 };
      const beside = await compareTokens([{ contender: service("live"), streams: 1000 }, node], arena, few);
      return [
        { unit, rows, notes: loadNotes(rows) },
        { title: `${this.title}, beside node:http`, unit, rows: beside, notes: loadNotes(beside) },
      ];
    },
  },
  relay: {
    title: "Passing on a model's tokens, 1,000 streams of 20 tokens a second",
    async run(arena, effort) {
      const url = await arena.load.order<string>({ order: "model", kind: "paced" });
      const all = [
        { contender: service("relay", { env: { MODEL: url } }), streams: 1000 },
        {
          contender: raw("a relay", "/relay", { env: { MODEL: url } }),
          streams: 1000,
          goal: timesAtMost(1.2),
        },
      ];
      const rows = await compareTokens(all, arena, fewerRounds(effort));
      return [{ unit: "CPU µs per token", rows: withAddedDelay(rows), notes: loadNotes(rows) }];
    },
  },
  idle: {
    title: "Memory of an open, silent stream",
    async run(arena, effort) {
      const url = await arena.load.order<string>({ order: "model", kind: "silent" });
      const asking = service("relay", { name: "this service, asking a model", env: { MODEL: url } });
      const all = [
        { contender: service("silent"), streams: affordable(10_000, 1, effort), goal: atMost(20, "KB") },
        { contender: asking, streams: affordable(9000, 2, effort), goal: atMost(32, "KB") },
        { contender: raw("silent", "/silent"), streams: affordable(10_000, 1, effort) },
      ];
      const rows = await compareMemory(all, arena, effort);
      return [{ unit: "KB per stream", rows }];
    },
  },
};

const added = "p99 ms more than node:http";

/** Adds how much longer the service's slowest tokens take than those of the bare relay, the last row. */
function withAddedDelay(rows: readonly Row[]): Row[] {
  const bareDelay = rows.at(-1)?.more[headings.delay] ?? Number.NaN;
  return rows.map((row, index) => {
    const more = { ...row.more, [added]: (row.more[headings.delay] ?? Number.NaN) - bareDelay };
    return withGoal({ ...row, more }, index === 0 ? columnAtMost(added, 15) : undefined);
  });
}

/** Scenarios without a server. */
const alone: Readonly<Record<string, Scenario>> = {
  encode: {
    title: "Writing one delta event",
    async run(_, { rounds, seconds }) {
      const rows = await runAlone<Row[]>("encode.ts", { ROUNDS: String(rounds), SECONDS: String(seconds) });
      return [{ unit: "CPU ns", rows }];
    },
  },
  listing: {
    title: "Lists and histories of one owner, with many conversations and with few",
    async run(_, { conversations }) {
      const rows = await runAlone<Row[]>("listing.ts", { CONVERSATIONS: String(conversations) });
      return [{ unit: `µs with ${conversations.toLocaleString("en")}`, rows, ratioName: "few ÷ many" }];
    },
  },
};

/** All scenarios, by name, in the order in which they run. */
export const scenarios: Readonly<Record<string, Scenario>> = { ...asked, ...held, ...alone };
