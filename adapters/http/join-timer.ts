/**
 * One timer for many streams, which costs less than one for each: on Deno, a timer for each adds a quarter to a reply's
 * CPU time. For servers, where timers outlive the requests that set them.
 *
 * @module
 */

import { joinMs } from "../../core/wire/sse.ts";

let waiting: (() => void)[] = [];

/** Calls back within {@link joinMs}. All callers share a timer, which the first one sets. */
export function afterJoin(callback: () => void): void {
  if (waiting.push(callback) === 1) setTimeout(callWaiting, joinMs);
}

function callWaiting(): void {
  const callbacks = waiting;
  waiting = [];
  forEach(callbacks, (callback) => callback());
}

/** Acts on each item. An exception is left to the process; if it survives, the other items follow. */
export function forEach<Item>(items: readonly Item[], act: (item: Item) => void): void {
  let begun = 0;
  try {
    for (const item of items) {
      begun++;
      act(item);
    }
  } finally {
    if (begun < items.length) setTimeout(() => forEach(items.slice(begun), act));
  }
}
