/**
 * What everything in this folder shares.
 *
 * @module
 */

import type { Clock, InFlight } from "../base/clock.ts";
import type { NewId, Sha256 } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { MemoryBudget } from "../base/memory-budget.ts";
import type { Observer } from "../base/observe.ts";
import type { MessageRecord } from "../store/records.ts";
import type { Lease, Store } from "../store/store.ts";
import type { Telling } from "../store/webhooks.ts";
import type { DecidedCalls, HistoryMessage, ReplyFormat, TwinEngine } from "../twins/engine.ts";
import type { Guard } from "../twins/guard.ts";
import type { Twin, TwinSource } from "../twins/twins.ts";
import type { ConversationCache } from "./conversation-cache.ts";
import type { ConversationChanges } from "./conversation-changes.ts";
import type { RunningCounts, RunningLimit } from "./limits.ts";

/** What replies need. */
export interface ReplyContext {
  readonly store: Store;
  readonly conversations: ConversationCache;
  readonly changes: ConversationChanges;
  readonly clock: Clock;
  readonly log: Log;
  readonly observe: Observer;
  readonly newId: NewId;
  readonly sha256: Sha256;
  readonly twins: TwinSource;
  readonly engines: Readonly<Record<string, TwinEngine>>;
  /** What engines are asked through. Undefined: nothing. */
  readonly guard: Guard | undefined;
  /** How long a producer keeps its reply without saving it, in milliseconds. */
  readonly leaseMs: number;
  /** Silence on a stream after which a keep-alive comment is sent, in milliseconds. */
  readonly heartbeatMs: number;
  /** The longest time that one attempt at a reply may take, in milliseconds. */
  readonly maxReplyMs: number;
  /** After how many days without a message a conversation is deleted. Undefined: never. */
  readonly retentionDays: number | undefined;
  /** Whether a reply is cancelled when its last follower has left. */
  readonly cancelOnDisconnect: boolean;
  /** Tells the host of work that goes on after an answer. */
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined;
  /** What a shutdown waits for: sends on their way to the store, producers, and waits for the ends of replies. */
  readonly inFlight: InFlight;
  /** Lets writes tell webhooks. Undefined: webhooks are off. */
  readonly tells: Telling | undefined;
  /** Delivers what is due to webhooks. Undefined: webhooks are off. */
  readonly deliverDue: (() => Promise<void>) | undefined;
  readonly counts: RunningCounts;
  /** What all hold in memory. */
  readonly memory: MemoryBudget;
}

/** One attempt at a reply. */
export interface Production {
  /** What it counts towards while it runs. Absent: it was taken over, and is not refused. */
  readonly limits?: readonly RunningLimit[] | undefined;
  readonly owner: string;
  readonly endUser?: string | undefined;
  /** Whether tokens are reserved for it. */
  readonly reserved: boolean;
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
  /** Whether calls may wait for the person who asks. */
  readonly mayAsk?: boolean | undefined;
  /** The calls of the reply before, which the question decides. */
  readonly decided?: DecidedCalls | undefined;
  /** Whether its client reads along. */
  readonly readAlong: boolean;
  /** The form that it is to have. Absent: text. */
  readonly format?: ReplyFormat | undefined;
}
