/**
 * Signals between processes over PostgreSQL's LISTEN and NOTIFY.
 *
 * @module
 */

import type { Client, Pool } from "pg";
import { Underway } from "../../core/base/in-flight.ts";
import type { Log } from "../../core/base/log.ts";
import type { StoreSignals } from "../../core/store/store.ts";
import { prepared } from "./driver.ts";

/** The one PostgreSQL channel; topic and subject travel in the payload. */
const channel = "twins";

/** Pause before a connection that broke is replaced, in milliseconds. */
const reconnectMs = 500;

/** How often the connection is tested, in milliseconds: one that died silently would never report it. */
const heartbeatMs = 10_000;

/** Options of {@link openSignals}. */
export interface SignalsOptions {
  /** Creates a connection that is not open yet: listening needs its own. */
  readonly connect: () => Client;
  /** The pool that signals are sent through. */
  readonly pool: Pool;
  readonly log: Log;
}

/** Signals that can be closed. */
export interface Signals extends StoreSignals {
  /** Waits for signals that are being sent, and stops listening. The connection then closes. */
  close(): Promise<void>;
}

/** Starts listening, and reconnects whenever the connection is lost. */
export function openSignals({ connect, pool, log }: SignalsOptions): Signals {
  const listeners = new Map<string, Set<(subject: string) => void>>();
  const sending = new Underway();
  let client: Client | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;

  function hear(payload = ""): void {
    const [topic = "", subject = ""] = payload.split(" ", 2);
    for (const heard of [...(listeners.get(topic) ?? [])]) heard(subject);
  }

  async function listen(): Promise<void> {
    const listening = connect();
    client = listening;
    listening.on("error", () => lose(listening));
    listening.on("end", () => lose(listening));
    listening.on("notification", ({ payload }) => hear(payload));
    try {
      await listening.connect();
      await listening.query(`LISTEN ${channel}`);
      scheduleHeartbeat(listening);
    } catch (error) {
      log("debug", "listening to PostgreSQL's notifications failed", { error });
      lose(listening);
    }
  }

  function scheduleHeartbeat(listening: Client): void {
    if (closed || listening !== client) return;
    timer = setTimeout(async () => {
      try {
        await listening.query("SELECT 1");
        scheduleHeartbeat(listening);
      } catch (error) {
        log("debug", "the connection for notifications is dead", { error });
        lose(listening);
      }
    }, heartbeatMs);
  }

  function lose(lost: Client): void {
    if (closed || lost !== client) return;
    client = undefined;
    clearTimeout(timer);
    timer = setTimeout(() => void listen(), reconnectMs);
    lost.end().catch(noteUnclosed);
  }

  function noteUnclosed(error: unknown): void {
    log("debug", "a connection did not close", { error });
  }

  async function send(topic: string, subject: string): Promise<void> {
    try {
      await pool.query(prepared("SELECT pg_notify($1, $2)", [channel, `${topic} ${subject}`]));
    } catch (error) {
      log("debug", "a signal was not sent; other processes poll instead", { topic, error });
    }
  }

  void listen();

  return {
    notify(topic, subject) {
      sending.track(send(topic, subject));
    },
    listen(topic, heard) {
      const others = listeners.get(topic) ?? new Set();
      listeners.set(topic, others.add(heard));
      return () => {
        others.delete(heard);
      };
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await sending.idle();
      client?.end().catch(noteUnclosed);
    },
  };
}
