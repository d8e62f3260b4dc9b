/**
 * What every store must do, whatever it keeps its records in. Run with {@link storeContract}.
 *
 * Owners and ids are new in every test, so that a database which other tests use, too, can be tested.
 *
 * @module
 */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type {
  ApiKeyRecord,
  BeginReply,
  ConversationRecord,
  EndReply,
  IdempotencyClaim,
  Listing,
  MessageRecord,
  Store,
} from "../core/store.ts";

/** A store under test. */
export interface OpenStore {
  readonly store: Store;
  /** Closes the store and opens what it kept. Absent: it keeps nothing past its end. */
  readonly reopen?: () => Promise<Store>;
  /** Closes the store and removes what it kept. */
  readonly dispose: () => Promise<void>;
}

const start = Date.UTC(2030, 0, 1);
const day = 86_400_000;

let lastId = 0;
function newId(prefix: string): string {
  lastId++;
  return `${prefix}_${lastId.toString().padStart(8, "0")}_${randomBytes(6).toString("hex")}`;
}

function newOwner(): string {
  return `owner ${randomUUID()}`;
}

function key(owner: string, fields: Partial<ApiKeyRecord> = {}): ApiKeyRecord {
  return {
    id: newId("key"),
    owner,
    name: "laptop",
    scope: "read_only",
    prefix: "twin_0123456",
    hash: randomBytes(32).toString("hex"),
    createdAt: start,
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
    ...fields,
  };
}

function conversation(owner: string, fields: Partial<ConversationRecord> = {}): ConversationRecord {
  return {
    id: newId("conv"),
    owner,
    twinId: "ada",
    title: null,
    replyId: null,
    messageCount: 0,
    lastMessageAt: null,
    createdAt: start,
    updatedAt: start,
    ...fields,
  };
}

function claim(owner: string, fields: Partial<IdempotencyClaim> = {}): IdempotencyClaim {
  return {
    owner,
    path: "/conversations",
    key: randomUUID(),
    fingerprint: "fields",
    createdAt: start,
    expiresAt: start + day,
    ...fields,
  };
}

interface ExchangeFields {
  readonly at?: number;
  readonly content?: string;
  readonly holder?: string;
  readonly leaseUntil?: number;
  readonly claim?: IdempotencyClaim;
}

function exchange(owner: string, conversationId: string, fields: ExchangeFields = {}): BeginReply {
  const { at = start, content = "Why?", holder = "here", leaseUntil = at + 30_000 } = fields;
  const question: MessageRecord = {
    id: newId("msg"),
    conversationId,
    role: "user",
    content,
    status: "completed",
    finishReason: null,
    inReplyTo: null,
    usage: null,
    error: null,
    createdAt: at,
    completedAt: at,
  };
  const reply: MessageRecord = {
    ...question,
    id: newId("msg"),
    role: "assistant",
    content: "",
    status: "in_progress",
    inReplyTo: question.id,
    createdAt: at + 1,
    completedAt: null,
  };
  const lease = { holder, until: leaseUntil };
  return { owner, question, reply, lease, ...(fields.claim && { claim: fields.claim }) };
}

function ending({ owner, reply }: BeginReply, fields: Partial<EndReply> = {}): EndReply {
  return {
    owner,
    conversationId: reply.conversationId,
    id: reply.id,
    status: "completed",
    finishReason: "stop",
    usage: null,
    error: null,
    completedAt: reply.createdAt + 1,
    content: "Because.",
    ...fields,
  };
}

const failure = {
  status: "failed",
  finishReason: "error",
  error: { code: "model_error", message: "The model failed." },
} as const;

async function newConversation(store: Store, owner: string, fields: Partial<ConversationRecord> = {}) {
  const record = conversation(owner, fields);
  assert.equal(await store.createConversation(record), undefined);
  return record;
}

async function begin(store: Store, owner: string, conversationId: string, fields: ExchangeFields = {}) {
  const begun = exchange(owner, conversationId, fields);
  assert.deepEqual(await store.beginReply(begun), { outcome: "begun" });
  return begun;
}

/** A question and its ended reply. */
async function converse(
  store: Store,
  owner: string,
  conversationId: string,
  fields: Partial<EndReply> & ExchangeFields = {},
) {
  const { at, ...end } = fields;
  const begun = await begin(store, owner, conversationId, at === undefined ? {} : { at });
  assert.equal(await store.endReply(ending(begun, end)), true);
  return begun;
}

async function messagesOf(
  store: Store,
  owner: string,
  conversationId: string,
): Promise<Listing<MessageRecord>> {
  const listing = await store.listMessages(owner, conversationId, { offset: 0, limit: 100, order: "asc" });
  assert.ok(listing);
  return listing;
}

function ids(listing: Listing<{ id: string }> | undefined): string[] | undefined {
  return listing?.items.map(({ id }) => id);
}

/** Runs the suite of the store port on a store that `open` makes. */
export function storeContract(name: string, open: () => Promise<OpenStore>): void {
  describe(`${name}: store`, () => {
    let opened: OpenStore;
    let store: Store;
    before(async () => {
      opened = await open();
      store = opened.store;
    });
    after(() => opened.dispose());

    describe("keys", () => {
      test("a key is kept as it was given", async () => {
        const record = key(newOwner(), {
          scope: "full_access",
          name: "Zoë's 🤖 laptop",
          expiresAt: start + 5,
          createdAt: Date.UTC(2290, 5, 5) + 1,
        });
        assert.equal(await store.createKey(record, 50), "created");
        assert.deepEqual(await store.findKey(record.hash), record);
      });

      test("no key is found for an unknown hash", async () => {
        assert.equal(await store.findKey("0".repeat(64)), undefined);
      });

      test("an owner's keys are listed newest first, by moment and then by id", async () => {
        const owner = newOwner();
        const a = key(owner, { createdAt: start + 1 });
        const b = key(owner, { createdAt: start });
        const c = key(owner, { createdAt: start + 1 });
        for (const record of [c, a, b]) await store.createKey(record, 50);
        const listing = await store.listKeys(owner, { offset: 0, limit: 20 });
        assert.deepEqual(listing, { items: [c, a, b], total: 3 });
      });

      test("a page of keys skips and stops where it is told, and still knows the total", async () => {
        const owner = newOwner();
        for (let n = 0; n < 5; n++)
          await store.createKey(key(owner, { createdAt: start + n, name: `${n}` }), 50);
        const page = await store.listKeys(owner, { offset: 1, limit: 2 });
        assert.deepEqual(
          page.items.map((item) => item.name),
          ["3", "2"],
        );
        assert.equal(page.total, 5);
        assert.deepEqual(await store.listKeys(owner, { offset: 9, limit: 2 }), { items: [], total: 5 });
      });

      test("another owner's keys are not listed", async () => {
        await store.createKey(key(newOwner()), 50);
        assert.deepEqual(await store.listKeys(newOwner(), { offset: 0, limit: 20 }), { items: [], total: 0 });
      });

      test("revoking returns the key with the moment", async () => {
        const record = key(newOwner());
        await store.createKey(record, 50);
        const revoked = { ...record, revokedAt: start + 7 };
        assert.deepEqual(await store.revokeKey(record.owner, record.id, start + 7), revoked);
        assert.deepEqual(await store.findKey(record.hash), revoked);
      });

      test("revoking a second time changes nothing", async () => {
        const record = key(newOwner());
        await store.createKey(record, 50);
        await store.revokeKey(record.owner, record.id, start + 7);
        const again = await store.revokeKey(record.owner, record.id, start + 9);
        assert.equal(again?.revokedAt, start + 7);
      });

      test("another owner's key cannot be revoked", async () => {
        const record = key(newOwner());
        await store.createKey(record, 50);
        assert.equal(await store.revokeKey(newOwner(), record.id, start + 7), undefined);
        assert.deepEqual(await store.findKey(record.hash), record);
      });

      test("a key's last use is noted, and an earlier one does not replace it", async () => {
        const record = key(newOwner());
        await store.createKey(record, 50);
        await store.touchKey(record.owner, record.id, start + 20);
        await store.touchKey(record.owner, record.id, start + 10);
        await store.touchKey(newOwner(), record.id, start + 30);
        assert.equal((await store.findKey(record.hash))?.lastUsedAt, start + 20);
      });

      test("a key beyond the most that may live is not stored", async () => {
        const owner = newOwner();
        for (let n = 0; n < 50; n++) assert.equal(await store.createKey(key(owner), 50), "created");
        const beyond = key(owner);
        assert.equal(await store.createKey(beyond, 50), "limit_reached");
        assert.equal(await store.findKey(beyond.hash), undefined);
        assert.equal((await store.listKeys(owner, { offset: 0, limit: 1 })).total, 50);
        assert.equal(await store.createKey(key(newOwner()), 50), "created");
      });

      test("revoked and expired keys do not count as living", async () => {
        const owner = newOwner();
        const [revoked, expired] = [key(owner), key(owner, { expiresAt: start + 10 })];
        await store.createKey(revoked, 2);
        await store.createKey(expired, 2);
        assert.equal(await store.createKey(key(owner, { createdAt: start + 9 }), 2), "limit_reached");
        assert.equal(await store.createKey(key(owner, { createdAt: start + 10 }), 2), "created");
        await store.revokeKey(owner, revoked.id, start + 11);
        assert.equal(await store.createKey(key(owner, { createdAt: start + 12 }), 2), "created");
        assert.equal(await store.createKey(key(owner, { createdAt: start + 12 }), 2), "limit_reached");
      });

      test("keys created at once do not exceed the most that may live", async () => {
        const owner = newOwner();
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => store.createKey(key(owner), 5)));
        assert.equal(outcomes.filter((outcome) => outcome === "created").length, 5);
        assert.equal((await store.listKeys(owner, { offset: 0, limit: 50 })).total, 5);
      });
    });

    describe("conversations", () => {
      test("a conversation is kept as it was given", async () => {
        const record = await newConversation(store, newOwner(), {
          title: "Häuser 🏠 'quoted' \"twice\"\n\\",
        });
        assert.deepEqual(await store.getConversation(record.owner, record.id), record);
      });

      test("another owner's conversation is not found", async () => {
        const record = await newConversation(store, newOwner());
        assert.equal(await store.getConversation(newOwner(), record.id), undefined);
      });

      test("two owners may have the same id, each their own record", async () => {
        const mine = await newConversation(store, newOwner(), { title: "mine" });
        const yours = await newConversation(store, newOwner(), { id: mine.id, title: "yours" });
        assert.deepEqual(await store.getConversation(mine.owner, mine.id), mine);
        assert.deepEqual(await store.getConversation(yours.owner, mine.id), yours);
      });

      test("conversations are listed newest first, by moment and then by id", async () => {
        const owner = newOwner();
        const a = conversation(owner, { createdAt: start + 1 });
        const b = conversation(owner, { createdAt: start });
        const c = conversation(owner, { createdAt: start + 1 });
        const d = conversation(owner, { createdAt: start + 2 });
        for (const record of [c, a, d, b]) await store.createConversation(record);
        const listing = await store.listConversations(owner, { offset: 0, limit: 20 });
        assert.deepEqual(listing, { items: [d, c, a, b], total: 4 });
      });

      test("ids are compared as binary, not as words", async () => {
        const owner = newOwner();
        const names = ["conv_b", "conv_A", "conv_a", "conv_B", "conv_1", "conv__"];
        for (const id of names) await newConversation(store, owner, { id });
        const listing = await store.listConversations(owner, { offset: 0, limit: 20 });
        assert.deepEqual(ids(listing), [...names].sort().reverse());
      });

      test("a page of conversations skips and stops where it is told, and still knows the total", async () => {
        const owner = newOwner();
        for (let n = 0; n < 7; n++)
          await newConversation(store, owner, { createdAt: start + n, title: `${n}` });
        const page = await store.listConversations(owner, { offset: 2, limit: 3 });
        assert.deepEqual(
          page.items.map((item) => item.title),
          ["4", "3", "2"],
        );
        assert.equal(page.total, 7);
        const last = await store.listConversations(owner, { offset: 6, limit: 3 });
        assert.deepEqual(
          last.items.map((item) => item.title),
          ["0"],
        );
        const past = await store.listConversations(owner, { offset: 70_000_000_000, limit: 3 });
        assert.deepEqual(past, { items: [], total: 7 });
        assert.deepEqual((await store.listConversations(owner, { offset: 0, limit: 0 })).items, []);
      });

      test("a list can be of one twin's conversations only", async () => {
        const owner = newOwner();
        const a = await newConversation(store, owner, { twinId: "ada" });
        await newConversation(store, owner, { twinId: "Ada" });
        const b = await newConversation(store, owner, { twinId: "ada" });
        const listing = await store.listConversations(owner, { offset: 0, limit: 20, twinId: "ada" });
        assert.deepEqual(listing, { items: [b, a], total: 2 });
        const second = await store.listConversations(owner, { offset: 1, limit: 20, twinId: "ada" });
        assert.deepEqual(second, { items: [a], total: 2 });
        const none = await store.listConversations(owner, { offset: 0, limit: 20, twinId: "bob" });
        assert.deepEqual(none, { items: [], total: 0 });
        assert.equal((await store.listConversations(owner, { offset: 0, limit: 20 })).total, 3);
      });

      test("another owner's conversations are not listed", async () => {
        await newConversation(store, newOwner());
        const listing = await store.listConversations(newOwner(), { offset: 0, limit: 20 });
        assert.deepEqual(listing, { items: [], total: 0 });
      });

      test("renaming sets the title and returns the conversation", async () => {
        const record = await newConversation(store, newOwner(), { title: "old" });
        const renamed = { ...record, title: "new", updatedAt: start + 5 };
        assert.deepEqual(await store.renameConversation(record.owner, record.id, "new", start + 5), renamed);
        assert.deepEqual(await store.getConversation(record.owner, record.id), renamed);
        const untitled = await store.renameConversation(record.owner, record.id, null, start + 6);
        assert.equal(untitled?.title, null);
      });

      test("another owner's conversation cannot be renamed", async () => {
        const record = await newConversation(store, newOwner(), { title: "old" });
        assert.equal(await store.renameConversation(newOwner(), record.id, "new", start), undefined);
        assert.deepEqual(await store.getConversation(record.owner, record.id), record);
      });

      test("deleting takes the conversation out of everything", async () => {
        const owner = newOwner();
        const kept = await newConversation(store, owner);
        const record = await newConversation(store, owner);
        const { question, reply } = await converse(store, owner, record.id);
        const now = await store.getConversation(owner, record.id);
        assert.deepEqual(await store.deleteConversation(owner, record.id), now);
        assert.equal(await store.getConversation(owner, record.id), undefined);
        assert.equal(await store.deleteConversation(owner, record.id), undefined);
        const slice = { offset: 0, limit: 20 };
        assert.deepEqual(await store.listConversations(owner, slice), { items: [kept], total: 1 });
        const ofTwin = await store.listConversations(owner, { ...slice, twinId: record.twinId });
        assert.deepEqual(ofTwin, { items: [kept], total: 1 });
        assert.equal(await store.listMessages(owner, record.id, { ...slice, order: "asc" }), undefined);
        for (const { id } of [question, reply])
          assert.equal(await store.getMessage(owner, record.id, id), undefined);
        assert.deepEqual(await store.readHistory(owner, record.id, 25), []);
        assert.equal((await store.beginReply(exchange(owner, record.id))).outcome, "not_found");
      });

      test("deleting returns the reply that was running, which is then lost", async () => {
        const owner = newOwner();
        const record = await newConversation(store, owner);
        const begun = await begin(store, owner, record.id, { holder: "gone", leaseUntil: start });
        const deleted = await store.deleteConversation(owner, record.id);
        assert.equal(deleted?.replyId, begun.reply.id);
        const { lease } = begun;
        assert.equal(await store.saveReply({ owner, id: begun.reply.id, content: "x", lease }), "lost");
        assert.equal(await store.endReply(ending(begun)), false);
        const abandoned = await store.findAbandonedReplies(start + day, "here");
        assert.ok(!abandoned.some(({ id }) => id === begun.reply.id));
      });

      test("another owner's conversation cannot be deleted", async () => {
        const record = await newConversation(store, newOwner());
        await converse(store, record.owner, record.id);
        assert.equal(await store.deleteConversation(newOwner(), record.id), undefined);
        assert.equal((await messagesOf(store, record.owner, record.id)).total, 2);
      });

      test("conversations created and deleted at once are counted right", async () => {
        const owner = newOwner();
        const records = Array.from({ length: 30 }, (_, n) =>
          conversation(owner, { twinId: n % 2 ? "ada" : "bob" }),
        );
        await Promise.all(records.map((record) => store.createConversation(record)));
        const gone = records.slice(0, 9);
        await Promise.all([...gone, ...gone].map(({ id }) => store.deleteConversation(owner, id)));
        const slice = { offset: 0, limit: 50 };
        const all = await store.listConversations(owner, slice);
        assert.deepEqual([all.total, all.items.length], [21, 21]);
        const ada = await store.listConversations(owner, { ...slice, twinId: "ada" });
        assert.deepEqual([ada.total, ada.items.length], [11, 11]);
      });
    });

    describe("messages", () => {
      test("a question and its reply are kept as they were given", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const begun = await begin(store, owner, id, {
          content: "\u{1F600} a\u0301 \u2028 '); -- $1 ?1 \uFFFF",
        });
        assert.deepEqual(await store.getMessage(owner, id, begun.question.id), begun.question);
        assert.deepEqual(await store.getMessage(owner, id, begun.reply.id), begun.reply);
      });

      test("a message is found only by its owner and in its conversation", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const other = await newConversation(store, owner);
        const { question } = await begin(store, owner, id);
        assert.equal(await store.getMessage(newOwner(), id, question.id), undefined);
        assert.equal(await store.getMessage(owner, other.id, question.id), undefined);
        assert.equal(await store.getMessage(owner, id, "msg_none"), undefined);
      });

      test("messages are listed oldest first, or turned round", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        // Order is that of storing: the moments, which a clock may step back, do not count.
        const first = await converse(store, owner, id, { at: start + 500 });
        const second = await begin(store, owner, id, { at: start });
        const expected = [first.question.id, first.reply.id, second.question.id, second.reply.id];
        const slice = { offset: 0, limit: 20 };
        const asc = await store.listMessages(owner, id, { ...slice, order: "asc" });
        assert.deepEqual([ids(asc), asc?.total], [expected, 4]);
        const desc = await store.listMessages(owner, id, { ...slice, order: "desc" });
        assert.deepEqual([ids(desc), desc?.total], [expected.toReversed(), 4]);
      });

      test("a page of messages is the same part of the list from any place, in both orders", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        for (let n = 0; n < 4; n++) await converse(store, owner, id);
        const all = ids(await messagesOf(store, owner, id)) ?? [];
        for (const order of ["asc", "desc"] as const) {
          const inOrder = order === "asc" ? all : all.toReversed();
          for (const after of [undefined, ...inOrder]) {
            const behind = after === undefined ? inOrder : inOrder.slice(inOrder.indexOf(after) + 1);
            for (const [offset, limit] of [
              [0, 20],
              [0, 3],
              [2, 3],
              [6, 3],
              [8, 3],
              [99, 3],
              [0, 0],
            ] as const) {
              const slice = { offset, limit, order, ...(after !== undefined && { after }) };
              const page = await store.listMessages(owner, id, slice);
              assert.deepEqual(ids(page), behind.slice(offset, offset + limit), JSON.stringify(slice));
              assert.equal(page?.total, behind.length, JSON.stringify(slice));
            }
          }
        }
      });

      test("messages of a missing conversation, or behind a missing message, are undefined", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const other = await newConversation(store, owner);
        const { question } = await begin(store, owner, other.id);
        const slice = { offset: 0, limit: 20, order: "asc" } as const;
        assert.equal(await store.listMessages(newOwner(), id, slice), undefined);
        assert.equal(await store.listMessages(owner, "conv_none", slice), undefined);
        assert.equal(await store.listMessages(owner, id, { ...slice, after: "msg_none" }), undefined);
        assert.equal(await store.listMessages(owner, id, { ...slice, after: question.id }), undefined);
        assert.deepEqual(await store.listMessages(owner, id, slice), { items: [], total: 0 });
      });

      test("history is the last exchanges, oldest first, without failed ones and the one in progress", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const first = await converse(store, owner, id, { content: "1" });
        await converse(store, owner, id, { ...failure, content: "partial" });
        const second = await converse(store, owner, id, {
          status: "cancelled",
          finishReason: "cancelled",
          content: "2, cut",
        });
        const third = await converse(store, owner, id, { content: "3" });
        await begin(store, owner, id);
        const of = (...exchanges: BeginReply[]) =>
          exchanges.flatMap((each) => [each.question.id, each.reply.id]);
        const history = async (exchanges: number) =>
          (await store.readHistory(owner, id, exchanges)).map((message) => message.id);
        assert.deepEqual(await history(25), of(first, second, third));
        assert.deepEqual(await history(3), of(first, second, third));
        assert.deepEqual(await history(2), of(second, third));
        assert.deepEqual(await history(1), of(third));
        assert.deepEqual(await history(0), []);
        assert.equal((await store.readHistory(owner, id, 2))[1]?.content, "2, cut");
      });

      test("another owner's history is empty", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        await converse(store, owner, id);
        assert.deepEqual(await store.readHistory(newOwner(), id, 25), []);
      });
    });

    describe("replies", () => {
      test("beginning takes the conversation and counts both messages", async () => {
        const owner = newOwner();
        const record = await newConversation(store, owner);
        const { reply } = await begin(store, owner, record.id, { at: start + 50 });
        assert.deepEqual(await store.getConversation(owner, record.id), {
          ...record,
          replyId: reply.id,
          messageCount: 2,
          lastMessageAt: start + 51,
          updatedAt: start + 51,
        });
      });

      test("a busy conversation refuses another reply, names the running one, and stores nothing", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const running = await begin(store, owner, id);
        const made = claim(owner);
        const refused = exchange(owner, id, { claim: made });
        const outcome = await store.beginReply(refused);
        assert.deepEqual(outcome, { outcome: "busy", replyId: running.reply.id });
        assert.deepEqual(ids(await messagesOf(store, owner, id)), [running.question.id, running.reply.id]);
        assert.equal(await store.getMessage(owner, id, refused.question.id), undefined);
        assert.equal((await store.getConversation(owner, id))?.messageCount, 2);
        assert.equal(await store.findClaim(owner, made.path, made.key, start), undefined);
      });

      test("a missing or another owner's conversation is not found, and nothing is stored", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const intruder = newOwner();
        const made = claim(intruder);
        const refused = exchange(intruder, id, { claim: made });
        assert.deepEqual(await store.beginReply(refused), { outcome: "not_found" });
        assert.equal((await store.beginReply(exchange(owner, "conv_none"))).outcome, "not_found");
        assert.deepEqual(await messagesOf(store, owner, id), { items: [], total: 0 });
        assert.equal(await store.findClaim(intruder, made.path, made.key, start), undefined);
      });

      test("of fifty begun at once exactly one begins, and the others learn of it", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const attempts = Array.from({ length: 50 }, () => exchange(owner, id));
        const outcomes = await Promise.all(attempts.map((attempt) => store.beginReply(attempt)));
        const winner = outcomes.findIndex(({ outcome }) => outcome === "begun");
        const replyId = attempts[winner]?.reply.id;
        for (const [index, outcome] of outcomes.entries()) {
          assert.deepEqual(outcome, index === winner ? { outcome: "begun" } : { outcome: "busy", replyId });
        }
        assert.equal((await messagesOf(store, owner, id)).total, 2);
      });

      test("a save keeps the text and the lease", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const { reply } = await begin(store, owner, id, { holder: "us", leaseUntil: start + 10 });
        const save = { owner, id: reply.id, lease: { holder: "us", until: start + 1000 } };
        assert.equal(await store.saveReply({ ...save, content: "Be 🤖" }), "saved");
        assert.equal(await store.saveReply(save), "saved");
        assert.deepEqual(await store.getMessage(owner, id, reply.id), { ...reply, content: "Be 🤖" });
        const abandoned = await store.findAbandonedReplies(start + 1000, "x");
        assert.ok(!abandoned.some((each) => each.id === reply.id));
      });

      test("a save by another holder or owner, or of an ended reply, is lost and changes nothing", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const begun = await begin(store, owner, id, { holder: "us" });
        const lease = { holder: "us", until: start + day };
        const save = { owner, id: begun.reply.id, content: "overwritten", lease };
        assert.equal(await store.saveReply({ ...save, lease: { ...lease, holder: "them" } }), "lost");
        assert.equal(await store.saveReply({ ...save, owner: newOwner() }), "lost");
        assert.equal(await store.saveReply({ ...save, id: "msg_none" }), "lost");
        assert.equal(await store.saveReply({ ...save, id: begun.question.id }), "lost");
        assert.deepEqual(await store.getMessage(owner, id, begun.reply.id), begun.reply);
        await store.endReply(ending(begun));
        assert.equal(await store.saveReply(save), "lost");
        assert.equal((await store.getMessage(owner, id, begun.reply.id))?.content, "Because.");
      });

      test("ending keeps all that came of the reply and frees the conversation", async () => {
        const owner = newOwner();
        const record = await newConversation(store, owner);
        const begun = await begin(store, owner, record.id, { at: start });
        const usage = { inputTokens: 12, outputTokens: 3, totalTokens: 15 };
        const end = ending(begun, {
          finishReason: "length",
          usage,
          completedAt: start + 900,
          content: "So 🤖",
        });
        assert.equal(await store.endReply(end), true);
        assert.deepEqual(await store.getMessage(owner, record.id, begun.reply.id), {
          ...begun.reply,
          content: "So 🤖",
          status: "completed",
          finishReason: "length",
          usage,
          completedAt: start + 900,
        });
        assert.deepEqual(await store.getConversation(owner, record.id), {
          ...record,
          messageCount: 2,
          lastMessageAt: start + 1,
          updatedAt: start + 900,
        });
        await begin(store, owner, record.id);
      });

      test("a failed reply keeps its failure and the text saved last", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const begun = await begin(store, owner, id);
        await store.saveReply({ owner, id: begun.reply.id, content: "Be", lease: begun.lease });
        const { content: _, ...end } = ending(begun, failure);
        assert.equal(await store.endReply(end), true);
        const message = await store.getMessage(owner, id, begun.reply.id);
        assert.deepEqual(message, { ...begun.reply, ...failure, content: "Be", completedAt: start + 2 });
      });

      test("a reply ends once", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const begun = await begin(store, owner, id);
        const ends = [ending(begun), ending(begun, failure), ending(begun, { content: "Again." })];
        const outcomes = await Promise.all(ends.map((end) => store.endReply(end)));
        assert.equal(outcomes.filter(Boolean).length, 1);
        const ended = await store.getMessage(owner, id, begun.reply.id);
        assert.equal(await store.endReply(ending(begun, { content: "Too late." })), false);
        assert.deepEqual(await store.getMessage(owner, id, begun.reply.id), ended);
      });

      test("a late end of an earlier reply leaves the running one alone", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const earlier = await converse(store, owner, id);
        const { reply } = await begin(store, owner, id);
        assert.equal(await store.endReply(ending(earlier)), false);
        assert.equal((await store.getConversation(owner, id))?.replyId, reply.id);
      });

      test("a reply is ended only by its owner, in its conversation", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const other = await newConversation(store, owner);
        const begun = await begin(store, owner, id);
        assert.equal(await store.endReply(ending(begun, { owner: newOwner() })), false);
        assert.equal(await store.endReply(ending(begun, { conversationId: other.id })), false);
        assert.equal(await store.endReply(ending(begun, { id: begun.question.id })), false);
        assert.deepEqual(await store.getMessage(owner, id, begun.reply.id), begun.reply);
        assert.equal((await store.getConversation(owner, id))?.replyId, begun.reply.id);
      });

      test("a reply whose lease still runs is not ended as abandoned", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const begun = await begin(store, owner, id, { leaseUntil: start + 100 });
        const end = ending(begun, failure);
        assert.equal(await store.endReply({ ...end, leaseExpiredBefore: start + 100 }), false);
        assert.equal((await store.getConversation(owner, id))?.replyId, begun.reply.id);
        assert.deepEqual(await store.getMessage(owner, id, begun.reply.id), begun.reply);
        assert.equal(await store.endReply({ ...end, leaseExpiredBefore: start + 101 }), true);
        assert.equal((await store.getConversation(owner, id))?.replyId, null);
      });

      test("a save renews the lease, so that the reply is not ended as abandoned", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const begun = await begin(store, owner, id, { leaseUntil: start + 100 });
        const lease = { ...begun.lease, until: start + 200 };
        await store.saveReply({ owner, id: begun.reply.id, lease });
        assert.equal(await store.endReply({ ...ending(begun), leaseExpiredBefore: start + 200 }), false);
      });

      test("a wish to cancel reaches the holder with its next save", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const { reply, lease } = await begin(store, owner, id);
        await store.requestCancel(owner, reply.id);
        const save = { owner, id: reply.id, content: "Be", lease };
        assert.equal(await store.saveReply(save), "cancel_requested");
        assert.equal((await store.getMessage(owner, id, reply.id))?.content, "Be");
        assert.equal((await store.getMessage(owner, id, reply.id))?.status, "in_progress");
      });

      test("a wish to cancel by another owner, or of another message, changes nothing", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const ended = await converse(store, owner, id);
        const { question, reply, lease } = await begin(store, owner, id);
        await store.requestCancel(newOwner(), reply.id);
        for (const message of [question, ended.reply]) await store.requestCancel(owner, message.id);
        await store.requestCancel(owner, "msg_none");
        assert.equal(await store.saveReply({ owner, id: reply.id, lease }), "saved");
        assert.equal((await store.getMessage(owner, id, ended.reply.id))?.status, "completed");
      });

      test("abandoned replies are those in progress whose lease ran out, of other holders", async () => {
        const owner = newOwner();
        const holder = randomUUID();
        const replies: string[] = [];
        const fields: ExchangeFields[] = [
          { holder: "other", leaseUntil: start + 99 },
          { holder: "other", leaseUntil: start + 100 },
          { holder, leaseUntil: start + 99 },
          { holder: "other", leaseUntil: start + 99 },
        ];
        const begun: BeginReply[] = [];
        for (const each of fields) {
          const { id } = await newConversation(store, owner);
          const one = await begin(store, owner, id, each);
          begun.push(one);
          replies.push(one.reply.id);
        }
        const last = begun[3];
        assert.ok(last);
        await store.endReply(ending(last));
        const found = await store.findAbandonedReplies(start + 100, holder);
        const ours = found.filter((each) => each.owner === owner);
        const conversationId = begun[0]?.reply.conversationId;
        assert.deepEqual(ours, [{ owner, conversationId, id: replies[0] }]);
      });
    });

    describe("claims", () => {
      test("a claim made before is returned instead of a second conversation", async () => {
        const owner = newOwner();
        const made = claim(owner, { fingerprint: "first" });
        const record = conversation(owner);
        assert.equal(await store.createConversation(record, made), undefined);
        const second = conversation(owner);
        const again = await store.createConversation(second, { ...made, fingerprint: "second" });
        assert.deepEqual(again, { fingerprint: "first", resourceId: record.id });
        assert.equal(await store.getConversation(owner, second.id), undefined);
        assert.equal((await store.listConversations(owner, { offset: 0, limit: 20 })).total, 1);
      });

      test("a claim made before is returned instead of a second reply, a busy or a missing conversation", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const made = claim(owner, { path: `/conversations/${id}/messages` });
        const { reply } = await begin(store, owner, id, { claim: made });
        const claimed = { outcome: "claimed", claim: { fingerprint: "fields", resourceId: reply.id } };
        assert.deepEqual(await store.beginReply(exchange(owner, id, { claim: made })), claimed);
        await store.deleteConversation(owner, id);
        assert.deepEqual(await store.beginReply(exchange(owner, id, { claim: made })), claimed);
      });

      test("of twenty conversations created at once for one claim exactly one is stored", async () => {
        const owner = newOwner();
        const made = claim(owner);
        const records = Array.from({ length: 20 }, () => conversation(owner));
        const outcomes = await Promise.all(records.map((record) => store.createConversation(record, made)));
        const winner = outcomes.indexOf(undefined);
        const resourceId = records[winner]?.id;
        for (const [index, outcome] of outcomes.entries()) {
          assert.deepEqual(outcome, index === winner ? undefined : { fingerprint: "fields", resourceId });
        }
        assert.equal((await store.listConversations(owner, { offset: 0, limit: 20 })).total, 1);
      });

      test("of twenty replies begun at once for one claim exactly one begins", async () => {
        const owner = newOwner();
        const { id } = await newConversation(store, owner);
        const made = claim(owner);
        const attempts = Array.from({ length: 20 }, () => exchange(owner, id, { claim: made }));
        const outcomes = await Promise.all(attempts.map((attempt) => store.beginReply(attempt)));
        const winner = outcomes.findIndex(({ outcome }) => outcome === "begun");
        const resourceId = attempts[winner]?.reply.id;
        const claimed = { outcome: "claimed", claim: { fingerprint: "fields", resourceId } };
        for (const [index, outcome] of outcomes.entries()) {
          assert.deepEqual(outcome, index === winner ? { outcome: "begun" } : claimed);
        }
      });

      test("an expired claim gives way to a new one", async () => {
        const owner = newOwner();
        const made = claim(owner, { fingerprint: "old", expiresAt: start + 10 });
        await store.createConversation(conversation(owner), made);
        const late = { ...made, fingerprint: "new", expiresAt: start + 99 };
        const before = await store.createConversation(conversation(owner), { ...late, createdAt: start + 9 });
        assert.equal(before?.fingerprint, "old");
        const record = conversation(owner);
        assert.equal(await store.createConversation(record, { ...late, createdAt: start + 10 }), undefined);
        const found = await store.findClaim(owner, made.path, made.key, start + 50);
        assert.deepEqual(found, { fingerprint: "new", resourceId: record.id });
      });

      test("a claim is found by its owner, path and key until it expires", async () => {
        const owner = newOwner();
        const made = claim(owner, { expiresAt: start + 10 });
        const record = conversation(owner);
        await store.createConversation(record, made);
        const { path, key: claimKey } = made;
        const found = { fingerprint: "fields", resourceId: record.id };
        assert.deepEqual(await store.findClaim(owner, path, claimKey, start + 9), found);
        assert.equal(await store.findClaim(owner, path, claimKey, start + 10), undefined);
        assert.equal(await store.findClaim(newOwner(), path, claimKey, start), undefined);
        assert.equal(await store.findClaim(owner, "/other", claimKey, start), undefined);
        assert.equal(await store.findClaim(owner, path, "other", start), undefined);
      });

      test("equal keys of two owners, or on two paths, are two claims", async () => {
        const owner = newOwner();
        const made = claim(owner);
        await newConversation(store, owner);
        assert.equal(await store.createConversation(conversation(owner), made), undefined);
        assert.equal(await store.createConversation(conversation(owner), { ...made, path: "/b" }), undefined);
        const other = newOwner();
        const theirs = { ...made, owner: other };
        assert.equal(await store.createConversation(conversation(other), theirs), undefined);
      });

      test("a sweep forgets what has expired and nothing else", async () => {
        const owner = newOwner();
        // In the past, so that a sweep of a database in use takes nothing that other tests need.
        const at = Date.UTC(2001, 0, 1);
        const old = claim(owner, { createdAt: at, expiresAt: at + 10 });
        const young = claim(owner, { createdAt: at, expiresAt: at + 11 });
        await store.createConversation(conversation(owner), old);
        await store.createConversation(conversation(owner), young);
        await store.sweepClaims(at + 10);
        assert.equal(await store.findClaim(owner, old.path, old.key, at), undefined);
        assert.ok(await store.findClaim(owner, young.path, young.key, at));
      });
    });

    test("the store answers a ping", async () => {
      await store.ping();
    });

    test("all that was kept is there after the store was closed and opened again", async (t) => {
      if (!opened.reopen) return t.skip("this store keeps nothing past its end");
      const owner = newOwner();
      const kept = key(owner);
      await store.createKey(kept, 50);
      const record = await newConversation(store, owner, { title: "kept" });
      const made = claim(owner);
      const ended = await converse(store, owner, record.id, { at: start });
      const running = await begin(store, owner, record.id, { claim: made, holder: "before" });
      const listing = await messagesOf(store, owner, record.id);
      store = await opened.reopen();
      assert.deepEqual(await store.findKey(kept.hash), kept);
      assert.deepEqual(await messagesOf(store, owner, record.id), listing);
      assert.equal((await store.getConversation(owner, record.id))?.replyId, running.reply.id);
      assert.equal((await store.listConversations(owner, { offset: 0, limit: 1 })).total, 1);
      const history = await store.readHistory(owner, record.id, 25);
      assert.deepEqual(
        history.map(({ id }) => id),
        [ended.question.id, ended.reply.id],
      );
      const found = await store.findClaim(owner, made.path, made.key, start);
      assert.equal(found?.resourceId, running.reply.id);
      const abandoned = await store.findAbandonedReplies(start + day, "here");
      assert.ok(abandoned.some(({ id }) => id === running.reply.id));
    });
  });
}
