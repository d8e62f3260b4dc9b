import assert from "node:assert/strict";
import { mkdir, rename, rm, symlink, unlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { listDocuments, type ReadDocuments, readDocuments } from "../../adapters/twin-files/documents.ts";
import { openTwinFiles } from "../../adapters/twin-files/mod.ts";
import { noLog } from "../../core/base/log.ts";
import { createEchoEngine } from "../../core/twins/engine.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { docx, paragraph } from "../documents/fixture.ts";
import { createManualClock } from "../support/clock.ts";
import { createFolder, createRecorder, idsFor, open, openFolder, write } from "./fixture.ts";

/** A file of a twin with this name, and lines of front matter besides. */
const named = (name: string, ...more: readonly string[]) =>
  `${["---", `name: ${name}`, ...more, "---"].join("\n")}\n`;

test("a file of 1 MiB is read, a larger one refused", async (t) => {
  const { folder, idsFor } = await openFolder(t, { "big.md": named("Big").padEnd(1024 * 1024, "x") });
  assert.deepEqual(await idsFor("alice"), ["big"]);
  await write(folder, { "big.md": named("Big").padEnd(1024 * 1024 + 1, "x") });
  await assert.rejects(open(t, folder), /"big.md": is larger than 1 MiB/u);
});

test("twins are listed by name, only to owners who may use them", async (t) => {
  const { idsFor, nameOf } = await openFolder(t, {
    "1.md": named("Zoe"),
    "2.md": named("Ada", "access: [alice]"),
    "3.md": named("Bob", "access: []"),
  });
  assert.deepEqual(await idsFor("alice"), ["2", "1"]);
  assert.deepEqual(await idsFor("mallory"), ["1"]);
  assert.equal(await nameOf("alice", "2"), "Ada");
  assert.equal(await nameOf("mallory", "2"), undefined);
  assert.equal(await nameOf("alice", "3"), undefined);
});

test("its functions can be passed on alone", async (t) => {
  const { list, get, reload, close } = (await openFolder(t, { "ada.md": named("Ada") })).twins;
  await reload();
  assert.equal((await list("alice", { offset: 0, limit: 1 })).total, 1);
  assert.equal((await get("alice", "ada"))?.name, "Ada");
  await close();
});

test("a folder with a twin.md is a twin, which knows all other texts in it", async (t) => {
  const { twins, change, idsFor } = await openFolder(t, {
    "odd/twin.md": `${named("Odd")}You are Odd.`,
    "odd/hours.txt": "Open in May.",
    "odd/notes/lamp.md": "# Lamp\n\nIt turns.",
    "odd/notes/.hidden/secret.md": "no",
    "odd/picture.png": "no",
    "no-twin/notes.md": "no",
  });
  assert.deepEqual(await idsFor("alice"), ["odd"]);
  const twin = await twins.get("alice", "odd");
  assert.deepEqual(twin?.documents, [
    { path: "hours.txt", text: "Open in May." },
    { path: "notes/lamp.md", text: "# Lamp\n\nIt turns." },
  ]);
  await change({ "odd/hours.txt": "Open in June." });
  assert.equal((await twins.get("alice", "odd"))?.documents[0]?.text, "Open in June.");
});

test("a document that is not UTF-8, and too many of them, are refused", async (t) => {
  const folder = await createFolder(t, {
    "odd/twin.md": named("Odd"),
    "odd/notes.txt": Uint8Array.of(0xff),
  });
  await assert.rejects(open(t, folder), /Twin file "odd\/notes\.txt": is not valid UTF-8\./u);
  await write(folder, { "odd/notes.txt": new Uint8Array(21 * 1024 * 1024) });
  await assert.rejects(
    open(t, folder),
    /"odd\/twin\.md": the documents in its folder are larger than 20 MiB together/u,
  );
  await write(folder, { "odd/notes.txt": "" });
  for (let number = 0; number < 2_000; number++) await write(folder, { [`odd/${number}.md`]: "" });
  await assert.rejects(open(t, folder), /"odd\/twin\.md": its folder has more than 2000 documents/u);
});

test("documents whose texts are larger than 20 MiB together are refused", async (t) => {
  const page = docx(paragraph("a".repeat(11 * 1024 * 1024)));
  const folder = await createFolder(t, {
    "odd/twin.md": named("Odd"),
    "odd/a.docx": page,
    "odd/b.docx": page,
  });
  await assert.rejects(
    open(t, folder),
    /"odd\/twin\.md": the texts of the documents in its folder are larger than 20 MiB together/u,
  );
});

test("documents that take more than a minute together are told of, then refused by the first that is left", async (t) => {
  const texts = Array.from({ length: 100 }, (_, number) => [`odd/${100 + number}.md`, "# Lamp\n\nIt turns."]);
  const folder = await createFolder(t, { "odd/twin.md": named("Odd"), ...Object.fromEntries(texts) });
  const { entries, log } = createRecorder();
  let now = 0;
  const clock = { ...createManualClock(), now: () => (now += 2_000) };
  await assert.rejects(
    open(t, folder, { clock, log }),
    /"odd\/1\d\d\.md": the documents of its folder take more than a minute to read: this one and \d+ after it are left\./u,
  );
  const [first] = entries;
  assert.equal(first?.message, "the documents of a twin take long to read");
  assert.deepEqual([first?.fields.file, first?.fields.of], ["odd/twin.md", 100]);
  assert.ok(entries.length > 5 && entries.length <= 12, `${entries.length} lines`);
});

test("of a folder that changes, only the documents that are new or changed are read", async (t) => {
  const folder = await createFolder(t, {
    "odd/a.html": "<p>One",
    "odd/b.html": "<p>Two",
    "odd/c.docx": "no",
  });
  const read = async (known: ReadDocuments["known"]) =>
    readDocuments(folder, "odd/twin.md", await listDocuments(folder, "odd/twin.md"), {
      clock: createManualClock(),
      log: noLog,
      known,
    });
  const { known, faults } = await read(new Map());
  assert.deepEqual(faults.map(String), ['TwinFileError: Twin file "odd/c.docx": cannot be read as Word.']);
  const marked = new Map(
    [...known].map(([key, value]) => [
      key,
      "fault" in value ? { ...value, fault: "kept." } : { text: "Kept" },
    ]),
  );
  await write(folder, { "odd/b.html": "<p>Three" });
  const again = await read(marked);
  assert.deepEqual(
    again.documents.map(({ text }) => text),
    ["Kept", "Three"],
  );
  assert.match(String(again.faults[0]), /kept\./u);
  await utimes(join(folder, "odd/c.docx"), 1_600_000_000, 1_600_000_000);
  assert.match(
    String((await read(marked)).faults[0]),
    /cannot be read as Word/u,
    "a touched one is tried again",
  );
});

test("a twin stays while documents in its folder come and go", async (t) => {
  const texts = Array.from({ length: 100 }, (_, number) => [`odd/${number}.md`, "# Lamp\n\nIt turns."]);
  const { folder, twins } = await openFolder(t, {
    "odd/twin.md": named("Odd"),
    ...Object.fromEntries(texts),
  });
  let isOver = false;
  const coming = (async () => {
    while (!isOver) {
      await write(folder, { "odd/50-new.md": "Soon gone." });
      await rm(join(folder, "odd/50-new.md"));
    }
  })();
  const found: string[][] = [];
  for (let time = 0; time < 30; time++) {
    await twins.reload();
    found.push(await idsFor(twins, "alice"));
  }
  isOver = true;
  await coming;
  assert.deepEqual(new Set(found.flat()), new Set(["odd"]));
  assert.equal(found.flat().length, found.length);
});

test("what keeps a folder from being looked into is told with its name; lost+found is no twin", {
  skip: process.platform === "win32" && "Windows has no links to themselves for all",
}, async (t) => {
  const folder = await createFolder(t, { "ada.md": named("Ada"), "lost+found/twin.md": named("Lost") });
  assert.deepEqual(await idsFor(await open(t, folder), "alice"), ["ada"]);
  await symlink("loop", join(folder, "loop"));
  await assert.rejects(open(t, folder), /"loop\/twin\.md": cannot be read \(ELOOP\)/u);
});

test("a code block or comment that is not closed causes a warning with its line", async (t) => {
  const text = "\n# Lamp\n\nIt turns.\n\n```sh\nnpm start\n\n# Hours\n\nMay. <!-- begin";
  const { recorder } = await openFolder(t, { "odd.md": named("Odd") + text });
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
    "ada.md": named("Ada"),
  });
  await mkdir(join(folder, "old.md"));
  await symlink(join(folder, "ada.md"), join(folder, "linked.md"));
  await symlink(join(folder, "nowhere"), join(folder, "dangling.md"));
  assert.deepEqual(await idsFor(await open(t, folder), "alice"), ["ada", "linked"]);
});

test("the start fails on a broken file, and names it", async (t) => {
  await assert.rejects(openFolder(t, { "ada.md": named("Ada"), "bob.md": "Hello" }), {
    name: "TwinFileError",
    message: /^Twin file "bob.md": must begin/u,
  });
});

test("the start fails on two files with one id, and names both", async (t) => {
  const opening = openFolder(t, { "ada.md": named("Ada"), "bob.md": named("Bob", "id: ada") });
  await assert.rejects(opening, /"bob.md": its id "ada" is already used by "ada.md"/u);
});

test("the start fails on a missing folder", async () => {
  await assert.rejects(openTwinFiles("/nonexistent/twins", { defaultEngine: "echo" }), /ENOENT/u);
});

test("new files add twins, deleted ones remove them, changed ones change them, and each is logged", async (t) => {
  const files = { "ada.md": named("Ada"), "bob.md": named("Bob") };
  const opened = await openFolder(t, files, { defaultEngine: "echo" });
  await unlink(join(opened.folder, "bob.md"));
  await opened.change({ "ada.md": named("Countess"), "cyd.md": named("Cyd") });
  assert.deepEqual(await opened.idsFor("alice"), ["ada", "cyd"]);
  assert.equal(await opened.nameOf("alice", "ada"), "Countess");
  assert.deepEqual(
    opened.recorder.entries.map(({ message, fields }) => `${message}: ${fields.file}`),
    ["a twin file was read: ada.md", "a twin file was read: cyd.md", "a twin file is gone: bob.md"],
  );
});

test("narrowed access takes effect with the reload", async (t) => {
  const { change, idsFor, nameOf } = await openFolder(t, { "ada.md": named("Ada") });
  await change({ "ada.md": named("Ada", "access: [alice]") });
  assert.equal(await nameOf("mallory", "ada"), undefined);
  assert.deepEqual(await idsFor("mallory"), []);
  assert.deepEqual(await idsFor("alice"), ["ada"]);
});

test("a file that breaks keeps its last good version, and is logged once for each change", async (t) => {
  const sections = "# A\nB";
  const files = { "ada.md": named("Ada", "access: [alice]") + sections };
  const { recorder, twins, change, idsFor, nameOf } = await openFolder(t, files);
  await change({ "ada.md": named("Ada", "acess: [alice]") + sections });
  await twins.reload();
  assert.deepEqual(await idsFor("alice"), ["ada"]);
  assert.deepEqual(await idsFor("mallory"), []);
  assert.deepEqual(recorder.of("warn"), ["a twin file cannot be used; its last good version stays"]);
  assert.match(String(recorder.entries[0]?.fields.problem), /"ada.md", line 3: "acess" is not a known key/u);

  await change({ "ada.md": "" });
  assert.equal(recorder.of("warn").length, 2);
  await change({ "ada.md": named("Ada King") + sections });
  assert.equal(await nameOf("mallory", "ada"), "Ada King");
  assert.equal(recorder.of("warn").length, 2);
});

test("a broken new file adds no twin, and the others are still updated", async (t) => {
  const { change, idsFor } = await openFolder(t, { "ada.md": named("Ada") });
  await change({ "bad.md": "oops", "cyd.md": named("Cyd") });
  assert.deepEqual(await idsFor("alice"), ["ada", "cyd"]);
});

test("a new file with the id of another does not take it over", async (t) => {
  const { recorder, change, nameOf } = await openFolder(t, { "m.md": named("Ada", "id: ada") });
  await change({ "a.md": named("Impostor", "id: ada") });
  assert.equal(await nameOf("alice", "ada"), "Ada");
  const entry = recorder.entries.find(({ level }) => level === "error");
  assert.match(String(entry?.fields.problem), /"a.md": its id "ada" is already used by "m.md"/u);
});

test("a file that changes to another's id keeps its last good version", async (t) => {
  const { change, nameOf } = await openFolder(t, { "a.md": named("Ann"), "m.md": named("Max") });
  await change({ "a.md": named("Ann", "id: m") });
  assert.equal(await nameOf("alice", "m"), "Max");
  assert.equal(await nameOf("alice", "a"), "Ann");
});

test("a renamed file keeps its twin's id", async (t) => {
  const { folder, change, idsFor } = await openFolder(t, { "m.md": named("Ada", "id: ada") });
  await rename(join(folder, "m.md"), join(folder, "z.md"));
  await change({});
  assert.deepEqual(await idsFor("alice"), ["ada"]);
});

test("a file replaced by renaming another over it keeps its twin's createdAt", async (t) => {
  const folder = await createFolder(t, { "ada.md": named("Ada") });
  await utimes(join(folder, "ada.md"), 1_600_000_000, 1_600_000_000);
  const files = await open(t, folder);
  const before = await files.get("alice", "ada");
  await write(folder, { "ada.tmp": named("Ada King") });
  await rename(join(folder, "ada.tmp"), join(folder, "ada.md"));
  await files.reload();
  const after = await files.get("alice", "ada");
  assert.equal(after?.name, "Ada King");
  assert.equal(after?.createdAt, before?.createdAt);
  assert.ok((after?.updatedAt ?? 0) > (before?.updatedAt ?? 0));
});

test("times are whole milliseconds, and no twin is created after its last change", async (t) => {
  const folder = await createFolder(t, { "ada.md": named("Ada") });
  await utimes(join(folder, "ada.md"), 1_600_000_000, 1_600_000_000.1234);
  const twin = await (await open(t, folder)).get("alice", "ada");
  assert.equal(twin?.updatedAt, 1_600_000_000_123);
  assert.equal(twin?.createdAt, 1_600_000_000_123);
});

test("an unchanged file keeps its twin object, so that what is cached for it stays valid", async (t) => {
  const { twins } = await openFolder(t, { "ada.md": named("Ada") });
  const before = await twins.get("alice", "ada");
  await twins.reload();
  assert.equal(await twins.get("alice", "ada"), before);
});

test("a folder that becomes unreadable keeps its twins, and is logged once each time", async (t) => {
  const { folder, recorder, twins, change, idsFor } = await openFolder(t, {
    "ada.md": `${named("Ada")}# A\nB`,
  });
  await rename(folder, `${folder}-away`);
  await twins.reload();
  await twins.reload();
  assert.deepEqual(await idsFor("alice"), ["ada"]);
  const problem = "the folder of twin files cannot be read; its twins stay as they were";
  assert.deepEqual(recorder.of("warn"), [problem]);
  await rename(`${folder}-away`, folder);
  await change({ "bob.md": named("Bob", "engine: echo") });
  assert.deepEqual(await idsFor("alice"), ["ada", "bob"]);
  await rename(folder, `${folder}-away`);
  await twins.reload();
  await rename(`${folder}-away`, folder);
  assert.deepEqual(recorder.of("warn"), [problem, problem]);
});

test("a folder without twin files causes a warning", async (t) => {
  const { recorder, idsFor } = await openFolder(t, { "README.txt": "" });
  assert.deepEqual(await idsFor("alice"), []);
  assert.deepEqual(recorder.of("warn"), ["the folder has no twin files"]);
});

test("a twin of the knowledge engine without sections causes a warning, at the start and later", async (t) => {
  const { recorder, change } = await openFolder(t, {
    "ada.md": `${named("Ada")}You are Ada.`,
    "bob.md": `${named("Bob", "engine: echo")}You are Bob.`,
  });
  await change({ "cyd.md": `${named("Cyd")}You are Cyd.` });
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
  const { recorder, idsFor } = await openFolder(t, {
    "ada.md": `${named("Ada")}${voice}\n\n## Lamp\n\n- oil: it burned until 1921`,
    "bob.md": named("Bob", "engine: openai") + voice,
  });
  assert.deepEqual(await idsFor("alice"), ["ada", "bob"]);
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
  const files = { "ada.md": named("Ada", "engine: mine"), "bob.md": named("Bob", "engine: openai") };
  const { recorder, twins, change } = await openFolder(t, files, { engines: { mine: createEchoEngine() } });
  assert.equal((await twins.get("alice", "ada"))?.engine, "mine");
  assert.deepEqual(recorder.of("warn"), ["a twin's engine is not set up, so its replies will fail"]);
  assert.deepEqual(recorder.entries[0]?.fields, { file: "bob.md", twin: "bob", engine: "openai" });
  await change({ "cyd.md": named("Cyd", "engine: theirs") });
  const problem = recorder.entries.find(({ level }) => level === "error")?.fields.problem;
  assert.match(String(problem), /engine.+must be one of knowledge, openai, echo, mine/);
});

test("an engine is told of its twins at the start and after each change", async (t) => {
  const told: string[][] = [];
  const prepare = (twins: readonly Twin[]) => void told.push(twins.map(({ id, name }) => `${id}: ${name}`));
  const engines = { mine: { ...createEchoEngine(), prepare }, other: createEchoEngine() };
  const files = { "ada.md": named("Ada", "engine: mine"), "bob.md": named("Bob", "engine: other") };
  const { change } = await openFolder(t, files, { engines });
  await change({ "ada.md": named("Ada L.", "engine: mine") });
  assert.deepEqual(told, [["ada: Ada"], ["ada: Ada L."]]);
});

test("options that would be misunderstood are refused", async (t) => {
  const folder = await createFolder(t, {});
  const refused: readonly [options: Record<string, unknown>, message: RegExp][] = [
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
