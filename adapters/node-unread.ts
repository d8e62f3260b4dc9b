/**
 * The long answers that wait in this process for their readers.
 *
 * @module
 */

import type { ServerResponse } from "node:http";

/** How much of them may wait in all, in bytes. One key may ask for pages of megabytes hundreds of times an hour. */
const mostUnread = 256 * 1024 * 1024;

/** How long each is, those that wait longest first. */
const unread = new Map<ServerResponse, number>();
let unreadBytes = 0;

/** Counts an answer until all of it is on its way. Where too much waits, cuts those that have waited longest. */
export function awaitReader(response: ServerResponse, bytes: number): void {
  if (response.destroyed) return; // nothing would tell that it is over
  unread.set(response, bytes);
  unreadBytes += bytes;
  for (const over of ["finish", "close"]) response.once(over, () => forget(response));
  for (const oldest of unread.keys()) {
    if (unreadBytes <= mostUnread || oldest === response) return;
    forget(oldest);
    oldest.destroy();
  }
}

function forget(response: ServerResponse): void {
  unreadBytes -= unread.get(response) ?? 0;
  unread.delete(response);
}
