/** `server.ts check`, as an operator runs it. */

import assert from "node:assert/strict";
import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runServer } from "../server/process.ts";
import type { Variables } from "../support/child-process.ts";
import { createFolder } from "./fixture.ts";

async function check(t: TestContext, files: Readonly<Record<string, string>>, variables: Variables = {}) {
  const folder = await createFolder(t, files);
  // The model and the database do not exist: nothing may ask for them.
  const { code, stdout } = await runServer(["check", "--twins", folder], {
    DATABASE_URL: "postgres://127.0.0.1:1/none",
    MODEL_BASE_URL: "http://127.0.0.1:1/v1",
    ...variables,
  });
  return { code, lines: stdout.trim().replaceAll(`${folder}/`, "").split("\n") };
}

const odd = `---
name: Odd
engine: openai
tests:
  - ask: How often does the lamp turn?
    source: Lamp
    says: [twelve seconds, TURNS]
    never: oil
  - ask: Who won the world cup?
    source: null
---

## Lamp

It turns every twelve seconds.
`;

test("twins that answer as they should pass, and where there is no model, those who need one are noted", async (t) => {
  const files = { "odd.md": odd, "eve/twin.md": odd, "eve/more.md": "# Fog\n\nThick." };
  const passed = "2 twin files, 4 questions: no faults";
  const note = "its engine openai is not set up here, so its replies would fail";
  assert.deepEqual(await check(t, files), { code: 0, lines: [passed] });
  const without = await check(t, files, { MODEL_BASE_URL: "" });
  assert.deepEqual(without, { code: 0, lines: [`eve: ${note}`, `odd: ${note}`, passed] });
});

test("the twin that twins.md shows passes with the tests that it shows", async (t) => {
  const document = await readFile(new URL("../../docs/twins.md", import.meta.url), "utf8");
  const [, twin = ""] = /^```markdown\n([\s\S]*?)^```$/m.exec(document) ?? [];
  const [, tests = ""] = /^```yaml\n(tests:[\s\S]*?)^```$/m.exec(document) ?? [];
  const { lines } = await check(t, { "odd.md": twin.replace("\n---\n", `\n${tests}---\n`) });
  assert.deepEqual(lines, ["1 twin file, 1 question: no faults"]);
});

test("each document that cannot be read is named, and no line of a package is among those of the check", async (t) => {
  const cut = "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF";
  const folder = await createFolder(t, {
    "odd/twin.md": odd,
    "odd/deep/a.pdf": cut,
    "odd/deep/b.html": "<div>".repeat(1_000),
    "odd/deep/c.docx": "no",
    "odd/deep/d.md": "# Fog",
    "eve/twin.md": odd,
    "eve/b.docx": "no",
    "bob/twin.md": odd,
    "bob/loop.md": "",
    "zoe/twin.md": odd,
    "zoe/c.txt": "\xff",
  });
  await rm(join(folder, "bob/loop.md"));
  await symlink("loop.md", join(folder, "bob/loop.md"));
  await writeFile(join(folder, "zoe/c.txt"), new Uint8Array([0xff, 0xfe, 0xff]));
  const { code, stdout, stderr } = await runServer(["check", "--twins", folder]);
  const lines = stdout.trim().replaceAll(`${folder}/`, "").split("\n");
  assert.deepEqual(
    lines.map((line) => line.replace(/ .*/, "")),
    [
      "bob/loop.md:1:",
      "eve/b.docx:1:",
      "odd/deep/a.pdf:1:",
      "odd/deep/b.html:1:",
      "odd/deep/c.docx:1:",
      "zoe/c.txt:1:",
      "4",
    ],
    stdout,
  );
  for (const line of stderr.split("\n").filter(Boolean)) JSON.parse(line);
  assert.equal(code, 1);
});

test("each fault is told with its file and line, and fails the check", async (t) => {
  const wrong = odd
    .replace("source: Lamp", "source: Hours")
    .replace("twelve seconds, TURNS", "thirteen")
    .replace("never: oil", "never: twelve")
    .replace("Who won the world cup?", "the lamp");
  const files = {
    "a.md": wrong,
    "b.md": "---\nname: Ada\nacess: [alice]\n---\n",
    "c.md": "---\nname: Ada\ndescription: A life: short\n---\n",
    "d.md": "---\nname: Ada\n---\n\n# Lamp\n\n```\nturn\n",
    "e.md": "no front matter",
  };
  const { code, lines } = await check(t, files);
  assert.equal(code, 1);
  assert.deepEqual(
    lines.map((line) => line.replace(/; the known keys.*|, put the value.*/u, "")),
    [
      'a.md:5: "How often does the lamp turn?" was answered from "Lamp", but belongs to "Hours".',
      'a.md:5: "How often does the lamp turn?" was answered from "Lamp", without "thirteen".',
      'a.md:5: "How often does the lamp turn?" was answered from "Lamp", with "twelve".',
      'a.md:9: "the lamp" was answered from "Lamp", although nothing should answer it.',
      'b.md:3: "acess" is not a known key',
      "c.md:3: the front matter is not valid at column 14: a value has a colon, or a line is indented otherwise than those around it; if it is the colon",
      "d.md:7: The code block that begins with ``` is not closed.",
      'e.md:1: must begin with YAML front matter between two lines "---".',
      "5 twin files, 2 questions: 8 faults",
    ],
  );
});

test("all faults of a file and of its documents are told together", async (t) => {
  const files = {
    "my ada/twin.md": "---\nname: 42\nacess: [alice]\ntemperature: hot\ntests: [{ask: Who?}]\n---\n",
    "my ada/a.docx": "no",
    "odd.md": odd,
  };
  const { code, lines } = await check(t, files);
  assert.equal(code, 1);
  assert.deepEqual(
    lines.map((line) => line.replace(/(?<=must be |known key|twin's id).*/u, "")),
    [
      "my ada/twin.md:2: name must be ",
      'my ada/twin.md:3: "acess" is not a known key',
      "my ada/twin.md:4: temperature must be ",
      "my ada/twin.md:1: the file's name cannot be the twin's id",
      "my ada/a.docx:1: cannot be read as Word.",
      "2 twin files, 2 questions: 5 faults",
    ],
  );
});

test("a folder without twins fails the check", async (t) => {
  const { code, lines } = await check(t, { "notes/odd.md": odd });
  const fault = "there is no twin: neither a Markdown file nor a folder with a twin.md";
  assert.deepEqual([code, lines[1]], [1, "0 twin files, 0 questions: 1 fault"]);
  assert.ok(lines[0]?.endsWith(`: ${fault}.`), lines[0]);
});

test("a folder that does not exist is explained in one line", async () => {
  const { code, stdout, stderr } = await runServer(["check", "--twins", "/none/such"]);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^twin-service: TWINS_DIR \(--twins\): the folder .* cannot be read \(ENOENT\).*\n$/u);
});

test("the sample twins pass", async () => {
  const samples = fileURLToPath(new URL("../../twins", import.meta.url));
  const { code, stdout } = await runServer(["check", "--twins", samples]);
  assert.match(stdout, /^3 twin files, \d{2} questions: no faults$/mu);
  assert.equal(code, 0);
});
