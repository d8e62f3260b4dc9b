/**
 * How lists and histories hold up as one owner's data grows, in a process of its own.
 *
 * Fills a SQLite store and an in-memory one through the store's own methods, with few records and with many, and
 * reports the time of each read for both. `CONVERSATIONS`: how many conversations are "many".
 *
 * @module
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { openSqlite } from "../adapters/sqlite.ts";
import { createMemoryStore } from "../core/memory-store.ts";
import type { Store } from "../core/store.ts";
import { conversationRecord, converse, start } from "./fill.ts";
import { flat, withGoal } from "./goals.ts";
import type { Row } from "./report.ts";
import { type Spread, spread } from "./spread.ts";

const few = { conversations: 1000, messages: 100 };
const many = { conversations: Number(process.env.CONVERSATIONS), messages: 10_000 };

const owner = "alice";
const longConversation = "conv_long";
const twins = ["ada", "bob", "eve", "kim"];
const page = { offset: 0, limit: 20 };

function idOf(index: number): string {
  return `conv_${index.toString(36).padStart(24, "0")}`;
}

async function fill(store: Store, { conversations, messages }: typeof few): Promise<void> {
  const perTurn = 1000;
  for (let first = 0; first < conversations; first += perTurn) {
    const turn = Array.from({ length: perTurn }, (_, n) => {
      const index = first + n;
      const twinId = twins[index % twins.length] ?? "";
      const fields = {
        id: idOf(index),
        owner,
        twinId,
        title: `Conversation ${index}`,
        createdAt: start + index,
      };
      return store.createConversation(conversationRecord(fields));
    });
    await Promise.all(turn);
  }
  await store.createConversation(conversationRecord({ id: longConversation, owner, createdAt: start - 1 }));
  await converse(store, { owner, id: longConversation }, messages / 2);
}

type Read = (store: Store) => Promise<unknown>;

async function lastMessage(store: Store): Promise<string> {
  const listing = await store.listMessages(owner, longConversation, { offset: 0, limit: 1, order: "desc" });
  return listing?.items[0]?.id ?? "";
}

const reads: Readonly<Record<string, Read>> = {
  "conversations, page 1": (store) => store.listConversations(owner, page),
  "conversations, page 2": (store) => store.listConversations(owner, { ...page, offset: 20 }),
  "conversations, page 40": (store) => store.listConversations(owner, { ...page, offset: 780 }),
  "conversations with one twin, page 1": (store) =>
    store.listConversations(owner, { ...page, twinId: "bob" }),
  "conversations' total alone": (store) => store.listConversations(owner, { offset: 0, limit: 0 }),
  "one conversation": (store) => store.getConversation(owner, idOf(500)),
  "messages, page 1": (store) => store.listMessages(owner, longConversation, { ...page, order: "asc" }),
  "messages, newest first": (store) =>
    store.listMessages(owner, longConversation, { ...page, order: "desc" }),
  "messages after the last": async (store) =>
    store.listMessages(owner, longConversation, { ...page, order: "asc", after: await lastMessage(store) }),
  "history of 25 exchanges": (store) => store.readHistory(owner, longConversation, 25),
};

/** Microseconds per read: medians of a hundred each. The first two do not count, until the code is compiled. */
async function measure(store: Store, read: Read): Promise<Spread> {
  const medians: number[] = [];
  for (let round = 0; round < 7; round++) {
    const times: number[] = [];
    for (let repeated = 0; repeated < 100; repeated++) {
      const before = performance.now();
      await read(store);
      times.push((performance.now() - before) * 1000);
    }
    medians.push(spread(times).median);
  }
  return spread(medians.slice(2));
}

async function measureAll(store: Store, size: typeof few): Promise<Spread[]> {
  const before = performance.now();
  await fill(store, size);
  const seconds = ((performance.now() - before) / 1000).toFixed(1);
  console.error(`  ${size.conversations} conversations, ${size.messages} messages created in ${seconds} s`);
  const times: Spread[] = [];
  for (const read of Object.values(reads)) times.push(await measure(store, read));
  return times;
}

async function inSqlite(size: typeof few): Promise<Spread[]> {
  const folder = await mkdtemp(join(tmpdir(), "twins-bench-"));
  const sqlite = await openSqlite(join(folder, "twins.db"));
  try {
    return await measureAll(sqlite.store, size);
  } finally {
    await sqlite.close();
    await rm(folder, { recursive: true });
  }
}

/** A row for each read: its time with many records, and with few as a multiple of that. */
function rowsOf(name: string, small: readonly Spread[], large: readonly Spread[]): Row[] {
  return Object.keys(reads).map((label, index) => {
    const [before, after] = [small[index], large[index]];
    if (!before || !after) throw new Error(`There is no time for ${label}.`);
    const more = { [`with ${few.conversations.toLocaleString("en")}`]: before.median };
    return withGoal({ name: `${name}: ${label}`, ...after, ratio: before.median / after.median, more }, flat);
  });
}

const rows = [
  ...rowsOf("SQLite", await inSqlite(few), await inSqlite(many)),
  ...rowsOf(
    "memory",
    await measureAll(createMemoryStore(), few),
    await measureAll(createMemoryStore(), many),
  ),
];
process.send?.(rows);
