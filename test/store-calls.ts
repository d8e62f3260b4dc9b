/**
 * Calls of every method of a store.
 *
 * @module
 */

import type { Store } from "../core/store.ts";
import {
  begin,
  claim,
  conversation,
  converse,
  day,
  ending,
  exchange,
  failure,
  key,
  newOwner,
  start,
} from "./store-records.ts";

/** Calls every method of a store, on existing records. */
export async function callEverything(store: Store): Promise<void> {
  const owner = newOwner();
  const slice = { offset: 0, limit: 20 };
  const laptop = key(owner);
  await store.createKey(laptop, 50);
  await store.listKeys(owner, slice);
  await store.revokeKey(owner, laptop.id, start);
  await store.findKey(laptop.hash);
  await store.touchKey(owner, laptop.id, start);
  const made = claim(owner);
  const { id, twinId } = conversation(owner);
  await store.createConversation(conversation(owner, { id }), made);
  await store.listConversations(owner, slice);
  await store.listConversations(owner, { ...slice, twinId });
  await store.renameConversation(owner, id, "t", start);
  const begun = await begin(store, owner, id);
  const { question, reply, lease } = begun;
  await store.beginReply(exchange(owner, id));
  await store.saveReply({ owner, id: reply.id, content: "B", lease });
  await store.requestCancel(owner, reply.id);
  await store.findAbandonedReplies(start + day);
  await store.endReply(ending(begun, { leaseExpiredBefore: start }));
  await store.endReply(ending(begun));
  await store.getMessage(owner, id, question.id);
  for (const order of ["asc", "desc"] as const) {
    await store.listMessages(owner, id, { ...slice, order, after: question.id });
  }
  await converse(store, owner, id, failure);
  await converse(store, owner, id, failure);
  await store.readHistory(owner, id, 1);
  await store.findClaim(owner, made.path, made.key, start);
  await store.sweepClaims(start);
  await store.ping();
  await store.deleteConversation(owner, id);
}
