/**
 * The endpoints of an owner's end users: what is stored of one, to take along or to erase.
 *
 * @module
 */

import { bucketOf, bucketOfUser } from "../http/admission.ts";
import { unavailable } from "../http/envelope.ts";
import { type HandlerContext, route } from "../http/route.ts";
import type { ConversationRecord } from "../store/records.ts";
import type { Reach, Store } from "../store/store.ts";
import { conversationResource, memoryResource, messageResource } from "../wire/resources.ts";
import { endUserParamsSchema, erasedSchema, exportLineSchema } from "../wire/schemas.ts";
import { TextStream } from "../wire/text-stream.ts";

/** How many conversations, or messages, are read at a time. */
const recordsAtOnce = 20;

/** How many characters of messages are read at a time, if one has no more by itself. */
const charactersAtOnce = 256 * 1024;

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
    async handle({ caller: { owner }, params, requestId }, { store, clock, log, memory }) {
      const { endUser } = params;
      const pieces = exportPieces(store, { owner, endUser });
      const failed = (error: unknown) => log("error", "an export broke off", { requestId, error });
      return { lines: new TextStream({ pieces, clock, failed, memory: memory.hold(owner) }) };
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
      const { store, keys, replies, clock } = context;
      const clientTokens = await store.deleteClientTokens(owner, endUser, clock.now());
      keys.forgetClientTokens(owner, endUser);
      await replies.erase(owner, endUser); // before the sums: they are counted under the name once more
      const erased = await eraseConversations(context, { owner, endUser });
      await store.forgetEndUser(owner, endUser);
      await forgetBuckets(context, owner, endUser).catch((error: unknown) => {
        throw unavailable(error); // to be repeated: nothing may be left
      });
      return { data: { endUser, ...erased, clientTokens } };
    },
  }),
];

async function* exportPieces(store: Store, reach: Reach & { readonly endUser: string }) {
  for (const memory of await store.listMemories(reach.owner, reach.endUser)) {
    yield lineOf({ memory: memoryResource(memory) });
  }
  for (let after: ConversationRecord | undefined; ; ) {
    const slice = { offset: 0, limit: recordsAtOnce, order: "asc", after } as const;
    const { items } = await store.listConversations(reach, slice);
    for (const conversation of items) {
      yield lineOf({ conversation: conversationResource(conversation) });
      yield* messagePieces(store, reach, conversation.id);
    }
    after = items.at(-1);
    if (!after) return;
  }
}

async function* messagePieces(store: Store, reach: Reach, conversationId: string) {
  const slice = { path: "all", limit: recordsAtOnce, order: "asc", characters: charactersAtOnce } as const;
  for (let offset = 0; ; ) {
    const messages = await store.listMessages(reach, conversationId, { ...slice, offset });
    if (!messages?.items.length) return; // the conversation may have been deleted in the meantime
    yield messages.items.map((message) => lineOf({ message: messageResource(message) })).join("");
    offset += messages.items.length;
  }
}

function lineOf(record: object): string {
  return `${JSON.stringify(record)}\n`;
}

/** Deletes an end user's conversations with their messages, and stops their replies, wherever these run. */
async function eraseConversations(
  { store, clock, replies }: HandlerContext,
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
    const deleted = await Promise.all(some.map(({ id }) => store.deleteConversation(reach, id, clock.now())));
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
