/**
 * Deletes what was not used for so many days: conversations, and what twins know of people who have none left. In portions,
 * by one process at a time.
 *
 * @module
 */

import { repeat } from "../base/clock.ts";
import { idleConversations, idleMemories } from "../store/portions.ts";
import { dayMs } from "../store/records.ts";
import type { DeletedConversation } from "../store/store.ts";
import type { ReplyContext } from "./context.ts";

/** Pause between two looks, in milliseconds. */
const lookMs = 3_600_000;

/** How many conversations are deleted at once. */
const deletedAtOnce = 10;

/** For how long a process has this work for itself without renewing that, in milliseconds. */
const leaseMs = 60_000;

/** What retention needs. */
export interface RetentionOptions
  extends Pick<ReplyContext, "store" | "clock" | "log" | "newId" | "inFlight"> {
  /** After how many days without a message a conversation is deleted. */
  readonly days: number;
  /** Forgets a conversation that was deleted. */
  readonly drop: (conversation: DeletedConversation) => void;
}

/** Deletes what was not used for long, at once and then every hour. Returns a function that stops this. */
export function startRetention(options: RetentionOptions): () => void {
  const { clock, log, newId, inFlight } = options;
  const holder = newId("run");
  let stopped = false;
  const look = async () => {
    const deleting = deleteIdle(options, holder, () => stopped);
    inFlight.track(deleting);
    try {
      await deleting;
    } catch (error) {
      log("warn", "what was not used for long could not be deleted; it will be tried again", { error });
    }
  };
  const looking = repeat(clock, () => lookMs, look);
  looking.hurry();
  return () => {
    stopped = true;
    looking.stop();
  };
}

async function deleteIdle(
  { store, clock, log, days, drop }: RetentionOptions,
  holder: string,
  isStopped: () => boolean,
): Promise<void> {
  const before = clock.now() - days * dayMs;
  const take = (forMs: number) =>
    store.takeLease("retention", { holder, until: clock.now() + forMs }, clock.now());
  let [conversations, memories] = [0, 0];
  const mayGoOn = async () => !isStopped() && (await take(leaseMs));
  if (!(await mayGoOn())) return;
  for await (const some of idleConversations(store, before)) {
    if (!(await mayGoOn())) return;
    for (let from = 0; from < some.length; from += deletedAtOnce) {
      if (isStopped()) return;
      const deleting = some
        .slice(from, from + deletedAtOnce)
        .map(({ owner, id }) => store.deleteConversation({ owner }, id, clock.now(), { idleSince: before }));
      for (const deleted of await Promise.all(deleting)) {
        if (!deleted) continue; // it has been used meanwhile
        conversations++;
        drop(deleted);
      }
    }
  }
  for await (const some of idleMemories(store, before)) {
    if (!(await mayGoOn())) return;
    for (const memory of some) memories += Number(await store.setMemory(memory, null, { idleSince: before }));
  }
  if (conversations + memories > 0)
    log("info", "what was not used for long was deleted", { days, conversations, memories });
  await take(lookMs / 2); // the others need not look at the same again
}
