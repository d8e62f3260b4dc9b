import assert from "node:assert/strict";
import { mkdir, rename, symlink, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openTwinFiles } from "../../adapters/twin-files/mod.ts";
import { createEchoEngine } from "../../core/twins/engine.ts";
import { createFolder, createRecorder, idsFor, open } from "./fixture.ts";

test("a file of 1 MiB is read, a larger one refused", async (t) => {
  const head = "---\nname: Big\n---\n";
  const folder = await createFolder(t, { "big.md": head.padEnd(1024 * 1024, "x") });
  assert.deepEqual(await idsFor(await open(t, folder), "alice"), ["big"]);
  await writeFile(join(folder, "big.md"), head.padEnd(1024 * 1024 + 1, "x"));
  await assert.rejects(open(t, folder), /"big.md": is larger than 1 MiB/u);
});

test("twins are listed by name, only to owners who may use them", async (t) => {
  const folder = await createFolder(t, {
    "1.md": "---\nname: Zoe\n---\n",
    "2.md": "---\nname: Ada\naccess: [alice]\n---\n",
    "3.md": "---\nname: Bob\naccess: []\n---\n",
  });
  const files = await open(t, folder);
  assert.deepEqual(await idsFor(files, "alice"), ["2", "1"]);
  assert.deepEqual(await idsFor(files, "mallory"), ["1"]);
  assert.equal((await files.get("alice", "2"))?.name, "Ada");
  assert.equal(await files.get("mallory", "2"), undefined);
  assert.equal(await files.get("alice", "3"), undefined);
});

test("its functions can be passed on alone", async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const { list, get, reload, close } = await open(t, folder);
  await reload();
  assert.equal((await list("alice", { offset: 0, limit: 1 })).total, 1);
  assert.equal((await get("alice", "ada"))?.name, "Ada");
  await close();
});

test("a folder with a twin.md is a twin, which knows all other texts in it", async (t) => {
  const folder = await createFolder(t, {});
  await mkdir(join(folder, "odd", "notes", ".hidden"), { recursive: true });
  await mkdir(join(folder, "no-twin"));
  const files = {
    "odd/twin.md": "---\nname: Odd\n---\nYou are Odd.",
    "odd/hours.txt": "Open in May.",
    "odd/notes/lamp.md": "# Lamp\n\nIt turns.",
    "odd/notes/.hidden/secret.md": "no",
    "odd/picture.png": "no",
    "no-twin/notes.md": "no",
  };
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  const twins = await open(t, folder);
  assert.deepEqual(await idsFor(twins, "alice"), ["odd"]);
  const twin = await twins.get("alice", "odd");
  assert.deepEqual(twin?.documents, [
    { path: "hours.txt", text: "Open in May." },
    { path: "notes/lamp.md", text: "# Lamp\n\nIt turns." },
  ]);
  await writeFile(join(folder, "odd/hours.txt"), "Open in June.");
  await twins.reload();
  assert.equal((await twins.get("alice", "odd"))?.documents[0]?.text, "Open in June.");
});

test("a document that is not UTF-8, and too many of them, are refused", async (t) => {
  const folder = await createFolder(t, {});
  await mkdir(join(folder, "odd"));
  await writeFile(join(folder, "odd/twin.md"), "---\nname: Odd\n---\n");
  await writeFile(join(folder, "odd/notes.txt"), Uint8Array.of(0xff));
  await assert.rejects(open(t, folder), /Twin file "odd\/notes\.txt": is not valid UTF-8\./u);
  await writeFile(join(folder, "odd/notes.txt"), new Uint8Array(21 * 1024 * 1024));
  await assert.rejects(
    open(t, folder),
    /"odd\/twin\.md": the documents in its folder are larger than 20 MiB together/u,
  );
  await writeFile(join(folder, "odd/notes.txt"), "");
  for (let number = 0; number < 2_000; number++) await writeFile(join(folder, `odd/${number}.md`), "");
  await assert.rejects(open(t, folder), /"odd\/twin\.md": its folder has more than 2000 documents/u);
});

test("a code block or comment that is not closed causes a warning with its line", async (t) => {
  const text = "---\nname: Odd\n---\n\n# Lamp\n\nIt turns.\n\n```sh\nnpm start\n\n# Hours\n\nMay. <!-- begin";
  const recorder = createRecorder();
  await open(t, await createFolder(t, { "odd.md": text }), { log: recorder.log });
  assert.deepEqual(
    recorder.entries.map(({ fields }) => [fields.file, fields.line, fields.fault]),
    [
      ["odd.md", 9, "The code block that begins with ``` is not closed."],
      ["odd.md", 14, "The comment that begins with <!-- is not closed."],
    ],
  );
});

test("links to files are twins; folders, hidden files and other kinds are not", {
  skip: process.platform === "win32" && "Windows requires a privilege to create links",
}, async (t) => {
  const folder = await createFolder(t, {
    "notes.txt": "Not a twin.",
    ".draft.md": "Not a twin.",
    "ada.md": "---\nname: Ada\n---\n",
  });
  await mkdir(join(folder, "old.md"));
  await symlink(join(folder, "ada.md"), join(folder, "linked.md"));
  await symlink(join(folder, "nowhere"), join(folder, "dangling.md"));
  assert.deepEqual(await idsFor(await open(t, folder), "alice"), ["ada", "linked"]);
});

test("the start fails on a broken file, and names it", async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n", "bob.md": "Hello" });
  await assert.rejects(open(t, folder), {
    name: "TwinFileError",
    message: /^Twin file "bob.md": must begin/u,
  });
});

test("the start fails on two files with one id, and names both", async (t) => {
  const folder = await createFolder(t, {
    "ada.md": "---\nname: Ada\n---\n",
    "bob.md": "---\nname: Bob\nid: ada\n---\n",
  });
  await assert.rejects(open(t, folder), /"bob.md": its id "ada" is already used by "ada.md"/u);
});

test("the start fails on a missing folder", async () => {
  await assert.rejects(openTwinFiles("/nonexistent/twins", { defaultEngine: "echo" }), /ENOENT/u);
});

test("new files add twins, deleted ones remove them, changed ones change them, and each is logged", async (t) => {
  const folder = await createFolder(t, {
    "ada.md": "---\nname: Ada\n---\n",
    "bob.md": "---\nname: Bob\n---\n",
  });
  const recorder = createRecorder();
  const files = await open(t, folder, { defaultEngine: "echo", log: recorder.log });
  await writeFile(join(folder, "ada.md"), "---\nname: Countess\n---\n");
  await unlink(join(folder, "bob.md"));
  await writeFile(join(folder, "cyd.md"), "---\nname: Cyd\n---\n");
  await files.reload();
  assert.deepEqual(await idsFor(files, "alice"), ["ada", "cyd"]);
  assert.equal((await files.get("alice", "ada"))?.name, "Countess");
  assert.deepEqual(
    recorder.entries.map(({ message, fields }) => `${message}: ${fields.file}`),
    ["a twin file was read: ada.md", "a twin file was read: cyd.md", "a twin file is gone: bob.md"],
  );
});

test("narrowed access takes effect with the reload", async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const files = await open(t, folder);
  await writeFile(join(folder, "ada.md"), "---\nname: Ada\naccess: [alice]\n---\n");
  await files.reload();
  assert.equal(await files.get("mallory", "ada"), undefined);
  assert.deepEqual(await idsFor(files, "mallory"), []);
  assert.deepEqual(await idsFor(files, "alice"), ["ada"]);
});

test("a file that breaks keeps its last good version, and is logged once for each change", async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\naccess: [alice]\n---\n# A\nB" });
  const recorder = createRecorder();
  const files = await open(t, folder, { log: recorder.log });
  await writeFile(join(folder, "ada.md"), "---\nname: Ada\nacess: [alice]\n---\n# A\nB");
  await files.reload();
  await files.reload();
  assert.deepEqual(await idsFor(files, "alice"), ["ada"]);
  assert.deepEqual(await idsFor(files, "mallory"), []);
  assert.deepEqual(recorder.of("warn"), ["a twin file cannot be used; its last good version stays"]);
  assert.match(String(recorder.entries[0]?.fields.problem), /"ada.md": "acess" is not a known key/u);

  await writeFile(join(folder, "ada.md"), "");
  await files.reload();
  assert.equal(recorder.of("warn").length, 2);
  await writeFile(join(folder, "ada.md"), "---\nname: Ada King\n---\n# A\nB");
  await files.reload();
  assert.equal((await files.get("mallory", "ada"))?.name, "Ada King");
  assert.equal(recorder.of("warn").length, 2);
});

test("a broken new file adds no twin, and the others are still updated", async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const files = await open(t, folder);
  await writeFile(join(folder, "bad.md"), "oops");
  await writeFile(join(folder, "cyd.md"), "---\nname: Cyd\n---\n");
  await files.reload();
  assert.deepEqual(await idsFor(files, "alice"), ["ada", "cyd"]);
});

test("a new file with the id of another does not take it over", async (t) => {
  const folder = await createFolder(t, { "m.md": "---\nid: ada\nname: Ada\n---\n" });
  const recorder = createRecorder();
  const files = await open(t, folder, { log: recorder.log });
  await writeFile(join(folder, "a.md"), "---\nid: ada\nname: Impostor\n---\n");
  await files.reload();
  assert.equal((await files.get("alice", "ada"))?.name, "Ada");
  const entry = recorder.entries.find(({ level }) => level === "error");
  assert.match(String(entry?.fields.problem), /"a.md": its id "ada" is already used by "m.md"/u);
});

test("a file that changes to another's id keeps its last good version", async (t) => {
  const folder = await createFolder(t, { "a.md": "---\nname: Ann\n---\n", "m.md": "---\nname: Max\n---\n" });
  const files = await open(t, folder);
  await writeFile(join(folder, "a.md"), "---\nname: Ann\nid: m\n---\n");
  await files.reload();
  assert.equal((await files.get("alice", "m"))?.name, "Max");
  assert.equal((await files.get("alice", "a"))?.name, "Ann");
});

test("a renamed file keeps its twin's id", async (t) => {
  const folder = await createFolder(t, { "m.md": "---\nid: ada\nname: Ada\n---\n" });
  const files = await open(t, folder);
  await rename(join(folder, "m.md"), join(folder, "z.md"));
  await files.reload();
  assert.deepEqual(await idsFor(files, "alice"), ["ada"]);
});

test("a file replaced by renaming another over it keeps its twin's createdAt", async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  await utimes(join(folder, "ada.md"), 1_600_000_000, 1_600_000_000);
  const files = await open(t, folder);
  const before = await files.get("alice", "ada");
  await writeFile(join(folder, "ada.tmp"), "---\nname: Ada King\n---\n");
  await rename(join(folder, "ada.tmp"), join(folder, "ada.md"));
  await files.reload();
  const after = await files.get("alice", "ada");
  assert.equal(after?.name, "Ada King");
  assert.equal(after?.createdAt, before?.createdAt);
  assert.ok((after?.updatedAt ?? 0) > (before?.updatedAt ?? 0));
});

test("times are whole milliseconds, and no twin is created after its last change", async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  await utimes(join(folder, "ada.md"), 1_600_000_000, 1_600_000_000.1234);
  const twin = await (await open(t, folder)).get("alice", "ada");
  assert.equal(twin?.updatedAt, 1_600_000_000_123);
  assert.equal(twin?.createdAt, 1_600_000_000_123);
});

test("an unchanged file keeps its twin object, so that what is cached for it stays valid", async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const files = await open(t, folder);
  const before = await files.get("alice", "ada");
  await files.reload();
  assert.equal(await files.get("alice", "ada"), before);
});

test("a folder that becomes unreadable keeps its twins, and is logged once each time", async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n# A\nB" });
  const recorder = createRecorder();
  const files = await open(t, folder, { log: recorder.log });
  await rename(folder, `${folder}-away`);
  await files.reload();
  await files.reload();
  assert.deepEqual(await idsFor(files, "alice"), ["ada"]);
  const problem = "the folder of twin files cannot be read; its twins stay as they were";
  assert.deepEqual(recorder.of("warn"), [problem]);
  await rename(`${folder}-away`, folder);
  await writeFile(join(folder, "bob.md"), "---\nname: Bob\nengine: echo\n---\n");
  await files.reload();
  assert.deepEqual(await idsFor(files, "alice"), ["ada", "bob"]);
  await rename(folder, `${folder}-away`);
  await files.reload();
  await rename(`${folder}-away`, folder);
  assert.deepEqual(recorder.of("warn"), [problem, problem]);
});

test("a folder without twin files causes a warning", async (t) => {
  const recorder = createRecorder();
  const files = await open(t, await createFolder(t, { "README.txt": "" }), { log: recorder.log });
  assert.deepEqual(await idsFor(files, "alice"), []);
  assert.deepEqual(recorder.of("warn"), ["the folder has no twin files"]);
});

test("a twin of the knowledge engine without sections causes a warning, at the start and later", async (t) => {
  const folder = await createFolder(t, {
    "ada.md": "---\nname: Ada\n---\nYou are Ada.",
    "bob.md": "---\nname: Bob\nengine: echo\n---\nYou are Bob.",
  });
  const recorder = createRecorder();
  const files = await open(t, folder, { log: recorder.log });
  await writeFile(join(folder, "cyd.md"), "---\nname: Cyd\n---\nYou are Cyd.");
  await files.reload();
  const warnings = recorder.entries.filter((entry) => entry.level === "warn");
  assert.deepEqual(
    warnings.map((entry) => entry.fields),
    [
      { file: "ada.md", twin: "ada" },
      { file: "cyd.md", twin: "cyd" },
    ],
  );
});

test("phrases for unknown occasions cause a warning that lists the known ones", async (t) => {
  const voice = "## Voice\n\n- anser: hm\n- thanks: Ay.\n- Good-bye : Fair winds\n- Anser: ha\n- short words";
  const folder = await createFolder(t, {
    "ada.md": `---\nname: Ada\n---\n${voice}\n\n## Lamp\n\n- oil: it burned until 1921`,
    "bob.md": `---\nname: Bob\nengine: openai\n---\n${voice}`,
  });
  const recorder = createRecorder();
  const files = await open(t, folder, { log: recorder.log });
  assert.deepEqual(await idsFor(files, "alice"), ["ada", "bob"]);
  const unknown = ["anser", "good-bye"];
  const known = "answer related nearest unknown finished topics thanks goodbye private".split(" ");
  assert.deepEqual(recorder.entries, [
    {
      level: "warn",
      message: "a twin's Voice has phrases for unknown occasions, which it will never say",
      fields: { file: "ada.md", twin: "ada", unknown, known },
    },
  ]);
});

test("files may name the service's own engines; a standard one that it lacks causes a warning", async (t) => {
  const folder = await createFolder(t, {
    "ada.md": "---\nname: Ada\nengine: mine\n---\n",
    "bob.md": "---\nname: Bob\nengine: openai\n---\n",
  });
  const recorder = createRecorder();
  const files = await open(t, folder, { log: recorder.log, engines: { mine: createEchoEngine() } });
  assert.equal((await files.get("alice", "ada"))?.engine, "mine");
  assert.deepEqual(recorder.of("warn"), ["a twin's engine is not set up, so its replies will fail"]);
  assert.deepEqual(recorder.entries[0]?.fields, { file: "bob.md", twin: "bob", engine: "openai" });
  await writeFile(join(folder, "cyd.md"), "---\nname: Cyd\nengine: theirs\n---\n");
  await files.reload();
  const problem = recorder.entries.find(({ level }) => level === "error")?.fields.problem;
  assert.match(String(problem), /engine.+must be one of knowledge, openai, echo, mine/);
});

test("options that would be misunderstood are refused, such as a pause that would poll all the time", async (t) => {
  const folder = await createFolder(t, {});
  const refused: readonly [options: Record<string, unknown>, message: RegExp][] = [
    [{ pollMs: 0 }, /openTwinFiles: pollMs must be milliseconds, more than 0, not 0/],
    [{ pollMs: Number.NaN }, /pollMs must be .+, not NaN/],
    [{ defaultEngine: undefined }, /defaultEngine must be an engine's name, not undefined/],
    [{ engine: "echo" }, /engine is not known; the names are defaultEngine, /],
  ];
  for (const [options, message] of refused) {
    const opening = openTwinFiles(folder, { defaultEngine: "echo", ...options }).then((files) =>
      files.close(),
    );
    await assert.rejects(opening, { name: "TypeError", message });
  }
});
