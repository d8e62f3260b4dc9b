/**
 * Adds budgets of tokens: the limits of keys and client tokens, what is used and reserved in a day or month, and what each
 * running reply has reserved. Earlier processes would end replies without giving back what they have reserved.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const tokenBudgets: Step = {
  earlierProcesses: "must end",
  statements: ({ text, keyed }) => [
    "ALTER TABLE api_keys ADD COLUMN tokens_per_day BIGINT",
    "ALTER TABLE api_keys ADD COLUMN tokens_per_month BIGINT",
    "ALTER TABLE api_keys ADD COLUMN owner_tokens_per_day BIGINT",
    "ALTER TABLE client_tokens ADD COLUMN tokens_per_day BIGINT",
    "ALTER TABLE client_tokens ADD COLUMN tokens_per_month BIGINT",
    // An end user goes by a digest. The columns before the period name a budget; empty ones do not apply to it.
    `CREATE TABLE token_sums (
      scope ${text} NOT NULL,
      owner ${text} NOT NULL,
      person ${text} NOT NULL,
      subject ${text} NOT NULL,
      period ${text} NOT NULL,
      ends_at BIGINT NOT NULL,
      most BIGINT NOT NULL,
      used BIGINT NOT NULL,
      reserved BIGINT NOT NULL,
      told BIGINT NOT NULL,
      PRIMARY KEY (scope, owner, person, subject, period)
    ) ${keyed}`,
    "CREATE INDEX token_sums_by_end ON token_sums (ends_at)",
    `CREATE TABLE token_reservations (
      reply_id ${text} NOT NULL,
      scope ${text} NOT NULL,
      owner ${text} NOT NULL,
      person ${text} NOT NULL,
      subject ${text} NOT NULL,
      period ${text} NOT NULL,
      told BIGINT NOT NULL,
      reserved BIGINT NOT NULL,
      expires_at BIGINT,
      PRIMARY KEY (reply_id, scope, owner, person, subject, period)
    ) ${keyed}`,
    `CREATE INDEX token_reservations_by_expiry ON token_reservations (expires_at)
      WHERE expires_at IS NOT NULL`,
  ],
};
