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

/** Stores buckets that are given as JSON: `[[id, debt, at, capacity], …]`. */
const saveAll = `INSERT INTO rate_buckets (id, debt, at, capacity)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each($1) WHERE true
  ON CONFLICT (id) DO UPDATE SET debt = excluded.debt, at = excluded.at, capacity = excluded.capacity`;

/** Removes buckets whose ids are given as JSON. */
const removeAll = "DELETE FROM rate_buckets WHERE id IN (SELECT value FROM json_each($1))";

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
interface Changes {
  /** Undefined: removed. */
  readonly changed: Map<string, Bucket | undefined>;
  readonly committed: Promise<void>;
}

/** Buckets in an open file, whose tables are up to date. */
export function createSqliteBuckets(file: Unsynced): BucketStore {
  const sweeps = new Sweeps();
  let changes: Changes | undefined;

  function collect(): Changes {
    const changed = new Map<string, Bucket | undefined>();
    return { changed, committed: commit(changed) };
  }

  async function commit(changed: ReadonlyMap<string, Bucket | undefined>): Promise<void> {
    let isSweeping = false;
    const result = await file.write(() => {
      changes = undefined;
      const saved = [...changed].flatMap(([id, bucket]) => (bucket ? { id, ...bucket } : []));
      isSweeping = saved.length > 0 && sweeps.isDue(saved.length);
      return [...(isSweeping ? sweeps.statements(saved) : []), ...statementsFor(changed, saved)];
    });
    if (isSweeping && result.committed) sweeps.note(result.rows[0]?.[0]);
  }

  async function change(id: string, bucket: Bucket | undefined): Promise<void> {
    changes ??= collect();
    changes.changed.set(id, bucket);
    await changes.committed;
  }

  return {
    async load(id) {
      const [row] = file.all("SELECT debt, at, capacity FROM rate_buckets WHERE id = $1", [id]);
      if (!row) return undefined;
      const bucket = { debt: Number(row.debt), at: Number(row.at) };
      return row.capacity === null ? bucket : { ...bucket, capacity: Number(row.capacity) };
    },
    save: change,
    async forget(ids) {
      await Promise.all(ids.map((id) => change(id, undefined)));
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
  statements(saved: readonly Bucket[]): SqlStatement[] {
    const now = Math.max(...saved.map(({ at }) => at));
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

/** A bucket with its id. */
interface SavedBucket extends Bucket {
  readonly id: string;
}

/** One statement for all that was saved, and one for all that was removed. */
function statementsFor(
  changed: ReadonlyMap<string, Bucket | undefined>,
  saved: readonly SavedBucket[],
): SqlStatement[] {
  const statements = [];
  if (saved.length > 0) {
    const rows = saved.map(({ id, debt, at, capacity }) => [id, debt, at, capacity]);
    statements.push({ sql: saveAll, params: [JSON.stringify(rows)] });
  }
  if (saved.length < changed.size) {
    const removed = [...changed.keys()].filter((id) => !changed.get(id));
    statements.push({ sql: removeAll, params: [JSON.stringify(removed)] });
  }
  return statements;
}
