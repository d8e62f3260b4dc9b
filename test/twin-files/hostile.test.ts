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
