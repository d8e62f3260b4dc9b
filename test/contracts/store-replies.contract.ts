/**
 * What every store must do about replies in progress.
 *
 * @module
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, describe, test } from "node:test";
import type { AbandonedReply, BeginReply, Store } from "../../core/store/store.ts";
import {
  type BeginFields,
  begin,
  claim,
  converse,
  day,
  failure,
  ids,
  messagesOf,
  newConversation,
  newOwner,
  nextToBegin,
  start,
  toBegin,
  toEnd,
} from "./store-records.ts";
import { whole } from "./whole.ts";

/** The part of the store's suite about replies in progress. */
export function repliesContract(open: () => Store): void {
  describe("replies", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    test("beginning takes the conversation and counts both messages", async () => {
      const record = await newConversation(store);
      const { owner } = record;
      const { reply } = await begin(store, owner, record.id, { at: start + 50 });
      assert.deepEqual(await store.getConversation({ owner }, record.id), {
        ...record,
        replyId: reply.id,
        messageCount: 2,
        logLength: 2,
        lastMessageId: reply.id,
        lastMessageAt: start + 51,
        updatedAt: start + 51,
      });
    });

    test("a reply begins at the end of the log and the path, or is told where that is, and stores nothing", async () => {
      const { owner, id } = await newConversation(store);
      const begun: BeginReply[] = [];
      for (const known of [0, 2, 0, 99, 6]) {
        const lastMessageId = begun.at(-1)?.reply.id ?? null;
        const end = { logLength: 2 * begun.length, lastMessageId };
        const made = claim(owner);
        const wrong = known === end.logLength ? "msg_other" : lastMessageId;
        const outdated = { end: { logLength: known, lastMessageId: wrong }, claim: made };
        const refused = await store.beginReply(toBegin(owner, id, outdated));
        assert.deepEqual(refused, { result: "moved", end });
        assert.equal(await store.findClaim(made), undefined);
        const next = toBegin(owner, id, { end, claim: made });
        assert.deepEqual(await store.beginReply(next), { result: "begun", memory: null });
        await store.endReply(toEnd(next));
        begun.push(next);
      }
      const stored = await messagesOf(store, owner, id);
      assert.deepEqual(
        stored.items.map(({ id: message, seq, after }) => [message, seq, after]),
        begun.flatMap(({ question, reply }, index) => [
          [question.id, 2 * index, begun[index - 1]?.reply.id ?? null],
          [reply.id, 2 * index + 1, question.id],
        ]),
      );
      const conversation = await store.getConversation({ owner }, id);
      assert.equal(conversation?.messageCount, 10);
      assert.equal(conversation.logLength, 10);
      assert.equal(conversation.lastMessageId, begun.at(-1)?.reply.id);
    });

    test("a busy conversation refuses another reply, names the running one, and stores nothing", async () => {
      const { owner, id } = await newConversation(store);
      const running = await begin(store, owner, id);
      // The caller may have read the conversation before the running reply began, or since.
      const since = { logLength: 2, lastMessageId: running.reply.id };
      for (const end of [{ logLength: 0, lastMessageId: null }, since]) {
        const made = claim(owner);
        const refused = toBegin(owner, id, { claim: made, end });
        const result = await store.beginReply(refused);
        assert.deepEqual(result, { result: "busy", replyId: running.reply.id });
        assert.deepEqual(ids(await messagesOf(store, owner, id)), [running.question.id, running.reply.id]);
        assert.equal(await store.getMessage({ owner }, refused.question.id, whole), undefined);
        assert.equal((await store.getConversation({ owner }, id))?.messageCount, 2);
        assert.equal(await store.findClaim(made), undefined);
      }
    });

    test("a missing conversation is not found, and nothing is stored", async () => {
      const made = claim(newOwner());
      const refused = toBegin(made.owner, "conv_none", { claim: made });
      assert.deepEqual(await store.beginReply(refused), { result: "not_found" });
      assert.equal(await store.findClaim(made), undefined);
    });

    test("of fifty replies begun at once exactly one begins, and the others are told which", async () => {
      const { owner, id } = await newConversation(store);
      const attempts = Array.from({ length: 50 }, () => toBegin(owner, id));
      const results = await Promise.all(attempts.map((attempt) => store.beginReply(attempt)));
      const winner = results.findIndex(({ result }) => result === "begun");
      const replyId = attempts[winner]?.reply.id;
      const begun = { result: "begun", memory: null };
      for (const [index, result] of results.entries()) {
        assert.deepEqual(result, index === winner ? begun : { result: "busy", replyId });
      }
      assert.equal((await messagesOf(store, owner, id)).total, 2);
    });

    test("a save stores the text and renews the lease", async () => {
      const { owner, id } = await newConversation(store);
      const { reply } = await begin(store, owner, id, { holder: "us", leaseUntil: start + 10 });
      const save = { owner, id: reply.id, lease: { holder: "us", until: start + 1000 } };
      assert.equal(await store.saveReply({ ...save, content: "Be 🤖" }), "saved");
      assert.equal(await store.saveReply(save), "saved");
      assert.deepEqual(await store.getMessage({ owner }, reply.id, whole), { ...reply, content: "Be 🤖" });
      const abandoned = await store.findAbandonedReplies(start + 1000);
      assert.ok(!abandoned.some((each) => each.id === reply.id));
    });

    test("a save that arrives after a later one, as from a connection that was given up, changes nothing", async () => {
      const { owner, id } = await newConversation(store);
      const { reply } = await begin(store, owner, id, { holder: "us" });
      const save = { owner, id: reply.id, content: "Be", lease: { holder: "us", until: start + 10 } };
      const later = { ...save, content: "Because", lease: { holder: "us", until: start + 1000 } };
      assert.equal(await store.saveReply(later), "saved");
      assert.equal(await store.saveReply(save), "lost");
      assert.equal((await store.getMessage({ owner }, reply.id, whole))?.content, "Because");
      const abandoned = await store.findAbandonedReplies(start + 1000);
      assert.ok(!abandoned.some((each) => each.id === reply.id));
    });

    test("a save by another holder or owner, or of an ended reply, is lost and changes nothing", async () => {
      const { owner, id } = await newConversation(store);
      const begun = await begin(store, owner, id, { holder: "us" });
      const lease = { holder: "us", until: start + day };
      const save = { owner, id: begun.reply.id, content: "overwritten", lease };
      assert.equal(await store.saveReply({ ...save, lease: { ...lease, holder: "them" } }), "lost");
      assert.equal(await store.saveReply({ ...save, owner: newOwner() }), "lost");
      assert.equal(await store.saveReply({ ...save, id: "msg_none" }), "lost");
      assert.equal(await store.saveReply({ ...save, id: begun.question.id }), "lost");
      assert.deepEqual(await store.getMessage({ owner }, begun.reply.id, whole), begun.reply);
      await store.endReply(toEnd(begun));
      assert.equal(await store.saveReply(save), "lost");
      assert.equal((await store.getMessage({ owner }, begun.reply.id, whole))?.content, "Because.");
    });

    test("ending stores the reply's outcome and frees the conversation", async () => {
      const record = await newConversation(store);
      const { owner } = record;
      const begun = await begin(store, owner, record.id, { at: start });
      const usage = { inputTokens: 12, outputTokens: 3, totalTokens: 15, cachedInputTokens: null };
      const end = toEnd(begun, {
        finishReason: "length",
        usage,
        completedAt: start + 900,
        content: "So 🤖",
      });
      assert.equal(await store.endReply(end), true);
      assert.deepEqual(await store.getMessage({ owner }, begun.reply.id, whole), {
        ...begun.reply,
        content: "So 🤖",
        status: "completed",
        finishReason: "length",
        usage,
        completedAt: start + 900,
      });
      assert.deepEqual(await store.getConversation({ owner }, record.id), {
        ...record,
        messageCount: 2,
        logLength: 2,
        lastMessageId: begun.reply.id,
        lastMessageAt: start + 1,
        updatedAt: start + 900,
      });
      await begin(store, owner, record.id);
    });

    test("a failed reply has its failure and the last saved text", async () => {
      const { owner, id } = await newConversation(store);
      const begun = await begin(store, owner, id);
      await store.saveReply({ owner, id: begun.reply.id, content: "Be", lease: begun.lease });
      const { content: _, ...end } = toEnd(begun, failure);
      assert.equal(await store.endReply(end), true);
      const message = await store.getMessage({ owner }, begun.reply.id, whole);
      assert.deepEqual(message, { ...begun.reply, ...failure, content: "Be", completedAt: start + 2 });
    });

    test("a reply ends only once", async () => {
      const { owner, id } = await newConversation(store);
      const begun = await begin(store, owner, id);
      const ends = [toEnd(begun), toEnd(begun, failure), toEnd(begun, { content: "Again." })];
      const results = await Promise.all(ends.map((end) => store.endReply(end)));
      assert.equal(results.filter(Boolean).length, 1);
      const ended = await store.getMessage({ owner }, begun.reply.id, whole);
      assert.equal(await store.endReply(toEnd(begun, { content: "Too late." })), false);
      assert.deepEqual(await store.getMessage({ owner }, begun.reply.id, whole), ended);
    });

    test("a late end of an earlier reply leaves the running one alone", async () => {
      const { owner, id } = await newConversation(store);
      const earlier = await converse(store, owner, id);
      const { reply } = await begin(store, owner, id);
      assert.equal(await store.endReply(toEnd(earlier)), false);
      assert.equal((await store.getConversation({ owner }, id))?.replyId, reply.id);
    });

    test("a reply is ended only by its owner, in its conversation", async () => {
      const { owner, id } = await newConversation(store);
      const other = await newConversation(store, owner);
      const begun = await begin(store, owner, id);
      assert.equal(await store.endReply(toEnd(begun, { owner: newOwner() })), false);
      assert.equal(await store.endReply(toEnd(begun, { conversationId: other.id })), false);
      assert.equal(await store.endReply(toEnd(begun, { id: begun.question.id })), false);
      assert.deepEqual(await store.getMessage({ owner }, begun.reply.id, whole), begun.reply);
      assert.equal((await store.getConversation({ owner }, id))?.replyId, begun.reply.id);
    });

    test("a reply whose lease has not run out is not ended as abandoned", async () => {
      const { owner, id } = await newConversation(store);
      const begun = await begin(store, owner, id, { leaseUntil: start + 100 });
      const end = toEnd(begun, failure);
      assert.equal(await store.endReply({ ...end, leaseExpiredBefore: start + 100 }), false);
      assert.equal((await store.getConversation({ owner }, id))?.replyId, begun.reply.id);
      assert.deepEqual(await store.getMessage({ owner }, begun.reply.id, whole), begun.reply);
      assert.equal(await store.endReply({ ...end, leaseExpiredBefore: start + 101 }), true);
      assert.equal((await store.getConversation({ owner }, id))?.replyId, null);
    });

    test("a request to cancel reaches the holder at its next save", async () => {
      const { owner, id } = await newConversation(store);
      const { reply, lease } = await begin(store, owner, id);
      await store.requestCancel({ owner }, reply.id);
      const save = { owner, id: reply.id, content: "Be", lease };
      assert.equal(await store.saveReply(save), "cancel_requested");
      assert.equal((await store.getMessage({ owner }, reply.id, whole))?.content, "Be");
      assert.equal((await store.getMessage({ owner }, reply.id, whole))?.status, "in_progress");
    });

    test("a request to cancel by another owner, or for another message, changes nothing", async () => {
      const { owner, id } = await newConversation(store);
      const ended = await converse(store, owner, id);
      const { question, reply, lease } = await begin(store, owner, id);
      await store.requestCancel({ owner: newOwner() }, reply.id);
      for (const message of [question, ended.reply]) await store.requestCancel({ owner }, message.id);
      await store.requestCancel({ owner }, "msg_none");
      assert.equal(await store.saveReply({ owner, id: reply.id, lease }), "saved");
      assert.equal((await store.getMessage({ owner }, ended.reply.id, whole))?.status, "completed");
    });

    test("a reply that its holder is asked to yield is left with its text to what comes in its place", async () => {
      const { owner, id } = await newConversation(store);
      const begun = await begin(store, owner, id);
      const { reply, lease } = begun;
      assert.equal(await store.requestYield(owner, reply.id), "asked");
      const save = { owner, id: reply.id, lease };
      assert.equal(await store.saveReply({ ...save, content: "Be" }), "yield_requested");
      await store.requestCancel({ owner }, reply.id);
      assert.equal(
        await store.saveReply(save),
        "yield_requested",
        "cancelling it now would make room for others",
      );
      assert.equal(await store.requestYield(owner, reply.id), "asked");
      const until = { ...lease, until: start + 10 };
      await store.saveReply({ ...save, content: "Because", yields: true, lease: until });
      assert.equal(await store.requestYield(owner, reply.id), "yielded");
      assert.equal(await store.saveReply({ ...save, content: "Because not" }), "lost");
      assert.equal(await store.endReply(toEnd(begun, { holder: lease.holder })), false);
      assert.equal((await store.getConversation({ owner }, id))?.replyId, reply.id, "others must wait");
      const abandoned = await store.findAbandonedReplies(start + 11);
      const found = abandoned.find((each) => each.id === reply.id);
      assert.equal(found?.cancelRequested, true);
      assert.equal(await store.takeOverReply(found, lease, 0), false);
      const { content: _, ...replaces } = toEnd(begun, { status: "cancelled", finishReason: "cancelled" });
      const next = { ...(await nextToBegin(store, owner, id)), replaces };
      assert.deepEqual(await store.beginReply(next), { result: "begun", memory: null });
      const { content, status, attempt } = (await store.getMessage({ owner }, reply.id, whole)) ?? reply;
      assert.deepEqual([content, status, attempt], ["Because", "cancelled", 1]);
      assert.equal(await store.requestYield(owner, reply.id), "over");
    });

    test("only a reply of the owner that is in progress is asked for", async () => {
      const { owner, id } = await newConversation(store);
      const ended = await converse(store, owner, id);
      const { question, reply, lease } = await begin(store, owner, id);
      assert.equal(await store.requestYield(newOwner(), reply.id), "over");
      for (const { id: other } of [question, ended.reply, { id: "msg_none" }])
        assert.equal(await store.requestYield(owner, other), "over");
      assert.equal(await store.saveReply({ owner, id: reply.id, lease }), "saved");
    });

    test("abandoned replies are those in progress whose lease ran out, whoever holds them", async () => {
      const owner = newOwner();
      const holder = randomUUID();
      const fields: BeginFields[] = [
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
      }
      const last = begun[3];
      assert.ok(last);
      await store.endReply(toEnd(last));
      const found = await store.findAbandonedReplies(start + 100);
      const ours = found.filter((each) => each.owner === owner);
      const expected = [begun[0], begun[2]].map((one) => one && asFound(one));
      assert.deepEqual(new Set(ours), new Set(expected));
    });

    test("an abandoned reply says whether it may be begun again, also once it was taken over", async () => {
      const { owner, id } = await newConversation(store);
      const begun = { ...toBegin(owner, id, { leaseUntil: start + 99 }), lastAttempt: true };
      assert.equal((await store.beginReply(begun)).result, "begun");
      const find = async () =>
        (await store.findAbandonedReplies(start + 100)).filter((each) => each.owner === owner);
      const [found] = await find();
      assert.deepEqual(found, { ...asFound(begun), lastAttempt: true });
      assert.equal(await store.takeOverReply(found, { holder: "them", until: start + 99 }, 0), true);
      assert.equal((await find())[0]?.lastAttempt, true);
    });

    test("a save says that no other process may begin the reply again, and later ones keep that", async () => {
      const { owner, id } = await newConversation(store);
      const begun = toBegin(owner, id, { leaseUntil: start + 99 });
      await store.beginReply(begun);
      const { lease, reply } = begun;
      assert.equal(await store.saveReply({ owner, id: reply.id, lastAttempt: true, lease }), "saved");
      assert.equal(await store.saveReply({ owner, id: reply.id, content: "Be", lease }), "saved");
      const found = await store.findAbandonedReplies(start + 100);
      assert.deepEqual(
        found.filter((each) => each.owner === owner),
        [{ ...asFound(begun), lastAttempt: true }],
      );
    });

    test("a reply that is taken over has another holder, one more attempt, and the text that was saved", async () => {
      const { owner, id, begun, taken } = await takenOver();
      const { reply, lease } = begun;
      const stored = { ...reply, content: "Be", attempt: 2, continuedFrom: 2 };
      assert.deepEqual(await store.getMessage({ owner }, reply.id, whole), stored);
      assert.deepEqual((await store.getConversation({ owner }, id))?.replyId, reply.id);
      assert.equal(await store.saveReply({ owner, id: reply.id, content: "Because", lease }), "lost");
      assert.equal(await store.endReply(toEnd(begun, { holder: lease.holder })), false);
      assert.deepEqual(await store.getMessage({ owner }, reply.id, whole), stored);
      assert.equal(await store.saveReply({ owner, id: reply.id, content: "Because", lease: taken }), "saved");
      assert.equal(await store.endReply(toEnd(begun, { holder: taken.holder })), true);
      const ended = await store.getMessage({ owner }, reply.id, whole);
      assert.deepEqual([ended?.attempt, ended?.continuedFrom, ended?.content], [2, 2, "Because."]);
    });

    test("a reply that was taken over is not replaced by who held it before", async () => {
      const { owner, begun } = await abandoned();
      const taken = { holder: "them", until: start + 900 };
      assert.equal(await store.takeOverReply(asFound(begun), taken, 0), true);
      const { conversationId, id } = begun.reply;
      const next = await nextToBegin(store, owner, conversationId);
      const cancelled = { status: "cancelled", finishReason: "cancelled" } as const;
      const lost = toEnd(begun, { ...cancelled, holder: begun.lease.holder });
      const refused = await store.beginReply({ ...next, replaces: lost });
      assert.deepEqual(refused, { result: "busy", replyId: id });
      const replaces = { ...lost, holder: taken.holder };
      assert.equal((await store.beginReply({ ...next, replaces })).result, "begun");
    });

    test("of many that take a reply over at the same time, one does", async () => {
      const { owner, begun } = await abandoned();
      const takers = Array.from({ length: 20 }, (_, n) => ({ holder: `taker ${n}`, until: start + 900 }));
      const results = await Promise.all(takers.map((lease) => store.takeOverReply(asFound(begun), lease, 0)));
      assert.equal(results.filter(Boolean).length, 1);
      const winner = takers[results.indexOf(true)];
      const [now] = (await store.findAbandonedReplies(start + 901)).filter((each) => each.owner === owner);
      assert.deepEqual(now, { ...asFound(begun), lease: winner, attempt: 2 });
      assert.equal((await store.getMessage({ owner }, begun.reply.id, whole))?.attempt, 2);
    });

    test("a reply is not taken over after a save, under another attempt, or once it is to be cancelled or has ended", async () => {
      const { owner, begun } = await abandoned();
      const { reply, lease } = begun;
      const next = { holder: "them", until: start + 900 };
      const renewed = { ...lease, until: start + 200 };
      assert.equal(await store.saveReply({ owner, id: reply.id, lease: renewed }), "saved");
      const late = asFound(begun);
      const now = { ...late, lease: renewed };
      const others = [
        late,
        { ...now, attempt: 2 },
        { ...now, owner: newOwner() },
        { ...now, conversationId: "conv_none" },
      ];
      for (const found of others) assert.equal(await store.takeOverReply(found, next, 0), false);
      await store.requestCancel({ owner }, reply.id);
      assert.equal(await store.takeOverReply(now, next, 0), false);
      assert.equal(await store.endReply(toEnd(begun, { leaseExpiredBefore: start + 201 })), true);
      assert.equal(await store.takeOverReply(now, next, 0), false);
      assert.equal((await store.getMessage({ owner }, reply.id, whole))?.attempt, 1);
    });

    test("a reply keeps the sources that were saved, or the ones that its end names", async () => {
      const { owner, id } = await newConversation(store);
      const saved = [{ heading: "Die Fähre", document: "notes/fähre.pdf", score: 0.25 }];
      const own = { heading: "Fares", document: null, score: 1 };
      for (const [named, expected] of [
        [undefined, saved],
        [[], []],
        [[own], [own]],
      ] as const) {
        const begun = await begin(store, owner, id);
        const { reply, lease } = begun;
        assert.equal(await store.saveReply({ owner, id: reply.id, lease, sources: saved }), "saved");
        assert.equal(await store.saveReply({ owner, id: reply.id, lease, content: "Be" }), "saved");
        assert.deepEqual(
          (await store.getMessage({ owner }, reply.id, { ...whole, skip: 1 }))?.sources,
          saved,
        );
        await store.endReply(toEnd(begun, named && { sources: named }));
        assert.deepEqual((await store.getMessage({ owner }, reply.id, whole))?.sources, expected);
      }
    });

    test("a reply keeps its twin's revision, and its question has none", async () => {
      const { owner, id } = await newConversation(store);
      const begun = toBegin(owner, id);
      const reply = { ...begun.reply, twinRevision: "0123456789abcdef" };
      await store.beginReply({ ...begun, reply });
      assert.deepEqual((await messagesOf(store, owner, id)).items, [begun.question, reply]);
      await store.endReply(toEnd(begun));
      assert.equal((await store.getMessage({ owner }, reply.id, whole))?.twinRevision, "0123456789abcdef");
    });

    /** A reply with some text whose lease ran out. */
    async function abandoned() {
      const { owner, id } = await newConversation(store);
      const begun = await begin(store, owner, id, { holder: "us", leaseUntil: start + 100 });
      await store.saveReply({ owner, id: begun.reply.id, content: "Be", lease: begun.lease });
      return { owner, id, begun };
    }

    /** The same, taken over. */
    async function takenOver() {
      const reply = await abandoned();
      const taken = { holder: "them", until: start + 900 };
      assert.equal(await store.takeOverReply(asFound(reply.begun), taken, 2), true);
      return { ...reply, taken };
    }

    test("a reply ends with calls that wait, and a question behind it decides them, once", async () => {
      const { owner, id } = await newConversation(store);
      const first = await begin(store, owner, id);
      const calls = [{ callId: "c", name: "orders/cancel", arguments: { number: 7, why: "\u{1F600}" } }];
      const pending = { calls, state: '{"kept":"so"}' };
      await store.endReply(toEnd(first, { finishReason: "tool_calls", pending }));
      const read = async () => (await store.getMessage({ owner }, first.reply.id, whole))?.pendingCalls;
      assert.deepEqual(await read(), calls);
      assert.deepEqual(await store.readCalls(owner, first.reply.id), {
        pending,
        isOpen: true,
        decisions: undefined,
      });
      assert.equal(await store.readCalls(newOwner(), first.reply.id), undefined);
      const refused = toBegin(owner, id, { end: { logLength: 0, lastMessageId: null } });
      const decides = { replyId: first.reply.id, decisions: { c: "approve" } } as const;
      assert.equal((await store.beginReply({ ...refused, decides })).result, "moved");
      assert.deepEqual(await read(), calls);
      const end = (await store.getConversation({ owner }, id)) ?? assert.fail();
      const undecided = toBegin(owner, id, { end });
      assert.deepEqual(await store.beginReply(undecided), { result: "undecided" });
      const fork = { ...undecided, forkAt: first.reply.seq };
      assert.deepEqual(await store.beginReply(fork), { result: "undecided" });
      assert.deepEqual(await read(), calls);
      const next = { ...toBegin(owner, id, { end }), decides };
      assert.equal((await store.beginReply(next)).result, "begun");
      assert.equal(await read(), undefined);
      const decided = await store.readCalls(owner, next.question.id);
      assert.deepEqual(decided?.decisions, { c: "approve" });
      const before = await store.readCalls(owner, first.reply.id);
      assert.deepEqual([before?.pending, before?.isOpen], [pending, false]);
    });
  });
}

/** A reply that was begun, as it is found once its lease has run out. */
function asFound({ owner, reply, lease }: BeginReply): AbandonedReply {
  const { conversationId, id, attempt } = reply;
  return {
    owner,
    conversationId,
    id,
    lease,
    attempt,
    cancelRequested: false,
    lastAttempt: false,
    reserved: false,
  };
}
