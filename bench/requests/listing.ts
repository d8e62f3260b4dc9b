/**
 * How lists and histories hold up as one owner's data grows, in a process of its own.
 *
 * Fills SQLite stores through the store's own methods, with few records and with many, and reports the time of each read
 * for both. `CONVERSATIONS`: how many conversations are "many". `DATABASE`: how the paths
 * of new SQLite files begin.
 *
 * @module
 */

import process from "node:process";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import type { Store } from "../../core/store/store.ts";
import { flat, withGoal } from "../report/goals.ts";
import { inTurn, median, spread } from "../report/spread.ts";
import type { Row } from "../report/tables.ts";
import { conversationRecord, converse, start } from "./fill.ts";

const { CONVERSATIONS, DATABASE } = process.env;

const few = { conversations: 1000, messages: 100 };
const many = { conversations: Number(CONVERSATIONS), messages: 10_000 };

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
  const listing = await store.listMessages({ owner }, longConversation, {
    offset: 0,
    limit: 1,
    order: "desc",
  });
  return listing?.items[0]?.id ?? "";
}

const reads: Readonly<Record<string, Read>> = {
  "conversations, page 1": (store) => store.listConversations({ owner }, page),
  "conversations, page 40": (store) => store.listConversations({ owner }, { ...page, offset: 780 }),
  "conversations with one twin, page 1": (store) =>
    store.listConversations({ owner }, { ...page, twinIds: ["bob"] }),
  "conversations' total alone": (store) => store.listConversations({ owner }, { offset: 0, limit: 0 }),
  "one conversation": (store) => store.getConversation({ owner }, idOf(500)),
  "messages, newest first": (store) =>
    store.listMessages({ owner }, longConversation, { ...page, order: "desc" }),
  "messages after the last": async (store) =>
    store.listMessages({ owner }, longConversation, {
      ...page,
      order: "asc",
      after: await lastMessage(store),
    }),
  "history of a model": (store) => store.readHistory({ owner }, longConversation),
};

/** How long a read is repeated on each store before it counts, in milliseconds, so that its code is compiled. */
const warmUpMs = 200;

const rounds = 7;

/** Few records and many. */
type Stores = readonly [few: Store, many: Store];

/** The time of a read, in microseconds: the median of a hundred. */
async function timeOf(read: Read, store: Store): Promise<number> {
  const times: number[] = [];
  for (let repeated = 0; repeated < 100; repeated++) {
    const before = performance.now();
    await read(store);
    times.push((performance.now() - before) * 1000);
  }
  return median(times);
}

/** A row for a read: its time with many records, and with few as a multiple of that, in alternating rounds. */
async function compareSizes(name: string, read: Read, stores: Stores): Promise<Row> {
  for (const store of stores) {
    const endsAt = performance.now() + warmUpMs;
    while (performance.now() < endsAt) await read(store);
  }
  const times = new Map<Store, number[]>(stores.map((store) => [store, []]));
  for (let round = 0; round < rounds; round++) {
    for (const store of inTurn(stores, round)) times.get(store)?.push(await timeOf(read, store));
  }
  const [before = [], after = []] = times.values();
  const ratio = median(before.map((time, round) => time / (after[round] ?? time)));
  const more = { [`with ${few.conversations.toLocaleString("en")}`]: median(before) };
  return withGoal({ name, ...spread(after), ratio, more }, flat);
}

async function compareAll(stores: Stores): Promise<Row[]> {
  for (const [index, size] of [few, many].entries()) {
    const before = performance.now();
    await fill(stores[index] ?? stores[0], size);
    const seconds = ((performance.now() - before) / 1000).toFixed(1);
    console.error(`  ${size.conversations} conversations, ${size.messages} messages created in ${seconds} s`);
  }
  const rows: Row[] = [];
  for (const [name, read] of Object.entries(reads)) rows.push(await compareSizes(name, read, stores));
  return rows;
}

process.on("disconnect", () => process.exit(0));
const [small, large] = [await openSqlite(`${DATABASE}-few`), await openSqlite(`${DATABASE}-many`)];
const rows = await compareAll([small.store, large.store]);
await Promise.all([small.close(), large.close()]);
process.send?.(rows);
