/**
 * The path of a conversation: which of its messages, all of which are in the log, belong to the branch that is shown.
 *
 * A question and its reply are stored together: the reply has the next number. Other messages are stored alone. A message
 * comes after the one that it follows, so numbers ascend along a path.
 *
 * @module
 */

import type { MessageSlice } from "./store.ts";

/** Numbers of messages, ascending: ranges from the first number, inclusive, to the last one, exclusive. */
export type MessageRanges = readonly (readonly [from: number, to: number])[];

/** A conversation's path. Null: all messages, as in every conversation that never forked. */
export type MessagePath = MessageRanges | null;

/** A message that does not follow the one before it in the log. */
export interface Branch {
  readonly seq: number;
  /** The number of the message that it goes on from; -1: it begins the conversation anew. */
  readonly from: number;
}

/** How many messages are on a path in a log of this length. */
export function lengthOf(path: MessagePath, logLength: number): number {
  return path ? path.reduce((sum, [from, to]) => sum + to - from, 0) : logLength;
}

/** The place of a message on a path, from 0. Undefined: it is not on it. */
export function placeOn(path: MessagePath, seq: number): number | undefined {
  if (!path) return seq;
  let before = 0;
  for (const [from, to] of path) {
    if (seq < from) return undefined;
    if (seq < to) return before + seq - from;
    before += to - from;
  }
  return undefined;
}

/** The numbers of the messages at some places of a path: from the first, inclusive, to the last, exclusive. */
export function rangesAt(path: MessagePath, first: number, last: number): MessageRanges {
  if (!path) return first < last ? [[first, last]] : [];
  const ranges: [number, number][] = [];
  let place = 0;
  for (const [from, to] of path) {
    const begin = from + Math.max(0, first - place);
    const end = Math.min(to, from + last - place);
    if (begin < end) ranges.push([begin, end]);
    place += to - from;
  }
  return ranges;
}

/** Where a slice of a list is: places from `first`, inclusive, to `last`, exclusive. */
interface Places {
  readonly first: number;
  readonly last: number;
  /** The length of what it is a slice of. */
  readonly total: number;
}

/** Where a slice of a path's messages is. `after`: the place of the message that it starts after. */
export function placesOf(
  { order, offset, limit }: Pick<MessageSlice, "order" | "offset" | "limit">,
  length: number,
  after: number | undefined,
): Places {
  if (order === "asc") {
    const begin = (after ?? -1) + 1;
    return { first: begin + offset, last: Math.min(begin + offset + limit, length), total: length - begin };
  }
  const total = after ?? length;
  return { first: Math.max(total - offset - limit, 0), last: total - offset, total };
}

/**
 * The path that ends with a message: the current one, as far as it goes there, or else the one over the branches that lead
 * to it, which are all those of the conversation. -1: no message.
 */
export function pathTo(seq: number, current: MessagePath, branches: readonly Branch[]): MessageRanges {
  const place = placeOn(current, seq);
  if (place !== undefined) return rangesAt(current, 0, place + 1);
  const newestFirst: [number, number][] = [];
  let left = branches.length; // those that may lead to the rest of the path
  for (let end = seq; end >= 0; ) {
    while ((branches[left - 1]?.seq ?? -1) > end) left--;
    const branch = branches[left - 1];
    newestFirst.push([branch?.seq ?? 0, end + 1]);
    end = branch?.from ?? -1;
  }
  return newestFirst.reverse();
}

/** A path with the messages from this number on to the end of the log, which has this length then. */
export function withMessages(path: MessagePath, seq: number, logLength: number): MessagePath {
  if (!path) return null;
  const [before, last] = [path.slice(0, -1), path.at(-1)];
  const grown: MessageRanges =
    last?.[1] === seq ? [...before, [last[0], logLength]] : [...path, [seq, logLength]];
  return wholePath(grown, logLength);
}

/** A path as it is stored: null if it has all messages of a log of this length. */
export function wholePath(path: MessageRanges, logLength: number): MessagePath {
  return path.length === 1 && path[0]?.[0] === 0 && path[0][1] === logLength ? null : path;
}
