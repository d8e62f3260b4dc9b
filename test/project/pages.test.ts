/**
 * The pages that the server serves, as they are committed.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { buildPage, buildWidget, builtPath } from "../../tools/build-web.ts";
import { playground } from "../../web/built/playground.ts";
import { reference } from "../../web/built/reference.ts";
import { widgetPages } from "../../web/built/widget.ts";
import { inProcess, openFixture } from "../support/harness.ts";

const built = { playground, reference };

describe("the pages", () => {
  for (const name of ["playground", "reference"] as const) {
    test(`${name}: what is committed is what web/ makes; npm run build:web`, async () => {
      assert.ok((await readFile(builtPath(name), "utf8")) === (await buildPage(name)), "it is out of date");
    });

    test(`${name} may run, show and ask only what is its own`, () => {
      const { headers, content } = built[name];
      const policy = headers["Content-Security-Policy"];
      assert.doesNotMatch(policy, /unsafe|\*|https?:/);
      assert.match(policy, /^default-src 'none'; /);
      assert.doesNotMatch(content, /<(script|link|img)[^>]+(src|href)="https?:/);
    });
  }

  test("the widget: what is committed is what web/ makes, at most 23.3 KB gzipped", async () => {
    assert.ok((await readFile(builtPath("widget"), "utf8")) === (await buildWidget()), "it is out of date");
    const size = gzipSync(widgetPages["/widget.js"].content).length;
    assert.ok(size <= 23_330, `it has ${size} bytes`);
  });

  test("are served beside the API, below the base path, to everyone, with their policy", async () => {
    await using fixture = await openFixture(inProcess, {
      pages: { "/": playground },
      basePath: "/assistant",
    });
    const response = await fixture.service.fetch(new Request("http://twins.test/assistant/"));
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(
      response.headers.get("content-security-policy"),
      playground.headers["Content-Security-Policy"],
    );
    assert.equal(response.headers.get("set-cookie"), null);
    assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
    assert.equal(await response.text(), playground.content);
  });

  test("are compressed where Accept-Encoding takes gzip as gladly, and have an ETag for each form", async () => {
    const page = { content: "x".repeat(5000), headers: { ETag: '"1"' } };
    await using fixture = await openFixture(inProcess, {
      pages: { "/": page, "/short": { ...page, content: "short" } },
      corsOrigins: ["https://app.example"],
    });
    const get = (headers: Record<string, string>, path = "/") =>
      fixture.service.fetch(new Request(`http://twins.test${path}`, { headers }));
    const taken = [
      "gzip",
      "GZIP;q=0.5",
      "br, gzip",
      "*",
      "x-gzip",
      "identity;q=0.5, gzip",
      "deflate, *;q=0.1",
    ];
    for (const encoding of taken) {
      const response = await get({ "Accept-Encoding": encoding });
      const all = ["content-encoding", "etag", "vary"].map((name) => response.headers.get(name));
      assert.deepEqual(all, ["gzip", '"1-gzip"', "Origin, Accept-Encoding"], encoding);
      assert.equal(gunzipSync(await response.arrayBuffer()).toString(), page.content);
    }
    const plain = ["", "br", "identity", "gzip;q=0", "gzip; q=0.000", "*;q=0", "gzip;q=0, *", "gzip;q=x"];
    for (const encoding of [...plain, "identity, gzip;q=0.9"]) {
      const response = await get({ "Accept-Encoding": encoding });
      const all = ["content-encoding", "etag", "vary"].map((name) => response.headers.get(name));
      assert.deepEqual(all, [null, '"1"', "Origin, Accept-Encoding"], encoding);
      assert.equal(await response.text(), page.content);
    }
    assert.equal((await get({ "Accept-Encoding": "gzip" }, "/short")).headers.get("content-encoding"), null);
    const gzip = { "Accept-Encoding": "gzip" };
    assert.equal((await get({ ...gzip, "If-None-Match": '"0", W/"1-gzip"' })).status, 304);
    assert.equal((await get({ ...gzip, "If-None-Match": "*" })).status, 304);
    assert.equal((await get({ ...gzip, "If-None-Match": '"1"' })).status, 200);
    assert.equal((await get({ "If-None-Match": '"1-gzip"' })).status, 200);
  });

  test("take no other method than GET and HEAD", async () => {
    await using fixture = await openFixture(inProcess, { pages: { "/": playground } });
    const response = await fixture.service.fetch(new Request("http://twins.test/", { method: "POST" }));
    assert.deepEqual([response.status, response.headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
  });
});
