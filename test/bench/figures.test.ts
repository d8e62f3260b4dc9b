/**
 * What the benchmark checks, computes and draws.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deltaEvent, tokens } from "../../bench/burst/reply.ts";
import { pageOf } from "../../bench/list/twins.ts";
import { narrow } from "../../bench/live/capacity.ts";
import { createCheck } from "../../bench/load/answers.ts";
import { pace } from "../../bench/model/pacer.ts";
import { liveQuestion, replyQuestion, scriptIn } from "../../bench/model/script.ts";
import { createTokenReader, tokenOf } from "../../bench/model/tokens.ts";
import { toSvg } from "../../bench/report/chart.ts";
import { atMost, columnAtMost, timesAtMost, withGoal } from "../../bench/report/goals.ts";
import { loadNotes } from "../../bench/report/notes.ts";
import { toTable } from "../../bench/report/tables.ts";
import { runtime } from "../support/runtime.ts";

describe("the benchmark's checks", () => {
  const deltas = tokens.map(deltaEvent).join("");
  const complete = (content: string) =>
    `data: ${JSON.stringify({ type: "complete", message: { content } })}\n\n`;
  const reply = deltas + complete(tokens.join(""));

  test("a stream is right with the whole text and, from the service, a final message with the same", () => {
    assert.equal(createCheck("deltas")(Buffer.from(deltas)), undefined);
    assert.equal(createCheck("reply")(Buffer.from(reply)), undefined);
  });

  for (const [what, body, problem] of [
    ["a missing token", tokens.slice(1).map(deltaEvent).join(""), /wrong text/],
    ["another final message", deltas + complete("Hello."), /wrong final message: Hello\./],
    ["no final message", deltas, /wrong final message/],
    ["an error event", `${deltas}data: {"type":"error","error":{}}\n\n`, /an error event/],
  ] as const) {
    test(`a stream with ${what} is wrong, even after one that was right`, () => {
      const check = createCheck("reply");
      check(Buffer.from(reply));
      assert.match(check(Buffer.from(body)) ?? "", problem);
    });
  }

  const page = pageOf({ page: 1, limit: 20 });

  test("a list is right with all twins, whenever their files were written", () => {
    const data = page.data.map((twin) => ({ ...twin, createdAt: "2026-01-01T00:00:00.000Z" }));
    assert.equal(createCheck("list")(Buffer.from(JSON.stringify({ ...page, data }))), undefined);
  });

  for (const [what, body] of [
    ["fewer twins", { ...page, data: page.data.slice(1) }],
    ["another total", { ...page, pagination: { ...page.pagination, total: 3 } }],
  ] as const) {
    test(`a list with ${what} is wrong`, () => {
      const check = createCheck("list");
      assert.match(check(Buffer.from(JSON.stringify(body))) ?? "", /^the wrong list: /);
    });
  }

  test("a figure that was not measured meets no goal", () => {
    const row = { name: "a server", median: Number.NaN, low: 0, high: 0, more: {} };
    const goals = [timesAtMost(1), atMost(1, "KB"), columnAtMost("delay p99 ms", 1)];
    for (const goal of goals) assert.equal(withGoal(row, goal).met, false, goal.text);
  });

  test("a note says where a server of open streams had no core left", () => {
    const row = (name: string, cpu: number) => {
      const more = { "server CPU %": cpu, "load CPU %": 30, "load's own lag p99 ms": 1 };
      return { name, median: 1, low: 1, high: 1, more };
    };
    const [note, ...others] = loadNotes([row("1,000 streams", 40), row("5,000 streams", 100)]);
    assert.match(note ?? "", /^The server used up its core with: 5,000 streams\./);
    assert.deepEqual(others, []);
  });
});

describe("the model's tokens", () => {
  const sent = [0, 1, 36, 1296].map((number) => ({ number, at: 5_000_000 + number }));
  const bytes = Buffer.from(
    sent.map(({ number, at }) => `data: {"x":"${tokenOf(number, at)}"}\n\n`).join(""),
  );

  for (const size of [1, 3, 7, bytes.length]) {
    test(`are found in pieces of ${size} bytes, with their numbers and times`, () => {
      const found: { number: number; at: number }[] = [];
      const reader = createTokenReader((number, at) => found.push({ number, at }));
      for (let from = 0; from < bytes.length; from += size) reader.read(bytes.subarray(from, from + size));
      assert.deepEqual(found, sent);
    });
  }

  test("are ordered by the last question in a request", () => {
    const body = JSON.stringify([liveQuestion("a"), "and", replyQuestion("b-1", 40, 20)]);
    assert.deepEqual(scriptIn(body), { kind: "reply", id: "b-1", tokens: 40, perSecond: 20, from: 0 });
    assert.deepEqual(scriptIn(JSON.stringify(liveQuestion("a"))), { kind: "live", group: "a" });
    assert.equal(scriptIn("{}"), undefined);
  });

  test("go on where a text ends that is to be continued", () => {
    const content = tokenOf(0, 99) + tokenOf(1, 99);
    const messages = [{ content: replyQuestion("b", 40, 20) }, { content }];
    const script = scriptIn(JSON.stringify({ messages, continue_final_message: true }));
    assert.deepEqual(script, { kind: "reply", id: "b", tokens: 40, perSecond: 20, from: 2 });
  });
});

describe("the number of streams that one core carries", () => {
  const search = async (truth: number, carried = 0, tooMany = Number.POSITIVE_INFINITY) =>
    narrow({ carried, tooMany }, 4000, async (streams) => streams <= truth);

  test("is found between two known numbers", async () => {
    const { carried, tooMany } = await search(1234, 1000, 2000);
    assert.ok(carried <= 1234 && tooMany > 1234 && tooMany / carried < 1.11, `${carried}, ${tooMany}`);
  });

  test("is found above the highest number that was tried", async () => {
    const { carried, tooMany } = await search(3100, 2000);
    assert.ok(carried <= 3100 && tooMany > 3100 && tooMany / carried < 1.11, `${carried}, ${tooMany}`);
  });

  test("has no upper bound if the most that can be opened are carried", async () => {
    assert.deepEqual(await search(9999, 2000), { carried: 4000, tooMany: Number.POSITIVE_INFINITY });
  });

  test("is 0 if not even a few are carried", async () => {
    assert.equal((await search(0, 0, 200)).carried, 0);
  });
});

describe("the chart", () => {
  const row = { low: 1, high: 1, more: {} };
  const rows = [
    { ...row, name: "node:http, parsed and re-encoded", median: 1800 },
    { ...row, name: "this service", median: 2000 },
    { ...row, name: "failed", median: Number.NaN },
  ];
  const svg = toSvg({ scenario: "live", title: "Streams that one core carries", unit: "streams", rows });

  test("has the longest bar first, and none for what was not found", () => {
    const names = [...svg.matchAll(/<text [^>]*>([^<]+)<\/text>/g)].map(([, text]) => text);
    assert.deepEqual(names.slice(2), ["this service", "2,000", "node:http, parsed and re-encoded", "1,800"]);
  });
});

describe("a table", () => {
  const row = { name: "one", median: 2, low: 2, high: 2, more: {} };

  test("has no column that no row needs", () => {
    const table = toTable({
      scenario: "x",
      title: "X",
      unit: "finished",
      rows: [{ ...row, more: { lost: 3 } }],
    });
    assert.match(table, /^\| {2}\| finished \| lost \|$/m);
    assert.match(table, /^\| one \| 2 \| 3 \|$/m);
  });

  test("says what was not found, and where there is no upper bound", () => {
    const rows = [{ ...row, median: Number.NaN, low: 100, high: Number.POSITIVE_INFINITY }];
    assert.match(toTable({ scenario: "x", title: "X", unit: "u", rows }), /\| not found \| 100 – none \|/);
  });
});

const onNode = { skip: runtime !== "node" && "stops Node's own timers" };

test("a pace that is stopped gives no more turns, even if it has some to make up for", onNode, ({ mock }) => {
  let now = 0;
  mock.method(performance, "now", () => now);
  mock.timers.enable({ apis: ["setInterval"] });
  let turns = 0;
  const rate = pace([() => ++turns === 2 && rate.stop()], 1000);
  now = 5;
  mock.timers.tick(1);
  assert.equal(turns, 2);
});
