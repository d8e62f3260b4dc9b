/**
 * Signals between processes over PostgreSQL's LISTEN and NOTIFY.
 *
 * @module
 */

import { randomUUID } from "node:crypto";
import type { Client, Pool } from "pg";
import { InFlight } from "../../core/base/clock.ts";
import type { Log } from "../../core/base/log.ts";
import type { StoreSignals } from "../../core/store/store.ts";
import type { DatabaseClock } from "./clock.ts";
import { prepared } from "./driver.ts";

/** The one PostgreSQL channel; topic and subject travel in the payload. */
const channel = "twins";

/** The topic of what a process sends to itself. */
const probeTopic = "probe";

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
  /** Measured with each test of the connection. */
  readonly clock: DatabaseClock;
  readonly log: Log;
}

/** Signals that can be closed. */
export interface Signals extends StoreSignals {
  /** Waits for signals that are being sent, and stops listening. The connection then closes. */
  close(): Promise<void>;
}

/** Starts listening, and reconnects whenever the connection is lost. */
export function openSignals({ connect, pool, clock, log }: SignalsOptions): Signals {
  const listeners = createListeners();
  const sending = new InFlight();
  const probe = (id: string) => sending.track(send(probeTopic, id));
  const connection = new ListeningConnection({ connect, hear: listeners.hear, probe, clock, log });
  connection.open();

  async function send(topic: string, subject: string): Promise<void> {
    try {
      await pool.query(prepared("SELECT pg_notify($1, $2)", [channel, `${topic} ${subject}`]));
    } catch (error) {
      log("debug", "a signal was not sent; other processes poll instead", { topic, error });
    }
  }

  return {
    notify(topic, subject) {
      sending.track(send(topic, subject));
    },
    listen: listeners.add,
    get areHeard() {
      return connection.hears;
    },
    async close() {
      connection.stop();
      await sending.idle();
      connection.close();
    },
  };
}

/** The functions that wait for signals, by topic. */
function createListeners() {
  const byTopic = new Map<string, Set<(subject: string) => void>>();
  return {
    /** Adds one; returns a function that removes it. */
    add(topic: string, heard: (subject: string) => void): () => void {
      const others = byTopic.get(topic) ?? new Set();
      byTopic.set(topic, others.add(heard));
      return () => {
        others.delete(heard);
      };
    },
    /** Calls those of a notification's topic. */
    hear(payload = ""): void {
      const [topic = "", subject = ""] = payload.split(" ", 2);
      for (const heard of [...(byTopic.get(topic) ?? [])]) heard(subject);
    },
  };
}

/** What a {@link ListeningConnection} needs. */
interface Listening extends Pick<SignalsOptions, "connect" | "clock" | "log"> {
  readonly hear: (payload?: string) => void;
  /** Sends a signal of this process's own, on another connection. */
  readonly probe: (id: string) => void;
}

/** The connection that notifications arrive on, replaced whenever it is lost. */
class ListeningConnection {
  /** Whether a signal has come back. A pooler that gives each transaction another connection of the server's loses them. */
  hears = false;
  readonly #parts: Listening;
  #client: Client | undefined;
  /** The signal of its own that should arrive now, while no query runs here: with one, a pooler may pass on what is late. */
  #probe: string | undefined;
  /** Until the next heartbeat, or the next attempt to connect. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;

  constructor(parts: Listening) {
    this.#parts = parts;
  }

  open(): void {
    const client = this.#parts.connect();
    this.#client = client;
    client.on("error", () => this.#lose(client));
    client.on("end", () => this.#lose(client));
    client.on("notification", ({ payload }) => this.#hear(payload));
    void this.#listen(client);
  }

  /** Replaces the connection no longer. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  close(): void {
    if (this.#client) this.#end(this.#client);
  }

  async #listen(client: Client): Promise<void> {
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
      await this.#measure(client); // it may be another database now
      this.#scheduleHeartbeat(client);
    } catch (error) {
      this.#parts.log("debug", "listening to PostgreSQL's notifications failed", { error });
      this.#lose(client);
    }
  }

  #scheduleHeartbeat(client: Client): void {
    if (this.#stopped || client !== this.#client) return;
    this.#timer = setTimeout(async () => {
      try {
        await this.#measure(client);
        this.#scheduleHeartbeat(client);
      } catch (error) {
        this.#parts.log("debug", "the connection for notifications is dead", { error });
        this.#lose(client);
      }
    }, heartbeatMs);
  }

  async #measure(client: Client): Promise<void> {
    this.#probe = undefined;
    await this.#parts.clock.measure((sql) => client.query(sql));
    if (this.hears || this.#stopped || client !== this.#client) return;
    this.#probe = randomUUID();
    this.#parts.probe(this.#probe);
  }

  #hear(payload?: string): void {
    this.#parts.hear(payload);
    if (this.hears || this.#probe === undefined || payload !== `${probeTopic} ${this.#probe}`) return;
    this.hears = true;
    this.#parts.hear("conversation "); // others poll often
  }

  #lose(lost: Client): void {
    if (this.#stopped || lost !== this.#client) return;
    this.#client = undefined;
    this.hears = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.open(), reconnectMs);
    this.#end(lost);
  }

  #end(client: Client): void {
    client.end().catch((error: unknown) => this.#parts.log("debug", "a connection did not close", { error }));
  }
}
