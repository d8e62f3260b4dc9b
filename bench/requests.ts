/**
 * The requests of a contender, each with a key whose budget allows it.
 *
 * @module
 */

import type { AnswerKind } from "./answers.ts";
import { requestText } from "./http-connection.ts";
import type { Client } from "./servers/reply.ts";

/** A server to load, and what to ask it for. */
export interface Target {
  readonly name: string;
  readonly port: number;
  readonly kind: AnswerKind;
  readonly method: "GET" | "POST";
  /** The path; `{id}` stands for a conversation. */
  readonly path: string;
  /** Empty: the server asks for no credentials. */
  readonly clients: readonly Client[];
  /** How many messages are sent into a conversation. */
  readonly turns: number;
  /** How many tokens a reply has. */
  readonly length: number;
}

/** A key's hourly budget is 500 requests; a few are left for probing. */
export const requestsPerKey = 490;

const question = JSON.stringify({ content: "Tell me of the sea, and of what lies beneath." });

/** Hands out requests, each with a key whose budget allows it. */
export interface Requests {
  next(): string;
}

/** The requests of a target. `next` throws when the keys' budgets are used up. */
export function createRequests(target: Target): Requests {
  const { name, method, path, clients } = target;
  const body = method === "POST" ? question : undefined;
  if (clients.length === 0) {
    const request = requestText(method, path, "", body);
    return { next: () => request };
  }
  const texts = requestTexts(target, body);
  return {
    next() {
      const { value } = texts.next();
      if (value === undefined)
        throw new Error(`${name} has used up the budgets of its keys: choose fewer --rounds or --seconds.`);
      return value;
    },
  };
}

/** How many conversations take turns: enough that none gets a message while it is still busy. */
const conversationsInTurn = 1280;

function* requestTexts(
  { method, path, clients, turns }: Target,
  body: string | undefined,
): Generator<string, undefined> {
  if (!path.includes("{id}")) {
    for (let request = 0; request < requestsPerKey; request++) {
      for (const { key } of clients) yield requestText(method, path, key, body);
    }
    return undefined;
  }
  const atOnce = Math.ceil(conversationsInTurn / clients.length);
  const perClient = Math.min(clients[0]?.conversations.length ?? 0, Math.floor(requestsPerKey / turns));
  for (let start = 0; start < perClient; start += atOnce) {
    for (let turn = 0; turn < turns; turn++) {
      for (let index = start; index < Math.min(start + atOnce, perClient); index++) {
        for (const { key, conversations } of clients) {
          yield requestText(method, path.replace("{id}", conversations[index] ?? ""), key, body);
        }
      }
    }
  }
  return undefined;
}
