/**
 * What a service tells an operator's tools about its work: a port of plain callbacks, for metrics and traces.
 *
 * @module
 */

import { isJsonObject } from "./json.ts";
import type { Log } from "./log.ts";
import type { Rule } from "./rules.ts";

/** A request that has arrived. */
export interface RequestBegan {
  readonly requestId: string;
  /** As it was sent, so it may be any token. */
  readonly method: string;
  /** The W3C trace context (https://www.w3.org/TR/trace-context/) that came with it. Undefined: none that is valid. */
  readonly traceparent: string | undefined;
}

/** A request that has its answer. Of a stream, only its head; of a normal send, the whole reply. */
export interface RequestEnded {
  readonly requestId: string;
  /** Empty: what arrived was no HTTP request, and never began. */
  readonly method: string;
  /** The pattern of the endpoint's path, such as `/api/v1/twins/{id}`. Undefined: the path has no endpoint. */
  readonly route: string | undefined;
  /** The HTTP status. */
  readonly status: number;
  readonly durationMs: number;
}

/** What all events of a reply have. */
export interface ReplyEvent {
  /** The reply's message. */
  readonly messageId: string;
  readonly twinId: string;
  /** Whether its owner made the twin: there may be any number of these, whose ids may name people. */
  readonly isOwn: boolean;
  /** The name of the engine that replies. */
  readonly engine: string;
}

/** A reply that this process begins to produce. */
export interface ReplyBegan extends ReplyEvent {
  readonly conversationId: string;
  /** The request that sent the question. Undefined: another process received it. */
  readonly requestId: string | undefined;
  /** 1, or 2 if another process began it and this one has taken it over. */
  readonly attempt: number;
}

/** The first text of a reply. */
export interface ReplyFirstText extends ReplyEvent {
  /** Since this process began the reply. */
  readonly durationMs: number;
}

/** A tool that a reply's model has called, as the call has ended. */
export interface ToolCalled extends ReplyEvent {
  /** Such as `orders/find`. */
  readonly tool: string;
  readonly callId: string;
  /** `failed`: refused, timed out, or what the tool reported. */
  readonly status: "done" | "failed";
  readonly durationMs: number;
}

/** A reply that this process has ended. */
export interface ReplyEnded extends ReplyEvent {
  /** `lost`: it was deleted, or another process has taken it over. */
  readonly status: "completed" | "cancelled" | "failed" | "lost";
  /** Such as `stop`. Null: it was not completed. */
  readonly finishReason: string | null;
  /** The failure's code, such as `model_error`. Null: it has not failed. */
  readonly errorCode: string | null;
  /** Tokens as the model counted them. Null: it did not. */
  readonly usage: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    /** Those of the input that the model had in its cache. Null: it does not say. */
    readonly cachedInputTokens: number | null;
  } | null;
  /** Since this process began the reply. */
  readonly durationMs: number;
}

/** A stream that a client follows: of one reply, or of a conversation. */
export interface FollowedStream {
  readonly requestId: string;
  /** The reply's message. Undefined: it is a conversation's stream. */
  readonly messageId: string | undefined;
}

/** A request that was refused with 429. */
export interface RateLimited {
  /** The scope of the key. Undefined: the limit is that of creating keys. */
  readonly scope: string | undefined;
}

/** A delivery to a webhook that this process has tried. */
export interface WebhookTried {
  /** What it tells of, such as `reply.completed`. */
  readonly event: string;
  /** How the delivery is after that: `pending`, if it will be tried again. */
  readonly status: "delivered" | "pending" | "failed";
}

/** A request whose credential was refused with 401. */
export interface CredentialRefused {
  readonly requestId: string;
  /** `signature`: of a JWT; `claim`: one of a JWT's claims; `other`: the host's own reason. */
  readonly reason: "malformed" | "unknown" | "expired" | "revoked" | "signature" | "claim" | "other";
}

/**
 * Callbacks, each optional. They are called synchronously, so they must be quick. What one throws is logged, and has no
 * other effect. A callback that is absent costs nothing.
 */
export interface Observer {
  requestBegan?(event: RequestBegan): void;
  requestEnded?(event: RequestEnded): void;
  replyBegan?(event: ReplyBegan): void;
  replyFirstText?(event: ReplyFirstText): void;
  toolCalled?(event: ToolCalled): void;
  replyEnded?(event: ReplyEnded): void;
  streamOpened?(event: FollowedStream): void;
  streamClosed?(event: FollowedStream): void;
  rateLimited?(event: RateLimited): void;
  credentialRefused?(event: CredentialRefused): void;
  webhookTried?(event: WebhookTried): void;
  /**
   * The W3C trace context that a reply's request to its model carries. Without it, or if it returns undefined, the
   * model gets the one that came with the send.
   */
  traceparentOf?(messageId: string): string | undefined;
}

const callbacks = [
  "requestBegan",
  "requestEnded",
  "replyBegan",
  "replyFirstText",
  "toolCalled",
  "replyEnded",
  "streamOpened",
  "streamClosed",
  "rateLimited",
  "credentialRefused",
  "webhookTried",
  "traceparentOf",
] as const satisfies readonly (keyof Observer)[];

/** An {@link Observer}. */
export const observerRule: Rule = {
  expected: `an object with any of the functions ${callbacks.join(", ")}, and no other members`,
  accepts(value) {
    if (!isJsonObject(value)) return false;
    const known = callbacks.every((name) => value[name] === undefined || typeof value[name] === "function");
    // A misspelt callback would never be called.
    return known && Object.keys(value).every((name) => callbacks.some((callback) => callback === name));
  },
};

/** The same callbacks, except that what one throws is logged. */
export function guardObserver(observer: Observer, log: Log): Observer {
  const guarded = callbacks.flatMap((name) => {
    const callback: ((argument: never) => unknown) | undefined = observer[name];
    if (!callback) return [];
    const safe = (argument: never) => {
      try {
        return callback.call(observer, argument);
      } catch (error) {
        log("error", "a callback of observe failed", { callback: name, error });
        return undefined;
      }
    };
    return [[name, safe]];
  });
  return Object.fromEntries(guarded) as Observer;
}
