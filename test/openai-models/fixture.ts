/**
 * What the tests of the OpenAI engine share.
 *
 * @module
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { inspect } from "node:util";
import {
  createOpenAIEngine,
  type ModelTransport,
  type OpenAIOptions,
} from "../../adapters/openai-models/mod.ts";
import { fetchTransport } from "../../adapters/openai-models/transport.ts";
import type { Clock } from "../../core/base/clock.ts";
import {
  type EngineProgress,
  type EngineResult,
  ModelError,
  type ReplyOutput,
  type Turn,
} from "../../core/twins/engine.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { createManualClock } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { newTwin } from "../support/harness.ts";
import { runtime } from "../support/runtime.ts";
import { type Script, startModelServer } from "./model-server.ts";

/** What a transport takes part in is tested on both of them, which must behave alike. One of them is Node's alone. */
export const transports: Readonly<Record<string, ModelTransport>> = {
  fetch: fetchTransport,
  ...(runtime === "node" && { undici: await openNodeTransport() }),
};

async function openNodeTransport(): Promise<ModelTransport> {
  const { createNodeTransport } = await import("../../adapters/openai-models/node-transport.ts");
  return createNodeTransport();
}

export const apiKey = "sk-secret-0123456789";

export function twin(fields: Partial<Twin> = {}): Twin {
  return newTwin({ id: "ada", name: "Ada", engine: "openai", instructions: "You are Ada.", ...fields });
}

export function turn(fields: Partial<Turn> = {}): Turn {
  return { twin: twin(), history: [], content: "Hi?", ...fields };
}

/** An output that records what is written, and can be aborted. */
export function createOutput() {
  const controller = new AbortController();
  const writes: string[] = [];
  const progress: EngineProgress[] = [];
  const written = new EventTarget();
  const output: ReplyOutput = {
    signal: controller.signal,
    progress: (event) => void progress.push(event),
    beginActing: async () => {},
    handOver: () => {},
    hold: () => true,
    write(text) {
      writes.push(text);
      written.dispatchEvent(new Event("write"));
    },
  };
  return {
    output,
    writes,
    progress,
    text: () => writes.join(""),
    firstWrite: once(written, "write"),
    abort: (reason?: unknown) => controller.abort(reason),
  };
}

/** A clock on which pauses are over at once, and time limits never pass. */
export function createHastyClock(): Clock & { readonly pauses: number[] } {
  const pauses: number[] = [];
  return {
    pauses,
    now: () => Date.parse("2026-01-02T03:04:05Z"),
    after(milliseconds, callback) {
      if (milliseconds > 3_000 || milliseconds === 100) return () => {};
      pauses.push(milliseconds);
      const immediate = setImmediate(callback);
      return () => clearImmediate(immediate);
    },
  };
}

/** A stopped clock, and a promise that resolves once a timer of this kind is set on it. */
export function createWatchedClock(isWatched: (milliseconds: number) => boolean) {
  const time = createManualClock();
  const { opened, open } = createGate();
  const clock: Clock = {
    now: time.now,
    after(milliseconds, callback) {
      if (isWatched(milliseconds)) open();
      return time.after(milliseconds, callback);
    },
  };
  return { time, clock, timerSet: opened };
}

export async function failure(reply: Promise<EngineResult>): Promise<ModelError> {
  const error = await reply.then(
    () => assert.fail("The reply succeeded."),
    (reason: unknown) => reason,
  );
  assert(error instanceof ModelError, inspect(error));
  return error;
}

export async function assertModelError(reply: Promise<EngineResult>, message: RegExp): Promise<void> {
  const error = await failure(reply);
  assert.equal(error.code, "model_error");
  assert.match(error.message, message);
}

/** A transport whose answer arrives in these pieces. */
export function inPieces(...pieces: readonly (string | Uint8Array)[]): ModelTransport {
  return (_url, _request, listener) => {
    queueMicrotask(() => {
      listener.begin(200, new Headers({ "content-type": "text/event-stream" }));
      for (const piece of pieces) {
        listener.read(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
      }
      listener.end();
    });
    return () => {};
  };
}

/** A server that follows these scripts, an engine that asks it, an output to write to, and a stopped clock. */
export async function start(
  t: TestContext,
  transport: ModelTransport,
  scripts: readonly Script[] = [],
  options: Partial<OpenAIOptions> = {},
) {
  const server = await startModelServer();
  t.after(() => server.close());
  if (scripts.length > 0) server.script(...scripts);
  const clock = createManualClock();
  const engine = createOpenAIEngine({ baseUrl: server.baseUrl, apiKey, transport, clock, ...options });
  const out = createOutput();
  return {
    server,
    clock,
    engine,
    out,
    reply: (asked = turn(), output = out.output) => engine.reply(asked, output),
  };
}
