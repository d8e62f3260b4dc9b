import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, unlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseTwinFile, TwinFileError } from "../../adapters/twin-files/file.ts";
import { openTwinFiles, type TwinFiles, type TwinFilesOptions } from "../../adapters/twin-files/mod.ts";
import type { Clock } from "../../core/base/clock.ts";
import type { LogLevel } from "../../core/base/log.ts";
import { createEchoEngine } from "../../core/twins/engine.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { runtime } from "../support/runtime.ts";

const parsing = { defaultEngine: "knowledge", engines: ["knowledge", "openai", "echo"] };

function parse(text: string, file = "ada.md") {
  return parseTwinFile(file, new TextEncoder().encode(text), parsing).twin;
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

interface Entry {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Collects log entries, and resolves promises for the next of a level. */
function createRecorder() {
  const entries: Entry[] = [];
  const waiting: { level: LogLevel; resolve: (entry: Entry) => void }[] = [];
  return {
    entries,
    log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}) {
      const entry = { level, message, fields };
      entries.push(entry);
      const at = waiting.findIndex((wait) => wait.level === level);
      if (at !== -1) waiting.splice(at, 1)[0]?.resolve(entry);
    },
    next: (level: LogLevel) => new Promise<Entry>((resolve) => waiting.push({ level, resolve })),
    of: (level: LogLevel) => entries.filter((entry) => entry.level === level).map((entry) => entry.message),
  };
}

async function createFolder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "twin-files-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
  return folder;
}

/** Opens a folder that is reloaded only when a test says so, unless its options include a clock. */
async function open(
  t: TestContext,
  folder: string,
  options: Partial<TwinFilesOptions> = {},
): Promise<TwinFiles> {
  const files = await openTwinFiles(folder, {
    defaultEngine: "knowledge",
    clock: createManualClock(),
    ...options,
  });
  t.after(() => files.close());
  return files;
}

/** The timers of one kind, which fire when a test says so. */
class Timers {
  readonly #waiting = new Set<{ readonly callback: () => void }>();
  #added = () => {};

  get pending(): number {
    return this.#waiting.size;
  }

  add(callback: () => void): () => void {
    const timer = { callback };
    this.#waiting.add(timer);
    this.#added();
    return () => this.#waiting.delete(timer);
  }

  /** Resolves when the next timer is set. Keeps the process alive until then, as a folder's watcher does not. */
  async next(): Promise<void> {
    const alive = setTimeout(() => {}, 20_000);
    await new Promise<void>((resolve) => {
      this.#added = resolve;
    });
    clearTimeout(alive);
  }

  begin(): void {
    const due = [...this.#waiting];
    this.#waiting.clear();
    for (const { callback } of due) callback();
  }

  /** Fires all timers, and resolves once another one is set. */
  async run(): Promise<void> {
    const next = this.next();
    this.begin();
    await next;
  }
}

/** A clock for watching a folder: the timers of its polls, and of its reloads after changes that the system reports. */
function createTimers() {
  const looks = new Timers();
  const reloads = new Timers();
  const clock: Clock = {
    now: () => 0,
    after: (milliseconds, callback) => (milliseconds < 1000 ? reloads : looks).add(callback),
  };
  return { clock, looks, reloads };
}

async function idsFor(files: TwinFiles, owner: string): Promise<string[]> {
  const { items } = await files.list(owner, { offset: 0, limit: 100 });
  return items.map((twin) => twin.id);
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
    tags: ["history", "mathematics"],
    engine: "openai",
    model: "gpt-small",
    temperature: 0.7,
    access: ["alice", "42"],
    instructions: "You are Ada.\n\n# Engines\nThey weave algebra.",
    language: "en-GB",
    knowledge: "search",
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
    tags: [],
    engine: "knowledge",
    model: null,
    temperature: null,
    access: null,
    instructions: "",
    language: null,
    knowledge: null,
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
    /^Twin file "ada.md": "acess" is not a known key; the known keys are id, name, .*access, language, knowledge, tests\.$/u,
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
  [
    "an owner of more than 255 characters",
    `name: Ada\naccess: [${"a".repeat(256)}]`,
    /access must be a list/u,
  ],
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
  ["a temperature that is not a number", "name: Ada\ntemperature: .nan", /temperature must be/u],
  [
    "an address with another scheme",
    "name: Ada\navatarUrl: javascript:alert(1)",
    /avatarUrl must be an http or https address/u,
  ],
  ["a NUL in a greeting", 'name: Ada\ngreeting: "a\\0b"', /greeting must be/u],
  [
    "a repeated key",
    "name: Ada\naccess: [alice]\naccess: [bob]",
    /line 4 is not valid front matter: Map keys must be unique/u,
  ],
  ["a custom tag", "name: !!js/function 'x'", /is not valid front matter/u],
  ["an alias", "name: &x Ada\ndescription: *x", /must not use YAML aliases/u],
  ["broken YAML", "name: [Ada", /is not valid front matter/u],
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
  assert.throws(() => parseTwinFile("ada.md", bytes, parsing), /"ada.md": is not valid UTF-8/u);
});

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

test("polling finds a change that the system did not report", { timeout: 20_000 }, async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const recorder = createRecorder();
  const clock = createManualClock();
  const files = await open(t, folder, { log: recorder.log, clock, pollMs: 50 }); // sooner than the watcher's delay
  const read = recorder.next("info");
  await writeFile(join(folder, "bob.md"), "---\nname: Bob\n---\n");
  await clock.advance(50);
  assert.equal((await read).fields.file, "bob.md");
  assert.deepEqual(await idsFor(files, "alice"), ["ada", "bob"]);
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

test("with an infinite pause between polls there are none, instead of one after the other", async (t) => {
  const warnings: string[] = [];
  const warned = ({ name }: Error) => warnings.push(name);
  process.on("warning", warned);
  t.after(() => process.off("warning", warned));
  const folder = await createFolder(t, {});
  await open(t, folder, { clock: undefined, pollMs: Number.POSITIVE_INFINITY });
  await settle();
  assert.deepEqual(warnings, []); // Node's timers warn of a time that is too long, and fire at once
});

test("a change that the system reports is read without waiting for the next poll", {
  skip: process.platform === "win32" && "Windows cannot replace a file while it is being read",
  timeout: 20_000,
}, async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const recorder = createRecorder();
  const eager: Clock = {
    now: () => 0,
    after(milliseconds, callback) {
      if (milliseconds < 1000) queueMicrotask(callback);
      return () => {};
    },
  };
  const files = await open(t, folder, { log: recorder.log, clock: eager });
  const read = recorder.next("info");
  await writeFile(join(folder, "new.tmp"), "---\nname: Countess\n---\n");
  await rename(join(folder, "new.tmp"), join(folder, "ada.md"));
  await read;
  assert.equal((await files.get("alice", "ada"))?.name, "Countess");
});

test("polling continues, whether it found a change or not", { timeout: 20_000 }, async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const recorder = createRecorder();
  const { clock, looks } = createTimers();
  await open(t, folder, { log: recorder.log, clock });
  await looks.run();
  for (const name of ["Countess", "Lovelace"]) {
    await writeFile(join(folder, "ada.md"), `---\nname: ${name}\n---\n`);
    await looks.run();
  }
  assert.deepEqual(recorder.of("info"), ["a twin file was read", "a twin file was read"]);
});

test("polling finds changes so close to each other that size and times are the same", {
  timeout: 20_000,
}, async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const { clock, looks } = createTimers();
  const files = await open(t, folder, { clock });
  for (let round = 10; round < 60; round++) {
    await writeFile(join(folder, "ada.md"), `---\nname: Ada ${round}\n---\n`);
    await looks.run();
    assert.equal((await files.get("alice", "ada"))?.name, `Ada ${round}`);
  }
});

test("changes that the system reports in succession are read together", {
  timeout: 20_000,
}, async (t) => {
  const folder = await createFolder(t, {});
  const { clock, reloads } = createTimers();
  await open(t, folder, { clock });
  for (const file of ["ada.md", "bob.md"]) {
    const announced = reloads.next();
    await writeFile(join(folder, file), "---\nname: New\n---\n");
    await announced;
  }
  assert.equal(reloads.pending, 1);
});

test("once closed, nothing is scheduled any more", { timeout: 20_000 }, async (t) => {
  const folder = await createFolder(t, {});
  const { clock, looks, reloads } = createTimers();
  const files = await openTwinFiles(folder, { defaultEngine: "echo", clock });
  const announced = reloads.next();
  writeFileSync(join(folder, "ada.md"), "---\nname: Ada\n---\n");
  await announced;
  assert.deepEqual([looks.pending, reloads.pending], [1, 1]);
  await files.close();
  await settle(); // a file that is written is reported more than once; Deno does so even now
  assert.deepEqual([looks.pending, reloads.pending], [0, 0]);
});

test("nothing is scheduled if it is closed during a poll", { timeout: 20_000 }, async (t) => {
  const folder = await createFolder(t, {});
  const recorder = createRecorder();
  const { clock, looks } = createTimers();
  const files = await openTwinFiles(folder, { defaultEngine: "echo", log: recorder.log, clock });
  await writeFile(join(folder, "ada.md"), "---\nname: Ada\n---\n");
  const read = recorder.next("info");
  looks.begin();
  await files.close();
  await read;
  await settle();
  assert.equal(looks.pending, 0);
});

test("closing waits for a reload in progress", async (t) => {
  const folder = await createFolder(t, {});
  const recorder = createRecorder();
  const files = await open(t, folder, { log: recorder.log });
  await writeFile(join(folder, "ada.md"), "---\nname: Ada\n---\n");
  void files.reload();
  await files.close();
  assert.deepEqual(recorder.of("info"), ["a twin file was read"]);
});

test("watching for changes does not keep a process alive", {
  skip: runtime !== "node" && "it runs only on Node",
  timeout: 60_000,
}, async (t) => {
  const folder = await createFolder(t, { "ada.md": "---\nname: Ada\n---\n" });
  const code = `import { openTwinFiles } from "./adapters/twin-files/mod.ts";
    await openTwinFiles(${JSON.stringify(folder)}, { defaultEngine: "echo" });`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", code],
    { encoding: "utf8", timeout: 30_000 },
  );
  assert.equal(status, 0, stderr);
});
