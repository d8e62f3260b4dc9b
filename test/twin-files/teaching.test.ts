import assert from "node:assert/strict";
import { test } from "node:test";
import { createTwinReader, readTwinFile, type TwinFaults } from "../../adapters/twin-text/mod.ts";

const rules = { defaultEngine: "knowledge", engines: ["knowledge"] };
const taught = { question: "Do you take dogs?", answer: "On a lead.", heading: "Dogs" };

async function teach(text: string, more: Partial<typeof taught> = {}): Promise<string> {
  const bytes = await createTwinReader().teach(new TextEncoder().encode(text), { ...taught, ...more });
  if (!(bytes instanceof Uint8Array)) throw new Error(`${bytes.path}: ${bytes.message}`);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

const asked = (text: string) => readTwinFile(new TextEncoder().encode(text), rules).tests;
const section = "<!-- asked as: Do you take dogs? -->\n\nOn a lead.\n";

for (const [what, before, after] of [
  ["no tests", "name: Odd", 'name: Odd\ntests:\n  - ask: "Do you take dogs?"\n    source: "Dogs"'],
  [
    "an empty list",
    "tests: []\nname: Odd",
    'tests: [{ ask: "Do you take dogs?", source: "Dogs" }]\nname: Odd',
  ],
  [
    "a list in flow style",
    "name: Odd\ntests: [{ ask: Who? }, ] # few",
    'name: Odd\ntests: [{ ask: Who? }, { ask: "Do you take dogs?", source: "Dogs" }, ] # few',
  ],
  [
    "a list in flow style of several lines",
    "name: Odd\ntests: [\n  { ask: Who? } # one\n]",
    'name: Odd\ntests: [\n  { ask: Who? }, { ask: "Do you take dogs?", source: "Dogs" } # one\n]',
  ],
  [
    "a list that is not indented",
    "tests:\n- ask: Who? # really\n  says:\n  - me\nname: Odd",
    'tests:\n- ask: Who? # really\n  says:\n  - me\n- ask: "Do you take dogs?"\n  source: "Dogs"\nname: Odd',
  ],
  [
    "a block of text at its end",
    "tests:\n    - ask: |\n        Who?\n\nname: Odd",
    'tests:\n    - ask: |\n        Who?\n    - ask: "Do you take dogs?"\n      source: "Dogs"\n\nname: Odd',
  ],
  [
    "front matter in braces",
    "{ name: Odd }",
    '{ name: Odd , tests: [{ ask: "Do you take dogs?", source: "Dogs" }]}',
  ],
] as const) {
  test(`a golden question is added to ${what}`, async () => {
    const text = await teach(`---\n${before}\n---\n`);
    assert.equal(text, `---\n${after}\n---\n\n## Dogs\n\n${section}`);
    assert.deepEqual(asked(text).at(-1)?.ask, "Do you take dogs?");
  });
}

test("a question that is taught again has one golden question, and both answers", async () => {
  const once = await teach("---\nname: Odd\n---\n");
  const twice = await teach(once, { answer: "No cats." });
  assert.equal(twice, `${once}\n<!-- asked as: Do you take dogs? -->\n\nNo cats.\n`);
});

for (const [what, tests] of [
  ["has as many as are asked", "  - ask: Who?\n".repeat(100)],
  ["would be longer than it may be", `  - ask: ${"x".repeat(65_490)}\n`],
] as const) {
  test(`an answer is taught without a golden question where front matter ${what}`, async () => {
    const text = `---\nname: Odd\ntests:\n${tests}---\n`;
    assert.equal(await teach(text), `${text}\n## Dogs\n\n${section}`);
    assert.equal(asked(text).length, tests.split("\n").length - 1);
  });
}

test("an answer that is taught again, as where the first request's answer was lost, changes nothing", async () => {
  for (const text of [
    "---\nname: Odd\n---\n",
    "---\r\nname: Odd\r\n---\r\n# A\r\n\r\nb",
    "---\nname: Odd\n---\n## Dogs\n\nWoof.\n\n## B\n\nc\n",
  ]) {
    const once = await teach(text, { answer: "On a lead.\n\nNot indoors." });
    const more = await teach(once, { question: "And puppies?" });
    for (const file of [once, more, once.trimEnd()])
      assert.equal(await teach(file, { answer: "On a lead.\n\nNot indoors." }), file);
    assert.notEqual(await teach(once, { answer: "Not indoors." }), once);
  }
});

for (const [what, body, expected] of [
  ["an empty body", "", `\n## Dogs\n\n${section}`],
  ["a body without a line end", "# A\n\nb", `# A\n\nb\n\n# Dogs\n\n${section}`],
  ["sections below a title", "# Odd\n\n## A\n\nb\n", `# Odd\n\n## A\n\nb\n\n## Dogs\n\n${section}`],
  ["sections of the first level", "# A\n\nb\n\n# B\n\nc\n", `# A\n\nb\n\n# B\n\nc\n\n# Dogs\n\n${section}`],
  [
    "a section that has the heading",
    "## Dogs\n\nWoof.\n\n## B\n\nc\n",
    `## Dogs\n\nWoof.\n\n${section}\n## B\n\nc\n`,
  ],
  [
    "the heading at the end",
    "## B\n\nc\n\n## Dogs ##\n\nWoof.",
    `## B\n\nc\n\n## Dogs ##\n\nWoof.\n\n${section}`,
  ],
  [
    "the heading in a code block",
    "## A\n\n```\n## Dogs\n```\n",
    `## A\n\n\`\`\`\n## Dogs\n\`\`\`\n\n## Dogs\n\n${section}`,
  ],
] as const) {
  test(`an answer is added to ${what}`, async () => {
    const begin = "---\nname: Odd\ntests: []\n---\n";
    const text = await teach(begin + body);
    assert.equal(text.slice(text.indexOf("---\n", 4) + 4), expected);
  });
}

test("all other bytes stay where the line that closes the front matter is the last one", async () => {
  assert.equal(
    await teach("---\nname: Odd\n---  "),
    `---\nname: Odd\ntests:\n  - ask: "Do you take dogs?"\n    source: "Dogs"\n---  \n\n## Dogs\n\n${section}`,
  );
  assert.equal(
    await teach("---\nname: Odd\n...\n---\n"),
    `---\nname: Odd\ntests:\n  - ask: "Do you take dogs?"\n    source: "Dogs"\n...\n---\n\n## Dogs\n\n${section}`,
  );
});

const begin = "---\nname: Odd\ntests: []\n---\n";

test("a heading with many spaces within is read once", { timeout: 60_000 }, async () => {
  const heading = `# A${" ".repeat(1_000_000)}b`;
  assert.ok((await teach(`${begin}${heading}\n`)).endsWith(`${heading}\n\n# Dogs\n\n${section}`));
});

test("a file may have hundreds of thousands of headings", async () => {
  const body = "## A\n".repeat(200_000);
  assert.ok((await teach(begin + body)).endsWith(`${body}\n## Dogs\n\n${section}`));
});

for (const end of ["\n", "\r", "\r\n"]) {
  test(`others have turns while a file of many lines that end with ${JSON.stringify(end)} is taught`, async () => {
    const { setTimeout: setTimer } = globalThis;
    let pauses = 0;
    globalThis.setTimeout = ((callback: () => void, delayMs?: number) => {
      pauses++;
      return setTimer(callback, delayMs);
    }) as typeof setTimeout;
    try {
      await teach(begin + end.repeat(1_000_000 / end.length));
    } finally {
      globalThis.setTimeout = setTimer;
    }
    assert.ok(pauses >= 15, `${pauses} pauses`);
  });
}

test("line ends, a byte order mark and odd spaces stay as they are", async () => {
  const text = "\ufeff---  \r\nname: Odd\r\n---\r\n\r\n## A\n\nb \r\r\n";
  assert.equal(
    await teach(text),
    '\ufeff---  \r\nname: Odd\r\ntests:\r\n  - ask: "Do you take dogs?"\r\n    source: "Dogs"\r\n---\r\n\r\n## A\n\nb \r\r\n' +
      "\r\n## Dogs\r\n\r\n<!-- asked as: Do you take dogs? -->\r\n\r\nOn a lead.\r\n".slice(2),
  );
});

test("a golden question names the heading as it is read", async () => {
  const text = await teach("---\nname: Odd\n---\n", { heading: "The `lamp` of *Odd*" });
  assert.equal(asked(text)[0]?.source, "The lamp of Odd");
});

test("each of thousands of faults of front matter is told at its line", () => {
  const keys = Array.from({ length: 1_100 }, (_, at) => `key${at}: b\n`);
  const text = `---\nname: Odd\n\n${keys.join("")}tags:\n  - a\n  - 1\ntools: [a,\n  b]\n---\n`;
  const toolProblem = (tool: string) => (tool === "b" ? "b is not known" : undefined);
  assert.throws(
    () => readTwinFile(new TextEncoder().encode(text), { ...rules, toolProblem }),
    ({ faults }: TwinFaults) => {
      const told = faults.map(({ path, line }) => `${line} ${path}`);
      const unknown = keys.map((_, at) => `${at + 4} key${at}`);
      assert.deepEqual(told, [...unknown, "1105 tags", "1108 tools"]);
      return true;
    },
  );
});
