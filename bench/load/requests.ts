/**
 * The requests for a server under load, each with a key whose limit allows it.
 *
 * @module
 */

import type { AnswerKind } from "./answers.ts";
import { type RequestParts, requestText } from "./http-connection.ts";

/** A server to load, and what to ask it for. */
export interface Target {
  readonly name: string;
  readonly port: number;
  readonly kind: AnswerKind;
  /** The request; `{id}` in its path stands for a conversation. */
  readonly request: RequestParts;
  /** Keys, and the conversations that each may write to. Empty: the server asks for no credentials. */
  readonly clients: readonly { readonly key: string; readonly conversations: readonly string[] }[];
  /** How many requests a key allows. */
  readonly requestsPerKey: number;
}

/** Hands out requests. */
export interface Requests {
  /** @throws {Error} when the keys' limits are used up. */
  next(): string;
}

/** How often a conversation is asked before others have their turn. */
export const questionsPerConversation = 8;

/** How many conversations take turns: enough that none gets a message while it is still busy. */
const conversationsInTurn = 1280;

/** The requests of a target. */
export function createRequests(target: Target): Requests {
  const { name, request, clients } = target;
  if (clients.length === 0) {
    const text = requestText(request);
    return { next: () => text };
  }
  const texts = inConversations(target);
  return {
    next() {
      const { value } = texts.next();
      if (value !== undefined) return value;
      throw new Error(`${name} has used up the limits of its keys: choose fewer --rounds or --seconds.`);
    },
  };
}

function textWith(request: RequestParts, key: string, id: string): string {
  const headers = { ...request.headers, Authorization: `Bearer ${key}` };
  return requestText({ ...request, headers, path: request.path.replace("{id}", id) });
}

function* inConversations({ request, clients }: Target): Generator<string, undefined> {
  const atOnce = Math.ceil(conversationsInTurn / clients.length);
  const each = clients[0]?.conversations.length ?? 0;
  for (let start = 0; start < each; start += atOnce) {
    const texts = clients.flatMap(({ key, conversations }) =>
      conversations.slice(start, start + atOnce).map((id) => textWith(request, key, id)),
    );
    for (let turn = 0; turn < questionsPerConversation; turn++) yield* texts;
  }
}
