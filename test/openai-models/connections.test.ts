import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { fetchTransport } from "../../adapters/openai-models/transport.ts";
import { settle } from "../support/clock.ts";
import { collectGarbage } from "../support/garbage.ts";
import {
  assertModelError,
  createHastyClock,
  createOutput,
  createWatchedClock,
  failure,
  start,
  transports,
  turn,
} from "./fixture.ts";
import type { Script } from "./model-server.ts";
import * as model from "./model-server.ts";

/** A piece of text from a server that puts a finish reason into every chunk. */
function pieceWithReason(content: string): string {
  return model.event({ choices: [{ delta: { content }, finish_reason: "stop" }] });
}

for (const [name, transport] of Object.entries(transports)) {
  describe(`connections of the OpenAI engine over ${name}`, { timeout: 300_000 }, () => {
    test("a connection is reused for the next reply", async (t) => {
      const { server, engine } = await start(t, transport);
      await engine.reply(turn(), createOutput().output);
      await settle(); // fetch reuses a connection only a turn after its answer has ended
      await engine.reply(turn(), createOutput().output);
      assert.equal(server.requests[0]?.clientPort, server.requests[1]?.clientPort);
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

    for (const [sent, more, waitMs] of [
      ["a finish reason", "", 60_000],
      ["a finish reason and token counts", model.usage(7, 1), 5_000],
    ] as const) {
      test(`after ${sent}, ${waitMs / 1_000} s of silence end a reply without an end marker`, async (t) => {
        const { server, clock, out, reply } = await start(t, transport, [
          model.hangAfter(model.delta("Hi") + model.finish("stop") + more),
        ]);
        const replied = reply();
        await out.firstWrite;
        await clock.advance(waitMs - 1);
        assert.equal(server.openConnections, 1);
        await clock.advance(1);
        assert.equal((await replied).finishReason, "stop");
        await (await server.received(0)).closed;
      });
    }

    test("text after a finish reason and a pause is part of the reply", async (t) => {
      const { server, engine, clock, out } = await start(t, transport);
      server.script(async (response) => {
        model.begin(response).write(pieceWithReason("Hi"));
        await out.firstWrite;
        await clock.advance(59_000);
        response.end(pieceWithReason(", you") + model.endMarker);
      });
      assert.equal((await engine.reply(turn(), out.output)).finishReason, "stop");
      assert.equal(out.text(), "Hi, you");
    });

    const role = model.event({ choices: [{ delta: { role: "assistant", content: "" } }] });
    for (const [what, script] of [
      ["a refusal", model.refuse(503)],
      ["a connection that breaks before the answer", model.resetAtOnce],
      ["a connection that breaks before the body's first byte", model.resetWhen(Promise.resolve())],
      ["a connection that breaks before any text", model.resetWhen(Promise.resolve(), role)],
      ["an answer that ends before any text", model.send("")],
    ] as const) {
      test(`a reply succeeds after ${what}`, async (t) => {
        const scripts = [script, model.reply("Second")];
        const { server, out, reply } = await start(t, transport, scripts, { clock: createHastyClock() });
        assert.equal((await reply()).finishReason, "stop");
        assert.equal(out.text(), "Second");
        assert.equal(server.requests.length, 2);
      });
    }

    test("a refused connection is retried, and then a model_error", async (t) => {
      const clock = createHastyClock();
      const { reply } = await start(t, transport, [], { clock, baseUrl: await model.refusingBaseUrl() });
      const error = await failure(reply());
      assert.equal(error.code, "model_error");
      assert.match(inspect(error), /ECONNREFUSED/);
      assert.equal(clock.pauses.length, 2);
    });

    // `fetch` leaves early responses out, and cannot tell how many there were.
    if (transport !== fetchTransport)
      test("early responses without end are a model_error", async (t) => {
        const early: Script = ({ socket }) => {
          const send = () => {
            while (socket?.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)));
          };
          socket?.on("drain", send);
          send();
        };
        const { server, reply } = await start(t, transport, [early], { clock: createHastyClock() });
        assert.match(inspect(await failure(reply())), /early responses without end/);
        await (await server.received(0)).closed;
      });

    test("a connection that breaks after the first byte is not retried", async (t) => {
      const { server, engine, out } = await start(t, transport, [], { clock: createHastyClock() });
      server.script(model.resetWhen(out.firstWrite, model.delta("Hi")), model.reply("Again"));
      await assertModelError(engine.reply(turn(), out.output), /broke during/);
      assert.equal(out.text(), "Hi");
      assert.equal(server.requests.length, 1);
    });

    for (const [follows, part] of [
      ["token counts", model.usage(7, 1)],
      ["a chunk without text", model.finish("stop")],
      ["the end marker", model.endMarker],
    ] as const) {
      test(`a reply is complete even if the connection breaks after the finish reason and ${follows}`, async (t) => {
        const { server, engine, out } = await start(t, transport);
        server.script(model.resetWhen(out.firstWrite, model.delta("Hi") + model.finish("stop") + part));
        assert.equal((await engine.reply(turn(), out.output)).finishReason, "stop");
      });
    }

    test("a connection that breaks right after a finish reason fails the reply", async (t) => {
      const { server, engine, out } = await start(t, transport);
      server.script(model.resetWhen(out.firstWrite, pieceWithReason("Hi")));
      await assertModelError(engine.reply(turn(), out.output), /broke during/);
    });

    test("an error status whose body does not end is reported after a second, and the connection closed", async (t) => {
      const { time, clock, timerSet } = createWatchedClock((milliseconds) => milliseconds === 1_000);
      const endless: model.Script = (response) => {
        response.writeHead(403, { "content-type": "application/json" }).write('{"error":');
      };
      const { server, reply } = await start(t, transport, [endless], { clock });
      const error = failure(reply());
      await timerSet;
      await time.advance(1_000);
      assert.equal((await error).message, "The model answered with status 403.");
      await (await server.received(0)).closed;
    });

    for (const [state, script] of [
      ["before the response", model.hang],
      ["before the first word", model.hangAfter()],
      ["within a reply", model.hangAfter(model.delta("Hi"))],
    ] as const) {
      test(`a model may think for as long as it likes ${state}`, async (t) => {
        const { server, clock, out, reply } = await start(t, transport, [script]);
        const rejected = assert.rejects(reply(), { name: "AbortError" });
        const { closed } = await server.received(0);
        await clock.advance(3_600_000);
        assert.equal(server.openConnections, 1);
        out.abort();
        await Promise.all([rejected, closed]);
      });
    }

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
      test(`an abort ${state} closes the connection, even after garbage collections, and rejects with its reason`, async (t) => {
        const { server, clock, out, reply } = await start(t, transport, [script]);
        const reason = new Error("Nobody wants it.");
        const rejected = assert.rejects(reply(), reason);
        const { closed } = await server.received(0);
        await reached(out);
        await clock.advance(0); // lets the engine get to its next wait
        await collectGarbage();
        out.abort(reason);
        await Promise.all([rejected, closed]);
        assert.equal(clock.pending, 0);
        assert.equal(getEventListeners(out.output.signal, "abort").length, 0);
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
  });
}

describe("attempts and time limits of the OpenAI engine", { timeout: 300_000 }, () => {
  for (const status of [408, 409, 429, 500, 502, 503, 504, 520, 529]) {
    test(`status ${status} is retried twice, after growing pauses, and then a model_error`, async (t) => {
      t.mock.method(Math, "random", () => 0.5);
      const clock = createHastyClock();
      const { server, reply } = await start(t, fetchTransport, [model.refuse(status)], { clock });
      await assertModelError(reply(), new RegExp(`status ${status}`));
      assert.equal(server.requests.length, 3);
      assert.deepEqual(clock.pauses, [187.5, 375]);
    });
  }

  const date = new Date(Date.parse("2026-01-02T03:04:05Z") + 3_000).toUTCString();
  for (const [headers, pauseMs] of [
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after": date }, 3_000],
    [{ "retry-after": "0" }, 187.5],
    [{ "retry-after": "soon" }, 187.5],
    [{ "retry-after-ms": "1200", "retry-after": "2" }, 1_200],
  ] as const) {
    test(`${inspect(headers)} is honoured with a pause of ${pauseMs} ms`, async (t) => {
      t.mock.method(Math, "random", () => 0.5);
      const clock = createHastyClock();
      const scripts = [model.refuse(429, headers), model.reply("Second")];
      await (await start(t, fetchTransport, scripts, { clock })).reply();
      assert.deepEqual(clock.pauses, [pauseMs]);
    });
  }

  test("a long Retry-After fails the reply at once", async (t) => {
    const { server, reply } = await start(t, fetchTransport, [model.refuse(429, { "retry-after": "6" })]);
    await assertModelError(reply(), /status 429/);
    assert.equal(server.requests.length, 1);
  });

  test("an abort between attempts prevents the next one", async (t) => {
    const { time, clock, timerSet } = createWatchedClock((milliseconds) => milliseconds < 1_000);
    const { server, out, reply } = await start(t, fetchTransport, [model.refuse(503)], { clock });
    const rejected = assert.rejects(reply(), { name: "AbortError" });
    await timerSet;
    out.abort();
    await rejected;
    assert.equal(server.requests.length, 1);
    assert.equal(time.pending, 0);
  });

  test("a reply leaves no timers and no listeners behind", async (t) => {
    const { clock, out, reply } = await start(t, fetchTransport);
    await reply();
    assert.equal(clock.pending, 0);
    assert.equal(getEventListeners(out.output.signal, "abort").length, 0);
  });
});

test("many connections that break while long answers are read fail their replies alone", {
  skip: transports.undici === undefined && "it is about undici, which Node alone uses",
}, async (t) => {
  const { server, engine } = await start(t, transports.undici ?? fetchTransport);
  const long = model.delta("a").repeat(6_000);
  const answers = 30;
  server.script(
    ...Array.from(
      { length: answers },
      (): Script => (response) => {
        response.setHeader("Connection", "close");
        model.begin(response).write(long);
        setImmediate(() => response.socket?.resetAndDestroy());
      },
    ),
  );
  for (let asked = 0; asked < answers; asked += 10)
    await Promise.all(
      Array.from({ length: 10 }, () =>
        assertModelError(engine.reply(turn(), createOutput().output), /broke during/),
      ),
    );
});
