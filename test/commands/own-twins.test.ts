/**
 * The commands that send a folder of twins to a server, and write one from it.
 */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";
import { pullTwins, pushTwins } from "../../server/commands/own-twins.ts";
import { inProcess, listIds, openFixture } from "../support/harness.ts";

const odd =
  "---\nname: Odd\ntests:\n  - ask: When do you open?\n    says: nine\n---\n\n## Opening hours\n\nWe open at nine.\n";
const run = { prune: false, tests: "run" } as const;

async function open() {
  const fixture = await openFixture(inProcess, {
    ownTwins: { reader: createTwinReader() },
    engines: { knowledge: createKnowledgeEngine() },
  });
  const [key, token] = [await fixture.key(), await fixture.token()];
  const folder = await mkdtemp(join(tmpdir(), "twins-"));
  return {
    folder,
    twins: {
      send: (path: string, init: RequestInit = {}) => {
        const headers = {
          ...Object.fromEntries(new Headers(init.headers)),
          authorization: `Bearer ${token}`,
        };
        return fixture.send(`/api/v1${path}`, { ...init, headers });
      },
      list: () => listIds(fixture, key, "/twins?limit=100"),
    },
    async write(files: Readonly<Record<string, string>>) {
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, name)), { recursive: true });
        await writeFile(join(folder, name), text);
      }
    },
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

test("a folder is pushed once, then what differs, and pulled as it was", async () => {
  await using there = await open();
  const { folder, twins, write } = there;
  await write({
    "odd.md": odd,
    "ada/twin.md": odd.replace("Odd", "Ada"),
    "ada/letters/1843.md": "# Letter\n\nDear.\n",
  });
  assert.deepEqual(await pushTwins(folder, twins, run), {
    lines: ["ada: new", "ada: letters/1843.md added", "odd: new"],
    refused: false,
  });
  assert.deepEqual(await pushTwins(folder, twins, run), { lines: [], refused: false });
  await write({ "ada/letters/1843.md": "# Letter\n\nFond.\n", "odd.md": odd.replace("Odd", "Even") });
  assert.deepEqual((await pushTwins(folder, twins, run)).lines, [
    "ada: letters/1843.md changed",
    "odd: changed",
  ]);
  const elsewhere = join(folder, ".pulled");
  assert.deepEqual(await pullTwins(elsewhere, twins), [
    "ada/twin.md added",
    "ada/letters/1843.md added",
    "odd.md added",
  ]);
  for (const name of ["odd.md", "ada/twin.md", "ada/letters/1843.md"])
    assert.deepEqual(await readFile(join(elsewhere, name)), await readFile(join(folder, name)));
  assert.deepEqual(await pullTwins(elsewhere, twins), []);
});

test("what the server refuses is told with file and line, and the rest is sent", async () => {
  await using there = await open();
  const { folder, twins, write } = there;
  await write({ "bad.md": "---\nname: Bad\nage: 7\n---\n", "echo.md": odd, "odd.md": odd });
  const { lines, refused } = await pushTwins(folder, twins, run);
  assert.ok(refused);
  assert.match(lines[0] ?? "", /bad\.md:3: "age" is not a known key/);
  assert.match(lines[1] ?? "", /echo\.md: The operator has a twin with this id/);
  assert.deepEqual(lines.slice(2), ["odd: new"]);
});

test("a golden question that fails refuses all of its twin, where tests are required", async () => {
  await using there = await open();
  const { folder, twins, write } = there;
  await write({ "odd/twin.md": odd, "odd/a.md": "# A\n\nb\n" });
  await pushTwins(folder, twins, run);
  await write({ "odd/twin.md": odd.replace("at nine", "at ten"), "odd/a.md": "# A\n\nc\n" });
  const { lines, refused } = await pushTwins(folder, twins, { ...run, tests: "require" });
  assert.ok(refused);
  assert.match(
    lines.join(),
    /twin\.md: "When do you open\?" needs an answer with "nine", but the answer is /,
  );
  assert.equal(await (await twins.send("/twins/odd/file")).text(), odd);
  assert.equal(await (await twins.send("/twins/odd/documents/a.md")).text(), "# A\n\nb\n");
});

test("what the folder lacks is deleted where it is pruned, and the operator's twins stay", async () => {
  await using there = await open();
  const { folder, twins, write } = there;
  await write({ "odd/twin.md": odd, "odd/a.md": "# A\n\nb\n", "even.md": odd });
  await pushTwins(folder, twins, run);
  await rm(join(folder, "odd/a.md"));
  await rm(join(folder, "even.md"));
  assert.deepEqual((await pushTwins(folder, twins, run)).lines, []);
  assert.deepEqual((await pushTwins(folder, twins, { ...run, prune: true })).lines, [
    "odd: a.md deleted",
    "even: deleted",
  ]);
  assert.deepEqual(await twins.list(), ["echo", "odd", "private"]);
});

test("a proxy's refusals end push and pull with a line, and nothing is left out or half sent", async () => {
  await using there = await open();
  const { folder, twins, write } = there;
  await write({ "odd/twin.md": odd, "odd/a.md": "# A\n\nb\n", "odd/b.md": "# B\n\nc\n" });
  await pushTwins(folder, twins, run);
  /** The twins behind a proxy that answers the first request of a kind itself. */
  const behindProxy = (method: string, pattern: RegExp) => {
    let isAway = true;
    return {
      ...twins,
      async send(path: string, init: RequestInit = {}) {
        if (!isAway || (init.method ?? "GET") !== method || !pattern.test(path))
          return twins.send(path, init);
        isAway = false;
        return new Response("<html>", { status: 502, headers: { "content-type": "text/html" } });
      },
    };
  };
  const problem = /the server's answer has the status 502/;
  const elsewhere = join(folder, ".pulled");
  for (const pattern of [/\/file/, /\/documents\?/, /b\.md/]) {
    await assert.rejects(pullTwins(elsewhere, behindProxy("GET", pattern)), problem);
  }
  await write({ "odd/a.md": "# A\n\nd\n", "odd/b.md": "# B\n\ne\n" });
  for (const pattern of [/\/file/, /\/documents\?/, /\/versions/]) {
    await assert.rejects(pushTwins(folder, behindProxy("GET", pattern), run), problem);
  }
  const { lines, refused } = await pushTwins(folder, behindProxy("PUT", /b\.md/), run);
  assert.ok(refused);
  assert.match(lines.join(), /b\.md: the server's answer has the status 502/);
  assert.equal(await (await twins.send("/twins/odd/documents/a.md")).text(), "# A\n\nb\n");
});

test("what looks like a twin's file, and is none, is passed over", async () => {
  await using there = await open();
  const { folder, twins, write } = there;
  await write({ "odd.md": odd, "old.md/twin.md": odd });
  await symlink(join(folder, "nowhere"), join(folder, "gone.md"));
  assert.deepEqual(await pushTwins(folder, twins, run), { lines: ["odd: new"], refused: false });
  assert.deepEqual(await pullTwins(folder, twins), []);
});
