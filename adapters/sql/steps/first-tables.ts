/**
 * The tables of the first version.
 *
 * @module
 */

import type { Step } from "./step.ts";

/**
 * The token bucket of `core/limits` in PostgreSQL, for any number of buckets and requests in one step. `ids` and
 * `capacities` are the buckets. Of each group of `asked` requests, which take from the bucket at `firsts` and, unless it
 * is 0, also from the one at `seconds` (both count from 1), as many are granted as both have tokens. Returns the debts
 * after each group.
 *
 * The time is read once all rows are locked, so that callers that wait for each other do not turn the clock back. Rows
 * are created and locked in the order of their ids, so that callers do not deadlock; a sweep may delete a full one in
 * between.
 */
const takeRateTokens = `CREATE FUNCTION take_rate_tokens(
    ids TEXT[], capacities INTEGER[], firsts INTEGER[], seconds INTEGER[], asked INTEGER[])
  RETURNS TABLE (granted INTEGER, first_debt BIGINT, second_debt BIGINT) LANGUAGE plpgsql AS $$
DECLARE
  locked INTEGER;
  moment BIGINT;
  prices BIGINT[];
  debts BIGINT[];
  one INTEGER;
  two INTEGER;
BEGIN
  LOOP
    INSERT INTO rate_buckets (id, debt, at, capacity)
      SELECT wish.id, 0, 0, wish.capacity FROM unnest(ids, capacities) AS wish (id, capacity)
      ORDER BY wish.id COLLATE "C"
      ON CONFLICT DO NOTHING;
    PERFORM FROM rate_buckets AS bucket WHERE bucket.id = ANY (ids) ORDER BY bucket.id FOR UPDATE;
    GET DIAGNOSTICS locked = ROW_COUNT;
    EXIT WHEN locked = cardinality(ids);
  END LOOP;
  moment := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
  SELECT array_agg(price ORDER BY place), array_agg(
      CASE WHEN owed = 0 OR before = capacity THEN owed
        ELSE greatest(0, capacity * price - floor((before * price_before - owed)::numeric * price / price_before)::bigint)
      END ORDER BY place)
    INTO prices, debts
    FROM (
      SELECT wish.place, wish.capacity::bigint, coalesce(bucket.capacity, wish.capacity)::bigint AS before,
        ceil(3600000000.0 / wish.capacity)::bigint AS price,
        ceil(3600000000.0 / coalesce(bucket.capacity, wish.capacity))::bigint AS price_before,
        greatest(0, bucket.debt - greatest(0, moment - bucket.at)) AS owed
      FROM unnest(ids, capacities) WITH ORDINALITY AS wish (id, capacity, place)
        JOIN rate_buckets AS bucket ON bucket.id = wish.id
    ) AS stand;
  FOR n IN 1 .. cardinality(asked) LOOP
    one := firsts[n];
    two := seconds[n];
    granted := least(asked[n], capacities[one] - ceil(debts[one]::numeric / prices[one]));
    IF two > 0 THEN granted := least(granted, capacities[two] - ceil(debts[two]::numeric / prices[two])); END IF;
    granted := greatest(granted, 0);
    debts[one] := debts[one] + granted * prices[one];
    first_debt := debts[one];
    IF two > 0 THEN
      debts[two] := debts[two] + granted * prices[two];
      second_debt := debts[two];
    END IF;
    RETURN NEXT;
  END LOOP;
  UPDATE rate_buckets AS bucket SET debt = wish.debt, at = moment, capacity = wish.capacity
    FROM unnest(ids, debts, capacities) AS wish (id, debt, capacity) WHERE bucket.id = wish.id;
END $$`;

const createLimits = {
  sqlite: [
    `CREATE TABLE rate_buckets (
      id TEXT NOT NULL PRIMARY KEY,
      debt INTEGER NOT NULL,
      at INTEGER NOT NULL,
      capacity INTEGER
    ) WITHOUT ROWID`,
  ],
  postgres: [
    `CREATE TABLE rate_buckets (
      id TEXT COLLATE "C" PRIMARY KEY,
      debt BIGINT NOT NULL,
      at BIGINT NOT NULL,
      capacity INTEGER
    )`,
    takeRateTokens,
  ],
};

/**
 * Keys and indexes begin with the owner, so that one owner's records are stored together and a query cannot leave them.
 * The exceptions are look-ups across owners (a key's hash, leases, expiries), and messages, which are found by their own
 * id and their conversation's: ids ascend with time, so that an index of ids grows at its end, in a page that all replies
 * of a commit share. Long, because it is a list of statements.
 */
export const firstTables: Step = {
  earlierProcesses: "must end",
  statements: ({ name, text, keyed }) => [
    `CREATE TABLE api_keys (
      owner ${text} NOT NULL,
      id ${text} NOT NULL,
      name ${text} NOT NULL,
      scope ${text} NOT NULL,
      prefix ${text} NOT NULL,
      hash ${text} NOT NULL UNIQUE,
      requests_per_hour INTEGER,
      created_at BIGINT NOT NULL,
      expires_at BIGINT,
      last_used_at BIGINT,
      revoked_at BIGINT,
      PRIMARY KEY (owner, id)
    )`,
    "CREATE INDEX api_keys_by_age ON api_keys (owner, created_at, id)",
    // An operator finds a key without its owner.
    "CREATE INDEX api_keys_by_id ON api_keys (id)",
    "CREATE INDEX api_keys_by_prefix ON api_keys (prefix)",
    "CREATE INDEX api_keys_unrevoked ON api_keys (owner, expires_at) WHERE revoked_at IS NULL",

    `CREATE TABLE client_tokens (
      hash ${text} NOT NULL PRIMARY KEY,
      owner ${text} NOT NULL,
      key_id ${text} NOT NULL,
      key_hash ${text} NOT NULL,
      end_user ${text} NOT NULL,
      twin_ids ${text},
      scope ${text} NOT NULL,
      requests_per_hour INTEGER NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL
    )`,
    "CREATE INDEX client_tokens_by_end_user ON client_tokens (owner, end_user)",
    "CREATE INDEX client_tokens_by_expiry ON client_tokens (expires_at)",

    `CREATE TABLE conversations (
      owner ${text} NOT NULL,
      id ${text} NOT NULL,
      twin_id ${text} NOT NULL,
      end_user ${text},
      title ${text},
      name ${text},
      reply_id ${text},
      log_length BIGINT NOT NULL,
      path ${text},
      last_message_id ${text},
      last_message_at BIGINT,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      PRIMARY KEY (owner, id)
    )`,
    "CREATE INDEX conversations_by_age ON conversations (owner, created_at, id)",
    "CREATE INDEX conversations_by_twin ON conversations (owner, twin_id, created_at, id)",
    `CREATE UNIQUE INDEX conversations_by_name ON conversations (owner, twin_id, COALESCE(end_user, ''), name)
      WHERE name IS NOT NULL`,
    // One end user's are few among the owner's, and a list of them must not read the others.
    `CREATE INDEX conversations_by_end_user ON conversations (owner, end_user, created_at, id)
      WHERE end_user IS NOT NULL`,

    // seq numbers a conversation's messages from 0 without gaps, so that a page is a range, or a few where the conversation
    // has a path; path and branch_from are null where it never forked (core/store/path.ts).
    `CREATE TABLE messages (
      id ${text} NOT NULL PRIMARY KEY,
      owner ${text} NOT NULL,
      conversation_id ${text} NOT NULL,
      seq BIGINT NOT NULL,
      role ${text} NOT NULL,
      content ${text} NOT NULL,
      status ${text} NOT NULL,
      finish_reason ${text},
      after_id ${text},
      branch_from BIGINT,
      token_usage ${text},
      failure ${text},
      sources ${text},
      twin_revision ${text},
      last_attempt SMALLINT NOT NULL DEFAULT 0,
      attempt BIGINT NOT NULL DEFAULT 1,
      continued_from BIGINT,
      created_at BIGINT NOT NULL,
      completed_at BIGINT,
      lease_holder ${text},
      lease_until BIGINT,
      cancel_requested SMALLINT NOT NULL DEFAULT 0,
      rating ${text},
      rating_comment ${text},
      rated_at BIGINT,
      unanswered ${text},
      review_twin ${text}
    )`,
    "CREATE UNIQUE INDEX messages_in_order ON messages (conversation_id, seq)",
    `CREATE INDEX messages_branches ON messages (conversation_id, seq, branch_from)
      WHERE branch_from IS NOT NULL`,
    // What a model does not see, to be counted without reading the conversation.
    "CREATE INDEX messages_failed ON messages (conversation_id, seq) WHERE status = 'failed'",
    // By id, and not by lease: PostgreSQL would have to write every index anew for each save that renews one.
    "CREATE INDEX messages_in_progress ON messages (id) WHERE status = 'in_progress'",
    // What an owner reviews: few of the replies, listed and counted without reading them.
    `CREATE INDEX messages_rated ON messages (owner, rated_at, id, rating, review_twin)
      WHERE rated_at IS NOT NULL`,
    `CREATE INDEX messages_unanswered ON messages (owner, unanswered, id, review_twin, created_at)
      WHERE unanswered IS NOT NULL`,

    // Deleted conversations some of whose messages are still there, as they are deleted in portions.
    `CREATE TABLE deleted_conversations (
      owner ${text} NOT NULL,
      id ${text} NOT NULL,
      PRIMARY KEY (owner, id)
    )`,

    // The lengths of lists, so that they need not be counted: see `listName` in store.ts.
    `CREATE TABLE totals (
      owner ${text} NOT NULL,
      list ${text} NOT NULL,
      total BIGINT NOT NULL,
      PRIMARY KEY (owner, list)
    )`,

    // A claim without an end user has an empty one, as keys take no NULL.
    `CREATE TABLE claims (
      owner ${text} NOT NULL,
      end_user ${text} NOT NULL,
      path ${text} NOT NULL,
      claim_key ${text} NOT NULL,
      fingerprint ${text} NOT NULL,
      resource_id ${text} NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (owner, end_user, path, claim_key)
    )`,
    "CREATE INDEX claims_by_expiry ON claims (expires_at)",

    // What twins know of people.
    `CREATE TABLE memories (
      owner ${text} NOT NULL,
      end_user ${text} NOT NULL,
      twin_id ${text} NOT NULL,
      content ${text} NOT NULL,
      updated_at BIGINT NOT NULL,
      PRIMARY KEY (owner, end_user, twin_id)
    )`,

    // What replies took, by day: all (kind day), with a twin, and of an end user, whose name is empty for none.
    `CREATE TABLE usage_sums (
      owner ${text} NOT NULL,
      kind ${text} NOT NULL,
      name ${text} NOT NULL,
      day ${text} NOT NULL,
      replies BIGINT NOT NULL,
      input_tokens BIGINT NOT NULL,
      output_tokens BIGINT NOT NULL,
      cached_input_tokens BIGINT NOT NULL,
      PRIMARY KEY (owner, kind, name, day)
    ) ${keyed}`,

    ...createLimits[name],
  ],
};
