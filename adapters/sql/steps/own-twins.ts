/**
 * Twins that their owners make, version by version. Each of a version's parts, its file and its documents, is a row that
 * counts from one version to another; what they contain is stored once for an owner, by its digest.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const ownTwins: Step = {
  earlierProcesses: "go on",
  statements: ({ text, keyed }) => [
    // Also those that were deleted, without a version: numbers go on.
    `CREATE TABLE own_twins (
      owner ${text} NOT NULL,
      id ${text} NOT NULL,
      name ${text} NOT NULL,
      features ${text} NOT NULL,
      version BIGINT,
      revision ${text} NOT NULL,
      last_version BIGINT NOT NULL,
      text_bytes BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      PRIMARY KEY (owner, id)
    ) ${keyed}`,
    "CREATE INDEX own_twins_by_name ON own_twins (owner, name, id) WHERE version IS NOT NULL",
    `CREATE TABLE twin_versions (
      owner ${text} NOT NULL,
      twin_id ${text} NOT NULL,
      version BIGINT NOT NULL,
      revision ${text} NOT NULL,
      note ${text},
      created_at BIGINT NOT NULL,
      PRIMARY KEY (owner, twin_id, version)
    ) ${keyed}`,
    // An empty path: the file. "until": the first version that does not have it.
    `CREATE TABLE twin_parts (
      owner ${text} NOT NULL,
      twin_id ${text} NOT NULL,
      path ${text} NOT NULL,
      since BIGINT NOT NULL,
      until BIGINT,
      digest ${text} NOT NULL,
      bytes BIGINT NOT NULL,
      text_digest ${text} NOT NULL,
      text_bytes BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      PRIMARY KEY (owner, twin_id, path, since)
    ) ${keyed}`,
    "CREATE INDEX twin_parts_by_digest ON twin_parts (owner, digest)",
    "CREATE INDEX twin_parts_by_text ON twin_parts (owner, text_digest)",
    // In Base64, because neither database's texts have all bytes.
    `CREATE TABLE twin_contents (
      owner ${text} NOT NULL,
      digest ${text} NOT NULL,
      part BIGINT NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (owner, digest, part)
    )`,
    // Contents that may belong to no version.
    `CREATE TABLE loose_contents (
      owner ${text} NOT NULL,
      digest ${text} NOT NULL,
      at BIGINT NOT NULL,
      PRIMARY KEY (owner, digest)
    ) ${keyed}`,
    "CREATE INDEX loose_contents_by_age ON loose_contents (at)",
  ],
};
