/**
 * How many statements each request takes, as the driver sends them.
 *
 * @module
 */

import pg from "pg";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { type Clock, systemClock } from "../../core/base/clock.ts";
import { createEchoEngine, createService, createTwinList, type Service } from "../../core/mod.ts";
import type { Parts } from "../../server/lifecycle.ts";
import { newTwin } from "../../test/support/harness.ts";
import { content, openDatabase } from "./servers.ts";

/** Counts the statements of one request after the other, and prints them. */
export async function countStatements(parts: Parts): Promise<void> {
  const service = await openService(parts);
  const statements: string[] = [];
  const stop = recordStatements(statements);
  await countEach(createCounter(service, statements, () => {})); // opens the connections, which takes statements, too
  await countEach(createCounter(service, statements, console.log));
  stop();
}

async function countEach(count: Counter): Promise<void> {
  const body = { name: "b", scope: "full_access" };
  const { key } = await count("creating a key", "POST", "/auth/api-keys", "bench", body);
  await count("the first use of a key", "GET", "/twins", key);
  const { id } = await count("creating a conversation", "POST", "/conversations", key, { twinId: "echo" });
  const path = `/conversations/${id}`;
  for (const which of ["first", "next"]) {
    const reply = `its ${which} streamed reply, in less than a second`;
    await count(reply, "POST", `${path}/messages/stream`, key, { content });
  }
  await count("reading a conversation", "GET", path, key);
  await count("reading a page of messages", "GET", `${path}/messages`, key);
}

/** A clock on which nothing becomes due: between requests, the service does nothing. */
const clock: Clock = { now: systemClock.now, after: () => () => {} };

async function openService(parts: Parts): Promise<Service> {
  const opening = openPostgres(await openDatabase(parts));
  const postgres = await parts.open("storage", opening, ({ close }) => close());
  const service = createService({
    store: postgres.store,
    limiter: postgres.limiter,
    twins: createTwinList([newTwin({ id: "echo" })]),
    engines: { echo: createEchoEngine() },
    verifyToken: async (owner: string) => owner,
    clock,
  });
  await parts.open("service", service.ready(), () => service.close());
  return service;
}

/** Adds each statement that the driver sends to a list. Returns what ends that. */
function recordStatements(statements: string[]): () => void {
  const { query } = pg.Client.prototype;
  const recorded = function (this: pg.Client, ...given: [{ readonly text?: string } | string]) {
    const [first] = given;
    statements.push(typeof first === "string" ? first : (first.text ?? ""));
    return Reflect.apply(query, this, given);
  };
  Object.assign(pg.Client.prototype, { query: recorded });
  return () => void Object.assign(pg.Client.prototype, { query });
}

type Counter = ReturnType<typeof createCounter>;

/** What sends a request, says how many statements it took, and returns the answer's data; a stream has none. */
function createCounter(service: Service, statements: string[], say: (line: string) => void) {
  return async (what: string, method: string, path: string, credential: string, body?: object) => {
    statements.length = 0;
    const response = await service.fetch(
      new Request(`http://bench/api/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
    const text = await response.text();
    const limits = statements.filter((statement) => statement.includes("take_rate_tokens")).length;
    say(`${what}: ${statements.length} statements, ${limits} of them for the limit`);
    return text.startsWith("{") ? JSON.parse(text).data : {};
  };
}
