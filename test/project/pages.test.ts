/**
 * The pages that the server serves, as they are committed.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
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

  test("the widget: what is committed is what web/ makes, at most 22 KB gzipped", async () => {
    assert.ok((await readFile(builtPath("widget"), "utf8")) === (await buildWidget()), "it is out of date");
    const size = gzipSync(widgetPages["/widget.js"].content).length;
    assert.ok(size <= 22_000, `it has ${size} bytes`);
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

  test("take no other method than GET and HEAD", async () => {
    await using fixture = await openFixture(inProcess, { pages: { "/": playground } });
    const response = await fixture.service.fetch(new Request("http://twins.test/", { method: "POST" }));
    assert.deepEqual([response.status, response.headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
  });
});
