/**
 * What every store must do about webhooks, and what they are told.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Store } from "../../core/store/store.ts";
import type { Telling, WebhookEvent, WebhookRecord } from "../../core/store/webhooks.ts";
import {
  addAlone,
  begin,
  converse,
  day,
  ids,
  newConversation,
  newOwner,
  nextAlone,
  nextToBegin,
  start,
  telling,
  toEnd,
  webhook,
} from "./store-records.ts";
import { whole } from "./whole.ts";

const all = { offset: 0, limit: 20 };

/** The part of the store's suite about webhooks. */
export function webhooksContract(open: () => Store): void {
  describe("webhooks", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    async function newWebhook(fields: Partial<WebhookRecord> = {}) {
      const record = webhook(fields.owner ?? newOwner(), fields);
      assert.equal(await store.createWebhook(record, 10), "created");
      return record;
    }

    /** What a webhook is told, oldest first. */
    async function toldTo({ owner, id }: WebhookRecord): Promise<WebhookEvent[]> {
      const { items } = await store.listDeliveries(owner, id, all);
      return items.map(({ event }) => event).reverse();
    }

    const take = (id: string, at = start, limit = 4, holder = "here") =>
      store.takeDeliveries(id, { holder, until: at + 15_000 }, at, limit);

    /** A webhook with some deliveries of replies, and the conversation that they are of. */
    async function withDeliveries(count: number, fields: Partial<WebhookRecord> = {}) {
      const record = await newWebhook(fields);
      const conversation = await newConversation(store, record.owner, { endUser: "ann" });
      const { tells } = telling();
      for (let n = 0; n < count; n++) await converse(store, record.owner, conversation.id, { tells });
      return { record, conversation };
    }

    test("a webhook is its owner's, and listed newest first", async () => {
      const first = await newWebhook({ events: ["message.said"], description: "Ops" });
      const { owner } = first;
      const second = await newWebhook({ owner, createdAt: start + 1 });
      await newWebhook();
      assert.deepEqual(await store.getWebhook(owner, first.id), { ...first, lastDelivery: null });
      assert.equal(await store.getWebhook(newOwner(), first.id), undefined);
      const page = await store.listWebhooks(owner, all);
      assert.deepEqual(ids(page), [second.id, first.id]);
      assert.equal(page.total, 2);
      assert.deepEqual(ids(await store.listWebhooks(owner, { offset: 1, limit: 1 })), [first.id]);
    });

    test("an owner has a limited number of webhooks, also when several are made at once", async () => {
      const owner = newOwner();
      const made = await Promise.all([1, 2, 3, 4].map(() => store.createWebhook(webhook(owner), 2)));
      assert.deepEqual(made.sort(), ["created", "created", "limit_reached", "limit_reached"]);
      const [kept] = (await store.listWebhooks(owner, all)).items;
      await store.deleteWebhook(owner, kept?.id ?? "");
      assert.equal(await store.createWebhook(webhook(owner), 2), "created");
    });

    test("the end of a reply is told in its own transaction, once", async () => {
      const record = await newWebhook();
      const { owner, id } = await newConversation(store, record.owner, { endUser: "ann" });
      const { tells, told } = telling();
      const begun = await begin(store, owner, id);
      assert.deepEqual(await toldTo(record), []);
      assert.equal(await store.endReply(toEnd(begun, { tells })), true);
      assert.equal(await store.endReply(toEnd(begun, { tells })), false);
      assert.deepEqual(told, [[record.id]]);
      const taken = await take(record.id, start + 2);
      assert.deepEqual(taken?.webhook, record);
      const [delivery, ...others] = taken?.deliveries ?? [];
      assert.deepEqual(others, []);
      const { id: deliveryId, ...rest } = delivery ?? {};
      assert.match(String(deliveryId), /^dlv_/);
      assert.deepEqual(rest, {
        event: "reply.completed",
        createdAt: begun.reply.createdAt + 1,
        attempts: 1,
        subject: { conversationId: id, messageId: begun.reply.id, twinId: "ada", endUser: "ann" },
      });
    });

    test("a write that names no telling tells nothing", async () => {
      const record = await newWebhook();
      const { owner, id } = await newConversation(store, record.owner, { endUser: "ann" });
      const { reply } = await converse(store, owner, id);
      await store.rateReply({ owner }, reply.id, { rating: "up", comment: null, updatedAt: start });
      await addAlone(store, owner, id);
      await begin(store, owner, id);
      await store.deleteConversation({ owner }, id, start);
      await store.forgetEndUser(owner, "ann", start);
      assert.deepEqual(await toldTo(record), []);
    });

    test("each end of a reply is an event of its own", async () => {
      const record = await newWebhook();
      const { owner, id } = await newConversation(store, record.owner);
      const { tells } = telling();
      for (const status of ["completed", "failed", "cancelled"] as const) {
        await converse(store, owner, id, { status, tells });
      }
      const replaced = await begin(store, owner, id);
      const next = await nextToBegin(store, owner, id);
      const replaces = toEnd(replaced, { status: "cancelled", tells });
      assert.equal((await store.beginReply({ ...next, replaces })).result, "begun");
      await store.deleteConversation({ owner }, id, start, { tells });
      assert.deepEqual((await toldTo(record)).sort(), [
        "reply.cancelled",
        "reply.cancelled",
        "reply.cancelled",
        "reply.completed",
        "reply.failed",
      ]);
    });

    test("a question that begins to wait is told, and so is what a person says", async () => {
      const record = await newWebhook();
      const { owner, id } = await newConversation(store, record.owner);
      const { tells, told } = telling();
      const handed = await converse(store, owner, id, { handsOver: true, tells });
      const about = (await take(record.id, start + 2))?.deliveries.map(({ event, subject }) => [
        event,
        subject.messageId,
      ]);
      assert.deepEqual(about?.sort(), [
        ["conversation.waiting", handed.question.id],
        ["reply.completed", handed.reply.id],
      ]);
      const waiting = { role: "user", waits: true, tells } as const;
      await addAlone(store, owner, id, waiting); // one more, which waits with the first
      await addAlone(store, owner, id, { role: "user", tells }); // a question that waits for nobody
      const said = await addAlone(store, owner, id, { tells });
      const waits = await addAlone(store, owner, id, waiting);
      await addAlone(store, owner, id, waiting);
      assert.deepEqual(told.slice(-2), [[record.id], [record.id]]);
      const later = (await take(record.id, start + 2))?.deliveries.map(({ event, subject }) => [
        event,
        subject.messageId,
      ]);
      assert.deepEqual(later?.sort(), [
        ["conversation.waiting", waits.id],
        ["message.said", said.id],
      ]);
    });

    test("what was refused is not told", async () => {
      const record = await newWebhook();
      const { owner, id } = await newConversation(store, record.owner);
      const { tells, told } = telling();
      const waits = await nextAlone(store, owner, id, { role: "user", waits: true, tells });
      assert.equal((await store.addMessage(waits)).result, "answered_by");
      await begin(store, owner, id);
      assert.equal((await store.addMessage(await nextAlone(store, owner, id, { tells }))).result, "busy");
      assert.deepEqual([await toldTo(record), told], [[], []]);
    });

    test("feedback on an ended reply is told, but not when it is taken back", async () => {
      const record = await newWebhook();
      const { owner, id } = await newConversation(store, record.owner, { endUser: "ann" });
      const { tells } = telling();
      const { question, reply } = await converse(store, owner, id);
      const up = { rating: "up", comment: null, updatedAt: start } as const;
      await store.rateReply({ owner, endUser: "bob" }, reply.id, up, tells);
      await store.rateReply({ owner }, question.id, up, tells);
      assert.deepEqual(await toldTo(record), []);
      await store.rateReply({ owner, endUser: "ann" }, reply.id, up, tells);
      await store.rateReply({ owner }, reply.id, null, tells);
      const [delivery] = (await take(record.id))?.deliveries ?? [];
      const subject = { conversationId: id, messageId: reply.id, twinId: "ada", endUser: "ann" };
      assert.deepEqual([delivery?.event, delivery?.subject], ["feedback.given", subject]);
      assert.equal((await toldTo(record)).length, 1);
    });

    test("an erasure deletes all deliveries that name the person, and is told", async () => {
      const { record, conversation } = await withDeliveries(3);
      const { owner } = record;
      const { tells } = telling();
      const other = await newConversation(store, owner, { endUser: "bob" });
      await converse(store, owner, other.id, { tells });
      await store.deleteConversation({ owner }, conversation.id, start);
      await store.forgetEndUser(owner, "ann", start, tells);
      assert.deepEqual((await toldTo(record)).sort(), ["person.erased", "reply.completed"]);
      const taken = (await take(record.id, start + day))?.deliveries;
      const erased = taken?.find(({ event }) => event === "person.erased");
      const nothing = { conversationId: null, messageId: null, twinId: null };
      assert.deepEqual(erased?.subject, { ...nothing, endUser: "ann" });
      await store.forgetEndUser(owner, "ann", start);
      assert.deepEqual(await toldTo(record), ["reply.completed"]);
    });

    test("parts of budgets that are used up are told once each, with whose they are", async () => {
      const record = await newWebhook({ events: ["budget.reached"] });
      const { owner } = record;
      const { tells } = telling();
      const of = { owner, period: "day", limit: 1000 } as const;
      const budgets = [
        { ...of, scope: "key", of: "key_1", endUser: null },
        { ...of, scope: "endUser", of: "key_1", endUser: "ann" },
        { ...of, scope: "twin", owner: "", of: `twin of ${owner}`, endUser: null },
      ] as const;
      const conversation = await newConversation(store, owner, { endUser: "ann" });
      for (const totalTokens of [800, 100, 200]) {
        const begun = await nextToBegin(store, owner, conversation.id);
        const reserves = { id: begun.reply.id, at: start, told: 88, budgets };
        assert.equal((await store.beginReply({ ...begun, reserves })).result, "begun");
        const usage = { inputTokens: totalTokens, outputTokens: 0, totalTokens, cachedInputTokens: null };
        await store.endReply(toEnd(begun, { usage, reserved: true, tells }));
      }
      const taken = (await take(record.id, start + day, 20))?.deliveries ?? [];
      const nothing = { conversationId: null, messageId: null, twinId: null, endUser: null };
      const subjects = [nothing, { ...nothing, endUser: "ann" }, { ...nothing, twinId: `twin of ${owner}` }];
      const sorted = (all: readonly object[]) => all.map((one) => JSON.stringify(one)).sort();
      assert.deepEqual(sorted(taken.map(({ subject }) => subject)), sorted([...subjects, ...subjects]));
      const id = `reply ${owner}`;
      await store.reserveTokens({ id, at: start + day, told: 88, budgets: [budgets[0]] });
      const usage = { inputTokens: 900, outputTokens: 0, totalTokens: 900, cachedInputTokens: null };
      const counted = {
        owner,
        endUser: null,
        twinId: "ada",
        beganAt: start,
        completedAt: start + day,
        usage,
      };
      await store.countReply({ ...counted, reserved: { id, text: "" }, tells });
      assert.equal((await take(record.id, start + day, 20))?.deliveries.length, 1);
    });

    test("only the owner's webhooks are told, of the events that they want", async () => {
      const { record, conversation } = await withDeliveries(0);
      const { owner } = record;
      const stranger = await newWebhook();
      const wants = await newWebhook({ owner, events: ["reply.failed", "reply.completed"] });
      const wantsNot = await newWebhook({ owner, events: ["reply.failed"] });
      const { tells, told } = telling();
      await converse(store, owner, conversation.id, { tells });
      assert.deepEqual(
        told.map((some) => [...some].sort()),
        [[record.id, wants.id].sort()],
      );
      const counts = await Promise.all([record, wants, wantsNot, stranger].map(toldTo));
      assert.deepEqual(
        counts.map(({ length }) => length),
        [1, 1, 0, 0],
      );
      const [one, another] = await Promise.all(
        [record, wants].map(({ id }) => store.listDeliveries(owner, id, all)),
      );
      assert.notEqual(one?.items[0]?.id, another?.items[0]?.id);
    });

    test("a delivery is taken by one process at a time, those that are due longest first", async () => {
      const { record } = await withDeliveries(5);
      const at = start + 10;
      const taken = await Promise.all([1, 2, 3].map((n) => take(record.id, at, 2, `process ${n}`)));
      const found = taken.flatMap((one) => one?.deliveries ?? []);
      assert.equal(new Set(found.map(({ id }) => id)).size, found.length);
      const rest = (await take(record.id, at, 9))?.deliveries ?? [];
      assert.equal(found.length + rest.length, 5);
      assert.deepEqual((await take(record.id, at))?.deliveries, []);
      const again = await take(record.id, at + 15_000, 9);
      assert.deepEqual(
        again?.deliveries.map(({ attempts }) => attempts),
        [2, 2, 2, 2, 2],
      );
    });

    test("a failed try is due again when it says, a delivered one never", async () => {
      const { record } = await withDeliveries(2);
      const { owner } = record;
      const [one, other] = (await take(record.id, start + 10))?.deliveries ?? [];
      const of = { webhookId: record.id, holder: "here" };
      const nextAttemptAt = start + 5000;
      const failed = { ...of, id: one?.id ?? "", status: "pending", lastStatus: 500, nextAttemptAt } as const;
      await store.settleDelivery({ ...failed, holder: "there" }); // without effect
      assert.deepEqual(
        (await store.listDeliveries(owner, record.id, all)).items.map(({ lastStatus }) => lastStatus),
        [null, null],
      );
      await store.settleDelivery(failed);
      const end = { status: "delivered", lastStatus: 204, nextAttemptAt: null } as const;
      await store.settleDelivery({ ...of, id: other?.id ?? "", ...end });
      assert.deepEqual((await take(record.id, start + 4999))?.deliveries, []);
      const [again] = (await take(record.id, start + 5000))?.deliveries ?? [];
      assert.deepEqual([again?.id, again?.attempts], [one?.id, 2]);
      const { items } = await store.listDeliveries(owner, record.id, all);
      const rows = items.map(({ id, status, attempts, lastStatus }) => ({
        id,
        status,
        attempts,
        lastStatus,
      }));
      const expected = [
        { id: one?.id, status: "pending", attempts: 2, lastStatus: 500 },
        { id: other?.id, status: "delivered", attempts: 1, lastStatus: 204 },
      ];
      const byId = (a: { id?: string | undefined }, b: { id?: string | undefined }) =>
        String(a.id) < String(b.id) ? -1 : 1;
      assert.deepEqual(rows.sort(byId), expected.sort(byId));
    });

    test("the newest delivery is the webhook's last one, at its last try", async () => {
      const { record } = await withDeliveries(1);
      const read = async () => (await store.getWebhook(record.owner, record.id))?.lastDelivery;
      assert.deepEqual(await read(), { at: start + 2, status: "pending" });
      const [taken] = (await take(record.id, start + 50))?.deliveries ?? [];
      const end = { status: "failed", lastStatus: null, nextAttemptAt: null } as const;
      await store.settleDelivery({ id: taken?.id ?? "", webhookId: record.id, holder: "here", ...end });
      assert.deepEqual(await read(), { at: start + 50, status: "failed" });
      assert.deepEqual((await store.listWebhooks(record.owner, all)).items[0]?.lastDelivery, await read());
    });

    test("webhooks wait that have something to be told, from their first delivery on", async () => {
      const { record } = await withDeliveries(2);
      const quiet = await newWebhook();
      const dueOf = async ({ id }: WebhookRecord) =>
        (await store.findWaitingWebhooks()).find((waiting) => waiting.id === id)?.dueAt;
      assert.equal(await dueOf(record), start + 2);
      assert.equal(await dueOf(quiet), undefined);
      await take(record.id, start + 10);
      assert.equal(await dueOf(record), start + 15_010);
      await store.releaseDeliveries("there", start);
      assert.equal(await dueOf(record), start + 15_010);
      await store.releaseDeliveries("here", start + 20);
      assert.equal(await dueOf(record), start + 20);
      assert.ok((await store.countPendingDeliveries()) >= 2);
    });

    test("a disabled webhook is told nothing until its secret is rotated", async () => {
      const { record, conversation } = await withDeliveries(2);
      const { owner } = record;
      const [first] = (await take(record.id, start + 10, 1))?.deliveries ?? [];
      const end = {
        status: "failed",
        lastStatus: 410,
        nextAttemptAt: null,
        disables: record.secret,
      } as const;
      await store.settleDelivery({ id: first?.id ?? "", webhookId: record.id, holder: "here", ...end });
      assert.equal((await store.getWebhook(owner, record.id))?.status, "disabled");
      assert.equal(await take(record.id, start + 10), undefined);
      assert.ok(!(await store.findWaitingWebhooks()).some(({ id }) => id === record.id));
      const { tells, told } = telling();
      await converse(store, owner, conversation.id, { tells });
      assert.deepEqual(told, []);
      assert.equal(await store.retryDelivery(owner, record.id, first?.id ?? "", start), undefined);
      const rotation = { secret: "whsec_new", previousUntil: start + day };
      assert.equal(await store.rotateWebhook(newOwner(), record.id, rotation), undefined);
      const rotated = await store.rotateWebhook(owner, record.id, rotation);
      const { secret: previousSecret } = record;
      const expected = { ...record, ...rotation, previousSecret, status: "active" };
      assert.deepEqual({ ...rotated, lastDelivery: null }, { ...expected, lastDelivery: null });
      assert.equal((await take(record.id, start + 10))?.deliveries.length, 1);
      const again = await store.rotateWebhook(owner, record.id, { ...rotation, secret: "whsec_newer" });
      assert.equal(again?.previousSecret, "whsec_new");
    });

    test("a delivery is tried again when it is asked for, unless it is being tried", async () => {
      const { record } = await withDeliveries(1);
      const { owner } = record;
      const [taken] = (await take(record.id, start + 10))?.deliveries ?? [];
      const id = taken?.id ?? "";
      await store.retryDelivery(owner, record.id, id, start + 20);
      assert.deepEqual((await take(record.id, start + 20))?.deliveries, []);
      const end = { status: "delivered", lastStatus: 200, nextAttemptAt: null } as const;
      await store.settleDelivery({ id, webhookId: record.id, holder: "here", ...end });
      for (const [who, which] of [
        [newOwner(), id],
        [owner, "dlv_none"],
      ] as const)
        assert.equal(await store.retryDelivery(who, record.id, which, start), undefined);
      const other = await newWebhook({ owner });
      assert.equal(await store.retryDelivery(owner, other.id, id, start), undefined);
      const retried = await store.retryDelivery(owner, record.id, id, start + 30);
      assert.deepEqual(
        [retried?.status, retried?.attempts, retried?.nextAttemptAt],
        ["pending", 1, start + 30],
      );
      assert.equal((await take(record.id, start + 30))?.deliveries[0]?.attempts, 2);
    });

    test("a deleted webhook is gone with its deliveries", async () => {
      const { record } = await withDeliveries(2);
      const { owner, id } = record;
      await store.deleteWebhook(newOwner(), id);
      assert.equal((await toldTo(record)).length, 2);
      await store.deleteWebhook(owner, id);
      await store.deleteWebhook(owner, id);
      assert.equal(await store.getWebhook(owner, id), undefined);
      assert.deepEqual(await store.listDeliveries(owner, id, all), { items: [], total: 0 });
      assert.equal(await take(id, start + day), undefined);
      assert.ok(!(await store.findWaitingWebhooks()).some((waiting) => waiting.id === id));
    });

    test("deliveries are listed newest first, by their owner, and swept by their age", async () => {
      const { record, conversation } = await withDeliveries(2);
      const { owner, id } = record;
      const { tells } = telling();
      await converse(store, owner, conversation.id, { tells, completedAt: start + 3 * day });
      const page = await store.listDeliveries(owner, id, { offset: 0, limit: 2 });
      assert.equal(page.total, 3);
      assert.deepEqual(
        page.items.map(({ createdAt }) => createdAt),
        [start + 3 * day, start + 2],
      );
      assert.equal((await store.listDeliveries(newOwner(), id, all)).total, 0);
      await store.sweepDeliveries(start + day);
      const left = await store.listDeliveries(owner, id, all);
      assert.deepEqual([left.total, left.items.length], [1, 1]);
    });

    test("a telling that tells nobody is silent", async () => {
      const { owner, id } = await newConversation(store);
      const silent: Telling = {
        newId: () => "dlv_unused",
        told() {
          assert.fail("nobody is told");
        },
      };
      await converse(store, owner, id, { tells: silent });
      assert.equal((await store.getConversation({ owner }, id))?.replyId, null);
      assert.equal((await store.listMessages({ owner }, id, { ...whole, ...all, order: "asc" }))?.total, 2);
    });
  });
}
