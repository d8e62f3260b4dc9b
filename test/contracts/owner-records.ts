/**
 * One owner's records of every kind, and everything that a store returns of them.
 */

import type { IdempotencyClaim, MessageRecord } from "../../core/store/records.ts";
import type { BeginReply, Store } from "../../core/store/store.ts";
import {
  claim,
  converse,
  day,
  failure,
  key,
  messagesOf,
  newConversation,
  newOwner,
  nextToBegin,
  ownTwin,
  partOf,
  start,
  storeContent,
} from "./store-records.ts";
import { whole } from "./whole.ts";

/** An owner's records. */
export interface Records {
  readonly owner: string;
  readonly claim: IdempotencyClaim;
  readonly running: BeginReply & { readonly conversationId: string };
  /** A conversation with ended replies of every kind. */
  readonly idle: string;
}

/** Creates records of every kind for a new owner. */
export async function fill(store: Store): Promise<Records> {
  const owner = newOwner();
  const made = claim(owner);
  await store.createKey(key(owner), 50);
  const idle = await newConversation(store, owner, { title: "Of the sea" });
  const usage = { inputTokens: 12, outputTokens: 3, totalTokens: 15, cachedInputTokens: 8 };
  await converse(store, owner, idle.id, { usage, content: "So 🤖" });
  for (let n = 0; n < 9; n++) await converse(store, owner, idle.id, failure);
  await converse(store, owner, idle.id, { status: "cancelled", finishReason: "cancelled", content: "Bec" });
  await newConversation(store, owner);

  const { id: conversationId } = await newConversation(store, owner, { twinId: "bob" });
  await converse(store, owner, conversationId);
  const begun = await nextToBegin(store, owner, conversationId, {
    holder: "us",
    leaseUntil: start + 100,
    claim: made,
  });
  await store.beginReply(begun);
  await store.saveReply({ owner, id: begun.reply.id, content: "Be", lease: begun.lease });
  await store.requestCancel({ owner }, begun.reply.id);

  // More rows than are copied at a time.
  for (let version = 0; version < 25; version++) {
    const text = `Version ${version} 🤖`;
    await storeContent(store, owner, text);
    await store.putTwinVersion({
      twin: ownTwin(owner, "ada", {}),
      replaces: version || null,
      note: null,
      changes: new Map([["", partOf("", text, start)]]),
      textBytes: text.length,
      maxTwins: 1,
      maxTextBytes: 100,
    });
  }
  return { owner, claim: made, running: { ...begun, conversationId }, idle: idle.id };
}

/** Everything that a store returns of an owner's records. */
export async function readAll(store: Store, { owner, claim: made }: Records) {
  const slice = { offset: 0, limit: 100 };
  const conversations = await store.listConversations({ owner }, slice);
  const found = await Promise.all(
    conversations.items.map(async ({ id }) => {
      const messages = await messagesOf(store, owner, id);
      const alone = messages.items.map((message: MessageRecord) =>
        store.getMessage({ owner }, message.id, whole),
      );
      const newest = await store.listMessages({ owner }, id, { ...whole, ...slice, order: "desc" });
      const history = await store.readHistory({ owner }, id, {
        after: messages.items.at(-1)?.id ?? "",
        ...whole,
      });
      const conversation = await store.getConversation({ owner }, id);
      return { conversation, messages, alone: await Promise.all(alone), newest, history };
    }),
  );
  const twin = await Promise.all(
    [1, 2, 24, 25].map(async (version) => {
      const stored = await store.getTwinVersion(owner, "ada", version);
      const contents = stored?.parts.map(({ digest }) => store.readTwinContent(owner, digest, 0)) ?? [];
      return { stored, contents: await Promise.all(contents) };
    }),
  );
  const abandoned = await store.findAbandonedReplies(start + day);
  return {
    keys: await store.listKeys(owner, slice),
    conversations,
    withTwin: await store.listConversations({ owner }, { ...slice, twinIds: ["bob"] }),
    found,
    twin,
    twins: await store.listOwnTwins(owner, { ...slice, except: [] }),
    abandoned: abandoned.filter((each) => each.owner === owner),
    claim: await store.findClaim(made),
  };
}
