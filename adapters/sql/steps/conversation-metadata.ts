/**
 * Lets apps attach pairs of their own to conversations, and find these by them. What finds them is a digest of each pair, as
 * indexes take no long texts; it goes with its conversation, whichever process deletes that.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const conversationMetadata: Step = {
  earlierProcesses: "go on",
  statements: ({ text, keyed }) => [
    `ALTER TABLE conversations ADD COLUMN metadata ${text}`,
    // Its columns have names of their own, so that they can be joined. begun_at: the conversation's created_at.
    `CREATE TABLE conversation_pairs (
      pair_owner ${text} NOT NULL,
      conversation_id ${text} NOT NULL,
      pair ${text} NOT NULL,
      begun_at BIGINT NOT NULL,
      PRIMARY KEY (pair_owner, conversation_id, pair),
      FOREIGN KEY (pair_owner, conversation_id) REFERENCES conversations (owner, id) ON DELETE CASCADE
    ) ${keyed}`,
    `CREATE INDEX conversation_pairs_by_age
      ON conversation_pairs (pair_owner, pair, begun_at, conversation_id)`,
  ],
};
