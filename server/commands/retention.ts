/**
 * Counts what a server would delete, as it was not used for so many days.
 *
 * @module
 */

import process from "node:process";
import { counted } from "../../core/base/counted.ts";
import { idleConversations, idleMemories } from "../../core/store/portions.ts";
import { dayMs } from "../../core/store/records.ts";
import type { Store } from "../../core/store/store.ts";
import type { CommandConfig } from "../command-line.ts";
import { openQuietLog } from "../log.ts";
import { openStorage } from "../storage.ts";
import { requireDatabase } from "../tokens.ts";
import { whileOpen } from "./client.ts";

/** A line that says what is there. `before`: what was last used before this moment, in milliseconds. */
export async function countIdle(
  store: Pick<Store, "findIdleConversations" | "findIdleMemories">,
  before: number,
): Promise<string> {
  let [conversations, messages, memories] = [0, 0, 0];
  for await (const some of idleConversations(store, before)) {
    conversations += some.length;
    messages += some.reduce((sum, { logLength }) => sum + logLength, 0);
  }
  for await (const some of idleMemories(store, before)) memories += some.length;
  const pages = `${counted(memories, "page")} about people who have no conversation`;
  return `${counted(conversations, "conversation")} with ${counted(messages, "message")}, and ${pages}`;
}

/** Prints what would be deleted now. */
export async function countRetention({ settings, days }: CommandConfig<"retention">): Promise<void> {
  requireDatabase(settings, "that has conversations");
  const log = openQuietLog(settings);
  const opening = openStorage(settings, { log, signal: new AbortController().signal });
  const idle = await whileOpen(opening, ({ store }) =>
    countIdle(store, (store.clock?.now() ?? Date.now()) - days * dayMs),
  );
  process.stdout.write(`Not used for ${counted(days, "day")}: ${idle}. Nothing was deleted.\n`);
}
