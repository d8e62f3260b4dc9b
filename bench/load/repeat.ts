/**
 * Requests that follow each other as fast as they are answered, on a number of connections.
 *
 * @module
 */

import process from "node:process";
import { percentile } from "../report/spread.ts";
import { type Check, createCheck } from "./answers.ts";
import { HttpConnection } from "./http-connection.ts";
import { createRequests, type Requests, type Target } from "./requests.ts";

/** The result of `repeat`. Times in milliseconds. */
export interface RepeatReport {
  readonly answers: number;
  readonly seconds: number;
  readonly totalP50: number;
  readonly totalP99: number;
  /** Microseconds of CPU that the load generator itself used. */
  readonly cpu: number;
}

interface Loaded {
  readonly target: Target;
  readonly requests: Requests;
  readonly check: Check;
}

const targets = new Map<string, Loaded>();

/** Adds a server to send requests to, by its name. */
export function addTarget(target: Target): void {
  const check = createCheck(target.kind);
  targets.set(target.name, { target, requests: createRequests(target), check });
}

/** Repeats requests on a number of connections, all established before the time starts; checks every answer. */
export async function repeat(name: string, count: number, seconds: number): Promise<RepeatReport> {
  const loaded = targets.get(name);
  if (!loaded) throw new Error(`There is no target ${name}.`);
  const connections = Array.from({ length: count }, () => new HttpConnection(loaded.target.port));
  await Promise.all(connections.map((connection) => connection.connected()));
  const times: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  const cpuBefore = process.cpuUsage();
  await Promise.all(connections.map((connection) => repeatOn(connection, loaded, times, endsAt)));
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    answers: times.length,
    seconds: (performance.now() - startedAt) / 1000,
    totalP50: percentile(times, 0.5),
    totalP99: percentile(times, 0.99),
    cpu: user + system,
  };
}

/** Sends requests on one connection until the time is over. */
function repeatOn(
  connection: HttpConnection,
  loaded: Loaded,
  times: number[],
  endsAt: number,
): Promise<void> {
  const { target, requests, check } = loaded;
  const body = createBody();
  let sentAt = 0;
  return new Promise((resolve, reject) => {
    const sink = {
      piece: body.add,
      end(status: number) {
        const now = performance.now();
        const answer = body.take();
        const wrong = status === 200 ? check(answer) : `status ${status}: ${answer.toString().slice(0, 300)}`;
        if (wrong !== undefined) return reject(new Error(`${target.name} answered ${wrong}`));
        times.push(now - sentAt);
        if (now < endsAt) return ask();
        connection.close();
        resolve();
      },
      failed: (error: Error) => reject(new Error(`${target.name}: ${error.message}`)),
    };
    function ask(): void {
      sentAt = performance.now();
      try {
        connection.send(requests.next(), sink);
      } catch (error) {
        reject(error); // the keys' limits are used up
      }
    }
    ask();
  });
}

/** Collects the pieces of one body after the other in the same memory. */
function createBody() {
  let bytes = Buffer.allocUnsafe(65_536);
  let length = 0;
  return {
    add(piece: Buffer): void {
      if (length + piece.length > bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)]);
      piece.copy(bytes, length);
      length += piece.length;
    },
    /** What was collected; valid until more is added. */
    take(): Buffer {
      const taken = bytes.subarray(0, length);
      length = 0;
      return taken;
    },
  };
}
