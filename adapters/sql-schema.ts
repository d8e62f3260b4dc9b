/**
 * The tables of the SQL store, and how a database gets from any earlier form to the present one.
 *
 * @module
 */

/** Where databases differ in the tables' definition. */
interface SqlDialect {
  /** The type of a text that is compared as binary, such as `TEXT COLLATE "C"`. */
  readonly text: string;
  /** Whether a table's primary key can be changed. Otherwise the table is made anew. */
  readonly changesKeys: boolean;
}

export const sqliteDialect: SqlDialect = { text: "TEXT", changesKeys: false }; // compared as binary anyway
export const postgresDialect: SqlDialect = { text: 'TEXT COLLATE "C"', changesKeys: true };

/**
 * Each step takes the database from the version of its index to the next. Steps are never changed once they
 * were released, only added.
 */
const steps: readonly ((dialect: SqlDialect) => readonly string[])[] = [createTables, keyMessagesById];

/** The version of a database that all steps were applied to. An empty one has version 0. */
export const schemaVersion = steps.length;

/**
 * The statements that bring a database of a version up to date, to be run in one transaction that also
 * notes {@link schemaVersion}. Throws for a database that a newer version of the program made.
 */
export function migrationsFrom(version: number, dialect: SqlDialect): string[] {
  if (version > schemaVersion) {
    throw new Error(
      `The database has version ${version}, created by a newer version of this program; this one knows ` +
        `${schemaVersion} at most. Run the newer program, or use another database.`,
    );
  }
  return steps.slice(version).flatMap((step) => step(dialect));
}

/**
 * Keys and indexes lead with the owner, so that one owner's records lie together and a query cannot leave
 * them; those of messages did so in version 1 only ({@link keyMessagesById}). The exceptions are what is looked for
 * across owners: a key's hash, leases and expiries.
 */
function createTables({ text }: SqlDialect): readonly string[] {
  return [
    `CREATE TABLE api_keys (
      owner ${text} NOT NULL,
      id ${text} NOT NULL,
      name ${text} NOT NULL,
      scope ${text} NOT NULL,
      prefix ${text} NOT NULL,
      hash ${text} NOT NULL UNIQUE,
      created_at BIGINT NOT NULL,
      expires_at BIGINT,
      last_used_at BIGINT,
      revoked_at BIGINT,
      PRIMARY KEY (owner, id)
    )`,
    "CREATE INDEX api_keys_by_age ON api_keys (owner, created_at, id)",
    "CREATE INDEX api_keys_unrevoked ON api_keys (owner, expires_at) WHERE revoked_at IS NULL",

    `CREATE TABLE conversations (
      owner ${text} NOT NULL,
      id ${text} NOT NULL,
      twin_id ${text} NOT NULL,
      title ${text},
      reply_id ${text},
      message_count BIGINT NOT NULL,
      last_message_at BIGINT,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      PRIMARY KEY (owner, id)
    )`,
    "CREATE INDEX conversations_by_age ON conversations (owner, created_at, id)",
    "CREATE INDEX conversations_by_twin ON conversations (owner, twin_id, created_at, id)",

    // seq counts a conversation's messages from 0 without gaps: a page is a range of it, and what lies
    // behind a message is a subtraction.
    messagesTable(text, "owner, id"),
    "CREATE UNIQUE INDEX messages_in_order ON messages (owner, conversation_id, seq)",
    // What a model does not get to see, so that a history is found without reading it. Of failures, because every
    // index that a reply's ending changes is a page more to write.
    `CREATE INDEX messages_failed ON messages (owner, conversation_id, seq) WHERE status = 'failed'`,
    "CREATE INDEX messages_in_progress ON messages (lease_until) WHERE status = 'in_progress'",

    // How long the lists are whose length nobody should count: see `listName` in sql.ts.
    `CREATE TABLE totals (
      owner ${text} NOT NULL,
      list ${text} NOT NULL,
      total BIGINT NOT NULL,
      PRIMARY KEY (owner, list)
    )`,

    `CREATE TABLE claims (
      owner ${text} NOT NULL,
      path ${text} NOT NULL,
      claim_key ${text} NOT NULL,
      fingerprint ${text} NOT NULL,
      resource_id ${text} NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (owner, path, claim_key)
    )`,
    "CREATE INDEX claims_by_expiry ON claims (expires_at)",
  ];
}

/** The messages as all versions so far have them, but for the key. */
function messagesTable(text: string, key: string): string {
  return `CREATE TABLE messages (
      owner ${text} NOT NULL,
      id ${text} NOT NULL,
      conversation_id ${text} NOT NULL,
      seq BIGINT NOT NULL,
      role ${text} NOT NULL,
      content ${text} NOT NULL,
      status ${text} NOT NULL,
      finish_reason ${text},
      in_reply_to ${text},
      token_usage ${text},
      failure ${text},
      created_at BIGINT NOT NULL,
      completed_at BIGINT,
      lease_holder ${text},
      lease_until BIGINT,
      cancel_requested SMALLINT NOT NULL,
      PRIMARY KEY (${key})
    )`;
}

/**
 * Messages are found by their own id, and by their conversation's: the owner, whom every query still names, leads
 * their keys no more. Ids ascend with time, so an index of ids grows at its end, in a page that all replies of a commit
 * share, where one that the owner leads grows in a page for each owner; and every page that a commit changes is written
 * whole.
 */
function keyMessagesById({ text, changesKeys }: SqlDialect): readonly string[] {
  const changeKey = ["ALTER TABLE messages DROP CONSTRAINT messages_pkey, ADD PRIMARY KEY (id)"];
  const makeAnew = [
    "ALTER TABLE messages RENAME TO messages_by_owner",
    messagesTable(text, "id"),
    "INSERT INTO messages SELECT * FROM messages_by_owner",
    "DROP TABLE messages_by_owner",
  ];
  return [
    "DROP INDEX messages_in_order",
    "DROP INDEX messages_failed",
    "DROP INDEX messages_in_progress",
    ...(changesKeys ? changeKey : makeAnew),
    "CREATE UNIQUE INDEX messages_in_order ON messages (conversation_id, seq)",
    "CREATE INDEX messages_failed ON messages (conversation_id, seq) WHERE status = 'failed'",
    // Not by status: an update of one reply in progress names that as well, and PostgreSQL would look through them all.
    "CREATE INDEX messages_by_lease ON messages (lease_until) WHERE lease_until IS NOT NULL",
  ];
}
