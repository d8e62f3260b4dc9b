/**
 * What every store must do about conversations with branches.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import { type MessageRecord, mostBranches } from "../../core/store/records.ts";
import type { Store } from "../../core/store/store.ts";
import {
  begin,
  converse,
  failure,
  ids,
  messagesOf,
  newConversation,
  nextToBegin,
  start,
  toBegin,
  toEnd,
} from "./store-records.ts";
import { whole } from "./whole.ts";

const slice = { offset: 0, limit: 100, order: "asc" } as const;

/** The part of the store's suite about branches. */
export function pathsContract(open: () => Store): void {
  describe("branches", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    /** A conversation with pairs of messages, named by their replies' numbers. */
    async function openTree() {
      const { owner, id } = await newConversation(store);
      const pairs: Awaited<ReturnType<typeof converse>>[] = [];
      const say = async (fields: Parameters<typeof converse>[3] = {}) => {
        const pair = await converse(store, owner, id, fields);
        pairs.push(pair);
        return pair;
      };
      const path = async () => (await messagesOf(store, owner, id)).items.map(({ seq }) => seq);
      const now = async () => {
        const { messageCount, logLength, lastMessageId } = (await store.getConversation({ owner }, id)) ?? {};
        return { messageCount, logLength, lastMessageId };
      };
      return { owner, id, pairs, say, path, now };
    }

    test("a fork is the path's new end, and what stood behind it stays stored", async () => {
      const { owner, id, say, path, now } = await openTree();
      const first = await say();
      await say();
      const fork = await say({ fork: first.reply });
      assert.equal(fork.question.after, first.reply.id);
      assert.deepEqual(await path(), [0, 1, 4, 5]);
      assert.deepEqual(await now(), { messageCount: 4, logLength: 6, lastMessageId: fork.reply.id });
      const next = await say();
      assert.equal(next.question.after, fork.reply.id);
      assert.deepEqual(await path(), [0, 1, 4, 5, 6, 7]);
      const all = await store.listMessages({ owner }, id, { ...whole, ...slice, path: "all" });
      assert.deepEqual([all?.total, all?.items.map(({ seq }) => seq)], [8, [0, 1, 2, 3, 4, 5, 6, 7]]);
    });

    test("a fork from the beginning has a path of its own", async () => {
      const { say, path, now } = await openTree();
      await say();
      const again = await say({ fork: null });
      assert.equal(again.question.after, null);
      assert.deepEqual(await path(), [2, 3]);
      assert.deepEqual(await now(), { messageCount: 2, logLength: 4, lastMessageId: again.reply.id });
    });

    test("an ended reply of any branch becomes the end of the path, and the title changes with it or not", async () => {
      const { owner, id, say, path, now } = await openTree();
      const first = await say();
      const second = await say();
      const fork = await say({ fork: first.reply });
      const switched = await store.updateConversation({ owner }, id, { last: second.reply }, start + 9);
      assert.deepEqual(await path(), [0, 1, 2, 3]);
      assert.deepEqual([switched?.title, switched?.updatedAt], [null, start + 9]);
      assert.deepEqual(await now(), { messageCount: 4, logLength: 6, lastMessageId: second.reply.id });
      const both = { title: "Forked", last: fork.reply };
      assert.equal((await store.updateConversation({ owner }, id, both, start))?.title, "Forked");
      assert.deepEqual(await path(), [0, 1, 4, 5]);
      await store.updateConversation({ owner }, id, { last: first.reply }, start);
      assert.deepEqual(await path(), [0, 1]);
      await say();
      assert.deepEqual(await path(), [0, 1, 6, 7]);
    });

    test("while a reply runs no path changes, and no fork begins", async () => {
      const { owner, id, say, path } = await openTree();
      const first = await say();
      const running = await begin(store, owner, id);
      const busy = { result: "busy", replyId: running.reply.id };
      const fork = await nextToBegin(store, owner, id, { fork: first.reply });
      assert.deepEqual(await store.beginReply(fork), busy);
      const change = { title: "changed", last: first.reply };
      const refused = await store.updateConversation({ owner }, id, change, start);
      assert.deepEqual([refused?.replyId, refused?.title], [running.reply.id, null]);
      assert.deepEqual(await path(), [0, 1, 2, 3]);
      assert.equal((await store.updateConversation({ owner }, id, { title: "t" }, start))?.title, "t");
    });

    test("a fork whose number is taken has moved, and of two at once one begins", async () => {
      const { owner, id, say } = await openTree();
      const { reply } = await say();
      await say();
      const outdated = toBegin(owner, id, { fork: reply, end: { logLength: 2, lastMessageId: reply.id } });
      assert.equal((await store.beginReply(outdated)).result, "moved");
      const forks = await Promise.all([1, 2, 3].map(() => nextToBegin(store, owner, id, { fork: reply })));
      const results = await Promise.all(forks.map((fork) => store.beginReply(fork)));
      assert.deepEqual(results.map(({ result }) => result).sort(), ["begun", "busy", "busy"]);
    });

    test("pages, and what is behind a message, are those of the path", async () => {
      const { owner, id, say } = await openTree();
      const first = await say();
      const second = await say();
      await say();
      const fork = await say({ fork: second.reply });
      await say();
      const page = (fields: object) => store.listMessages({ owner }, id, { ...whole, ...slice, ...fields });
      const seqs = async (fields: object) => {
        const found = await page(fields);
        return found && [found.total, ...found.items.map(({ seq }) => seq)];
      };
      assert.deepEqual(await seqs({ offset: 2, limit: 3 }), [8, 2, 3, 6]);
      assert.deepEqual(await seqs({ order: "desc", offset: 1, limit: 4 }), [8, 8, 7, 6, 3]);
      assert.deepEqual(await seqs({ after: second.question.id }), [5, 3, 6, 7, 8, 9]);
      assert.deepEqual(await seqs({ after: fork.question.id, order: "desc" }), [4, 3, 2, 1, 0]);
      assert.equal(await seqs({ after: (await page({ path: "all", offset: 4 }))?.items[0]?.id }), undefined);
      assert.deepEqual(await seqs({ path: "all", after: first.reply.id, limit: 2 }), [8, 2, 3]);
      assert.deepEqual(await seqs({ path: "all", offset: 5, limit: 2 }), [10, 5, 6]);
    });

    test("a history is that of the path", async () => {
      const { owner, id, say } = await openTree();
      const first = await say({ content: "one" });
      const second = await say({ content: "two" });
      const failed = await say({ fork: first.reply, ...failure, content: "failed" });
      const third = await say({ content: "three" });
      const said = async ({ reply: { id: after } }: typeof first) => {
        const history = await store.readHistory({ owner }, id, { after, ...whole });
        return history.flatMap(({ role, content }) => (role === "assistant" ? content : []));
      };
      assert.deepEqual(await said(third), ["one", "three"]);
      assert.deepEqual(await said(first), ["one"]);
      assert.deepEqual(await said(second), ["one", "two"]);
      assert.deepEqual(await said(failed), ["one"]);
    });

    test("a conversation with 1,000 branches gets no other one, and goes on at the end", async () => {
      const { owner, id, pairs, say, path } = await openTree();
      await say();
      const first = await say();
      for (let count = 0; count < mostBranches; count++) await say({ fork: pairs[0]?.reply ?? null });
      const [last] = pairs.slice(-1);
      for (const fork of [first.reply, pairs[0]?.reply ?? null, null]) {
        const refused = await store.beginReply(await nextToBegin(store, owner, id, { fork }));
        assert.deepEqual(refused, { result: "too_many_branches" });
      }
      assert.deepEqual(await path(), [0, 1, last?.question.seq, last?.reply.seq]);
      await say();
      assert.equal((await path()).length, 6);
      await store.updateConversation({ owner }, id, { last: first.reply }, start);
      assert.deepEqual(await path(), [0, 1, 2, 3]);
      assert.deepEqual(await store.beginReply(await nextToBegin(store, owner, id)), {
        result: "too_many_branches", // behind the other end, it would be a branch
      });
    });

    test("a conversation with branches is deleted with all of them", async () => {
      const { owner, id, pairs, say } = await openTree();
      const { reply } = await say();
      await say({ fork: reply });
      await say({ fork: null });
      assert.equal((await store.deleteConversation({ owner }, id, start))?.logLength, 6);
      for (const { question } of pairs)
        assert.equal(await store.getMessage({ owner }, question.id, whole), undefined);
    });

    test("any order of sends, forks and switches gives the tree's paths", async () => {
      const step = fc.record({
        what: fc.constantFrom("send", "fork", "fork", "restart", "switch"),
        pick: fc.nat(),
        fails: fc.boolean(),
        offset: fc.nat(8),
        limit: fc.integer({ min: 1, max: 5 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) =>
          requireTree(store, steps),
        ),
        { numRuns: 25 },
      );
    });
  });
}

interface Step {
  readonly what: string;
  readonly pick: number;
  readonly fails: boolean;
  readonly offset: number;
  readonly limit: number;
}

/** Takes the steps in a new conversation, and compares its lists after each with those of a tree. */
async function requireTree(store: Store, steps: readonly Step[]): Promise<void> {
  const { owner, id } = await newConversation(store);
  const log: MessageRecord[] = [];
  let last: MessageRecord | undefined;
  const pathTo = (end: MessageRecord | undefined): MessageRecord[] =>
    end ? [...pathTo(log.find((each) => each.id === end.after)), end] : [];
  for (const { what, pick, fails, offset, limit } of steps) {
    const chosen = log[2 * (pick % Math.max(1, log.length / 2)) + 1];
    if (what === "switch" && chosen) {
      await store.updateConversation({ owner }, id, { last: chosen }, start);
      last = chosen;
    } else {
      const fork = what === "restart" ? { fork: null } : what === "fork" && chosen ? { fork: chosen } : {};
      const begun = await begin(store, owner, id, fork);
      const end = toEnd(begun, fails ? failure : {});
      assert.equal(await store.endReply(end), true);
      last = { ...begun.reply, status: end.status };
      log.push(begun.question, last);
    }
    const path = pathTo(last);
    const expected = path.map((each) => each.id);
    assert.deepEqual(ids(await messagesOf(store, owner, id)), expected);
    const { messageCount, lastMessageId, logLength } = (await store.getConversation({ owner }, id)) ?? {};
    assert.deepEqual([messageCount, lastMessageId, logLength], [path.length, last?.id ?? null, log.length]);
    const newest = await store.listMessages({ owner }, id, { ...whole, order: "desc", offset, limit });
    assert.deepEqual(ids(newest), expected.toReversed().slice(offset, offset + limit));
    const behind = expected[pick % Math.max(1, expected.length)];
    if (behind === undefined) continue;
    const rest = await store.listMessages({ owner }, id, { ...whole, ...slice, after: behind });
    assert.deepEqual(ids(rest), expected.slice(expected.indexOf(behind) + 1));
    const answered = path.filter((_, index) => path[index | 1]?.status === "completed");
    const history = await store.readHistory({ owner }, id, { after: last?.id ?? "", ...whole });
    assert.equal(history.length, answered.length);
  }
  const all = await store.listMessages({ owner }, id, { ...whole, ...slice, path: "all" });
  const stored = (each: MessageRecord) => [each.id, each.seq, each.after];
  assert.deepEqual(all?.items.map(stored), log.map(stored));
}
