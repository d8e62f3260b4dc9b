import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTwinFile, TwinFileError } from "../../adapters/twin-files/file.ts";

const parsing = { defaultEngine: "knowledge", engines: ["knowledge", "openai", "echo"] };

function parse(text: string, file = "ada.md") {
  return twinOf(file, new TextEncoder().encode(text));
}

function twinOf(file: string, bytes: Uint8Array) {
  const parsed = parseTwinFile(file, bytes, parsing);
  if ("faults" in parsed) throw parsed.faults[0];
  return parsed.twin;
}

function problemOf(text: string, file = "ada.md"): string {
  try {
    parse(text, file);
  } catch (error) {
    assert.ok(error instanceof TwinFileError);
    assert.doesNotMatch(error.message, /\n/u, "one line");
    return error.message;
  }
  throw new Error("The file was accepted.");
}

test("a file with all keys gives a twin with all fields", () => {
  const twin = parse(`---
id: countess
name: Ada Lovelace
description: Wrote notes.
avatarUrl: https://example.com/ada.png
greeting: |
  Good day.
  What shall we compute?
tags: [history, mathematics]
engine: openai
model: gpt-small
temperature: 0.7
access: [alice, "42"]
language: en-GB
knowledge: search
tools: [orders, weather/forecast]
confirm: [orders/cancel]
tokensPerDay: 100000
handover: true
tests:
  - ask: Who are you?
---

You are Ada.

# Engines
They weave algebra.
`);
  assert.deepEqual(twin, {
    id: "countess",
    name: "Ada Lovelace",
    description: "Wrote notes.",
    avatarUrl: "https://example.com/ada.png",
    greeting: "Good day.\nWhat shall we compute?\n",
    handover: true,
    tags: ["history", "mathematics"],
    engine: "openai",
    model: "gpt-small",
    temperature: 0.7,
    access: ["alice", "42"],
    instructions: "You are Ada.\n\n# Engines\nThey weave algebra.",
    language: "en-GB",
    knowledge: "search",
    tools: ["orders", "weather/forecast"],
    confirm: ["orders/cancel"],
    tokensPerDay: 100_000,
  });
});

test("a file with only a name gets the file's name as id and the default engine, and is open to all", () => {
  const twin = parse("---\nname: Ada\n---\n", "ada.v2.md");
  assert.deepEqual(twin, {
    id: "ada.v2",
    name: "Ada",
    description: null,
    avatarUrl: null,
    greeting: null,
    handover: false,
    tags: [],
    engine: "knowledge",
    model: null,
    temperature: null,
    access: null,
    instructions: "",
    language: null,
    knowledge: null,
    tools: [],
    confirm: [],
    tokensPerDay: null,
  });
});

test("a byte order mark and Windows line ends change nothing", () => {
  assert.deepEqual(
    parse("\uFEFF---\r\nname: Ada\r\n---\r\nOne.\r\nTwo.\r\n"),
    parse("---\nname: Ada\n---\nOne.\nTwo.\n"),
  );
});

test("a line of dashes in the body does not end the body", () => {
  assert.equal(parse("---\nname: Ada\n---\nOne.\n\n---\n\nTwo.").instructions, "One.\n\n---\n\nTwo.");
});

test("texts of the greatest lengths are accepted, counted in characters", () => {
  const [id, name, owner] = ["a".repeat(64), "😀".repeat(100), "😀".repeat(255)];
  const twin = parse(`---\nid: ${id}\nname: ${name}\nmodel: ${"😀".repeat(200)}\naccess: [${owner}]\n---\n`);
  assert.deepEqual([twin.id, twin.name, twin.access], [id, name, [owner]]);
});

test("an empty access list is kept: it means no owner", () => {
  assert.deepEqual(parse("---\nname: Ada\naccess: []\n---\n").access, []);
});

const refused: readonly (readonly [string, string, RegExp])[] = [
  [
    "an unknown key",
    "name: Ada\nacess: [alice]",
    /^Twin file "ada.md", line 3: "acess" is not a known key; the known keys are id, name, .*access, language, knowledge, tools, confirm, tokensPerDay, handover, tests\.$/u,
  ],
  ["a key that differs in case", "name: Ada\nAccess: [alice]", /"Access" is not a known key/u],
  ["a key of Object.prototype", "name: Ada\n__proto__: {access: []}", /"__proto__" is not a known key/u],
  ["a missing name", "description: Ada", /name is missing/u],
  ["front matter without any key", "# nothing yet", /name is missing/u],
  ["a name that is a number", "name: 42", /name must be a string/u],
  ["a blank name", 'name: "  "', /name must be a string/u],
  ["a name on two lines", 'name: "A\\nB"', /name must be a string/u],
  ["a name of more than 100 characters", `name: ${"a".repeat(101)}`, /name must be a string of 1 to 100/u],
  ["an id with a slash", "name: Ada\nid: a/b", /id must be a string of 1 to 64 letters/u],
  ["an id that begins with a dot", "name: Ada\nid: ..", /id must be/u],
  ["an id that is a number", "name: Ada\nid: 7", /id must be/u],
  ["an id of more than 64 characters", `name: Ada\nid: ${"a".repeat(65)}`, /id must be/u],
  [
    "a language that is no tag",
    "name: Ada\nlanguage: English please",
    /language must be a BCP 47 language tag/u,
  ],
  ["tools that are no list", "name: Ada\ntools: orders", /tools must be a list of tools/u],
  ["another way to know", "name: Ada\nknowledge: all", /knowledge must be one of whole, search/u],
  ["a test that asks nothing", "name: Ada\ntests: [{source: Lamp}]", /tests must be a list of questions/u],
  [
    "a test with an unknown member",
    "name: Ada\ntests: [{ask: a, say: b}]",
    /tests must be a list of questions/u,
  ],
  ["access without a value", "name: Ada\naccess:", /access must be a list of owners/u],
  ["access that is not a list", "name: Ada\naccess: alice", /access must be a list of owners/u],
  ["an owner that is a number", "name: Ada\naccess: [42]", /access must be a list of owners/u],
  ["a tag that is a number", "name: Ada\ntags: [1]", /tags must be a list of strings/u],
  [
    "an owner of more than 255 characters",
    `name: Ada\naccess: [${"a".repeat(256)}]`,
    /access must be .+ up to 255 characters/u,
  ],
  [
    "a tag of more than 255 characters",
    `name: Ada\ntags: [${"a".repeat(256)}]`,
    /tags must be .+ up to 255 characters/u,
  ],
  ["an unknown engine", "name: Ada\nengine: gpt", /engine must be one of knowledge, openai, echo/u],
  [
    "a model of more than 200 characters",
    `name: Ada\nmodel: ${"a".repeat(201)}`,
    /model must be a string of 1 to 200 characters on one line/u,
  ],
  ["a temperature above 2", "name: Ada\ntemperature: 2.1", /temperature must be a number from 0 to 2/u],
  ["tokens of a day below 1", "name: Ada\ntokensPerDay: 0", /tokensPerDay must be a whole number from 1/u],
  ["a temperature that is not a number", "name: Ada\ntemperature: .nan", /temperature must be/u],
  [
    "an address with another scheme",
    "name: Ada\navatarUrl: javascript:alert(1)",
    /avatarUrl must be an http or https address/u,
  ],
  ["a NUL in a greeting", 'name: Ada\ngreeting: "a\\0b"', /greeting must be/u],
  ...(
    [
      ["a repeated key", "name: Ada\naccess: [alice]\naccess: [bob]", 4, 1, "a key is there a second time"],
      ["a custom tag", "name: !!js/function 'x'", 2, 7, 'a value begins with "!"'],
      ["an alias", "name: &x Ada\ndescription: *x", 3, 14, 'a value begins with "*"'],
      ["a value in asterisks", "name: Ada\ngreeting: *Hello*", 3, 11, 'a value begins with "*"'],
      ["a value with two ampersands", "name: &a &b", 2, 10, 'a value begins with "&"'],
      ["a value with a colon", "name: Ada: a life", 2, 7, "a value has a colon"],
      [
        "a line indented further",
        "name: Ada\n  tags: [a]",
        2,
        7,
        "a line is indented otherwise than those around it",
      ],
      [
        "a line indented less",
        "tags:\n  - a\n - b",
        4,
        1,
        "a line is indented otherwise than those around it",
      ],
      ["a line without a colon", "Ada\nname: Ada", 2, 1, "a line has no colon after its key"],
      ["a line indented by a tab", "name: Ada\n\ttags: [a]", 3, 1, "a line is indented by a tab; use spaces"],
      ["a list that is not closed", "name: [Ada", 2, 11, "a bracket"],
      [
        "a list that is not closed before a key",
        "tags: [a\nname: Ada",
        3,
        1,
        "a bracket before it is not closed",
      ],
      [
        "a quote that is not closed",
        'name: "Ada',
        2,
        11,
        "a quote, a bracket, a comma or a colon is missing",
      ],
      ["a backslash in quotes", 'name: "a\\q"', 2, 9, "a backslash in double quotes has no meaning here"],
      ["words behind a quote", 'name: "Ada" Lovelace', 2, 13, "this does not belong here"],
      ["a value with a sign", "name: @ada", 2, 7, "a value begins with a sign"],
      ["lines within brackets", "tags: [\n  a,\n- b]", 4, 1, "a line is indented otherwise"],
    ] as const
  ).map(
    ([what, yaml, line, column, words]) =>
      [
        what,
        yaml,
        new RegExp(
          `^Twin file "ada.md", line ${line}: the front matter is not valid at column ${column}: .*${words.replace(/[*.]/gu, "\\$&")}`,
          "u",
        ),
      ] as const,
  ),
  ["a list", "- Ada", /must consist of lines such as "name: Ada"/u],
];

for (const [what, frontMatter, problem] of refused) {
  test(`${what} is refused with one line that says what is accepted`, () => {
    assert.match(problemOf(`---\n${frontMatter}\n---\nText.\n`), problem);
  });
}

test("a file without front matter is refused", () => {
  assert.match(problemOf("# Ada\n"), /must begin with YAML front matter/u);
  assert.match(problemOf(""), /must begin with YAML front matter/u);
});

test("front matter that is never closed is refused", () => {
  assert.match(problemOf("---\nname: Ada\n"), /no closing line/u);
  assert.match(problemOf("---\nname: Ada\n--- x\n"), /no closing line/u);
});

test("three dots end front matter, and dashes with more behind them are refused: no key is lost", () => {
  const { instructions } = parse("---\nname: Ada\n...\naccess: [anna]\n---\nText.\n");
  assert.equal(instructions, "access: [anna]\n---\nText.");
  for (const line of ["--- x", "---\tx", "--- # a comment"]) {
    const problem = problemOf(`---\nname: Ada\n${line}\naccess: [anna]\n---\nText.\n`);
    assert.match(problem, /line 3: a line that ends the front matter has nothing but "---"/u);
  }
});

test("a file name that cannot be an id is refused, unless the file names one", () => {
  assert.match(
    problemOf("---\nname: Ada\n---\n", "my ada.md"),
    /"my ada.md": the file's name cannot be the twin's id/u,
  );
  assert.equal(parse("---\nname: Ada\nid: ada\n---\n", "my ada.md").id, "ada");
});

test("bytes that are not UTF-8 are refused", () => {
  const bytes = new Uint8Array([...new TextEncoder().encode("---\nname: Ada\n---\n"), 0xff]);
  assert.throws(() => twinOf("ada.md", bytes), /"ada.md": is not valid UTF-8/u);
});
