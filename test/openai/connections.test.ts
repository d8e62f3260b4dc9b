import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import type { Clock } from "../../core/base/clock.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { collectGarbage } from "../support/garbage.ts";
import {
  assertModelError,
  createHastyClock,
  createOutput,
  failure,
  start,
  transports,
  turn,
} from "./fixture.ts";
import * as model from "./model-server.ts";

for (const [name, transport] of Object.entries(transports)) {
  describe(`connections of the OpenAI engine over ${name}`, { timeout: 30_000 }, () => {
    test("a connection is reused for the next reply", async (t) => {
      const { server, engine } = await start(t, transport);
      await engine.reply(turn(), createOutput().output);
      await settle(); // fetch reuses a connection only a turn after its answer has ended
      await engine.reply(turn(), createOutput().output);
      assert.equal(server.requests[0]?.clientPort, server.requests[1]?.clientPort);
    });

    test("text arrives before the reply ends", async (t) => {
      const { server, out, reply } = await start(t, transport, [model.hangAfter(model.delta("Once"))]);
      const replied = reply();
      await out.firstWrite;
      assert.equal(out.text(), "Once");
      out.abort();
      await assert.rejects(replied);
      await (await server.received(0)).closed;
    });

    test("a reply ends with its end marker, even if the server never ends the body", async (t) => {
      const { server, clock, out, reply } = await start(t, transport, [
        model.hangAfter(model.completion("Hi")),
      ]);
      const replied = reply();
      await out.firstWrite;
      await clock.advance(100);
      assert.equal((await replied).finishReason, "stop");
      await (await server.received(0)).closed;
    });

    test("a reply with a finish reason is complete, even if end marker and token counts never come", async (t) => {
      const { server, clock, out, reply } = await start(t, transport, [
        model.hangAfter(model.delta("Hi") + model.finish("stop")),
      ]);
      const replied = reply();
      await out.firstWrite;
      await clock.advance(5_000);
      assert.deepEqual(await replied, { finishReason: "stop", usage: null });
      await (await server.received(0)).closed;
    });

    for (const status of [429, 502, 503, 504, 529]) {
      test(`status ${status} is retried twice, after growing pauses, and then a model_error`, async (t) => {
        const clock = createHastyClock();
        const { server, reply } = await start(t, transport, [model.refuse(status)], {
          clock,
          random: () => 0.5,
        });
        await assertModelError(reply(), new RegExp(`status ${status}`));
        assert.equal(server.requests.length, 3);
        assert.deepEqual(clock.pauses, [187.5, 375]);
      });
    }

    test("a reply succeeds if a later attempt does", async (t) => {
      const scripts = [model.refuse(503), model.resetAtOnce, model.reply("Third")];
      const { server, out, reply } = await start(t, transport, scripts, { clock: createHastyClock() });
      assert.equal((await reply()).finishReason, "stop");
      assert.equal(out.text(), "Third");
      assert.equal(server.requests.length, 3);
    });

    test("a refused connection is retried, and then a model_error", async (t) => {
      const clock = createHastyClock();
      const { reply } = await start(t, transport, [], { clock, baseUrl: await model.refusingBaseUrl() });
      const error = await failure(reply());
      assert.equal(error.code, "model_error");
      assert.match(inspect(error), /ECONNREFUSED/);
      assert.equal(clock.pauses.length, 2);
    });

    test("a connection that breaks before the body's first byte is retried", async (t) => {
      const scripts = [model.resetWhen(Promise.resolve()), model.reply("Second")];
      const { out, reply } = await start(t, transport, scripts, { clock: createHastyClock() });
      await reply();
      assert.equal(out.text(), "Second");
    });

    test("a connection that breaks after the first byte is not retried", async (t) => {
      const { server, engine, out } = await start(t, transport, [], { clock: createHastyClock() });
      server.script(model.resetWhen(out.firstWrite, model.delta("Hi")), model.reply("Again"));
      await assertModelError(engine.reply(turn(), out.output), /broke during/);
      assert.equal(out.text(), "Hi");
      assert.equal(server.requests.length, 1);
    });

    test("a reply is complete even if the connection breaks after the finish reason", async (t) => {
      const { server, engine, out } = await start(t, transport);
      server.script(model.resetWhen(out.firstWrite, model.delta("Hi") + model.finish("stop")));
      assert.equal((await engine.reply(turn(), out.output)).finishReason, "stop");
    });

    test("a short Retry-After is honoured, in seconds or as a date", async (t) => {
      const date = new Date(Date.parse("2026-01-02T03:04:05Z") + 3_000).toUTCString();
      const scripts = [
        model.refuse(429, { "retry-after": "2" }),
        model.refuse(503, { "retry-after": date }),
        model.reply("Third"),
      ];
      const clock = createHastyClock();
      await (await start(t, transport, scripts, { clock })).reply();
      assert.deepEqual(clock.pauses, [2_000, 3_000]);
    });

    test("a long Retry-After fails the reply at once", async (t) => {
      const { server, reply } = await start(t, transport, [model.refuse(429, { "retry-after": "6" })]);
      await assertModelError(reply(), /status 429/);
      assert.equal(server.requests.length, 1);
    });

    test("an error status whose body does not end is reported after a second, and the connection closed", async (t) => {
      const time = createManualClock();
      const reached = new EventTarget();
      const clock: Clock = {
        now: time.now,
        after(milliseconds, callback) {
          if (milliseconds === 1_000) reached.dispatchEvent(new Event("body"));
          return time.after(milliseconds, callback);
        },
      };
      const body = once(reached, "body");
      const endless: model.Script = (response) => {
        response.writeHead(403, { "content-type": "application/json" }).write('{"error":');
      };
      const { server, reply } = await start(t, transport, [endless], { clock });
      const error = failure(reply());
      await body;
      await time.advance(1_000);
      assert.equal((await error).message, "The model answered with status 403.");
      await (await server.received(0)).closed;
    });

    test("no answer within 30 s is a model_timeout, and closes the connection", async (t) => {
      const { server, clock, reply } = await start(t, transport, [model.hang]);
      const error = failure(reply());
      const { closed } = await server.received(0);
      await clock.advance(29_999);
      assert.equal(server.openConnections, 1);
      await clock.advance(1);
      assert.equal((await error).code, "model_timeout");
      await closed;
      assert.equal(server.requests.length, 1);
    });

    test("60 s of silence within an answer is a model_timeout, and closes the connection", async (t) => {
      const { server, clock, out, reply } = await start(t, transport, [model.hangAfter(model.delta("Hi"))]);
      const error = failure(reply());
      await out.firstWrite;
      await clock.advance(59_999);
      assert.equal(server.openConnections, 1);
      await clock.advance(1);
      assert.equal((await error).code, "model_timeout");
      await (await server.received(0)).closed;
    });

    test("the total time limit applies even after text has come", async (t) => {
      const { server, clock, out, reply } = await start(t, transport, [model.hangAfter(model.delta("Hi"))], {
        totalMs: 10_000,
      });
      const error = failure(reply());
      await out.firstWrite;
      await clock.advance(10_000);
      assert.match((await error).message, /whole reply took more than 10 s/);
      await (await server.received(0)).closed;
    });

    const states: readonly [
      string,
      model.Script,
      (out: ReturnType<typeof createOutput>) => Promise<unknown>,
    ][] = [
      ["before the answer", model.hang, async () => {}],
      ["after the answer's head", model.hangAfter(), async () => {}],
      ["within the answer", model.hangAfter(model.delta("Hi")), (out) => out.firstWrite],
      [
        "after the finish reason",
        model.hangAfter(model.delta("Hi") + model.finish("stop")),
        (out) => out.firstWrite,
      ],
    ];
    for (const [state, script, reached] of states) {
      test(`an abort ${state} closes the connection and rejects with its reason`, async (t) => {
        const { server, clock, out, reply } = await start(t, transport, [script]);
        const reason = new Error("Nobody wants it.");
        const rejected = assert.rejects(reply(), reason);
        const { closed } = await server.received(0);
        await reached(out);
        await clock.advance(0); // lets the engine get to its next wait
        out.abort(reason);
        await Promise.all([rejected, closed]);
        assert.equal(clock.pending, 0);
        assert.equal(getEventListeners(out.output.signal, "abort").length, 0);
      });

      test(`an abort ${state} closes the connection after garbage collections`, async (t) => {
        const { server, clock, out, reply } = await start(t, transport, [script]);
        const rejected = assert.rejects(reply());
        const { closed } = await server.received(0);
        await reached(out);
        await clock.advance(0);
        await collectGarbage();
        out.abort();
        await Promise.all([rejected, closed]);
      });
    }

    test("an abort closes the connection even if a wrapper around fetch loses the signal", async (t) => {
      const { fetch } = globalThis;
      t.mock.method(globalThis, "fetch", (url: string, init: RequestInit) => fetch(new Request(url, init)));
      const { server, out, reply } = await start(t, transport, [model.hangAfter(model.delta("Hi"))]);
      const rejected = assert.rejects(reply());
      await out.firstWrite;
      await settle();
      await collectGarbage();
      out.abort();
      await Promise.all([rejected, (await server.received(0)).closed]);
    });

    test("an abort between attempts prevents the next one", async (t) => {
      const time = createManualClock();
      const paused = new EventTarget();
      const clock: Clock = {
        now: time.now,
        after(milliseconds, callback) {
          if (milliseconds < 1_000) paused.dispatchEvent(new Event("pause"));
          return time.after(milliseconds, callback);
        },
      };
      const pause = once(paused, "pause");
      const { server, out, reply } = await start(t, transport, [model.refuse(503)], { clock });
      const rejected = assert.rejects(reply(), { name: "AbortError" });
      await pause;
      out.abort();
      await rejected;
      assert.equal(server.requests.length, 1);
      assert.equal(time.pending, 0);
    });

    test("a reply leaves no timers and no listeners behind", async (t) => {
      const { clock, out, reply } = await start(t, transport);
      await reply();
      assert.equal(clock.pending, 0);
      assert.equal(getEventListeners(out.output.signal, "abort").length, 0);
    });
  });
}
