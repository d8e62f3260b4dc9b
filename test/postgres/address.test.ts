/**
 * Addresses as providers hand them out: each parameter is understood, or refused in a line that says what is accepted.
 */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { listen } from "../support/ports.ts";
import { sharedDatabase, skipWithoutPostgres } from "./database.ts";

describe("an address on a database", { skip: await skipWithoutPostgres() }, () => {
  const shared = sharedDatabase();

  for (const query of [
    "sslmode=prefer",
    "sslmode=allow",
    "sslmode=disable&channel_binding=prefer",
    "channel_binding=disable&connect_timeout=15",
    "pgbouncer=true&connect_timeout=0",
    "pgbouncer=true&sslmode=prefer&supa=base-pooler.x",
    "workaround=supabase-pooler.vercel&gssencmode=disable",
    "application_name=twins&connect_timeout=5",
  ]) {
    test(`with ${query} is used`, async () => {
      const { store, close } = await openPostgres(`${shared.url}?${query}`);
      await store.ping();
      await close();
    });
  }
});

for (const [query, reason] of [
  [
    "sslmode=verify",
    /the address's sslmode must be disable, allow, prefer, no-verify, require, verify-ca, verify-full$/,
  ],
  ["connect_timeout=soon", /the address's connect_timeout must be a number of seconds; 0: 2 seconds$/],
  ["channel_binding=always", /the address's channel_binding must be disable, prefer or require$/],
  ["channel_binding=require", /the address's channel_binding=require needs sslmode=verify-full$/],
  ["channel_binding=require&sslmode=prefer", /channel_binding=require needs sslmode=verify-full$/],
  ["gssencmode=require", /the address's gssencmode must be disable or prefer: there is no GSSAPI here$/],
  ["connection_limit=1", /a parameter connection_limit that would be ignored; .* is DATABASE_POOL_SIZE; /],
] as const) {
  test(`with ${query}, an address is refused`, async () => {
    await assert.rejects(
      openPostgres(`postgres://twins:secret@127.0.0.1:1/twins?${query}`),
      (error: Error) => {
        assert.match(error.message, reason);
        assert.doesNotMatch(error.message, /secret|\n/);
        return true;
      },
    );
  });
}

for (const address of [
  "postgres://twins:secret@127.0.0.1:1",
  "postgres://twins:secret@127.0.0.1:1,127.0.0.1:2/",
  "postgres://twins:secret@127.0.0.1:1/?sslmode=disable",
  "postgres://twins:1#secret@127.0.0.1:1/twins",
  "postgres://?host=/var/run/postgresql",
]) {
  test(`an address that names no database is refused, instead of using one named as its user: ${address}`, async () => {
    await assert.rejects(openPostgres(address), {
      message:
        "The PostgreSQL database cannot be used: the address names no database; " +
        "postgres://<user>:<password>@<host>/<database> does",
    });
  });
}

for (const [mode, asksForTls] of [
  ["sslmode=require&channel_binding=require", true],
  ["sslmode=verify-full&sslrootcert=system", true],
  ["sslmode=prefer", true],
  ["sslmode=allow", false],
  ["sslmode=disable", false],
  ["connect_timeout=3", false],
] as const) {
  test(`with ${mode}, a server is first asked ${asksForTls ? "for TLS" : "without TLS"}, and nothing is printed`, async () => {
    const requests: number[] = [];
    const server = createServer((socket) =>
      socket.once("data", (data) => {
        requests.push(data.readInt32BE(4));
        socket.destroy();
      }),
    );
    const port = await listen(server);
    const warnings: unknown[] = [];
    const note = (warning: unknown) => warnings.push(warning);
    process.on("warning", note);
    await assert.rejects(openPostgres(`postgres://twins@127.0.0.1:${port}/twins?${mode}`));
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", note);
    server.close();
    assert.equal(requests[0] === 80_877_103, asksForTls); // SSLRequest
    assert.deepEqual(warnings, []);
  });
}
