/**
 * The limiter's buckets in the store's SQLite file, a row each.
 *
 * A bucket changes with every request, and must survive `kill -9` but no power failure. So all that changed in a turn of
 * the event loop is one upsert in the turn's transaction, and no request waits for the disk.
 *
 * @module
 */

import type { BucketStore } from "../../core/limits/memory-limiter.ts";
import type { Bucket } from "../../core/limits/token-bucket.ts";
import type { SqlRow, SqlStatement } from "../sql/driver.ts";
import type { Unsynced } from "./driver.ts";

/** Stores buckets that are given as JSON: `[[id, debt, at], …]`. */
const saveAll = `INSERT INTO rate_buckets (id, debt, at)
  SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1) WHERE true
  ON CONFLICT (id) DO UPDATE SET debt = excluded.debt, at = excluded.at`;

/**
 * Like {@link saveAll}, for buckets of an earlier time. If they were stored before, and have changed since, they stay.
 */
export const saveOlder: string = `${saveAll} WHERE excluded.at >= rate_buckets.at`;

/** How many buckets a sweep checks in one turn of the event loop: everything waits for that, about a millisecond. */
const sweptPerTurn = 1000;

/** The last bucket that is checked; none if these are the last ones of the table. */
const sweepEnd = `SELECT id FROM rate_buckets WHERE id > $1 ORDER BY id LIMIT 1 OFFSET ${sweptPerTurn - 1}`;

/**
 * A bucket that is full again is the same as none. One that was saved before the clock was set back stays until the
 * clock has caught up with it.
 */
const sweepFull = `DELETE FROM rate_buckets
  WHERE id > $1 AND id <= COALESCE((${sweepEnd}), $2) AND at + debt <= $3`;

/** Greater than any id. */
const afterAll = "\u{10ffff}";

/** The minimum number of saves between two sweeps of the table. */
const savesBetweenSweeps = 10_000;

/** The buckets that changed in a turn of the event loop. */
interface Turn {
  readonly changed: Map<string, Bucket>;
  readonly committed: Promise<void>;
}

/** Buckets in an open file, whose tables are up to date. */
export function createSqliteBuckets(file: Unsynced): BucketStore {
  const sweeps = new Sweeps();
  let turn: Turn | undefined;

  function beginTurn(): Turn {
    const changed = new Map<string, Bucket>();
    return { changed, committed: commit(changed) };
  }

  async function commit(changed: ReadonlyMap<string, Bucket>): Promise<void> {
    let isSweeping = false;
    const outcome = await file.write(() => {
      turn = undefined;
      isSweeping = sweeps.isDue(changed.size);
      const save = { sql: saveAll, params: [toJson(changed)] };
      return isSweeping ? [...sweeps.statements(changed), save] : [save];
    });
    if (isSweeping && outcome.committed) sweeps.note(outcome.rows[0]?.[0]);
  }

  return {
    async load(id) {
      const [row] = file.all("SELECT debt, at FROM rate_buckets WHERE id = $1", [id]);
      return row && { debt: Number(row.debt), at: Number(row.at) };
    },
    async save(id, bucket) {
      turn ??= beginTurn();
      turn.changed.set(id, bucket);
      await turn.committed;
    },
  };
}

/** Deletes full buckets, a part of the table in a turn. The first save begins, as buckets filled up in the meantime. */
class Sweeps {
  #savesToSweep = 0;
  #sweptTo = "";

  /** Whether to sweep in a turn with so many saves. */
  isDue(saves: number): boolean {
    this.#savesToSweep -= saves;
    return this.#savesToSweep <= 0;
  }

  /** Finds the end of the next part, then sweeps it. */
  statements(changed: ReadonlyMap<string, Bucket>): SqlStatement[] {
    const now = Math.max(...Array.from(changed.values(), ({ at }) => at));
    return [
      { sql: sweepEnd, params: [this.#sweptTo] },
      { sql: sweepFull, params: [this.#sweptTo, afterAll, now] },
    ];
  }

  /** Continues behind this end with the next turn, or begins again after many saves. */
  note(end: SqlRow | undefined): void {
    this.#sweptTo = end ? String(end.id) : "";
    this.#savesToSweep = end ? 0 : savesBetweenSweeps;
  }
}

function toJson(buckets: ReadonlyMap<string, Bucket>): string {
  return JSON.stringify(Array.from(buckets, ([id, { debt, at }]) => [id, debt, at]));
}
