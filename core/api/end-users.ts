/**
 * The endpoints of an owner's end users: what is stored of one, to take along or to erase.
 *
 * @module
 */

import { cachedMs } from "../auth/key-lookup.ts";
import { sleep } from "../base/clock.ts";
import { bucketOf, bucketOfUser } from "../http/admission.ts";
import { unavailable } from "../http/envelope.ts";
import { type HandlerContext, route } from "../http/route.ts";
import { readPortions } from "../store/portions.ts";
import { type ConversationRecord, mostCharactersRemembered } from "../store/records.ts";
import type { Reach } from "../store/store.ts";
import { jsonLines } from "../wire/json.ts";
import { conversationResource, memoryResource, messageResource } from "../wire/resources.ts";
import { endUserParamsSchema, erasedSchema, exportLineSchema } from "../wire/schemas.ts";
import { TextStream } from "../wire/text-stream.ts";

/** How many conversations, or memories, are read at a time. */
const recordsAtOnce = 20;

/** How many conversations, and messages, are deleted at a time, in one transaction. */
const deletedAtOnce = 20;
const messagesDeletedAtOnce = 200;

export const endUserRoutes = [
  route({
    operationId: "exportEndUser",
    audit: { action: "export_end_user", object: "endUser" },
    method: "GET",
    path: "/api/v1/end-users/{endUser}/export",
    summary: "Export all that is stored about an end user, one JSON object on each line, oldest first",
    credential: "api_key",
    scope: "read_only",
    ownersOnly: true,
    params: endUserParamsSchema,
    success: {
      status: 200,
      description:
        "What twins know of the person, then each conversation, followed by its messages. Empty if there is nothing.",
      schema: exportLineSchema,
      lines: true,
    },
    async handle({ caller: { owner }, params, requestId, memory }, context) {
      const { clock, log } = context;
      const pieces = exportPieces(context, { owner, endUser: params.endUser });
      const failed = (error: unknown) => log("error", "an export broke off", { requestId, error });
      return { lines: new TextStream({ pieces, clock, failed, memory }) };
    },
  }),

  route({
    operationId: "eraseEndUser",
    audit: { action: "erase_end_user", object: "endUser" },
    method: "DELETE",
    path: "/api/v1/end-users/{endUser}",
    summary: "Erase all that is stored about an end user, for ever; running replies are cancelled",
    credential: "api_key",
    scope: "full_access",
    ownersOnly: true,
    params: endUserParamsSchema,
    success: { status: 200, description: "What was erased.", schema: erasedSchema },
    async handle({ caller: { owner }, params }, context) {
      const { endUser } = params;
      const { store, keys, replies, clock, log, tells } = context;
      const clientTokens = await store.deleteClientTokens(owner, endUser, clock.now());
      keys.forgetClientTokens(owner, endUser);
      await replies.erase(owner, endUser); // before the sums: they are counted under the name once more
      const erased = await eraseConversations(context, { owner, endUser });
      await store.forgetEndUser(owner, endUser, clock.now(), tells);
      await forgetBuckets(context, owner, endUser).catch((error: unknown) => {
        throw unavailable(error); // to be repeated: nothing may be left
      });
      clock.after(cachedMs, () => {
        // Until now, another process may have taken from them.
        forgetBuckets(context, owner, endUser).catch((error: unknown) =>
          log("error", "buckets stay", { error }),
        );
      });
      return { data: { endUser, ...erased, clientTokens } };
    },
  }),
];

async function* exportPieces(context: HandlerContext, reach: Reach & { readonly endUser: string }) {
  const { store, retentionDays } = context;
  const slice = { limit: recordsAtOnce, charactersOfEach: mostCharactersRemembered };
  for (let after: string | undefined; ; ) {
    const memories = await store.listMemories(reach.owner, reach.endUser, { ...slice, after });
    if (memories.length === 0) break;
    yield* jsonLines(memories.map((memory) => ({ memory: memoryResource(memory) })));
    after = memories.at(-1)?.twinId;
  }
  for (let after: ConversationRecord | undefined; ; ) {
    const slice = { offset: 0, limit: recordsAtOnce, order: "asc", after } as const;
    const { items } = await store.listConversations(reach, slice);
    for (const conversation of items) {
      yield* jsonLines([{ conversation: conversationResource(conversation, retentionDays) }]);
      yield* messagePieces(context, reach, conversation.id);
    }
    after = items.at(-1);
    if (!after) return;
  }
}

/** The most that a portion of messages takes, in bytes: the longest reply is one by itself. */
const mostOfPortion = 8 * 1024 * 1024;

/** How long an export waits where others hold all memory, in milliseconds. */
const waitMs = 500;

/** A portion is read once there is memory for the longest, and what it takes is held until its last piece is asked for. */
async function* messagePieces(
  { store, clock, memory }: HandlerContext,
  reach: Reach,
  conversationId: string,
) {
  const all = Number.MAX_SAFE_INTEGER;
  const slice = { path: "all", order: "asc", offset: 0, limit: all, characters: all } as const;
  const portions = readPortions(store, reach, conversationId, slice);
  const held = memory.hold({ owner: reach.owner });
  try {
    for (;;) {
      while (!held.reserve(mostOfPortion)) await sleep(clock, waitMs);
      const { done, value } = await portions.next();
      if (done) return;
      held.release();
      held.count(2 * value.items.reduce((length, { content }) => length + content.length, 0));
      yield* jsonLines(value.items.map((message) => ({ message: messageResource(message) })));
      held.release();
    }
  } finally {
    held.release();
  }
}

/** Deletes an end user's conversations with their messages, and stops their replies, wherever these run. */
async function eraseConversations(
  { store, clock, replies, tells }: HandlerContext,
  reach: Reach,
): Promise<{ conversations: number; messages: number }> {
  const erased = { conversations: 0, messages: 0 };
  for (;;) {
    const { items } = await store.listConversations(reach, { offset: 0, limit: deletedAtOnce });
    if (items.length === 0) return erased;
    let messages = 0;
    const some = items.filter(({ logLength }, index) => {
      messages += logLength;
      return index === 0 || messages <= messagesDeletedAtOnce;
    });
    const deleted = await Promise.all(
      some.map(({ id }) => store.deleteConversation(reach, id, clock.now(), { tells })),
    );
    for (const conversation of deleted) {
      if (!conversation) continue;
      erased.conversations++;
      erased.messages += conversation.logLength;
      replies.drop(conversation);
    }
  }
}

/** Removes the end user's buckets: as a user of the host, and of all keys of the owner. */
async function forgetBuckets(
  { store, limiter }: HandlerContext,
  owner: string,
  endUser: string,
): Promise<void> {
  await limiter.forget([bucketOfUser(owner, endUser)]);
  for (let offset = 0; ; offset += 100) {
    const { items } = await store.listKeys(owner, { offset, limit: 100 });
    if (items.length === 0) return;
    await limiter.forget(items.map(({ id }) => bucketOf(id, endUser)));
  }
}
