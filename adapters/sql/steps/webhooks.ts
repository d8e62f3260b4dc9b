/**
 * Keeps webhooks, and what they are told. Earlier processes would tell them of nothing, and leave the name of a person whom they
 * erase.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const webhooks: Step = {
  earlierProcesses: "must end",
  statements: ({ text, keyed }) => [
    `CREATE TABLE webhooks (
      id ${text} NOT NULL PRIMARY KEY,
      owner ${text} NOT NULL,
      url ${text} NOT NULL,
      events ${text},
      description ${text},
      secret ${text} NOT NULL,
      previous_secret ${text},
      previous_until BIGINT,
      status ${text} NOT NULL,
      created_at BIGINT NOT NULL
    ) ${keyed}`,
    "CREATE INDEX webhooks_by_owner ON webhooks (owner, created_at, id)",
    `CREATE TABLE deliveries (
      id ${text} NOT NULL PRIMARY KEY,
      webhook_id ${text} NOT NULL,
      owner ${text} NOT NULL,
      event ${text} NOT NULL,
      conversation_id ${text},
      message_id ${text},
      twin_id ${text},
      end_user ${text},
      status ${text} NOT NULL,
      attempts BIGINT NOT NULL,
      last_status BIGINT,
      next_attempt_at BIGINT,
      due_at BIGINT NOT NULL,
      lease_holder ${text},
      tried_at BIGINT,
      created_at BIGINT NOT NULL
    ) ${keyed}`,
    "CREATE INDEX deliveries_in_order ON deliveries (webhook_id, created_at, id)",
    "CREATE INDEX deliveries_waiting ON deliveries (webhook_id, due_at, id) WHERE status = 'pending'",
    `CREATE INDEX deliveries_of_person ON deliveries (owner, end_user) WHERE end_user IS NOT NULL`,
    `CREATE INDEX deliveries_leased ON deliveries (lease_holder) WHERE lease_holder IS NOT NULL`,
    "CREATE INDEX deliveries_by_age ON deliveries (created_at)",
  ],
};
