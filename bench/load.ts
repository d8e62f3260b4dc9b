/**
 * The load generator, in a process of its own: it takes orders from the benchmark over IPC, one at a time.
 *
 * @module
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { createCheck, eventData } from "./answers.ts";
import { HttpConnection } from "./http-connection.ts";
import { microseconds, type PacedModel, startModel } from "./model.ts";
import { createRequests, type Requests, type Target } from "./requests.ts";
import { percentile } from "./spread.ts";

/** What the load generator is told to do. */
export type Order =
  | { readonly order: "model"; readonly kind: "paced" | "silent" }
  | { readonly order: "target"; readonly target: Target }
  | {
      readonly order: "repeat";
      readonly name: string;
      readonly connections: number;
      readonly seconds: number;
    }
  | { readonly order: "open"; readonly name: string; readonly streams: number }
  | { readonly order: "watch"; readonly seconds: number }
  | { readonly order: "close" };

/** The result of `repeat`. Times in milliseconds. */
export interface RepeatReport {
  readonly answers: number;
  readonly seconds: number;
  /** From the request's last byte to the first piece of the reply's text. */
  readonly firstTokenP50: number;
  readonly totalP50: number;
  readonly totalP99: number;
  /** Microseconds of CPU that the load generator itself used. */
  readonly cpu: number;
}

/** The result of `watch`. Delays in milliseconds from the model's write, 0 if there is no model. */
export interface WatchReport {
  readonly tokens: number;
  readonly seconds: number;
  readonly delayP50: number;
  readonly delayP99: number;
  /** Microseconds of CPU that the load generator itself used, including the model that it plays. */
  readonly cpu: number;
  /** How late the load generator's own timers were: delays below that cannot be measured. */
  readonly lagP99: number;
}

interface Loaded {
  readonly target: Target;
  readonly requests: Requests;
  readonly check: (body: Buffer) => string | undefined;
}

const targets = new Map<string, Loaded>();

function loaded(name: string): Loaded {
  const found = targets.get(name);
  if (!found) throw new Error(`There is no target ${name}.`);
  return found;
}

const deltaMark = Buffer.from('"delta"');

/** Repeats requests on a number of connections, all established before the time starts; checks every answer. */
async function repeat(name: string, count: number, seconds: number): Promise<RepeatReport> {
  const { target, requests, check } = loaded(name);
  const connections = Array.from({ length: count }, () => new HttpConnection(target.port));
  await Promise.all(connections.map((connection) => connection.connected()));
  const firsts: number[] = [];
  const totals: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  const cpuBefore = ownCpu();
  let open = count;

  return new Promise((resolve, reject) => {
    function run(connection: HttpConnection): void {
      let body = Buffer.allocUnsafe(65_536);
      let length = 0;
      let sentAt = 0;
      let firstAt = 0;
      const sink = {
        piece(bytes: Buffer) {
          if (length + bytes.length > body.length) body = Buffer.concat([body, Buffer.alloc(body.length)]);
          bytes.copy(body, length);
          length += bytes.length;
          if (firstAt === 0 && bytes.includes(deltaMark)) firstAt = performance.now();
        },
        end(status: number) {
          const now = performance.now();
          const answer = body.subarray(0, length);
          const wrong =
            status === 200 ? check(answer) : `status ${status}: ${answer.toString().slice(0, 300)}`;
          if (wrong !== undefined) return reject(new Error(`${name} answered ${wrong}`));
          totals.push(now - sentAt);
          if (firstAt !== 0) firsts.push(firstAt - sentAt);
          if (now < endsAt) return ask();
          connection.close();
          if (--open === 0) resolve(report(now));
        },
        failed: (error: Error) => reject(new Error(`${name}: ${error.message}`)),
      };
      function ask(): void {
        length = 0;
        firstAt = 0;
        sentAt = performance.now();
        try {
          connection.send(requests.next(), sink);
        } catch (error) {
          reject(error); // the keys' budgets are used up
        }
      }
      ask();
    }
    function report(now: number): RepeatReport {
      return {
        answers: totals.length,
        seconds: (now - startedAt) / 1000,
        firstTokenP50: percentile(firsts, 0.5),
        totalP50: percentile(totals, 0.5),
        totalP99: percentile(totals, 0.99),
        cpu: ownCpu() - cpuBefore,
      };
    }
    for (const connection of connections) run(connection);
  });
}

const opened: HttpConnection[] = [];
let watching: { tokens: number; readonly delays: number[] } | undefined;
let failure: Error | undefined;

/** How long opening may take, in milliseconds. */
const openingMs = 120_000;

/** Opens streams in batches and keeps them open. Resolves once each has begun. */
async function open(name: string, streams: number): Promise<void> {
  const { target, requests } = loaded(name);
  failure = undefined;
  const startedAt = performance.now();
  const atOnce = 200;
  for (let started = 0; started < streams; started += atOnce) {
    const some = Math.min(atOnce, streams - started);
    await Promise.all(Array.from({ length: some }, () => openOne(target, requests)));
    const open = started + some;
    if (performance.now() - startedAt > openingMs) {
      throw new Error(`${name} opened only ${open} of ${streams} streams in ${openingMs / 1000} seconds.`);
    }
    if (open % 1000 === 0) console.error(`    ${open} streams open`);
  }
}

function openOne(target: Target, requests: Requests): Promise<void> {
  const connection = new HttpConnection(target.port);
  opened.push(connection);
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      failure ??= error;
      reject(error);
    };
    connection.send(requests.next(), {
      piece(bytes) {
        resolve(); // at the first piece
        if (watching) countTokens(bytes.toString("latin1"));
      },
      end: (status) => fail(new Error(`${target.name} ended a stream that should stay open: ${status}`)),
      failed: fail,
    });
  });
}

/** Counts the tokens in a piece of an event stream; a token that is a time also gives a delay. */
function countTokens(text: string): void {
  const now = microseconds();
  for (const data of eventData(text)) {
    if (!watching || !data.includes('"delta"')) continue;
    const content = /"content":"([^"]*)"/.exec(data)?.[1] ?? "";
    watching.tokens += content.split(" ").length - 1;
    for (const time of content.match(/\d+/g) ?? []) watching.delays.push((now - Number(time)) / 1000);
  }
}

let model: PacedModel | undefined;
const lagResolutionMs = 5;

async function watch(seconds: number): Promise<WatchReport> {
  const startedAt = performance.now();
  const cpuBefore = ownCpu();
  const seen = { tokens: 0, delays: [] };
  const lag = monitorEventLoopDelay({ resolution: lagResolutionMs });
  lag.enable();
  model?.start();
  watching = seen;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  watching = undefined;
  const cpu = ownCpu() - cpuBefore; // before the delays are sorted
  const elapsed = (performance.now() - startedAt) / 1000;
  lag.disable();
  if (failure) throw failure;
  return {
    tokens: seen.tokens,
    seconds: elapsed,
    delayP50: percentile(seen.delays, 0.5),
    delayP99: percentile(seen.delays, 0.99),
    cpu,
    lagP99: Math.max(0, lag.percentile(99) / 1e6 - lagResolutionMs),
  };
}

function ownCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function obey(order: Order): Promise<unknown> {
  switch (order.order) {
    case "model":
      model = await startModel(order.kind);
      return model.url;
    case "target": {
      const { target } = order;
      targets.set(target.name, {
        target,
        requests: createRequests(target),
        check: createCheck(target.kind, target.length),
      });
      return undefined;
    }
    case "repeat":
      return repeat(order.name, order.connections, order.seconds);
    case "open":
      return open(order.name, order.streams);
    case "watch":
      return watch(order.seconds);
    case "close":
      model?.stop();
      for (const connection of opened.splice(0)) connection.close();
      return undefined;
  }
}

process.on("disconnect", () => process.exit(0));
process.on("message", (order: Order) => {
  obey(order).then(
    (report) => process.send?.({ report }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  );
});
