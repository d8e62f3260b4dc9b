/**
 * Random completions with random faults. `MODEL_STREAMS=10000` reads more than the default of 300.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createOpenAIEngine, type ModelTransport } from "../../adapters/openai-models/mod.ts";
import { ModelError } from "../../core/mod.ts";
import { createOutput, turn } from "./fixture.ts";
import * as model from "./model-server.ts";

const streams = Number(process.env.MODEL_STREAMS ?? 300);

/** Every run reads the same completions; fast-check reports the seed with the one that failed. */
const seed = 20_260_102;

/** What happens to a body at an offset: nothing, its end, a broken connection, an error event, or other bytes. */
type Fault = "none" | "ended" | "broken" | "error" | "damaged";

interface Stream {
  readonly texts: readonly string[];
  readonly fault: Fault;
  /** Where it happens, as a part of the whole. */
  readonly at: number;
  /** Where the body is split into pieces, likewise. */
  readonly splits: readonly number[];
  readonly garbage: Uint8Array;
}

const anyStream: fc.Arbitrary<Stream> = fc.record({
  texts: fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }), {
    minLength: 1,
    maxLength: 12,
  }),
  fault: fc.constantFrom<Fault>("none", "ended", "broken", "error", "damaged"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  splits: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
  garbage: fc.uint8Array({ minLength: 1, maxLength: 20 }),
});

function bodyOf({ texts, fault, at, garbage }: Stream): Uint8Array {
  const whole = new TextEncoder().encode(model.completion(...texts));
  const offset = Math.floor(at * whole.length);
  if (fault === "none") return whole;
  const start = whole.subarray(0, offset);
  if (fault === "damaged") return Buffer.concat([start, garbage, whole.subarray(offset + garbage.length)]);
  if (fault !== "error") return start;
  const events = new TextDecoder().decode(start).lastIndexOf("\n\n") + 2;
  const error = model.event({ error: { message: "overloaded" } });
  const text = new TextDecoder().decode(start).slice(0, events === 1 ? 0 : events);
  return new TextEncoder().encode(text + error);
}

function transportOf(stream: Stream): ModelTransport {
  const body = bodyOf(stream);
  const offsets = stream.splits
    .map((part) => Math.floor(part * body.length))
    .sort((one, other) => one - other);
  return (_url, _request, listener) => {
    queueMicrotask(() => {
      listener.begin(200, new Headers({ "content-type": "text/event-stream" }));
      for (const [index, from] of [0, ...offsets].entries())
        listener.read(body.subarray(from, offsets[index]));
      if (stream.fault === "broken") listener.fail(new Error("reset"));
      else listener.end();
    });
    return () => {};
  };
}

test(`of ${streams} completions with faults, each is a whole reply or a model_error with the beginning of one`, async () => {
  const ends = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(anyStream, async (stream) => {
      const text = stream.texts.join("");
      const out = createOutput();
      const transport = transportOf(stream);
      const engine = createOpenAIEngine({ baseUrl: "http://127.0.0.1:1/v1", transport, retries: 0 });
      const end = await engine.reply(turn(), out.output).catch((error: unknown) => error);
      const failed = end instanceof ModelError;
      const kind = `${stream.fault}: ${failed ? "failed" : "completed"}`;
      ends.set(kind, (ends.get(kind) ?? 0) + 1);
      assert.ok(failed || (end as { finishReason?: string }).finishReason === "stop", String(end));
      if (stream.fault === "damaged") return; // its text may be another one
      if (failed) assert.ok(stream.fault !== "none" && text.startsWith(out.text()));
      else assert.equal(out.text(), text);
    }),
    { seed, numRuns: streams, endOnFailure: true },
  );
  for (const fault of [
    "none: completed",
    "ended: failed",
    "broken: failed",
    "error: failed",
    "damaged: failed",
  ]) {
    assert.ok((ends.get(fault) ?? 0) > streams / 50, `${fault} among ${JSON.stringify([...ends])}`);
  }
});
