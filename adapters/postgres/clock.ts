/**
 * The clock of the database, which all of its processes go by: one whose machine's clock is wrong, or is put right, would
 * otherwise end the replies of others, lose its own, or forget claims and tokens too early.
 *
 * @module
 */

import { performance } from "node:perf_hooks";
import { type Clock, systemClock } from "../../core/base/clock.ts";

/** Runs a statement. */
type RunQuery = (sql: string) => Promise<{ readonly rows: readonly { readonly moment?: unknown }[] }>;

const readMoment = "SELECT extract(epoch FROM clock_timestamp()) * 1000 AS moment";

/** The database's time, as it was when it was last measured, and what has passed since. */
export class DatabaseClock implements Clock {
  /** How far the database's time is ahead of this process's count of milliseconds, which nobody sets. */
  #ahead: number | undefined;

  now(): number {
    return this.#ahead === undefined ? systemClock.now() : Math.floor(performance.now() + this.#ahead);
  }

  after(milliseconds: number, callback: () => void): () => void {
    return systemClock.after(milliseconds, callback);
  }

  /** Asks the database, whose clock may have been set, or which may be another one now. */
  async measure(query: RunQuery): Promise<void> {
    const asked = performance.now();
    const { rows } = await query(readMoment);
    const answered = performance.now();
    const ahead = Number(rows[0]?.moment) - (asked + answered) / 2;
    // Known no better than by the time that the answer took: what is within that is no reason to step back.
    const isAsBefore = this.#ahead !== undefined && Math.abs(ahead - this.#ahead) <= answered - asked;
    if (!isAsBefore) this.#ahead = ahead;
  }
}
