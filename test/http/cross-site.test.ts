/**
 * Requests that pages of other sites send with a host's cookies.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createEchoEngine, createService, createTwinList } from "../../core/mod.ts";
import { assertErrorAnswer, inProcess, newTwin, openFixture } from "../support/harness.ts";

function openHost() {
  return createService({
    twins: createTwinList([newTwin({ id: "echo" })]),
    engines: { echo: createEchoEngine() },
    authenticate: (request) => (request.headers.get("cookie") === "session=1" ? { owner: "alice" } : null),
    corsOrigins: ["https://app.example"],
    log: () => {},
  });
}

test("a page of another site cannot change anything with a host's cookies, unless its origin is listed", async () => {
  const service = openHost();
  const send = (method: string, headers: Record<string, string>, path = "conversations") =>
    service.fetch(
      new Request(`http://twins.test/api/v1/${path}`, {
        method,
        headers: { Cookie: "session=1", "Content-Type": "application/json", ...headers },
        ...(method === "POST" && { body: '{"twinId":"echo"}' }),
      }),
    );
  const foreign = { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" };
  await assertErrorAnswer(await send("POST", foreign), 403, "cross_site_request");
  await assertErrorAnswer(await send("POST", { "Sec-Fetch-Site": "cross-site" }), 403, "cross_site_request");
  const cancel = "conversations/conv_1/messages/msg_1/cancel";
  await assertErrorAnswer(await send("POST", foreign, cancel), 403, "cross_site_request");
  for (const headers of [
    { ...foreign, Origin: "https://app.example" },
    { "Sec-Fetch-Site": "same-origin" },
    { "Sec-Fetch-Site": "same-site" },
    {},
  ]) {
    assert.equal((await send("POST", headers)).status, 201);
  }
  assert.equal((await send("GET", foreign)).status, 200);
  await service.close({ graceMs: 0 });
});

test("a page of another origin cannot either where browsers send no Fetch Metadata", async () => {
  const service = openHost();
  const ask = async (headers: Record<string, string>, method = "POST") => {
    const init = { method, headers: { Cookie: "session=1", ...headers } };
    const path = method === "DELETE" ? "conversations/conv_1" : "conversations/conv_1/messages/msg_1/cancel";
    const response = await service.fetch(new Request(`http://twins.test/api/v1/${path}`, init));
    return ((await response.json()) as { error: { code: string } }).error.code;
  };
  const foreign = [
    "https://evil.example",
    "null",
    "http://twins.test:8080",
    "http://twins.test.evil.example",
    "x",
  ];
  for (const Origin of foreign) {
    for (const more of [{}, { "Sec-Fetch-Site": "same-origin" }, { Host: "twins.test" }])
      for (const method of ["POST", "DELETE"])
        assert.equal(await ask({ Origin, ...more }, method), "cross_site_request", Origin);
  }
  const own: Record<string, string>[] = [
    {},
    { Origin: "http://twins.test" },
    { Origin: "https://twins.test", Host: "twins.test:443" },
    { Origin: "https://shop.example", Host: "Shop.Example" },
    { Origin: "http://[::1]:8787", Host: "[::1]:8787" },
    { Origin: "https://app.example" },
    { Origin: "https://evil.example", Authorization: "Bearer of-the-host" },
  ];
  for (const headers of own)
    assert.notEqual(await ask(headers), "cross_site_request", JSON.stringify(headers));
  assert.equal(await ask({ Cookie: "", Origin: "https://evil.example" }), "missing_credentials");
  const read = new Request("http://twins.test/api/v1/twins", {
    headers: { Cookie: "session=1", Origin: "https://evil.example" },
  });
  assert.equal((await service.fetch(read)).status, 200);
  await service.close({ graceMs: 0 });
});

test("a key, which no page sends by itself, is accepted from any site", async () => {
  await using fixture = await openFixture(inProcess);
  const key = await fixture.key("full_access");
  const headers = { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" };
  const answer = await fixture.call("POST", "/conversations", key, { twinId: "echo" }, headers);
  assert.equal(answer.status, 201);
});

test("ids of requests do not count up", async () => {
  await using fixture = await openFixture(inProcess);
  const ids: string[] = [];
  for (let count = 0; count < 3; count++) {
    ids.push((await fixture.send("/healthz")).headers.get("X-Request-Id") ?? "");
  }
  const ends = ids.map((id) => id.slice(-16, -4)); // the clock stands still
  assert.equal(new Set(ends).size, 3);
});
