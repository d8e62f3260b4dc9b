/**
 * How lists and histories hold up as one owner's data grows: `node --import tsx bench/listing.ts`.
 *
 * Fills a SQLite store and an in-memory one through the store's own methods, with few records and with many,
 * and prints the median time of each read for both. A million conversations take some minutes to make; give
 * another number to make it quicker: `node --import tsx bench/listing.ts 100000`.
 *
 * @module
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "../adapters/sqlite.ts";
import { createMemoryStore } from "../core/memory-store.ts";
import type { ConversationRecord, MessageRecord, Store } from "../core/store.ts";

const few = { conversations: 1000, messages: 100 };
const many = { conversations: Number(process.argv[2] ?? 1_000_000), messages: 10_000 };

const owner = "alice";
const longConversation = "conv_long";
const twins = ["ada", "bob", "eve", "kim"];
const start = Date.UTC(2030, 0, 1);
const page = { offset: 0, limit: 20 };

function conversation(index: number, fields: Partial<ConversationRecord> = {}): ConversationRecord {
  const createdAt = start + index;
  return {
    id: `conv_${index.toString(36).padStart(24, "0")}`,
    owner,
    twinId: twins[index % twins.length] ?? "",
    title: `Conversation ${index}`,
    replyId: null,
    messageCount: 0,
    lastMessageAt: null,
    createdAt,
    updatedAt: createdAt,
    ...fields,
  };
}

function message(id: string, role: MessageRecord["role"], fields: Partial<MessageRecord>): MessageRecord {
  return {
    id,
    conversationId: longConversation,
    role,
    content: "",
    status: "completed",
    finishReason: null,
    inReplyTo: null,
    usage: null,
    error: null,
    createdAt: start,
    completedAt: start,
    ...fields,
  };
}

const text = "What a twin says in a paragraph of ordinary length. ".repeat(12);

/** Adds a question and a reply; every fifth reply fails. */
async function converse(store: Store, index: number): Promise<void> {
  const id = `msg_${index.toString(36).padStart(23, "0")}`;
  const question = message(`${id}q`, "user", { content: "And then?" });
  const reply = message(`${id}r`, "assistant", { status: "in_progress", completedAt: null });
  await store.beginReply({ owner, question, reply, lease: { holder: "bench", until: start } });
  const status = index % 5 === 0 ? "failed" : "completed";
  const end = {
    status,
    finishReason: "stop",
    usage: null,
    error: null,
    completedAt: start,
    content: text,
  } as const;
  await store.endReply({ owner, conversationId: longConversation, id: reply.id, ...end });
}

async function fill(store: Store, { conversations, messages }: typeof few): Promise<void> {
  const perTurn = 1000;
  for (let index = 0; index < conversations; index += perTurn) {
    const turn = Array.from({ length: perTurn }, (_, n) => store.createConversation(conversation(index + n)));
    await Promise.all(turn);
  }
  await store.createConversation(conversation(0, { id: longConversation, createdAt: start - 1 }));
  for (let index = 0; index < messages / 2; index++) await converse(store, index);
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
  "one conversation": (store) => store.getConversation(owner, conversation(500).id),
  "messages, page 1": (store) => store.listMessages(owner, longConversation, { ...page, order: "asc" }),
  "messages, newest first": (store) =>
    store.listMessages(owner, longConversation, { ...page, order: "desc" }),
  "messages behind the last": async (store) =>
    store.listMessages(owner, longConversation, { ...page, order: "asc", after: await lastMessage(store) }),
  "history of 25 exchanges": (store) => store.readHistory(owner, longConversation, 25),
};

/** Median microseconds of a read. */
async function measure(store: Store, read: Read): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 500; round++) {
    const before = performance.now();
    await read(store);
    times.push((performance.now() - before) * 1000);
  }
  return times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
}

async function measureAll(store: Store, size: typeof few): Promise<number[]> {
  const before = performance.now();
  await fill(store, size);
  const seconds = ((performance.now() - before) / 1000).toFixed(1);
  console.error(`${size.conversations} conversations and ${size.messages} messages made in ${seconds} s`);
  const times: number[] = [];
  for (const read of Object.values(reads)) times.push(await measure(store, read));
  return times;
}

function print(name: string, smallTimes: readonly number[], largeTimes: readonly number[]): void {
  const head = [
    name,
    few.conversations.toLocaleString("en"),
    many.conversations.toLocaleString("en"),
    "ratio",
  ];
  console.log(`| ${head.join(" | ")} |\n|---|--:|--:|--:|`);
  for (const [index, label] of Object.keys(reads).entries()) {
    const [small = Number.NaN, large = Number.NaN] = [smallTimes[index], largeTimes[index]];
    const cells = [label, `${small.toFixed(0)} µs`, `${large.toFixed(0)} µs`, (large / small).toFixed(2)];
    console.log(`| ${cells.join(" | ")} |`);
  }
  console.log();
}

async function inSqlite(size: typeof few): Promise<number[]> {
  const folder = await mkdtemp(join(tmpdir(), "twins-bench-"));
  const sqlite = await openSqlite(join(folder, "twins.db"));
  try {
    return await measureAll(sqlite.store, size);
  } finally {
    await sqlite.close();
    await rm(folder, { recursive: true });
  }
}

print("SQLite", await inSqlite(few), await inSqlite(many));
print("memory", await measureAll(createMemoryStore(), few), await measureAll(createMemoryStore(), many));
