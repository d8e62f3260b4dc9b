import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { createJsonLog } from "../../adapters/json-log.ts";
import type { LogLevel } from "../../core/base/log.ts";
import { prettyLine } from "../../server/log.ts";

/** What a person reads of an entry. */
function pretty(level: LogLevel, message: string, fields?: Record<string, unknown>, colors = false): string {
  let text = "";
  const write = (line: string) => {
    text += prettyLine(line, colors);
  };
  createJsonLog({ level: "debug", write, now: () => 0 })(level, message, fields);
  return text;
}

test("an entry is one line: the time of day, the level, the message and the fields", () => {
  const line = pretty("info", "request", {
    method: "GET",
    status: 200,
    owner: undefined,
    settings: { PORT: 1 },
    what: "two words",
  });
  assert.match(
    line,
    /^\d\d:\d\d:00\.000 info {2}request method=GET status=200 settings={"PORT":1} what="two words"\n$/,
  );
});

test("an error is below its entry, with its causes", () => {
  const error = new Error("not stored", {
    cause: new AggregateError([new Error("disk full")], "both failed"),
  });
  const lines = pretty("error", "it failed", { error }).split("\n");
  assert.match(lines[0] ?? "", / error it failed$/);
  const found = (part: string) => lines.findIndex((line) => line.includes(part));
  assert.ok(found("  Error: not stored") === 1);
  assert.ok(found("  caused by AggregateError: both failed") > 1);
  assert.ok(found("  caused by Error: disk full") > found("both failed"));
});

test("what a client sent cannot control the terminal", () => {
  const line = pretty("warn", "odd", { name: "\u001b[2J\u009b2J\r\nx" });
  assert.match(line, / name="\\u001b\[2J\\u009b2J\\r\\nx"\n$/);
  assert.ok(!/[^\P{Cc}\n]/u.test(line));
});

test("colors are only added", () => {
  const entry = ["warn", "slow", { ms: 5 }] as const;
  const colored = pretty(...entry, true);
  assert.notEqual(colored, pretty(...entry));
  assert.equal(stripVTControlCharacters(colored), pretty(...entry));
});
