/**
 * The tables of the SQL store, and how a database gets those of this version: step by step, only forwards.
 *
 * @module
 */

import type { Log } from "../../core/base/log.ts";
import { conversationMetadata } from "./steps/conversation-metadata.ts";
import { erasures } from "./steps/erasures.ts";
import { firstTables } from "./steps/first-tables.ts";
import { oldestVersion } from "./steps/oldest-version.ts";
import { ownTwins } from "./steps/own-twins.ts";
import { ownTwinsInOrder } from "./steps/own-twins-in-order.ts";
import { pendingCalls } from "./steps/pending-calls.ts";
import { peopleAnswer } from "./steps/people-answer.ts";
import { previousSecrets } from "./steps/previous-secrets.ts";
import { questionsTold } from "./steps/questions-told.ts";
import type { SqlDialect, Step } from "./steps/step.ts";
import { tokenBudgets } from "./steps/token-budgets.ts";
import { webhooks } from "./steps/webhooks.ts";

export type { Step } from "./steps/step.ts";

export const sqliteDialect: SqlDialect = {
  name: "sqlite",
  text: "TEXT", // compared as binary anyway
  keyed: "WITHOUT ROWID",
};
export const postgresDialect: SqlDialect = { name: "postgres", text: 'TEXT COLLATE "C"', keyed: "" };

/** The version of the first step. Those before were never released. */
const firstVersion = 100;

/** Each leads to the version after the one before it. One that has landed never changes: new ones come at the end. */
export const steps: readonly Step[] = [
  firstTables,
  oldestVersion,
  erasures,
  peopleAnswer,
  previousSecrets,
  conversationMetadata,
  tokenBudgets,
  questionsTold,
  ownTwins,
  webhooks,
  pendingCalls,
  ownTwinsInOrder,
];

/** The version of an up-to-date database. An empty one has version 0. */
export const schemaVersion: number = lastOf(steps);

function lastOf(steps: readonly Step[]): number {
  return firstVersion + steps.length - 1;
}

/** A table of the current version. */
export interface Table {
  readonly name: string;
  /** The columns of its primary key: texts, of which the first is not empty, then possibly a number that is not negative. */
  readonly key: readonly string[];
  /** That number. */
  readonly number?: string;
}

/** All tables of the store. The limiter's is not one of them. */
export const tables: readonly Table[] = [
  { name: "conversations", key: ["owner", "id"] },
  { name: "conversation_pairs", key: ["pair_owner", "conversation_id", "pair"] },
  { name: "messages", key: ["id"] },
  { name: "deleted_conversations", key: ["owner", "id"] },
  { name: "totals", key: ["owner", "list"] },
  { name: "claims", key: ["owner", "end_user", "path", "claim_key"] },
  { name: "api_keys", key: ["owner", "id"] },
  { name: "client_tokens", key: ["hash"] },
  { name: "memories", key: ["owner", "end_user", "twin_id"] },
  { name: "usage_sums", key: ["owner", "kind", "name", "day"] },
  { name: "erasures", key: ["person"] },
  { name: "token_sums", key: ["scope", "owner", "person", "subject", "period"] },
  { name: "token_reservations", key: ["reply_id", "scope", "owner", "person", "subject", "period"] },
  { name: "own_twins", key: ["owner", "id"] },
  { name: "twin_versions", key: ["owner", "twin_id", "version"], number: "version" },
  { name: "twin_parts", key: ["owner", "twin_id", "path", "since"], number: "since" },
  { name: "twin_contents", key: ["owner", "digest", "part"], number: "part" },
  { name: "loose_contents", key: ["owner", "digest"] },
  { name: "webhooks", key: ["id"] },
  { name: "deliveries", key: ["id"] },
];

/** What a database says of itself. */
export interface FoundSchema {
  /** The version that it has. 0: it is empty. */
  readonly version: number;
  /** The oldest version of a program that can use it. Absent: only one that knows its own. */
  readonly oldest?: number;
  /**
   * Of a database with version 1: what defines its tables, as {@link firstDefinitions} has it. The first version was
   * stored as 1, and so were others before it, with other tables.
   */
  readonly definitions: readonly string[];
}

/** What brings a database up to date. All of it is one transaction, together with the new version. */
export interface Upgrade {
  /** Run one after the other. */
  readonly statements: Iterable<string>;
  /** The version that the database then has: that of this program, or a newer one that this program can use. */
  readonly version: number;
  /** The version that it had, if it was an older one. */
  readonly from?: number;
  readonly oldest: number;
  /** Whether no process of an earlier version may be connected. */
  readonly isAlone: boolean;
}

/** Why a database cannot be used. The message continues a sentence that begins with what names the database. */
export class RefusedSchema extends Error {}

/**
 * What brings a database up to date. `known`: the steps that this program knows.
 *
 * @throws {RefusedSchema} if it was made by a newer version that this program cannot use, or before the first one.
 */
export function planUpgrade(found: FoundSchema, dialect: SqlDialect, known = steps): Upgrade {
  const newest = lastOf(known);
  const { version, oldest = version } = { ...found, version: numberOf(found, dialect) };
  if (version > newest) {
    if (oldest > newest) throw newer(version, newest);
    return { statements: [], version, oldest, isAlone: false };
  }
  const due = known.slice(version === 0 ? 0 : version - firstVersion + 1);
  return {
    statements: statementsOf(due, dialect),
    version: newest,
    ...(version > 0 && version < newest && { from: version }),
    oldest: firstVersion + known.findLastIndex(({ earlierProcesses }) => earlierProcesses === "must end"),
    isAlone: version > 0 && due.some(({ earlierProcesses }) => earlierProcesses === "must end"),
  };
}

/** Tells that a database was brought from an older version to this one. */
export function logUpgrade({ from, version: to }: Upgrade, log: Log): void {
  if (from !== undefined) log("info", "the database's tables were brought to a newer version", { from, to });
}

function* statementsOf(due: readonly Step[], dialect: SqlDialect): Iterable<string> {
  for (const step of due) yield* step.statements(dialect);
}

function newer(version: number, newest: number): RefusedSchema {
  return new RefusedSchema(
    `has version ${version}, made by a newer version of this program; this one knows ${newest} at most. ` +
      "Run the newer program, or restore a backup made before the upgrade",
  );
}

function numberOf({ version, definitions }: FoundSchema, dialect: SqlDialect): number {
  if (version === 0 || version >= firstVersion) return version;
  const isFirst =
    version === 1 && firstDefinitions(dialect).every((definition) => definitions.includes(definition));
  if (isFirst) return firstVersion;
  throw new RefusedSchema(
    `was made by an unreleased version before 28 November 2026 (version ${version} of its tables), ` +
      "which nothing upgrades; use another database",
  );
}

/** What defines the first tables: SQLite has the statements; of PostgreSQL, the names of columns and indexes will do. */
function firstDefinitions(dialect: SqlDialect): readonly string[] {
  const statements = [...firstTables.statements(dialect)];
  if (dialect.name === "sqlite") return statements;
  return statements.flatMap((statement) => {
    const [, kind, name] = /^CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)/.exec(statement) ?? [];
    if (kind !== "TABLE") return name ?? [];
    return Array.from(statement.matchAll(/^ +([a-z]\w+) /gm), ([, column]) => `${name}.${column}`);
  });
}
