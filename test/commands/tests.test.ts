/**
 * What the command `tests` prints of what people asked and thought.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseTwinFile } from "../../adapters/twin-files/file.ts";
import type { TwinClient } from "../../client/mod.ts";
import { writeTests } from "../../server/commands/tests.ts";

/** A rated reply, as far as the command reads it. */
interface Rated {
  readonly question: string;
  readonly rating: "up" | "down";
  readonly content: string;
  readonly comment: string | null;
  readonly sources: readonly { readonly heading: string }[] | null;
}

/** What is printed where this was left unanswered, and that was rated. */
function printed(questions: readonly string[], rated: readonly Rated[] = []): Promise<string> {
  const client = {
    twins: { get: async () => ({ id: "odd" }) },
    questions: {
      async *unanswered() {
        for (const question of questions) yield { question, count: 2 };
      },
    },
    feedback: {
      async *list() {
        yield* rated;
      },
    },
  };
  return writeTests(client as unknown as TwinClient, "odd");
}

/** The tests of a twin whose front matter has what was printed. */
function testsOf(yaml: string) {
  const bytes = new TextEncoder().encode(`---\nname: Odd\n${yaml}---\nText.\n`);
  const parsed = parseTwinFile("odd.md", bytes, { engines: ["knowledge"], defaultEngine: "knowledge" });
  if ("faults" in parsed) throw parsed.faults[0];
  return parsed.tests;
}

const controls = /[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u;

test("whatever was asked, check takes what is printed, and a terminal obeys none of it", async () => {
  const odd = [
    "---",
    "\n",
    "\r",
    "\t",
    "\u001b[2J",
    "\u009b",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\u0085",
    "- ",
    ": ",
    "#",
    '"',
    "'",
    "\\",
    "&a",
    "*a",
    "!x",
    "%",
    "@",
    "{",
    "[",
    "|",
    ">",
    "null",
    "1",
    "~",
    "\u{1f600}",
  ];
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(fc.oneof(fc.constantFrom(...odd), fc.string({ maxLength: 3 }))).map((parts) => parts.join("")),
  );
  const rated = fc.record({
    question: text,
    rating: fc.constantFrom("up" as const, "down" as const),
    content: text,
    comment: fc.option(text),
    sources: fc.option(fc.array(fc.record({ heading: text }), { maxLength: 1 })),
  });
  const property = fc.asyncProperty(
    fc.array(text, { maxLength: 4 }),
    fc.array(rated, { maxLength: 4 }),
    async (questions, ratings) => {
      const yaml = await printed(questions, ratings);
      assert.doesNotMatch(yaml, controls);
      const found = testsOf(yaml).map(({ ask }) => ask);
      for (const question of questions) {
        const asked = question
          .replaceAll(/\r\n?/g, "\n")
          .replaceAll(/[^\P{Cc}\n\t]/gu, "")
          .trim();
        if (asked !== "") assert.ok(found.includes(asked), JSON.stringify({ question, yaml }));
      }
    },
  );
  await fc.assert(property, { numRuns: 2000 });
});

test("what turns the direction of a text is kept, escaped", async () => {
  const yaml = await printed(["abc\u202efed"]);
  assert.equal(yaml, 'tests:\n  # asked 2 times, without an answer\n  - ask: "abc\\u202efed"\n');
  assert.equal(testsOf(yaml)[0]?.ask, "abc\u202efed");
});

test("what front matter has no room for is left out, and counted", async () => {
  const yaml = await printed([
    "short",
    ...Array.from({ length: 9 }, (_, at) => `${at}${"長".repeat(9_000)}`),
  ]);
  assert.equal(testsOf(yaml).length, 3);
  assert.match(yaml, /\n# 7 more, which front matter has no room for\n$/);
});
