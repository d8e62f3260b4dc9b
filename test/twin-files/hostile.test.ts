/**
 * Twin files of someone who may add files, and is not to be trusted with more.
 */

import assert from "node:assert/strict";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createFolder, open, openFolder } from "./fixture.ts";

const skip = process.platform === "win32" && "Windows requires a privilege to create links";
const front = "---\nname: Ada\n---\n";

test("a link out of the folder of twins is a fault, as a twin, as its document, and through a folder", {
  skip,
}, async (t) => {
  const outside = await createFolder(t, { "jwt-secret": "a secret", "twin.md": front });
  for (const [link, target] of [
    ["bob.md", "jwt-secret"],
    ["ada/notes.txt", "jwt-secret"],
    ["eve", ""],
  ] as const) {
    const folder = await createFolder(t, { "ada/twin.md": front });
    await symlink(join(outside, target), join(folder, link));
    const file = link === "eve" ? "eve/twin.md" : link;
    await assert.rejects(open(t, folder), {
      name: "TwinFileError",
      message: `Twin file "${file}": is a link out of the folder of twins; put the file itself there.`,
    });
  }
});

test("links within a folder that is reached by a link are followed", { skip }, async (t) => {
  const real = await createFolder(t, { "..data/ada.md": front });
  await symlink("..data/ada.md", join(real, "ada.md")); // as Kubernetes mounts files
  const parent = await createFolder(t, {});
  await symlink(real, join(parent, "twins"));
  const twins = await open(t, join(parent, "twins"));
  assert.ok(await twins.get("alice", "ada"));
});

test("front matter of more than 64 KiB is a fault, in bytes of UTF-8", async (t) => {
  for (const yaml of [
    "[".repeat(900_000),
    "name: ::\n".repeat(100_000),
    "k: {".repeat(200_000),
    `# ${"é".repeat(32_768)}`,
  ]) {
    await assert.rejects(
      openFolder(t, { "ada.md": `---\n${yaml}\n---\n` }),
      /the front matter is longer than 64 KiB/,
    );
  }
  const folder = await createFolder(t, {});
  await writeFile(join(folder, "ada.md"), `---\nname: Ada\n# ${"x".repeat(60_000)}\n---\n`);
  assert.ok(await (await open(t, folder)).get("alice", "ada"));
});

test("front matter that is nested deep is a fault that says how deep it may be", async (t) => {
  for (const [yaml, line] of [
    [`name: Ada\ntags: ${"[".repeat(60_000)}`, 3],
    [`tags: ${"[".repeat(21)}${"]".repeat(21)}`, 2],
    ["k: {".repeat(15_000), 2],
    ["- ".repeat(30_000), 2],
    ["? ".repeat(30_000), 2],
  ] as const) {
    await assert.rejects(openFolder(t, { "ada.md": `---\n${yaml}\n---\n` }), {
      name: "TwinFileError",
      message: `Twin file "ada.md", line ${line}: the front matter nests lists and maps more than 20 deep; it needs at most 4.`,
    });
  }
});

test("front matter with thousands of keys, values or lines is a fault at the line that it is read to", async (t) => {
  for (const [yaml, line] of [
    [`tags: [${"a,".repeat(30_000)}]`, 3],
    [`tests:\n${"- ask: a\n".repeat(6_500)}`, 1_780],
    [`tags:\n${"# a\n".repeat(10_000)}`, 7_998],
    ["\n".repeat(60_000), 15_996],
  ] as const) {
    await assert.rejects(openFolder(t, { "ada.md": `---\nname: Ada\n${yaml}\n---\n` }), {
      name: "TwinFileError",
      message: `Twin file "ada.md", line ${line}: the front matter has too many keys, values and lines, and is not read from here on; it may have a list of 2,600 items.`,
    });
  }
});

test("front matter may have 500 golden questions, and a list of 2,600 items", async (t) => {
  const asked = "  - ask: How much is it?\n    source: Prices\n    says: [nine euros]\n".repeat(500);
  const tags = "  - coffee\n".repeat(2_600);
  for (const lines of [`tests:\n${asked}`, `tags:\n${tags}`])
    assert.ok(await openFolder(t, { "ada.md": `---\nname: Ada\n${lines}---\n` }));
});

test("front matter within its length is a fault at its first sign, whatever it repeats", async (t) => {
  for (const [yaml, problem] of [
    ["name: ::\n".repeat(1_000), /line 2: .*, put the value in quotes/],
    [
      "name: Ada\n".repeat(1_100),
      /line 3: the front matter is not valid at column 1: a key is there a second time/,
    ],
    ["}".repeat(60_000), /line 2: the front matter is not valid at column 1: this does not belong here/],
    [
      "[}".repeat(30_000),
      /line 2: the front matter is not valid at column 2: a quote, a bracket, a comma or a colon is missing/,
    ],
    [
      `tags: [${",".repeat(7_900)}]`,
      /line 2: the front matter is not valid at column 9: this does not belong here/,
    ],
    [
      `name: "${"\\q".repeat(30_000)}"`,
      /line 2: the front matter is not valid at column 8: a backslash in double quotes/,
    ],
    [
      `name: &a Ada\ntags: [${"*a,".repeat(2_600)}]`,
      /line 3: the front matter is not valid at column 8: a value begins with "\*"/,
    ],
    [
      Array.from({ length: 1_100 }, (_, n) => `k${n}: 1`).join("\n"),
      /"k0" is not a known key; the known keys are id, name/,
    ],
  ] as const) {
    await assert.rejects(openFolder(t, { "ada.md": `---\n${yaml}\n---\n` }), problem);
  }
});
