/**
 * Twins that their owners make, in SQL.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  contentParts,
  looseMs,
  mostTwinVersions,
  type OwnTwinRecord,
  type TwinFeatures,
  type TwinPart,
  type TwinVersionRecord,
} from "../../core/store/records.ts";
import type { OwnTwinStore, PutTwinResult, PutTwinVersion } from "../../core/store/store.ts";
import { byName } from "../../core/twins/twins.ts";
import type { SqlDriver, SqlRow, SqlStatement } from "./driver.ts";
import { addToTotal } from "./lists.ts";
import { textOrNull } from "./rows.ts";

/** The store's methods about twins that their owners make. */
export function ownTwinMethods(driver: SqlDriver): OwnTwinStore {
  return {
    async getOwnTwin(owner, id) {
      const sql = `SELECT ${twinColumns} FROM own_twins WHERE owner = $1 AND id = $2 AND version IS NOT NULL`;
      const [row] = await driver.all(sql, [owner, id]);
      return row && twinFromRow(row);
    },

    async listOwnTwins(owner, { offset, limit, except }) {
      const [counted] = await driver.all(countTwins, [owner]);
      const all = Number(counted?.total ?? 0);
      if (all === 0) return { items: [], total: 0, excepted: [] };
      const hidden = new Set((await readTwins(driver, "id", owner, except)).map(({ id }) => String(id)));
      const [total, excepted] = [all - hidden.size, [...hidden]];
      if (offset >= total) return { items: [], total, excepted };
      // Those that are hidden may be anywhere: few are, so that a page is found from its own place where none is.
      const from = hidden.size === 0 ? offset : 0;
      const found = await driver.all(findTwins, [owner, offset + limit + hidden.size - from, from]);
      const seen = found.map(({ id }) => String(id)).filter((id) => !hidden.has(id));
      const page = seen.slice(offset - from, offset - from + limit);
      const rows = await readTwins(driver, twinColumns, owner, page);
      return { items: rows.map(twinFromRow).sort(byName), total, excepted };
    },

    async getTwinVersion(owner, id, version) {
      const [row] = await driver.all(
        `SELECT twin_versions.version, twin_versions.revision, note, twin_versions.created_at,
            own_twins.version AS current
          FROM own_twins JOIN twin_versions ON twin_versions.owner = own_twins.owner AND twin_id = id
            AND twin_versions.version = COALESCE($3, own_twins.version)
          WHERE own_twins.owner = $1 AND id = $2 AND own_twins.version IS NOT NULL`,
        [owner, id, version ?? null],
      );
      if (!row) return undefined;
      const found = versionFromRow(row);
      const parts = await driver.all(
        `SELECT path, digest, bytes, text_digest, text_bytes, updated_at FROM twin_parts
          WHERE owner = $1 AND twin_id = $2 AND since <= $3 AND (until > $3 OR until IS NULL) ORDER BY path`,
        [owner, id, found.version],
      );
      return { version: found, current: Number(row.current), parts: parts.map(partFromRow) };
    },

    async listTwinVersions(owner, id, { offset, limit }) {
      const [twin] = await driver.all(
        `SELECT version, (SELECT count(*) FROM twin_versions WHERE owner = $1 AND twin_id = $2) AS total
          FROM own_twins WHERE owner = $1 AND id = $2 AND version IS NOT NULL`,
        [owner, id],
      );
      if (!twin) return undefined;
      const rows = await driver.all(
        `SELECT version, revision, note, created_at FROM twin_versions WHERE owner = $1 AND twin_id = $2
          ORDER BY version DESC LIMIT $3 OFFSET $4`,
        [owner, id, limit, offset],
      );
      return { items: rows.map(versionFromRow), total: Number(twin.total), current: Number(twin.version) };
    },

    async addTwinContent(owner, digest, part, bytes, at) {
      const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
      await driver.batch([
        ...(part === 0 ? [noteLoose(owner, digest, at)] : []),
        {
          sql: `INSERT INTO twin_contents (owner, digest, part, content) VALUES ($1, $2, $3, $4)
            ON CONFLICT (owner, digest, part) DO NOTHING`,
          params: [owner, digest, part, content],
        },
      ]);
    },

    async readTwinContent(owner, digest, part) {
      const sql = "SELECT content FROM twin_contents WHERE owner = $1 AND digest = $2 AND part = $3";
      const [row] = await driver.all(sql, [owner, digest, part]);
      return row && new Uint8Array(Buffer.from(String(row.content), "base64"));
    },

    putTwinVersion: (put) => putVersion(driver, put),

    async deleteOwnTwin(owner, id, version, at) {
      const params = [owner, id];
      const of = "owner = $1 AND twin_id = $2";
      const { committed } = await driver.batch([
        takeTurn(owner),
        {
          sql: `UPDATE own_twins SET version = NULL, name = '', features = '{}', text_bytes = 0
            WHERE owner = $1 AND id = $2 AND version = $3`,
          params: [...params, version],
          expect: 1,
        },
        ...loosen(of, params, at),
        { sql: `DELETE FROM twin_parts WHERE ${of}`, params },
        { sql: `DELETE FROM twin_versions WHERE ${of}`, params },
      ]);
      return committed;
    },
  };
}

const twinColumns = "owner, id, name, features, version, revision, created_at, updated_at";

const countTwins = "SELECT count(*) AS total FROM own_twins WHERE owner = $1 AND version IS NOT NULL";

/** Finds a part of the list in an index, which has all that this reads. A twin that is deleted before it is read is left out. */
const findTwins =
  "SELECT id FROM own_twins WHERE owner = $1 AND version IS NOT NULL ORDER BY name, id LIMIT $2 OFFSET $3";

/** How many twins one statement reads by their ids. */
const twinsAtOnce = 100;

/** Those of an owner's twins that have one of some ids, in no order. */
async function readTwins(driver: SqlDriver, columns: string, owner: string, ids: readonly string[]) {
  const found: SqlRow[] = [];
  for (let at = 0; at < ids.length; at += twinsAtOnce) {
    const some = Array.from({ length: twinsAtOnce }, (_, index) => ids[at + index] ?? "");
    const rows = await driver.all(
      `SELECT ${columns} FROM own_twins WHERE owner = $1 AND version IS NOT NULL
        AND id IN (${some.map((_, index) => `$${index + 2}`)})`,
      [owner, ...some],
    );
    found.push(...rows);
  }
  return found;
}

async function putVersion(driver: SqlDriver, put: PutTwinVersion): Promise<PutTwinResult> {
  const { twin, replaces, changes, textBytes } = put;
  const { owner, id, name, revision, createdAt, updatedAt } = twin;
  const { description, avatarUrl, greeting, tags, handover } = twin;
  const features = JSON.stringify({ description, avatarUrl, greeting, tags, handover });
  const steps: (SqlStatement & { readonly missed?: Exclude<PutTwinResult["result"], "put"> })[] = [
    takeTurn(owner),
    ...(replaces === null
      ? [
          {
            sql: `SELECT 1 AS room WHERE (${countTwins}) < $2`,
            params: [owner, put.maxTwins],
            expect: 1,
            missed: "too_many_twins" as const,
          },
        ]
      : []),
    {
      sql: `SELECT 1 AS room WHERE
        (SELECT COALESCE(SUM(text_bytes), 0) FROM own_twins WHERE owner = $1 AND id <> $2) + $3 <= $4`,
      params: [owner, id, textBytes, put.maxTextBytes],
      expect: 1,
      missed: "texts_too_long",
    },
    {
      ...(replaces === null
        ? {
            sql: `INSERT INTO own_twins (${twinColumns}, last_version, text_bytes)
              VALUES ($1, $2, $3, $4, 1, $5, $6, $7, 1, $8)
              ON CONFLICT (owner, id) DO UPDATE SET name = excluded.name, features = excluded.features,
                version = own_twins.last_version + 1, last_version = own_twins.last_version + 1,
                revision = excluded.revision, created_at = excluded.created_at,
                updated_at = excluded.updated_at, text_bytes = excluded.text_bytes
              WHERE own_twins.version IS NULL
              RETURNING version`,
            params: [owner, id, name, features, revision, createdAt, updatedAt, textBytes],
          }
        : {
            sql: `UPDATE own_twins SET name = $3, features = $4, revision = $5, updated_at = $6, text_bytes = $7,
                version = last_version + 1, last_version = last_version + 1
              WHERE owner = $1 AND id = $2 AND version = $8 RETURNING version`,
            params: [owner, id, name, features, revision, updatedAt, textBytes, replaces],
          }),
      expect: 1,
      missed: "moved",
    },
    {
      sql: `INSERT INTO twin_versions (owner, twin_id, version, revision, note, created_at)
        SELECT owner, id, version, revision, CAST($3 AS TEXT), updated_at FROM own_twins
        WHERE owner = $1 AND id = $2`,
      params: [owner, id, put.note],
    },
    ...[...changes].flatMap(([path, part]) => [
      ...(replaces === null ? [] : [endPart(owner, id, path)]),
      ...(part ? [...needContents(owner, part), beginPart(owner, id, part)] : []),
    ]),
    ...(replaces !== null && replaces >= mostTwinVersions ? dropOldest(owner, id, updatedAt) : []),
  ];
  const result = await driver.batch(steps.map(({ missed: _, ...statement }) => statement));
  if (!result.committed) return { result: steps[result.failed]?.missed ?? "moved" };
  const at = steps.findIndex(({ missed }) => missed === "moved");
  return { result: "put", version: Number(result.rows[at]?.[0]?.version) };
}

/**
 * Lets changes of an owner's twins, and of what they contain, run one after the other. Comes first in its transaction: a
 * database that runs several at once has them wait for this row.
 */
function takeTurn(owner: string): SqlStatement {
  return addToTotal(owner, "changes of twins");
}

function needContents(owner: string, { digest, bytes, textDigest, textBytes }: TwinPart) {
  const need = (content: string, length: number) => ({
    sql: "SELECT 1 AS found FROM twin_contents WHERE owner = $1 AND digest = $2 AND part = $3",
    params: [owner, content, contentParts(length) - 1],
    expect: 1,
    missed: "content_missing" as const,
  });
  return [need(digest, bytes), ...(textDigest === digest ? [] : [need(textDigest, textBytes)])];
}

const currentVersion = "(SELECT version FROM own_twins WHERE owner = $1 AND id = $2)";

function endPart(owner: string, id: string, path: string): SqlStatement {
  return {
    sql: `UPDATE twin_parts SET until = ${currentVersion}
      WHERE owner = $1 AND twin_id = $2 AND path = $3 AND until IS NULL`,
    params: [owner, id, path],
  };
}

function beginPart(owner: string, id: string, part: TwinPart): SqlStatement {
  const { path, digest, bytes, textDigest, textBytes, updatedAt } = part;
  return {
    sql: `INSERT INTO twin_parts (owner, twin_id, path, since, digest, bytes, text_digest, text_bytes, updated_at)
      SELECT owner, id, CAST($3 AS TEXT), version, CAST($4 AS TEXT), $5, CAST($6 AS TEXT), $7, $8
      FROM own_twins WHERE owner = $1 AND id = $2`,
    params: [owner, id, path, digest, bytes, textDigest, textBytes, updatedAt],
  };
}

/** Deletes what only versions have that are not kept any more. */
function dropOldest(owner: string, id: string, at: number): SqlStatement[] {
  const params = [owner, id];
  const gone = `owner = $1 AND twin_id = $2 AND until <= ${currentVersion} - ${mostTwinVersions - 1}`;
  return [
    ...loosen(gone, params, at),
    { sql: `DELETE FROM twin_parts WHERE ${gone}`, params },
    {
      sql: `DELETE FROM twin_versions WHERE owner = $1 AND twin_id = $2
        AND version <= ${currentVersion} - ${mostTwinVersions}`,
      params,
    },
  ];
}

/** Notes that the contents of some parts may be needed no more: a sweep deletes them. */
function loosen(of: string, params: SqlStatement["params"], at: number): SqlStatement[] {
  return ["digest", "text_digest"].map((column) => ({
    sql: `INSERT INTO loose_contents (owner, digest, at)
      SELECT owner, ${column}, CAST($3 AS BIGINT) FROM twin_parts WHERE ${of}
      ON CONFLICT (owner, digest) DO NOTHING`,
    params: [...params, at],
  }));
}

function noteLoose(owner: string, digest: string, at: number): SqlStatement {
  return {
    sql: `INSERT INTO loose_contents (owner, digest, at) VALUES ($1, $2, $3)
      ON CONFLICT (owner, digest) DO UPDATE SET at = excluded.at`,
    params: [owner, digest, at],
  };
}

/** How many contents one sweep deletes at most: each may have 20 MiB. */
const contentsInASweep = 100;

/** Deletes some of the contents that no version has, and has not had for an hour. */
export async function sweepContents(driver: SqlDriver, at: number): Promise<void> {
  const sql = `SELECT owner, digest FROM loose_contents WHERE at <= $1 ORDER BY at LIMIT ${contentsInASweep}`;
  for (const { owner, digest } of await driver.all(sql, [at - looseMs])) {
    const params = [String(owner), String(digest)];
    const uses = ["digest", "text_digest"].map(
      (column) => `NOT EXISTS (SELECT 1 FROM twin_parts WHERE owner = $1 AND ${column} = $2)`,
    );
    await driver.batch([
      takeTurn(String(owner)),
      // First, so that a database that runs batches concurrently has this wait for who stores the content again, or the other way round.
      {
        sql: "DELETE FROM loose_contents WHERE owner = $1 AND digest = $2 AND at <= $3",
        params: [...params, at - looseMs],
        expect: 1,
      },
      {
        sql: `DELETE FROM twin_contents WHERE owner = $1 AND digest = $2 AND ${uses.join(" AND ")}`,
        params,
      },
    ]);
  }
}

function twinFromRow(row: SqlRow): OwnTwinRecord {
  return {
    owner: String(row.owner),
    id: String(row.id),
    name: String(row.name),
    ...(JSON.parse(String(row.features)) as TwinFeatures),
    version: Number(row.version),
    revision: String(row.revision),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}

function versionFromRow(row: SqlRow): TwinVersionRecord {
  return {
    version: Number(row.version),
    revision: String(row.revision),
    note: textOrNull(row.note),
    createdAt: Number(row.created_at),
  };
}

function partFromRow(row: SqlRow): TwinPart {
  return {
    path: String(row.path),
    digest: String(row.digest),
    bytes: Number(row.bytes),
    textDigest: String(row.text_digest),
    textBytes: Number(row.text_bytes),
    updatedAt: Number(row.updated_at),
  };
}
