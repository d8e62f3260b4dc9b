/**
 * What everything in this folder shares.
 *
 * @module
 */

import type { Clock, InFlight } from "../base/clock.ts";
import type { NewId, Sha256 } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Observer } from "../base/observe.ts";
import type { MessageRecord } from "../store/records.ts";
import type { Lease, Store } from "../store/store.ts";
import type { HistoryMessage, TwinEngine } from "../twins/engine.ts";
import type { Twin, TwinSource } from "../twins/twins.ts";
import type { ConversationCache } from "./conversation-cache.ts";

/** What replies need. */
export interface ReplyContext {
  readonly store: Store;
  readonly conversations: ConversationCache;
  readonly clock: Clock;
  readonly log: Log;
  readonly observe: Observer;
  readonly newId: NewId;
  readonly sha256: Sha256;
  readonly twins: TwinSource;
  readonly engines: Readonly<Record<string, TwinEngine>>;
  /** How long a producer keeps its reply without saving it, in milliseconds. */
  readonly leaseMs: number;
  /** Silence on a stream after which a keep-alive comment is sent, in milliseconds. */
  readonly heartbeatMs: number;
  /** The longest time that one attempt at a reply may take, in milliseconds. */
  readonly maxReplyMs: number;
  /** Whether a reply is cancelled when its last follower has left. */
  readonly cancelOnDisconnect: boolean;
  /** Tells the host of work that goes on after an answer. */
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined;
  /** What a shutdown waits for: sends on their way to the store, producers, and waits for the ends of replies. */
  readonly inFlight: InFlight;
}

/** One attempt at a reply. */
export interface Production {
  readonly owner: string;
  readonly twin: Twin;
  /** Undefined: the twin names an engine that the service does not have. */
  readonly engine: TwinEngine | undefined;
  readonly question: MessageRecord;
  /** What the engine is to know of earlier messages. Undefined: what the conversation has. */
  readonly history?: readonly HistoryMessage[] | undefined;
  /** The reply, in progress, with the text of earlier attempts. */
  readonly reply: MessageRecord;
  /** The lease that it is stored with. */
  readonly lease: Lease;
  /** The request that began it, for the log. Undefined for a reply that was taken over. */
  readonly requestId: string | undefined;
  /** The W3C trace context of that request. Undefined: it had none. */
  readonly traceparent: string | undefined;
  /** Whether its client reads along. */
  readonly readAlong: boolean;
}
