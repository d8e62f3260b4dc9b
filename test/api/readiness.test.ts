/**
 * Health and readiness: what `/healthz` and `/readyz` answer while the store cannot be used.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createApiKey } from "../../core/auth/secrets.ts";
import type { Log } from "../../core/mod.ts";
import { createMemoryStore, StoreUnavailable } from "../../core/store/mod.ts";
import { assertErrorAnswer, openFixture, transports } from "../support/harness.ts";

for (const transport of transports) {
  describe(`readiness, ${transport.name}`, () => {
    test("a store that is down is 503 unavailable, but missing credentials are still 401", async () => {
      const down = () => Promise.reject(new StoreUnavailable("connection refused by 10.0.0.7"));
      const store = { ...createMemoryStore(), findKey: down, ping: down, findAbandonedReplies: down };
      await using fixture = await openFixture(transport, { store });
      for (const path of ["/api/v1/twins", "/readyz"]) {
        const headers = { "X-API-Key": createApiKey().key };
        const response = await fixture.send(path, { headers });
        assert.match(response.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
        const { message } = await assertErrorAnswer(response, 503, "unavailable", path);
        assert.doesNotMatch(message, /10\.0\.0\.7/);
      }
      assert.equal((await fixture.send("/healthz")).status, 200);
      assert.equal((await fixture.send("/api/v1/twins")).status, 401);
    });

    test("a damaged store is not ready either, and the log says why", async () => {
      const ping = () => Promise.reject(new Error("database disk image is malformed"));
      const said: unknown[] = [];
      const log: Log = (level, _, fields) => level === "error" && said.push(fields?.error);
      await using fixture = await openFixture(transport, { store: { ...createMemoryStore(), ping }, log });
      const response = await fixture.send("/readyz");
      const { message } = await assertErrorAnswer(response, 503, "unavailable");
      assert.doesNotMatch(message, /malformed/);
      assert.match(said.map((error) => String((error as Error).cause)).join(), /^Error: .*malformed$/);
    });

    test("a service whose start failed is not ready, and starts with the next request", async () => {
      const memory = createMemoryStore();
      let down = true;
      const store = {
        ...memory,
        async findAbandonedReplies(expiredBefore: number) {
          if (down) throw new StoreUnavailable("a statement took too long");
          return memory.findAbandonedReplies(expiredBefore);
        },
      };
      await using fixture = await openFixture(transport, { store });
      assert.equal((await fixture.send("/readyz")).status, 503);
      down = false;
      assert.equal((await fixture.send("/readyz")).status, 200);
    });
  });
}
