/**
 * The benchmark of several processes: what it refuses, and that it leaves nothing behind when it is stopped.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { connect, skipWithoutPostgres } from "../postgres/database.ts";
import {
  runScript,
  type Script,
  skipOffNode,
  skipWithoutSignals,
  startScript,
} from "../support/script-process.ts";

const script = "bench/cluster.ts";

describe("the cluster benchmark's command line", { skip: skipOffNode }, () => {
  const refused: Readonly<Record<string, readonly string[]>> = {
    "Unknown option '--bogus'": ["--bogus"],
    "Unexpected argument 'more'": ["2", "more"],
    "The seconds must be a number of at least 1, not soon": ["soon"],
  };
  for (const [complaint, args] of Object.entries(refused)) {
    test(`${args.join(" ")} is refused, and the usage printed`, async () => {
      const { code, stdout, stderr } = await runScript(script, args);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.ok(stderr.startsWith(`${complaint}.\n\nUsage: `), stderr);
    });
  }

  test("--help describes its argument", async () => {
    const { code, stdout, stderr } = await runScript(script, ["--help"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^Usage: .+ \[seconds\]$/m);
  });

  test("without PostgreSQL it says in one line where it looked", async () => {
    const nowhere = "postgres://postgres@127.0.0.1:1/postgres";
    const { code, stdout, stderr } = await runScript(script, [], { TEST_DATABASE_URL: nowhere });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^[^\n]*no PostgreSQL at 127\.0\.0\.1:1[^\n]*\n$/);
  });
});

/** A process's child processes, and the database that each was given. */
async function childrenOf(
  pid: number,
): Promise<readonly { readonly pid: number; readonly database: string }[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return Promise.all(
    children
      .split(" ")
      .filter(Boolean)
      .map(async (child) => {
        const environment = await readFile(`/proc/${child}/environ`, "utf8");
        return { pid: Number(child), database: /\0DATABASE_URL=([^\0]+)/.exec(environment)?.[1] ?? "" };
      }),
  );
}

const skip =
  skipWithoutSignals ||
  (process.platform !== "linux" && "it reads Linux's /proc") ||
  (await skipWithoutPostgres());

/** As bench/sizing.md says. */
const statements: Readonly<Record<string, number>> = {
  "creating a key": 6,
  "the first use of a key": 3,
  "creating a conversation": 6,
  "its first streamed reply, in less than a second": 12,
  "its next streamed reply, in less than a second": 11,
  "reading a conversation": 2,
  "reading a page of messages": 4,
};

test("it counts each request's statements, and those for its limit", { skip, timeout: 60_000 }, async () => {
  const { TEST_DATABASE_URL } = process.env;
  const measuring = startScript(script, ["1"], { ...(TEST_DATABASE_URL && { TEST_DATABASE_URL }) });
  await measuring.said(/^reading a page of messages: /m);
  measuring.signal("SIGTERM");
  const { stdout } = await measuring.ended;
  const counted = [...stdout.matchAll(/^(.+): (\d+) statements, 1 of them for the limit$/gm)];
  assert.deepEqual(Object.fromEntries(counted.map(([, what, count]) => [what, Number(count)])), statements);
});

const endings: Readonly<Record<string, (measuring: Script) => void>> = {
  "when told to stop": (measuring) => measuring.signal("SIGTERM"),
  "when nobody reads its output any more": (measuring) => measuring.closeOutput(),
};

for (const [when, end] of Object.entries(endings)) {
  test(`it leaves no server and no database behind ${when}`, { skip, timeout: 60_000 }, async () => {
    const { TEST_DATABASE_URL } = process.env;
    const measuring = startScript(script, ["1"], { ...(TEST_DATABASE_URL && { TEST_DATABASE_URL }) });
    await measuring.said(/^1 process, streamed replies: /m);
    const servers = (await childrenOf(measuring.pid)).filter(({ database }) => database !== "");
    assert.equal(servers.length, 1);

    end(measuring);
    const { code, stderr } = await measuring.ended;
    assert.equal(code, 1, stderr);
    for (const { pid, database } of servers) {
      assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
      await assert.rejects(connect(database), { code: "3D000" }); // there is no such database
    }
  });
}
