/**
 * The command that counts what would be deleted.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemoryStore } from "../../core/store/memory.ts";
import { readConfig } from "../../server/command-line.ts";
import { countIdle } from "../../server/commands/retention.ts";
import { converse, day, newConversation, newOwner, start } from "../contracts/store-records.ts";

test("conversations, their messages and pages about people are counted, and nothing is deleted", async () => {
  const store = createMemoryStore();
  const [one, other] = [newOwner(), newOwner()];
  for (const owner of [one, one, other]) {
    const { id } = await newConversation(store, owner, { endUser: "ann" });
    await converse(store, owner, id, { at: start });
  }
  const { id } = await newConversation(store, other);
  await converse(store, other, id, { at: start + day });
  const page = { content: "Likes tea.", updatedAt: start };
  for (const endUser of ["ann", "bob"]) await store.setMemory({ owner: one, endUser, twinId: "ada" }, page);
  const counted = "3 conversations with 6 messages, and 1 page about people who have no conversation";
  for (const _ of [1, 2]) assert.equal(await countIdle(store, start + day), counted);
});

test("it needs --dry-run, and the number of days", () => {
  const read = (...args: string[]) => readConfig(["retention", ...args], {});
  assert.throws(() => read("--retention-days=90"), /retention needs --dry-run/);
  assert.throws(() => read("--dry-run"), /RETENTION_DAYS/);
  const { command, ...config } = read("--dry-run", "--retention-days", "90");
  assert.deepEqual([command, "days" in config && config.days], ["retention", 90]);
});
