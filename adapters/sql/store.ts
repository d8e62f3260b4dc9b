/**
 * The store written once in SQL that SQLite and PostgreSQL both understand, over a small driver for each.
 *
 * Every change is one batch of statements that contains its own conditions, so that no transaction stays open while
 * this process computes. Batches touch tables in a fixed order (claims, conversations, messages, totals), and sums of
 * usage, and what webhooks are told, once their conversation is locked, so that concurrent ones wait for each other instead of deadlocking.
 *
 * @module
 */

import type { Store } from "../../core/store/store.ts";
import { claimMethods } from "./claims.ts";
import { clientTokenMethods } from "./client-tokens.ts";
import { conversationMethods } from "./conversations.ts";
import type { SqlDriver } from "./driver.ts";
import { keyMethods } from "./keys.ts";
import { messageMethods } from "./messages.ts";
import { ownTwinMethods } from "./own-twins.ts";
import { peopleMethods } from "./people.ts";
import { replyMethods, takeOverMethods } from "./replies.ts";
import { reviewMethods } from "./review.ts";
import { tokenBudgetMethods } from "./token-budgets.ts";
import { usageMethods } from "./usage.ts";
import { webhookMethods } from "./webhooks.ts";

/** Options of {@link createSqlStore}. */
export interface SqlStoreOptions {
  /** Whether the database belongs to this process alone. */
  readonly exclusive: boolean;
}

/** Creates a store for a database whose tables are up to date (`planUpgrade`). Closing it closes the driver. */
export function createSqlStore(driver: SqlDriver, { exclusive }: SqlStoreOptions): Store & AsyncDisposable {
  return {
    exclusive,
    ...keyMethods(driver),
    ...conversationMethods(driver),
    ...messageMethods(driver),
    ...replyMethods(driver),
    ...takeOverMethods(driver),
    ...claimMethods(driver, exclusive),
    ...clientTokenMethods(driver),
    ...usageMethods(driver, exclusive),
    ...reviewMethods(driver),
    ...peopleMethods(driver),
    ...tokenBudgetMethods(driver),
    ...ownTwinMethods(driver),
    ...webhookMethods(driver, exclusive),
    async ping() {
      await driver.all(readNewest, [""]);
    },
    close: () => driver.close(),
    [Symbol.asyncDispose]: () => driver.close(),
  };
}

/** Reads some data, because a damaged database may still answer. An index makes it cheap. */
const readNewest = "SELECT seq FROM messages WHERE id > $1 ORDER BY id DESC LIMIT 1";
