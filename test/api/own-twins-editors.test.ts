/**
 * Editors of one twin at once, on two processes, at random from a seed: each names what it has read, and puts its change
 * together with what another has saved, as the desk does.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { signToken } from "../../core/auth/jwt.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import { mergeTexts } from "../../web/playground/twins/difference.ts";
import { createRandom, type Random } from "../simulation/world.ts";
import { createManualClock } from "../support/clock.ts";
import { dataOf, fixtureSecret, inProcess, openFixture, startOfTests } from "../support/harness.ts";

const seeds = 4;
const editors = 3;
/** How often each of them saves. */
const saves = 25;

const begun = "---\nname: Odd\n---\n\n## Notes\n\nline of the beginning\n";

/** What an editor has done to a text. */
interface Edit {
  readonly text: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Adds, removes or rewrites a line of the body. */
function edit(text: string, line: string, random: Random): Edit {
  const lines = text.split("\n");
  const known = lines.flatMap((each, at) => (each.startsWith("line ") ? [at] : []));
  const at = known[random.between(0, known.length - 1)];
  const isNew = at === undefined || random.chance(0.6);
  const added = isNew || random.chance(0.5) ? [line] : [];
  const removed = isNew ? [] : lines.splice(at, 1);
  lines.splice(at === undefined ? lines.length - 1 : at + (isNew ? 1 : 0), 0, ...added);
  return { text: lines.join("\n"), added, removed };
}

/** The lines of a text that the editors know, by which none is lost. */
function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("line "));
}

async function simulate(seed: number): Promise<{ readonly merged: number; readonly redone: number }> {
  const random = createRandom(seed);
  const clock = createManualClock(startOfTests);
  const options = { store: createMemoryStore(), ownTwins: { reader: createTwinReader() } };
  await using one = await openFixture(inProcess, options, clock);
  await using other = await openFixture(inProcess, options, clock);
  // The test's time passes the faster the slower the machine is.
  const jwt = await signToken({ secret: fixtureSecret, sub: "alice", expiresInSeconds: 30 * 86_400, clock });
  /** The text of each version, and what its maker says that it was made of. */
  const texts = new Map<number, string>();
  const madeOf = new Map<number, string>();
  const count = { merged: 0, redone: 0 };

  const request = (method: string, path: string, body?: string, headers: Record<string, string> = {}) =>
    random.pick([one, other]).send(`/api/v1/twins/odd/${path}`, {
      method,
      headers: { authorization: `Bearer ${jwt}`, "content-type": "text/markdown", ...headers },
      ...(body !== undefined && { body }),
    });
  const read = async (query = "") => {
    const response = await request("GET", `file${query}`);
    return { text: await response.text(), etag: response.headers.get("etag") ?? "" };
  };
  /** The new version. Undefined: another was faster. */
  const versionOf = async (response: Response) => {
    if (response.status === 412) return undefined;
    return (await dataOf<{ version: number }>(response)).version;
  };
  const note = (version: number, text: string, before: string) => {
    assert.ok(!texts.has(version), `version ${version} was made twice`);
    texts.set(version, text);
    madeOf.set(version, before);
  };
  const pause = () =>
    new Promise<void>((resolve) => {
      clock.after(random.between(0, 4_000), resolve);
    });

  async function save(line: string): Promise<void> {
    let base = await read();
    let change = edit(base.text, line, random);
    for (;;) {
      await pause();
      const headers = { "if-match": base.etag };
      const version = await versionOf(await request("PUT", "file?tests=skip", change.text, headers));
      if (version !== undefined) return note(version, change.text, base.text);
      const theirs = await read();
      const both = mergeTexts(base.text, change.text, theirs.text);
      if (both === theirs.text) return; // both have removed the same
      if (both === undefined) change = edit(theirs.text, line, random);
      else {
        const removed = new Set(change.removed);
        const kept = linesOf(theirs.text).filter((each) => !removed.has(each));
        assert.deepEqual(linesOf(both).sort(), [...kept, ...change.added].sort());
        change = { ...change, text: both };
      }
      count[both === undefined ? "redone" : "merged"]++;
      base = theirs;
    }
  }

  async function teach(line: string): Promise<void> {
    const body = JSON.stringify({ question: `What of ${line}?`, answer: line });
    const json = { "content-type": "application/json" };
    const response = await request("POST", "answers?tests=skip", body, json);
    const { version } = await dataOf<{ version: number }>(response);
    const [{ text }, before] = [await read(`?version=${version}`), await read(`?version=${version - 1}`)];
    assert.deepEqual(linesOf(text).sort(), [...linesOf(before.text), line].sort());
    note(version, text, before.text);
  }

  async function restore(): Promise<void> {
    const [latest = 1, ...before] = [...texts.keys()].sort((a, b) => b - a);
    const earlier = random.pick([latest, ...before.slice(0, 5)]);
    const base = await read();
    await pause();
    const headers = { "if-match": base.etag };
    const version = await versionOf(await request("POST", `versions/${earlier}/restore`, undefined, headers));
    if (version !== undefined) note(version, texts.get(earlier) ?? "", base.text);
  }

  async function work(editor: number): Promise<void> {
    for (let time = 0; time < saves; time++) {
      await pause();
      const line = `line ${time} of ${editor}`;
      if (random.chance(0.05)) await restore();
      else await (random.chance(0.1) ? teach(line) : save(line));
    }
  }

  texts.set((await versionOf(await request("PUT", "file", begun))) ?? 0, begun);
  let isWorking = true;
  const all = Promise.all(Array.from({ length: editors }, (_, editor) => work(editor)));
  const end = () => {
    isWorking = false;
  };
  all.then(end, end);
  while (isWorking) await clock.advance(500);
  await all;
  const last = Math.max(...texts.keys());
  assert.equal(texts.size, last, "each version is known to who has made it");
  for (const [version, before] of madeOf)
    assert.equal(before, texts.get(version - 1), `what version ${version} was made of`);
  assert.equal((await read()).text, texts.get(last));
  return count;
}

describe("editors of one twin at once", () => {
  test("lose no line, whether they save, teach or restore", async () => {
    let [merged, redone] = [0, 0];
    for (let seed = 1; seed <= seeds; seed++) {
      const count = await simulate(seed).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
      merged += count.merged;
      redone += count.redone;
    }
    assert.ok(merged > seeds && redone > seeds, `${merged} were put together, ${redone} begun again`);
  });
});
