/**
 * Notices changes of a folder's files.
 *
 * @module
 */

import { type FSWatcher, watch } from "node:fs";
import type { Clock } from "../../core/base/clock.ts";
import type { Log } from "../../core/base/log.ts";

// Editors save in several steps: wait until they are done.
const quietMs = 100;

/** How often to look for changes that the system does not report, in milliseconds. */
const pollMs = 2_000;
/** Looking at thousands of files takes long: rests are this many times as long, so that it costs half a percent of a core. */
const restFactor = 200;
const longestRestMs = 30_000;

/** Options of {@link followFolder}. */
export interface FollowFolderOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the folder has changed since it was last read. Must not reject. */
  changed(): Promise<boolean>;
  /** Reads the folder. Must not reject. */
  reload(): Promise<void>;
}

/**
 * Reloads after changes: when the system reports one and, because not every file system does, when polling finds one.
 * Returns a function that stops this.
 */
export function followFolder(
  folder: string,
  { clock, log, changed, reload }: FollowFolderOptions,
): () => void {
  let stopped = false;
  let cancelReload = () => {};
  const watcher = announce(folder, log, () => {
    if (stopped) return; // Deno's watcher reports changes of a moment before even once it is closed
    cancelReload();
    cancelReload = clock.after(quietMs, reload);
  });

  let cancelPoll = clock.after(pollMs, poll);
  async function poll(): Promise<void> {
    const begin = clock.now();
    const isChanged = await changed();
    const rest = restFactor * (clock.now() - begin);
    if (isChanged) await reload();
    if (!stopped) cancelPoll = clock.after(Math.min(longestRestMs, Math.max(pollMs, rest)), poll);
  }

  return () => {
    stopped = true;
    watcher?.close();
    cancelReload();
    cancelPoll();
  };
}

/** Watches a folder. Undefined if the system cannot. */
function announce(folder: string, log: Log, changed: () => void): FSWatcher | undefined {
  const giveUp = (error: unknown) =>
    log("warn", "a folder cannot be watched; it is polled instead", { folder, error });
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    watcher.on("error", (error) => {
      giveUp(error);
      watcher.close();
    });
    return watcher;
  } catch (error) {
    giveUp(error);
    return undefined;
  }
}
