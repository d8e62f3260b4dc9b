/**
 * Live streams: opens them, counts their tokens, and measures how long each was under way.
 *
 * @module
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { createTokenReader, microseconds } from "../model/tokens.ts";
import { percentile } from "../report/spread.ts";
import { HttpConnection } from "./http-connection.ts";

/** The result of `open`. */
export interface OpenReport {
  readonly streams: number;
  readonly seconds: number;
}

/** The result of `watch`. Times in milliseconds. */
export interface WatchReport {
  readonly tokens: number;
  readonly seconds: number;
  /** From the model's write to the client. */
  readonly delayP50: number;
  readonly delayP99: number;
  /** Microseconds of CPU that the load generator itself used. */
  readonly cpu: number;
  /** How late the load generator's own timers were: delays below that cannot be measured. */
  readonly lagP99: number;
}

interface Group {
  readonly connections: HttpConnection[];
  /** Tokens seen so far. */
  tokens: number;
  /** Delays of tokens, in microseconds, while they are watched. */
  delays: number[] | undefined;
  failure: Error | undefined;
}

const groups = new Map<string, Group>();
const openAtOnce = 50;
const openingMs = 60_000;

function groupOf(name: string): Group {
  const found = groups.get(name) ?? { connections: [], tokens: 0, delays: undefined, failure: undefined };
  groups.set(name, found);
  return found;
}

/** Opens more streams of a group. Resolves once each has had its first token. */
export async function open(name: string, port: number, requests: readonly string[]): Promise<OpenReport> {
  const group = groupOf(name);
  const startedAt = performance.now();
  for (let first = 0; first < requests.length; first += openAtOnce) {
    if (performance.now() - startedAt > openingMs) {
      throw new Error(`${name} opened only ${first} of ${requests.length} streams in ${openingMs / 1000} s.`);
    }
    const some = requests.slice(first, first + openAtOnce);
    await within(openingMs, `${name} did not begin ${some.length} streams`, some.map(opened));
  }
  return { streams: group.connections.length, seconds: (performance.now() - startedAt) / 1000 };

  function opened(request: string): Promise<void> {
    return new Promise((resolve, reject) => openOne(group, port, request, resolve, reject));
  }
}

function openOne(
  group: Group,
  port: number,
  request: string,
  begun: () => void,
  reject: (error: Error) => void,
): void {
  const connection = new HttpConnection(port);
  group.connections.push(connection);
  let expected = 0;
  const fail = (error: Error) => {
    group.failure ??= error;
    reject(error);
  };
  const reader = createTokenReader((number, sentAt) => {
    if (number < expected) return; // text that is told again, not a new token
    if (number > expected)
      return fail(new Error(`Tokens ${expected} to ${number - 1} of a stream are missing.`));
    if (expected++ === 0) begun();
    group.tokens++;
    group.delays?.push(microseconds() - sentAt);
  });
  connection.send(request, {
    piece: (bytes) => reader.read(bytes),
    end: (status) => fail(new Error(`A stream that should stay open ended, with status ${status}.`)),
    failed: fail,
  });
}

async function within(ms: number, what: string, all: readonly Promise<void>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} within ${ms / 1000} s.`)), ms);
  });
  await Promise.race([Promise.all(all), late]).finally(() => clearTimeout(timer));
}

const lagResolutionMs = 5;

/** Counts a group's tokens for a while. */
export async function watch(name: string, seconds: number): Promise<WatchReport> {
  const group = groupOf(name);
  const delays: number[] = [];
  const lag = monitorEventLoopDelay({ resolution: lagResolutionMs });
  lag.enable();
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  group.delays = delays;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  group.delays = undefined;
  const { user, system } = process.cpuUsage(cpuBefore); // before the delays are sorted
  const elapsed = (performance.now() - startedAt) / 1000;
  lag.disable();
  if (group.failure) throw group.failure;
  return {
    tokens: delays.length,
    seconds: elapsed,
    delayP50: percentile(delays, 0.5) / 1000,
    delayP99: percentile(delays, 0.99) / 1000,
    cpu: user + system,
    lagP99: Math.max(0, lag.percentile(99) / 1e6 - lagResolutionMs),
  };
}

const quietMs = 150;
const drainingMs = 20_000;

/** Waits until a group gets no more tokens: what a server had still to send has come. */
export async function drain(name: string): Promise<void> {
  const group = groupOf(name);
  const until = performance.now() + drainingMs;
  for (let seen = -1; seen !== group.tokens && performance.now() < until; ) {
    seen = group.tokens;
    await new Promise((resolve) => setTimeout(resolve, quietMs));
  }
}

/** Leaves all streams of a group. */
export function close(name: string): void {
  for (const connection of groupOf(name).connections) connection.close();
  groups.delete(name);
}
