/**
 * Lets people answer in a conversation: who answers, since when a question waits for a person, and messages that are stored
 * without a reply. Earlier processes would answer what waits for a person.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const peopleAnswer: Step = {
  earlierProcesses: "must end",
  statements: ({ text }) => [
    `ALTER TABLE conversations ADD COLUMN answered_by ${text} NOT NULL DEFAULT 'twin'`,
    "ALTER TABLE conversations ADD COLUMN waiting_since BIGINT",
    // How many of its messages are alone: most conversations have none, and are read without looking for them.
    "ALTER TABLE conversations ADD COLUMN alone_count BIGINT NOT NULL DEFAULT 0",
    `CREATE INDEX conversations_waiting ON conversations (owner, waiting_since, id)
      WHERE waiting_since IS NOT NULL`,
    `CREATE INDEX conversations_by_person ON conversations (owner, created_at, id)
      WHERE answered_by = 'person'`,
    "ALTER TABLE messages ADD COLUMN alone SMALLINT NOT NULL DEFAULT 0",
    `ALTER TABLE messages ADD COLUMN author ${text}`,
  ],
};
