import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openFixture, transports } from "../support/harness.ts";

for (const transport of transports) {
  describe(`cross-origin requests, ${transport.name}`, () => {
    const origin = "https://app.example.com";
    const corsOrigins = [origin];

    test("a listed origin may read every answer, and no other origin may", async () => {
      await using fixture = await openFixture(transport, { corsOrigins });
      for (const path of ["/healthz", "/nowhere", "/api/v1/twins"]) {
        const response = await fixture.send(path, { headers: { Origin: origin } });
        assert.equal(response.headers.get("access-control-allow-origin"), origin);
        assert.equal(response.headers.get("vary"), "Origin");
        assert.deepEqual(response.headers.get("access-control-expose-headers")?.split(", "), [
          "ETag",
          "Idempotency-Replayed",
          "Location",
          "Preference-Applied",
          "RateLimit",
          "RateLimit-Policy",
          "Retry-After",
          "X-RateLimit-Limit",
          "X-RateLimit-Remaining",
          "X-RateLimit-Reset",
          "X-Request-Id",
        ]);
        assert.equal(response.headers.get("access-control-allow-credentials"), null);
        for (const other of [
          "https://evil.example.com",
          `${origin}.evil.com`,
          "null",
          origin.toUpperCase(),
        ]) {
          const refused = await fixture.send(path, { headers: { Origin: other } });
          assert.equal(refused.headers.get("access-control-allow-origin"), null, other);
          assert.equal(refused.headers.get("vary"), "Origin");
        }
      }
    });

    test("a preflight request is told the path's methods and the service's headers", async () => {
      await using fixture = await openFixture(transport, { corsOrigins });
      const headers = { Origin: origin, "Access-Control-Request-Method": "POST" };
      const response = await fixture.send("/api/v1/conversations", { method: "OPTIONS", headers });
      assert.equal(response.status, 204);
      assert.equal(response.headers.get("access-control-allow-origin"), origin);
      assert.equal(response.headers.get("access-control-allow-methods"), "GET, HEAD, OPTIONS, POST");
      assert.equal(
        response.headers.get("access-control-allow-headers"),
        "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-API-Key",
      );
      assert.equal(response.headers.get("access-control-max-age"), "600");
    });

    test("no CORS header fields are sent if no origin is listed", async () => {
      await using fixture = await openFixture(transport);
      const headers = { Origin: origin, "Access-Control-Request-Method": "POST" };
      const response = await fixture.send("/api/v1/conversations", { method: "OPTIONS", headers });
      const names = [...response.headers.keys()];
      assert.deepEqual(
        names.filter((name) => name.startsWith("access-control") || name === "vary"),
        [],
      );
    });
  });
}
