/**
 * Kills the server with SIGKILL while its owner makes and changes twins, again and again: each version that was acknowledged
 * is there, and whole, and nothing else is. Then two servers on one PostgreSQL, of which one or the other is killed: each
 * answers with a new version within two seconds.
 *
 * `CRASH_TWINS=200` kills more often than the default of 5.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { signToken } from "../../core/auth/jwt.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { type ServerProcess, startServer } from "../server/process.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, jsonRequest } from "../support/harness.ts";

const kills = Number(process.env.CRASH_TWINS ?? 5);
const twins = ["anna", "bert", "carl"];
/** How long another process may answer with the version before, in milliseconds. */
const noticeMs = 2_000;
/** How many versions are kept. */
const kept = 50;

const secret = "a secret for the crash test, 32 bytes long";
const folder = await mkdtemp(join(tmpdir(), "twins-twins-"));
await writeFile(join(folder, "echo.md"), "---\nname: Echo\nengine: echo\n---\nRepeat.\n");
const settings = {
  TWINS_DIR: folder,
  JWT_SECRET: secret,
  FULL_ACCESS_PER_HOUR: "1000000",
  LOG_LEVEL: "error",
};
const token = await signToken({ secret, sub: "owner", expiresInSeconds: 36_000 });

/** A version, as it is listed. */
interface ListedVersion {
  readonly version: number;
  readonly revision: string;
  readonly current: boolean;
}

/** A version of a twin, as it must be. */
interface Version {
  readonly file: string;
  readonly document: string;
}

/** A twin, as its author knows it. */
class KnownTwin {
  readonly id: string;
  /** What was acknowledged, by the number of the version. */
  readonly acknowledged = new Map<number, Version & { readonly revision: string }>();
  latest: Version = { file: "", document: "" };
  /** What was sent last, and may have been stored without an answer. */
  sent: Version | undefined;
  readonly verified = new Set<number>();

  constructor(id: string) {
    this.id = id;
  }
}

function put(url: string, path: string, type: string, body: string): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": type };
  return fetch(`${url}/api/v1/twins/${path}`, { method: "PUT", headers, body });
}

function read(url: string, path: string): Promise<Response> {
  return fetch(`${url}/api/v1${path}`, { headers: { Authorization: `Bearer ${token}` } });
}

let count = 0;

/** A text that no other version has, up to 100,000 characters long. */
function newText(): string {
  return `Number ${++count}. ${"The shop opens at nine. ".repeat(Math.random() * 4_000)}`;
}

/** Makes another version of a twin, of its file or of its document, and notes that it was acknowledged. Returns its revision. */
async function change(url: string, twin: KnownTwin): Promise<string> {
  const isFile = twin.latest.file === "" || Math.random() < 0.5;
  const text = newText();
  const next = isFile
    ? { ...twin.latest, file: `---\nname: ${twin.id}\n---\n## Hours\n\n${text}\n` }
    : { ...twin.latest, document: `# Prices\n\n${text}\n` };
  twin.sent = next;
  const answer = isFile
    ? await put(url, `${twin.id}/file`, "text/markdown", next.file)
    : await put(url, `${twin.id}/documents/prices.md`, "text/markdown", next.document);
  assert.ok(answer.ok, `a change was answered ${answer.status}`);
  const made = await dataOf<Pick<ListedVersion, "version" | "revision">>(answer);
  twin.acknowledged.set(made.version, { ...next, revision: made.revision });
  twin.latest = next;
  twin.sent = undefined;
  return made.revision;
}

/** The revision of the twin that replies. */
async function revisionOfReply(url: string, key: string, twinId: string): Promise<string | null> {
  const begun = await fetch(`${url}/api/v1/conversations`, {
    method: "POST",
    ...jsonRequest(key, { twinId }),
  });
  const { id } = await dataOf<{ id: string }>(begun);
  const path = `${url}/api/v1/conversations/${id}/messages`;
  const sent = await fetch(path, { method: "POST", ...jsonRequest(key, { content: "When do you open?" }) });
  return (await dataOf<{ twinRevision: string | null }>(sent)).twinRevision;
}

async function createKey(url: string): Promise<string> {
  const made = jsonRequest(token, { name: "twins", scope: "full_access" });
  const answer = await fetch(`${url}/api/v1/auth/api-keys`, { method: "POST", ...made });
  return (await dataOf<{ key: string }>(answer)).key;
}

/** Requires that the versions of a twin are those that were acknowledged, and perhaps the one that was sent last. */
async function verify(url: string, key: string, twin: KnownTwin): Promise<void> {
  const { id, acknowledged, verified } = twin;
  const answer = await read(url, `/twins/${id}/versions?limit=100`);
  const listed = answer.ok ? await dataOf<ListedVersion[]>(answer) : [];
  const newest = Math.max(0, ...acknowledged.keys());
  const numbers = new Set(listed.map(({ version }) => version));
  for (const version of acknowledged.keys())
    assert.ok(numbers.has(version) || version <= (listed[0]?.version ?? 0) - kept, `${id} lacks ${version}`);
  for (const { version, revision, current } of listed) {
    const made = acknowledged.get(version) ?? (version === newest + 1 ? twin.sent : undefined);
    assert.ok(made, `${id} has a version ${version} that nobody sent`);
    assert.equal(revision, acknowledged.get(version)?.revision ?? revision);
    acknowledged.set(version, { ...made, revision });
    if (!verified.has(version)) {
      const file = await read(url, `/twins/${id}/file?version=${version}`);
      assert.equal(await file.text(), made.file, `version ${version} of ${id} has another file`);
      verified.add(version);
    }
    if (!current) continue;
    twin.latest = made;
    const document = await read(url, `/twins/${id}/documents/prices.md`);
    const expected = made.document === "" ? 404 : 200;
    assert.equal(document.status, expected);
    if (document.ok) assert.equal(await document.text(), made.document, `${id} has another document`);
    assert.equal(await revisionOfReply(url, key, id), revision, `${id} replies as another version`);
  }
  twin.sent = undefined;
}

/** Has authors work until the server is killed, in the middle of it. */
async function work(server: ServerProcess, all: readonly KnownTwin[]): Promise<void> {
  let isDying = false;
  let left = Math.floor(Math.random() * 12);
  const killed = createGate();
  const kill = async () => {
    isDying = true;
    await pause(Math.random() * 20);
    await server.stop("SIGKILL");
    killed.open();
  };
  const working = all.map(async (twin) => {
    try {
      for (;;) {
        await change(server.url, twin);
        if (left-- === 0) void kill();
      }
    } catch (error) {
      if (!isDying) throw error;
    }
  });
  await Promise.all([...working, killed.opened]);
}

async function killWhileTheyWork(): Promise<string> {
  const own = { ...settings, DATABASE_URL: `sqlite:${join(folder, "twins.db")}` };
  const all = twins.map((id) => new KnownTwin(id));
  let key: string | undefined;
  const startedAt = performance.now();
  for (let killed = 0; killed <= kills; killed++) {
    const server = await startServer([], own);
    try {
      key ??= await createKey(server.url);
      for (const twin of all) await verify(server.url, key, twin);
      if (killed < kills) await work(server, all);
    } finally {
      await server.stop("SIGKILL");
    }
  }
  const versions = all.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return `${kills} kills of a server whose twins change in ${seconds} s: all ${versions} versions are there, none half.\n`;
}

async function answerByTwo(): Promise<string> {
  const database = await createDatabase();
  const own = { ...settings, DATABASE_URL: database.url };
  const servers: ServerProcess[] = [];
  const twin = new KnownTwin("dora");
  let longestMs = 0;
  try {
    servers.push(await startServer([], own), await startServer([], own));
    const key = await createKey(servers[0]?.url ?? "");
    for (let changes = 1; changes <= 4 * kills; changes++) {
      const [one, other] = Math.random() < 0.5 ? servers : [...servers].reverse();
      assert.ok(one && other);
      const revision = await change(one.url, twin);
      const changedAt = performance.now();
      if (changes % 4 === 0) await one.stop("SIGKILL");
      for (;;) {
        const askedMs = performance.now() - changedAt;
        if ((await revisionOfReply(other.url, key, twin.id)) === revision) break;
        assert.ok(askedMs <= noticeMs, `after ${askedMs} ms, another process replies as the version before`);
        longestMs = Math.max(longestMs, askedMs);
      }
      if (changes % 4 === 0) servers[servers.indexOf(one)] = await startServer([], own);
    }
    for (const { url } of servers) await verify(url, key, twin);
    return (
      `Two servers on PostgreSQL, one killed ${kills} times: ${4 * kills} versions, ` +
      `none unknown to the other who was asked later than after ${Math.round(longestMs)} ms.\n`
    );
  } finally {
    for (const server of servers) await server.stop("SIGKILL");
    await database.drop();
  }
}

try {
  process.stdout.write(await killWhileTheyWork());
  const skip = await skipWithoutPostgres();
  process.stdout.write(skip ? `No two servers answer: ${skip}.\n` : await answerByTwo());
} finally {
  await rm(folder, { recursive: true, force: true });
}
