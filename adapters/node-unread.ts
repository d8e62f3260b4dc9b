/**
 * The long answers that wait in memory for their readers.
 *
 * @module
 */

import type { Outgoing } from "./node-outgoing.ts";

/** How much may wait in all, in bytes. One key may ask for pages of megabytes hundreds of times an hour. */
const mostUnread = 256 * 1024 * 1024;

/** The length of each, those that have waited longest first. */
const unread = new Map<Outgoing, number>();
let unreadBytes = 0;

/**
 * Counts an answer until all of it is sent. If too much is waiting, disconnects the readers that have let it wait
 * longest.
 */
export function awaitReader(response: Outgoing, bytes: number): void {
  if (response.destroyed) return; // no event would end the count
  unread.set(response, bytes);
  unreadBytes += bytes;
  for (const over of ["finish", "close"] as const) response.once(over, () => forget(response));
  for (const oldest of unread.keys()) {
    if (unreadBytes <= mostUnread || oldest === response) return;
    forget(oldest);
    oldest.destroy();
  }
}

function forget(response: Outgoing): void {
  unreadBytes -= unread.get(response) ?? 0;
  unread.delete(response);
}
