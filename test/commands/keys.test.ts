/**
 * The commands that list and revoke keys.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { TwinClient } from "../../client/mod.ts";
import { createApiKey } from "../../core/auth/secrets.ts";
import { systemRandom } from "../../core/base/ids.ts";
import { noLog } from "../../core/base/log.ts";
import { readConfig } from "../../server/command-line.ts";
import { findMeant, listKeys, revokeKeys, rotateKey } from "../../server/commands/keys.ts";
import { day, key, start } from "../contracts/store-records.ts";
import { makeFolder } from "../sqlite/fixture.ts";
import { inProcess, openFixture } from "../support/harness.ts";

test("an owner's keys are listed, and revoked by their id, by what they begin with, or all", async () => {
  await using fixture = await openFixture(inProcess);
  const secrets = [
    await fixture.key(),
    await fixture.key("read_only"),
    await fixture.key(),
    await fixture.key(),
  ];
  const client = new TwinClient({
    baseUrl: "http://twins.test",
    apiKey: await fixture.token(),
    fetch: (input, init) => fixture.service.fetch(new Request(input, init)),
  });
  const lines = await listKeys(client);
  assert.equal(lines.length, 4);
  for (const secret of secrets) assert.ok(lines.some((line) => line.includes(`  ${secret.slice(0, 12)}  `)));
  const [id = ""] = lines[0]?.split("  ") ?? [];
  assert.equal((await revokeKeys(client, { id, prefix: undefined })).length, 1);
  const prefix = secrets[0]?.slice(0, 12);
  assert.deepEqual(
    (await revokeKeys(client, { id: undefined, prefix })).map((line) => line.slice(-12)),
    [prefix],
  );
  assert.equal((await revokeKeys(client, { id: undefined, prefix: undefined })).length, 2);
  await assert.rejects(revokeKeys(client, { id: undefined, prefix: undefined }), /There is no such key/);
  for (const secret of secrets) {
    assert.equal((await fixture.call("GET", "/twins", secret)).status, 401);
  }
});

test("a key is rotated by its id, and one that is not there is named", async () => {
  await using fixture = await openFixture(inProcess);
  const before = await fixture.key();
  const client = new TwinClient({
    baseUrl: "http://twins.test",
    apiKey: await fixture.token(),
    fetch: (input, init) => fixture.service.fetch(new Request(input, init)),
  });
  const [id = ""] = (await listKeys(client))[0]?.split("  ") ?? [];
  const { key, previousUntil } = await rotateKey(client, { id, overlapSeconds: 60 });
  assert.equal(previousUntil, "2026-01-02T03:05:05.678Z");
  for (const secret of [before, key]) assert.equal((await fixture.call("GET", "/twins", secret)).status, 200);
  await assert.rejects(
    rotateKey(client, { id: "key_none", overlapSeconds: 60 }),
    /There is no such key.*key_none/,
  );
});

test("a whole secret names its key, also if it is the one before a rotation", async () => {
  const folder = await makeFolder();
  const database = `sqlite:${folder.newPath()}`;
  const settings = readConfig(["keys", "--sub=alice", `--database=${database}`], {});
  assert.ok("settings" in settings);
  const { store, close } = await openSqlite(database.slice("sqlite:".length));
  const secrets = [createApiKey(systemRandom), createApiKey(systemRandom), createApiKey(systemRandom)];
  const [before, after, unknown] = secrets;
  assert.ok(before && after && unknown);
  const made = key("alice", { prefix: before.prefix, hash: before.hash });
  await store.createKey(made, 50);
  await store.rotateKey("alice", made.id, { ...after, previousUntil: start + day }, start);
  await close();
  const find = (prefix: string, sub?: string) => findMeant(settings.settings, { prefix, sub }, noLog);
  const found = { owners: ["alice"], id: made.id };
  for (const { key } of [before, after]) assert.deepEqual(await find(key), found);
  assert.deepEqual(await find(before.key, "alice"), found);
  assert.deepEqual(await find(before.key, "bob"), { owners: ["bob"] });
  assert.deepEqual(await find(after.prefix), { owners: ["alice"] });
  await assert.rejects(find(unknown.key), /There is no such key/);
});
