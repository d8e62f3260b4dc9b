/**
 * Calls of every method of a store.
 *
 * @module
 */

import { sha256 } from "../../core/base/ids.ts";
import { answerers, looseMs, mostTwinVersions } from "../../core/store/records.ts";
import type { Store } from "../../core/store/store.ts";
import type { WebhookRecord } from "../../core/store/webhooks.ts";
import {
  addAlone,
  begin,
  claim,
  clientToken,
  conversation,
  converse,
  day,
  failure,
  key,
  newOwner,
  nextAlone,
  nextToBegin,
  ownTwin,
  partOf,
  start,
  storeContent,
  telling,
  toBegin,
  toEnd,
  webhook,
} from "./store-records.ts";
import { whole, wholeTexts } from "./whole.ts";

/** Calls the methods about webhooks, on one that has something to be told. */
async function callWebhooks(store: Store, { owner, id: webhookId, secret }: WebhookRecord): Promise<void> {
  const slice = { offset: 0, limit: 20 };
  await store.listWebhooks(owner, slice);
  await store.getWebhook(owner, webhookId);
  await store.rotateWebhook(owner, webhookId, { secret, previousUntil: start });
  const { items } = await store.listDeliveries(owner, webhookId, slice);
  const id = items[0]?.id ?? "";
  await store.retryDelivery(owner, webhookId, id, start);
  await store.findWaitingWebhooks();
  const holder = "here";
  await store.takeDeliveries(webhookId, { holder, until: start + day }, start + day, 4);
  const tried = { id, webhookId, holder, lastStatus: 410, nextAttemptAt: null, disables: secret };
  await store.settleDelivery({ ...tried, status: "failed" });
  await store.releaseDeliveries(holder, start);
  await store.releaseDeliveries(undefined, start);
  await store.countPendingDeliveries();
  await store.sweepDeliveries(start);
  await store.deleteWebhook(owner, webhookId);
}

/**
 * Calls every method of a store but `close`, on existing records.
 *
 * @throws {Error} if a method is missing here
 */
export async function callEverything(given: Store): Promise<void> {
  const methods = Object.entries(given).filter(([, member]) => typeof member === "function");
  const uncalled = new Set(methods.map(([name]) => name));
  const store = new Proxy(given, {
    get(target, name: keyof Store) {
      uncalled.delete(name);
      return target[name];
    },
  });
  const owner = newOwner();
  const slice = { offset: 0, limit: 20 };
  const laptop = key(owner);
  await store.createKey(laptop, 50);
  await store.listKeys(owner, slice);
  const rotation = { hash: key(owner).hash, prefix: laptop.prefix, previousUntil: start };
  await store.rotateKey(owner, laptop.id, rotation, start);
  await store.getKey(owner, laptop.id);
  await store.updateKey(owner, laptop.id, { revokedAt: start });
  await store.findKey(laptop.hash);
  await store.findKeys({ id: laptop.id });
  await store.findKeys({ prefix: laptop.prefix });
  await store.updateKey(owner, laptop.id, { lastUsedAt: start });
  const hook = webhook(owner);
  const { tells } = telling();
  await store.createWebhook(hook, 10);
  const made = claim(owner);
  const { id, twinId } = conversation(owner);
  await store.createConversation(conversation(owner, { id }), made);
  await store.listConversations({ owner }, slice);
  await store.listConversations({ owner }, { ...slice, twinIds: [twinId] });
  await store.listConversations({ owner }, { ...slice, waiting: true });
  await store.countWaiting();
  const metadata = { app: "web", ticket: "1" };
  await store.createConversation(conversation(owner, { metadata }));
  for (const pairs of [metadata, { app: "web" }])
    await store.listConversations({ owner }, { ...slice, metadata: pairs });
  for (const answeredBy of answerers) await store.listConversations({ owner }, { ...slice, answeredBy });
  const reach = { owner, endUser: "ann" };
  await store.createConversation(conversation(owner, { endUser: reach.endUser })); // lists that are empty are only counted
  for (const twinIds of [undefined, [twinId], [twinId, "bob"]]) {
    await store.listConversations(reach, { ...slice, twinIds });
  }
  await store.updateConversation({ owner }, id, { title: "t" }, start);
  await store.updateConversation({ owner }, id, { metadata }, start);
  const begun = await begin(store, owner, id);
  const { question, reply, lease } = begun;
  await store.beginReply(toBegin(owner, id));
  await store.saveReply({ owner, id: reply.id, content: "B", lease });
  await store.readCalls(owner, reply.id);
  await store.replaceQuestion({ owner, conversationId: id, id: reply.after ?? "", told: "Another?" });
  await store.requestCancel({ owner }, reply.id);
  await store.requestYield(owner, reply.id);
  await store.findAbandonedReplies(start + day);
  const { conversationId, attempt } = reply;
  const found = {
    owner,
    conversationId,
    id: reply.id,
    lease,
    attempt,
    cancelRequested: false,
    lastAttempt: false,
    reserved: false,
  };
  await store.takeOverReply(found, lease, 0);
  await store.endReply(toEnd(begun, { leaseExpiredBefore: start }));
  await store.endReply(toEnd(begun, { handsOver: true, tells }));
  const waiting = { role: "user", waits: true, tells } as const;
  const waits = await addAlone(store, owner, id, waiting);
  await addAlone(store, owner, id, { role: "user" });
  await addAlone(store, owner, id, { answeredBy: "twin", tells });
  await store.addMessage(await nextAlone(store, owner, id, waiting));
  await store.addMessage(await nextAlone(store, owner, id, { forkAt: waits.seq }));
  await store.readHistory({ owner }, id, { after: waits.id, ...whole });
  await store.updateConversation({ owner }, id, { answeredBy: "twin", last: waits }, start);
  const replaced = await begin(store, owner, id);
  const replacing = { ...(await nextToBegin(store, owner, id)), replaces: toEnd(replaced) };
  await store.beginReply(replacing);
  await store.endReply(toEnd(replacing));
  await store.rateReply({ owner }, reply.id, { rating: "up", comment: null, updatedAt: start }, tells);
  for (const filter of [{}, { twinId }, { from: start, to: start + day }]) {
    await store.listFeedback(owner, { ...wholeTexts, ...slice, ...filter, rating: "up" });
    await store.listFeedback(owner, { ...wholeTexts, ...slice, ...filter });
    await store.listUnanswered(owner, { ...wholeTexts, ...slice, ...filter });
  }
  await store.setMemory({ owner, endUser: "ann", twinId }, { content: "Likes tea.", updatedAt: start });
  for (const filter of [{}, { twinId }, { after: twinId }]) {
    await store.listMemories(owner, "ann", { ...wholeTexts, limit: 2, ...filter });
  }
  await store.setMemory({ owner, endUser: "ann", twinId }, null);
  const ofBob = { owner, endUser: "bob", twinId };
  await store.setMemory(ofBob, { content: "Likes tea.", updatedAt: start });
  await store.findIdleMemories({ before: start + day, limit: 10 });
  await store.setMemory(ofBob, null, { idleSince: start + day });
  await store.findIdleConversations({ before: start + day, limit: 10 });
  await store.findIdleConversations({ before: start + day, limit: 10, after: { owner, id } });
  await store.deleteConversation({ owner }, id, start, { idleSince: start - day });
  const forgotten = conversation(owner);
  await store.createConversation(forgotten);
  await store.deleteConversation({ owner }, forgotten.id, start, { idleSince: start + day });
  await store.takeLease("work", { holder: "here", until: start }, start);
  await store.getConversation({ owner }, id);
  await store.getConversation({ owner }, { twinId, name: "chat" });
  await store.getMessage({ owner }, question.id, { ...whole, conversationId: id });
  await store.getMessage({ owner }, reply.id, { ...whole, skip: 1 });
  for (const order of ["asc", "desc"] as const) {
    await store.listMessages({ owner }, id, { ...whole, ...slice, order, after: question.id });
  }
  await converse(store, owner, id, failure);
  const failed = await converse(store, owner, id, failure);
  await converse(store, owner, id, { fork: reply });
  await converse(store, owner, id);
  await store.readHistory({ owner }, id, { after: failed.reply.id, ...whole });
  await store.listMessages({ owner }, id, { ...whole, ...slice, order: "asc", path: "all" });
  await store.updateConversation({ owner }, id, { last: failed.reply }, start);
  await store.updateConversation({ owner }, id, { last: failed.reply, title: "t" }, start);
  await store.findClaim(made);
  await store.sweep(start);
  const token = clientToken(owner);
  await store.createClientToken(token);
  await store.findClientToken(token.hash);
  await store.deleteClientTokens(owner, token.endUser, start);
  for (const order of ["asc", "desc"] as const) {
    await store.listConversations(reach, { ...slice, order, after: { id, createdAt: start } });
  }
  await store.countReply({
    owner,
    endUser: "ann",
    twinId,
    beganAt: start,
    completedAt: start,
    usage: null,
  });
  const ofOwner = { scope: "owner", owner, of: "", endUser: null, period: "day", limit: 9000 } as const;
  const budgets = [ofOwner, { ...ofOwner, scope: "endUser", of: "key", endUser: "ann" } as const];
  const told = { at: start, told: 1, budgets };
  await store.reserveTokens({ ...told, id: "msg_unstored", until: start - 1 });
  await store.readTokenBudgets(budgets, start);
  await store.countReply({
    ...{ owner, endUser: "ann", twinId, beganAt: start, completedAt: start, usage: null },
    reserved: { id: "msg_unstored", text: "B" },
  });
  await store.reserveTokens({ ...told, id: "msg_left", until: start - 1 });
  await store.sweep(start + day);
  const spending = await nextToBegin(store, owner, id);
  await store.beginReply({ ...spending, reserves: { ...told, id: spending.reply.id } });
  await store.endReply(toEnd(spending, { reserved: true }));
  for (const groupBy of ["day", "twin", "endUser"] as const) {
    await store.listUsage(owner, { ...slice, from: "2030-01-01", to: "2030-01-02", groupBy });
  }
  const twin = ownTwin(owner, "ada", {});
  await storeContent(store, owner, "text", start - looseMs);
  const put = { twin, note: null, textBytes: 4, maxTwins: 2, maxTextBytes: 8 };
  const changes = new Map([["", partOf("", "text", start)]]);
  await store.putTwinVersion({ ...put, replaces: null, changes });
  await store.putTwinVersion({ ...put, replaces: 1, changes });
  await store.putTwinVersion({ ...put, replaces: mostTwinVersions, changes });
  await store.getOwnTwin(owner, "ada");
  await store.listOwnTwins(owner, { ...slice, except: ["ada"] });
  await store.listOwnTwins(owner, { ...slice, except: [] });
  await store.getTwinVersion(owner, "ada");
  await store.listTwinVersions(owner, "ada", slice);
  await store.readTwinContent(owner, sha256("text"), 0);
  await store.deleteOwnTwin(owner, "ada", mostTwinVersions + 1, start - looseMs);
  await store.sweep(start);
  await store.forgetEndUser(owner, reach.endUser, start, tells);
  await store.ping();
  await store.deleteConversation({ owner }, id, start, { tells });
  await callWebhooks(store, hook);
  uncalled.delete("close");
  if (uncalled.size > 0)
    throw new Error(`test/contracts/store-calls.ts does not call ${[...uncalled].join(", ")}`);
}
