/**
 * Delivers what the store has for webhooks: takes what is due, tries it, and stores how that ended. Each process does; a lease
 * gives a delivery to one of them. The core's `Recovery` has it look every two seconds, and who writes an event at once.
 *
 * @module
 */

import { InFlight, longestTimerMs } from "../../core/base/clock.ts";
import type { Deliverer, DeliveryParts } from "../../core/store/deliverer.ts";
import type { TakenDelivery, WebhookRecord } from "../../core/store/webhooks.ts";
import { findTarget, type ListedHost, RefusedAddress, type Target } from "./addresses.ts";
import type { LookUps } from "./look-ups.ts";
import { bodyOf, signatureHeaders } from "./message.ts";
import type { post } from "./post.ts";

/** What delivers besides the service's parts. */
export interface Delivering {
  readonly hosts: readonly ListedHost[];
  readonly lookUps: LookUps;
  readonly post: typeof post;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** The pauses between tries, from the end of one to the beginning of the next, in milliseconds. After the last one it has failed. */
const pauses = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  ...[1, 2, 4, 8, 8].map((hours) => hours * hour),
];

/** How long a try may take, in milliseconds: finding the address, connecting, and the answer. */
const tryMs = 10 * second;

/** For how long a process may try a delivery before another one does, in milliseconds. */
const leaseMs = tryMs + 5 * second;

/** How many deliveries to one webhook are tried at once. */
const triesAtOnce = 4;

/** How long deliveries are kept, and how often older ones are looked for, in milliseconds. */
const keptMs = 7 * 24 * hour;
const sweepMs = 10 * second;

/** What this process does for one webhook. Forgotten when that is nothing. */
interface Line {
  running: number;
  isTaking: boolean;
  /** Whether more may be due than was taken. */
  hasMore: boolean;
}

/** Begins to deliver. */
export function openDeliverer(parts: DeliveryParts, delivering: Delivering): Deliverer {
  const { store, clock, log, observe, holder } = parts;
  const { hosts, lookUps, post } = delivering;
  const lines = new Map<string, Line>();
  const inFlight = new InFlight();
  const closing = new AbortController();
  let timer: { readonly at: number; cancel(): void } | undefined;
  let sweptAt = Number.NEGATIVE_INFINITY;

  /** Looks again at a moment, unless that will be done before. */
  function lookAt(at: number): void {
    if (closing.signal.aborted || (timer && timer.at <= at)) return;
    timer?.cancel();
    const pause = Math.min(Math.max(at - clock.now(), 0), longestTimerMs);
    const cancel = clock.after(pause, () => {
      timer = undefined;
      look().catch(explain);
    });
    timer = { at, cancel };
  }

  /** The next look of the service follows by itself. */
  function explain(error: unknown): void {
    log("warn", "what webhooks are told could not be read; it will be tried again", { error });
  }

  async function look(): Promise<void> {
    const waiting = await store.findWaitingWebhooks();
    const now = clock.now();
    for (const { id, dueAt } of waiting) {
      if (dueAt > now) lookAt(dueAt);
      else take(id);
    }
  }

  /** Takes what is due for a webhook, as far as there is room. */
  function take(webhookId: string): void {
    if (closing.signal.aborted) return;
    const line = lines.get(webhookId) ?? { running: 0, isTaking: false, hasMore: false };
    lines.set(webhookId, line);
    if (line.isTaking || line.running >= triesAtOnce) {
      line.hasMore = true;
      return;
    }
    line.isTaking = true;
    line.hasMore = false;
    const taking = takeInto(webhookId, line).catch(explain);
    inFlight.track(taking);
    void taking.finally(() => {
      line.isTaking = false;
      goOn(webhookId, line);
    });
  }

  async function takeInto(webhookId: string, line: Line): Promise<void> {
    const room = triesAtOnce - line.running;
    const now = clock.now();
    const taken = await store.takeDeliveries(webhookId, { holder, until: now + leaseMs }, now, room);
    if (!taken) return;
    if (taken.deliveries.length === room) line.hasMore = true;
    for (const delivery of taken.deliveries) {
      line.running++;
      const delivering = deliver(taken.webhook, delivery);
      inFlight.track(delivering);
      void delivering.finally(() => {
        line.running--;
        goOn(webhookId, line);
      });
    }
  }

  function goOn(webhookId: string, line: Line): void {
    if (line.hasMore && !line.isTaking && line.running < triesAtOnce) take(webhookId);
    else if (line.running === 0 && !line.isTaking && lines.get(webhookId) === line) lines.delete(webhookId);
  }

  /** Tries a delivery once. Never rejects. */
  async function deliver(webhook: WebhookRecord, delivery: TakenDelivery): Promise<void> {
    if (closing.signal.aborted) return; // its lease is given back
    const { id, event, attempts } = delivery;
    const { status: lastStatus = null, problem } = await tryOnce(webhook, delivery);
    if (closing.signal.aborted && lastStatus === null) return;
    const isDelivered = lastStatus !== null && lastStatus >= 200 && lastStatus < 300;
    const isGone = lastStatus === 410;
    const pause = isDelivered || isGone ? undefined : pauses[attempts - 1];
    const nextAttemptAt = pause === undefined ? null : clock.now() + pause;
    const status = isDelivered ? "delivered" : nextAttemptAt === null ? "failed" : "pending";
    observe.webhookTried?.({ event, status });
    if (!isDelivered) {
      const how = { webhookId: webhook.id, deliveryId: id, event, attempts, status: lastStatus, problem };
      if (isGone) log("warn", "a webhook is disabled, as its receiver says that it is gone", how);
      else if (nextAttemptAt === null) log("warn", "a webhook was not told; it is not tried again", how);
      else log("info", "a webhook was not told; it will be tried again", how);
    }
    const disables = isGone ? webhook.secret : undefined;
    const tried = { id, webhookId: webhook.id, holder, status, lastStatus, nextAttemptAt, disables } as const;
    try {
      await store.settleDelivery(tried);
      if (nextAttemptAt !== null) lookAt(nextAttemptAt);
    } catch (error) {
      log("warn", "a delivery's end could not be stored; it will be tried again", { deliveryId: id, error });
    }
  }

  /** The status of the answer, or what was wrong: a word of this program or of the system, never the receiver's. */
  async function tryOnce(
    webhook: WebhookRecord,
    delivery: TakenDelivery,
  ): Promise<{ readonly status?: number; readonly problem?: string }> {
    const ending = new AbortController();
    let problem = "time-out";
    const end = () => ending.abort();
    const callOff = clock.after(tryMs, end);
    closing.signal.addEventListener("abort", end);
    try {
      const asking = { owner: webhook.owner, clock, signal: ending.signal };
      const target = await findTarget(webhook.url, hosts, (name) => lookUps.find(name, asking));
      return { status: await send(target, webhook, delivery, ending.signal) };
    } catch (error) {
      if (!ending.signal.aborted) problem = problemOf(error);
      return { problem };
    } finally {
      callOff();
      closing.signal.removeEventListener("abort", end);
    }
  }

  function send(
    target: Target,
    webhook: WebhookRecord,
    delivery: TakenDelivery,
    signal: AbortSignal,
  ): Promise<number> {
    const body = bodyOf(delivery);
    const headers = {
      "Content-Type": "application/json",
      "User-Agent": "twin-service",
      ...signatureHeaders(delivery.id, body, webhook, clock.now()),
    };
    return post(target, { headers, body, signal });
  }

  async function sweep(): Promise<void> {
    const now = clock.now();
    if (now - sweptAt < sweepMs && now >= sweptAt) return;
    sweptAt = now;
    await store.sweepDeliveries(now - keptMs);
  }

  return {
    told(webhookIds) {
      for (const id of webhookIds) take(id);
    },

    async start() {
      // On a store that only this process uses, another process's lease is that of an earlier run.
      if (store.exclusive) await store.releaseDeliveries(undefined, clock.now());
      await look();
    },

    async deliverDue() {
      await look();
      await sweep();
    },

    async close() {
      closing.abort();
      timer?.cancel();
      await inFlight.idle(); // only the store is waited for
      await store.releaseDeliveries(holder, clock.now()).catch((error: unknown) => {
        log("warn", "deliveries could not be left to others, who wait until their leases end", { error });
      });
    },
  };
}

/** A word for what went wrong: a code of the system, such as ECONNREFUSED. */
function problemOf(error: unknown): string {
  if (error instanceof RefusedAddress) return "address";
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z_0-9]{1,60}$/.test(code) ? code : "connection";
}
