/**
 * Contents of twins that their owners make, which one process stores while another one sweeps.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { sha256 } from "../../core/base/ids.ts";
import { looseMs } from "../../core/store/records.ts";
import { newOwner, start, storeContent } from "../contracts/store-records.ts";
import { until } from "../support/until.ts";
import { connect, sharedDatabase, skipWithoutPostgres } from "./database.ts";

describe("sweeping contents that no twin has", { skip: await skipWithoutPostgres() }, () => {
  const shared = sharedDatabase();

  test("one that is stored again at that moment stays", async (t) => {
    const { store, close } = await openPostgres(shared.url);
    t.after(close);
    await using other = await connect(shared.url);
    const owner = newOwner();
    await storeContent(store, owner, "text");
    const at = start + looseMs;
    // What `addTwinContent` does, without its end: the content is there, and is needed from now on.
    await other.query("BEGIN");
    await other.query("UPDATE loose_contents SET at = $2 WHERE owner = $1", [owner, at]);
    await other.query(
      `INSERT INTO twin_contents (owner, digest, part, content) SELECT owner, digest, part, content
        FROM twin_contents WHERE owner = $1 ON CONFLICT DO NOTHING`,
      [owner],
    );
    const swept = store.sweep(at);
    await until("the sweep waits for it", 5000, async () => {
      const { rows } = await other.query(
        "SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))",
      );
      return rows.length > 0;
    });
    await other.query("COMMIT");
    await swept;
    const found = await store.readTwinContent(owner, sha256("text"), 0);
    assert.equal(found && new TextDecoder().decode(found), "text");
  });
});
